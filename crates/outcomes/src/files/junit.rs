//! JUnit XML, which every CI system shows: one test case per audit.
//!
//! A missed threshold is a failure, an audit that could not be made an error, one whose kind does not apply skipped.

use std::io;

use quick_xml::Writer;
use quick_xml::events::{BytesEnd, BytesStart, BytesText, Event};

use super::Malformed;
use crate::conclusion::number;
use crate::record::{Record, Standing};
use crate::thresholds::{Missed, Verdict};

/// How many test cases ended how; the head of the file says it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// All.
    pub tests: u64,
    /// Missed thresholds and changes for the worse.
    pub failures: u64,
    /// What could not be audited.
    pub errors: u64,
    /// What is not audited for good reason.
    pub skipped: u64,
}

/// How a test case ended.
enum Outcome {
    Passed,
    Failure(String),
    Error(String),
    Skipped(String),
}

/// One test case.
struct Case<'a> {
    class: &'a str,
    name: &'a str,
    outcome: Outcome,
    details: String,
}

/// Everything before the test cases.
///
/// # Errors
/// Never for a text in memory; the writer's type has errors.
pub fn head(counts: Counts) -> io::Result<Vec<u8>> {
    let mut out = br#"<?xml version="1.0" encoding="UTF-8"?>"#.to_vec();
    out.push(b'\n');
    let Counts { tests, failures, errors, skipped } = counts;
    let figures = format!(r#"tests="{tests}" failures="{failures}" errors="{errors}""#);
    out.extend_from_slice(format!("<testsuites {figures}>\n").as_bytes());
    out.extend_from_slice(
        format!("<testsuite name=\"groundcrew\" {figures} skipped=\"{skipped}\">\n").as_bytes(),
    );
    Ok(out)
}

/// Everything behind the test cases.
pub const FOOT: &[u8] = b"</testsuite>\n</testsuites>\n";

/// The test case of an audit.
///
/// # Errors
/// As [`head`].
pub fn audit(record: &Record, missed: &[Missed], worse: bool, counts: &mut Counts) -> io::Result<Vec<u8>> {
    let mut why: Vec<String> = missed
        .iter()
        .filter(|missed| !missed.known)
        .map(|missed| format!("{} (it is {})", missed.threshold, number(missed.value)))
        .collect();
    if worse {
        why.push("worse than in the earlier run".to_owned());
    }
    let disposition = record.disposition.as_str();
    let outcome = match record.standing() {
        Standing::Judged if why.is_empty() => Outcome::Passed,
        Standing::Judged => Outcome::Failure(why.join("; ")),
        Standing::NotApplicable => Outcome::Skipped(record.why_not_judged()),
        Standing::Incomplete | Standing::NotMade => {
            Outcome::Error(format!("{disposition}: {}", record.why_not_judged()))
        }
    };
    let class = format!("{}.{}", record.project, record.kind);
    case(&Case { class: &class, name: &record.trace_id, outcome, details: details(record) }, counts)
}

fn details(record: &Record) -> String {
    let mut lines = vec![format!(
        "{} ({}:{}), judge {}, prompt {}{}",
        record.disposition.as_str(),
        record.place.file,
        record.place.line,
        record.judge,
        record.prompt_version,
        if record.practice { ", practice judge: no real verdicts" } else { "" }
    )];
    for claim in record.findings() {
        lines.push(format!("{}: {}", claim.verdict.as_str(), claim.text));
        if !claim.explanation.trim().is_empty() {
            lines.push(format!("  gap: {}", claim.explanation));
        }
        let quotes = claim.evidence.iter();
        lines.extend(
            quotes.map(|evidence| format!("  evidence [{}]: {}", evidence.source_id, evidence.quote)),
        );
    }
    lines.join("\n")
}

/// The test case of a line that is no trace.
///
/// # Errors
/// As [`head`].
pub fn malformed(malformed: &Malformed, counts: &mut Counts) -> io::Result<Vec<u8>> {
    let name = format!("{}:{}", malformed.place.file, malformed.place.line);
    let outcome = Outcome::Error(format!("no trace: {}", malformed.in_words()));
    case(&Case { class: "groundcrew.input", name: &name, outcome, details: String::new() }, counts)
}

/// The test case of a threshold on the whole run; none for thresholds on single audits.
///
/// # Errors
/// As [`head`].
pub fn threshold(verdict: &Verdict, counts: &mut Counts) -> io::Result<Option<Vec<u8>>> {
    if verdict.value.is_none() && !verdict.idle {
        return Ok(None);
    }
    let outcome = match verdict.value {
        None => Outcome::Error("no audit has this number".to_owned()),
        Some(value) if verdict.fails() => Outcome::Failure(format!("it is {}", number(value))),
        Some(_) => Outcome::Passed,
    };
    let class = match &verdict.project {
        Some(project) => format!("groundcrew.thresholds.{project}"),
        None => "groundcrew.thresholds".to_owned(),
    };
    case(&Case { class: &class, name: &verdict.threshold, outcome, details: String::new() }, counts).map(Some)
}

fn case(case: &Case<'_>, counts: &mut Counts) -> io::Result<Vec<u8>> {
    let mut writer = Writer::new(Vec::new());
    let mut start = BytesStart::new("testcase");
    start.push_attribute(("classname", legal(case.class).as_str()));
    start.push_attribute(("name", legal(case.name).as_str()));
    writer.write_event(Event::Start(start))?;
    counts.tests += 1;
    let (tag, message) = match &case.outcome {
        Outcome::Passed => ("", ""),
        Outcome::Failure(message) => ("failure", message.as_str()),
        Outcome::Error(message) => ("error", message.as_str()),
        Outcome::Skipped(message) => ("skipped", message.as_str()),
    };
    match case.outcome {
        Outcome::Passed => {}
        Outcome::Failure(_) => counts.failures += 1,
        Outcome::Error(_) => counts.errors += 1,
        Outcome::Skipped(_) => counts.skipped += 1,
    }
    if !tag.is_empty() {
        let mut outcome = BytesStart::new(tag);
        outcome.push_attribute(("message", legal(message).as_str()));
        writer.write_event(Event::Start(outcome))?;
        writer.write_event(Event::Text(BytesText::new(&legal(&case.details))))?;
        writer.write_event(Event::End(BytesEnd::new(tag)))?;
    } else if !case.details.is_empty() {
        writer.write_event(Event::Start(BytesStart::new("system-out")))?;
        writer.write_event(Event::Text(BytesText::new(&legal(&case.details))))?;
        writer.write_event(Event::End(BytesEnd::new("system-out")))?;
    }
    writer.write_event(Event::End(BytesEnd::new("testcase")))?;
    let mut out = writer.into_inner();
    out.push(b'\n');
    Ok(out)
}

/// A text without the characters that no XML 1.0 document may hold, escaped or not (XML 1.0, section 2.2).
fn legal(text: &str) -> String {
    let is_legal = |c: char| matches!(c, '\t' | '\n' | '\r' | '\u{20}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    // Marks of direction are legal, and would show a report's reader another text than the one that is there.
    let is_mark = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars().map(|c| if is_legal(c) && !is_mark(c) { c } else { '\u{fffd}' }).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use quick_xml::Reader;

    use super::*;
    use crate::record::Place;
    use trace::Problem;

    proptest! {
        #[test]
        fn any_text_makes_a_document_that_can_be_read(text in ".*", path in "\\PC*") {
            let mut counts = Counts::default();
            let broken = Malformed {
                place: Place { file: text.clone(), line: 3 },
                problems: vec![Problem::new(path, text)],
            };
            let body = malformed(&broken, &mut counts).unwrap();
            let document = [head(counts).unwrap(), body, FOOT.to_vec()].concat();
            let document = String::from_utf8(document).unwrap();
            let mut reader = Reader::from_str(&document);
            let mut depth = 0_i32;
            loop {
                match reader.read_event().unwrap() {
                    Event::Start(tag) => {
                        depth += 1;
                        prop_assert!(tag.attributes().all(|attribute| attribute.is_ok()));
                    }
                    Event::End(_) => depth -= 1,
                    Event::Eof => break,
                    _ => {}
                }
            }
            prop_assert_eq!(depth, 0);
            prop_assert_eq!(counts.errors, 1);
        }
    }
}
