//! CSV for spreadsheets: one row per audit.

use audit::Verdict;

use crate::conclusion::number;
use crate::record::Record;

/// The head row.
const HEAD: [&str; 26] = [
    "file",
    "line",
    "project",
    "trace_id",
    "kind",
    "repeat",
    "disposition",
    "decision",
    "score",
    "by_rule",
    "severity",
    "claims",
    "grounded",
    "contradicted",
    "unsupported",
    "insufficient_evidence",
    "omissions",
    "findings",
    "why",
    "human_faithful",
    "human_agreement",
    "judge",
    "prompt_version",
    "practice",
    "calls",
    "cost",
];

/// The head row as CSV.
///
/// # Errors
/// Never for a row in memory; the writer's type has errors.
pub fn head() -> Result<Vec<u8>, ::csv::Error> {
    row(HEAD.map(str::to_owned))
}

/// The row of one audit as CSV.
///
/// # Errors
/// As [`head`].
pub fn audit(record: &Record) -> Result<Vec<u8>, ::csv::Error> {
    let finding = |claim: &audit::Claim| {
        let gap = if claim.explanation.trim().is_empty() {
            String::new()
        } else {
            format!(" ({})", claim.explanation)
        };
        format!("{}: {}{gap}", claim.verdict.as_str(), claim.text)
    };
    let findings: Vec<String> = record.findings().map(finding).collect();
    let reasons: Vec<&str> = record.reasons.iter().map(|reason| reason.message.as_str()).collect();
    let why = if record.why_not_judged().is_empty() { reasons.join("; ") } else { record.why_not_judged() };
    let flag = |flag: Option<bool>| flag.map(|flag| flag.to_string()).unwrap_or_default();
    row([
        text(&record.place.file),
        record.place.line.to_string(),
        text(&record.project),
        text(&record.trace_id),
        record.kind.as_str().to_owned(),
        record.repeat.to_string(),
        record.disposition.as_str().to_owned(),
        record.decision.map(|decision| decision.as_str().to_owned()).unwrap_or_default(),
        record.score.map(number).unwrap_or_default(),
        record.by_rule.to_string(),
        record.severity.map(|severity| severity.as_str().to_owned()).unwrap_or_default(),
        record.claims.len().to_string(),
        record.count(Verdict::Grounded).to_string(),
        record.count(Verdict::Contradicted).to_string(),
        record.count(Verdict::Unsupported).to_string(),
        record.count(Verdict::InsufficientEvidence).to_string(),
        record.omissions.len().to_string(),
        text(&findings.join("\n")),
        text(&why),
        flag(record.human_faithful),
        flag(record.human_agreement),
        text(&record.judge),
        text(&record.prompt_version),
        record.practice.to_string(),
        record.cost.calls.to_string(),
        if record.cost.calls == 0 || record.cost.micros.is_empty() {
            String::new()
        } else {
            record.cost.in_words()
        },
    ])
}

fn row(cells: [String; HEAD.len()]) -> Result<Vec<u8>, ::csv::Error> {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    writer.write_record(cells)?;
    writer.into_inner().map_err(|error| error.into_error().into())
}

/// A cell that a spreadsheet takes for text: what begins like a formula would be run (OWASP, "CSV Injection").
fn text(text: &str) -> String {
    // Control characters and marks of direction change what is seen of a cell and of those beside it.
    let text: String = text
        .chars()
        .filter(|c| !matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{61c}'))
        .map(|c| if c.is_control() && !matches!(c, '\n' | '\t') { '\u{fffd}' } else { c })
        .collect();
    // A spreadsheet looks behind what is not seen, and some take the wide forms of Chinese and Japanese for the others.
    let seen = text.trim_start_matches(|c: char| c.is_whitespace() || is_unseen(c));
    let is_formula = seen.starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠', '\u{2212}']);
    if is_formula || text.starts_with(['\t', '\r', '\n']) { format!("'{text}") } else { text }
}

const fn is_unseen(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{180e}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_never_a_formula() {
        assert_eq!(text("=HYPERLINK(\"http://x\")"), "'=HYPERLINK(\"http://x\")");
        assert_eq!(text("-1"), "'-1");
        for hidden in ["\n=1", " =1", "\u{a0}=1", "\u{200b}@x", "\u{feff}+1", "＝1", "＋1", "\t1"] {
            assert_eq!(text(hidden), format!("'{hidden}"));
        }
        assert_eq!(text("a=1"), "a=1");
        assert_eq!(text("\u{202e}=1"), "'=1", "what is seen first counts");
    }

    #[test]
    fn a_cell_has_no_characters_that_a_terminal_obeys() {
        assert_eq!(
            text("a\u{1b}[31m\u{7}\u{9b}b\u{202e}c\u{2066}d\ne"),
            "a\u{fffd}[31m\u{fffd}\u{fffd}bcd\ne"
        );
    }
}
