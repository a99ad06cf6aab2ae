//! JSON in an answer. What it says is said: its values are statements as any others. Only an object that plays the
//! examiner's own report, and says nothing besides, is nobody's statement.

use super::chars::digit;
use super::sentences::Kept;

/// The keys of the reports that an examiner writes.
const REPORT: &str = " faithfulness_score total_claims grounded_claims hallucinated_claims omitted_facts claim_analysis \
    omission_flags overall_assessment claims overall_verdict claim_text verdict classification source_quote source_id \
    confidence severity explanation supporting_evidence contradicting_evidence groundedness_score supported_claims \
    unsupported_claims contradicted_claims insufficient_evidence_claims evidence_source source_evidence notes fabrication \
    analysis summary claim_id category reference_evidence grounded_count hallucinated_count unsupported_count \
    hallucination_ratio supporting_source source_location missing_evidence_description answer_span missing_fact \
    available_evidence impact ";

/// Whether `line` has the beginning of a JSON object.
pub(super) fn holds_object(line: &[Kept]) -> bool {
    line.iter().enumerate().any(|(at, (c, _))| *c == '{' && opens_object(&line[at..]))
}

fn opens_object(rest: &[Kept]) -> bool {
    rest.iter().skip(1).map(|(c, _)| *c).find(|c| !c.is_whitespace()) == Some('"')
}

/// The length of an object at the start of `rest` that plays an examiner's report: all keys are a report's, and no
/// value is more than a word or two.
pub(super) fn report(rest: &[Kept]) -> Option<usize> {
    const LONGEST: usize = 4096;
    if !opens_object(rest) {
        return None;
    }
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some((c, _)) = rest.get(at).filter(|_| at < LONGEST) {
        match c {
            '{' => depth += 1,
            '}' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            '"' => {
                let length = string(&rest[at + 1..])?;
                let text: String = rest[at + 1..at + 1 + length].iter().map(|(c, _)| *c).collect();
                at += length + 1;
                let next = rest[at + 1..].iter().map(|(c, _)| *c).find(|c| !c.is_whitespace());
                let is_harmless = if next == Some(':') {
                    REPORT.contains(&format!(" {text} "))
                } else {
                    text.split_whitespace().count() <= 2 && !text.chars().any(|c| digit(c).is_some())
                };
                if !is_harmless {
                    return None;
                }
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// The length of a string of JSON up to the quotation mark that closes it.
fn string(rest: &[Kept]) -> Option<usize> {
    const LONGEST: usize = 400;
    let mut at = 0;
    while let Some((c, _)) = rest.get(at).filter(|_| at < LONGEST) {
        match c {
            '"' => return Some(at),
            '\\' => at += 2,
            _ => at += 1,
        }
    }
    None
}

/// The character that an escape of JSON at the start of `rest` stands for, and the escape's length.
pub(super) fn escape(rest: &[Kept]) -> Option<(char, usize)> {
    let at = |at: usize| rest.get(at).map(|(c, _)| *c);
    if at(0)? != '\\' {
        return None;
    }
    Some(match at(1)? {
        'n' | 'r' | 't' | 'f' | 'b' => (' ', 2),
        c @ ('"' | '\\' | '/') => (c, 2),
        'u' => {
            let code: String = (2..6).filter_map(at).collect();
            let c = u32::from_str_radix(&code, 16).ok().and_then(char::from_u32)?;
            (c, 6)
        }
        _ => return None,
    })
}
