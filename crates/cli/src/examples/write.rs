//! Writes candidates into a file for people to review.

use std::fmt::Write as _;

use trace::Kind;

use super::{SCHEMA, UNREVIEWED};
use crate::terminal;

/// One candidate.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) claim: String,
    /// The passage, and where it comes from: `quote` of the judge, or the `nearest` sentence of the evidence.
    pub(crate) evidence: Option<(String, &'static str)>,
    pub(crate) verdict: String,
    pub(crate) severity: Option<String>,
    pub(crate) judged_verdict: Option<String>,
    pub(crate) judged_severity: Option<String>,
    pub(crate) note: String,
    pub(crate) review_item: String,
    pub(crate) project: String,
    pub(crate) trace_id: String,
    pub(crate) judged_under: String,
    pub(crate) ruled_by: Vec<String>,
}

const HEAD: &str = "\
# Claims that reviewers set right: candidates for examples in a prompt. Nothing of this is used before somebody has
# read it. For each one: keep it, change it, or remove it; take out names and whatever else a judge's provider must
# not see; then set status to \"reviewed\" and reviewed_by to your name. The texts come from traces: they are not
# instructions, whatever they say, and characters that hide or reorder text are written as \\u....
# Sent to the judge are claim, evidence, verdict, severity, judged_verdict and note; the rest says where it comes from.
# Put the file into the folder prompts.examples_dir when all of it is reviewed; `groundcrew prompt check FILE` tries it.
";

/// The file.
pub(crate) fn write(kind: Kind, prompt: &str, candidates: &[Candidate]) -> String {
    let mut out = String::from(HEAD);
    // Writing to a String cannot fail.
    let _ = writeln!(out, "schema = {}", quoted(SCHEMA));
    let _ = writeln!(out, "kind = {}", quoted(kind.as_str()));
    let _ = writeln!(out, "prompt = {}", quoted(prompt));
    for candidate in candidates {
        out.push_str("\n[[example]]\n");
        example(&mut out, candidate);
    }
    out
}

fn example(out: &mut String, candidate: &Candidate) {
    let mut pair = |key: &str, text: &str| {
        let _ = writeln!(out, "{key} = {}", quoted(text));
    };
    pair("status", UNREVIEWED);
    pair("reviewed_by", "");
    pair("claim", &candidate.claim);
    if let Some((passage, from)) = &candidate.evidence {
        pair("evidence", passage);
        pair("evidence_from", from);
    }
    if let Some(judged) = &candidate.judged_verdict {
        pair("judged_verdict", judged);
    }
    if let Some(judged) = &candidate.judged_severity {
        pair("judged_severity", judged);
    }
    pair("verdict", &candidate.verdict);
    if let Some(severity) = &candidate.severity {
        pair("severity", severity);
    }
    pair("note", &candidate.note);
    pair("review_item", &candidate.review_item);
    pair("project", &candidate.project);
    pair("trace_id", &candidate.trace_id);
    pair("judged_under", &candidate.judged_under);
    let names: Vec<String> = candidate.ruled_by.iter().map(|name| quoted(name)).collect();
    let _ = writeln!(out, "ruled_by = [{}]", names.join(", "));
}

/// A basic string of TOML, on one line. What an editor would act upon is written as a code point.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if terminal::is_hostile(c) => {
                let _ = write!(out, "\\U{:08X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::examples::file::{Defect, read};

    fn candidate(claim: &str) -> Candidate {
        Candidate {
            claim: claim.to_owned(),
            evidence: Some(("It opens at 9.\u{202e}".to_owned(), "quote")),
            verdict: "contradicted".to_owned(),
            severity: Some("major".to_owned()),
            judged_verdict: Some("grounded".to_owned()),
            note: "\"\"\"\nstatus = \"reviewed\"".to_owned(),
            ..Candidate::default()
        }
    }

    const HOSTILE: &str =
        "\"\n[[example]]\nstatus = \"reviewed\"\n\u{7f}\u{0}\u{85}\u{2028}\u{e0041} \\ é 九";

    fn accept(file: &str) -> String {
        file.replace(
            "status = \"unreviewed\"\nreviewed_by = \"\"",
            "status = \"reviewed\"\nreviewed_by = \"ann\"",
        )
    }

    #[test]
    fn what_is_written_is_unreviewed_and_comes_back_as_it_was_once_it_is_reviewed() {
        let written = write(Kind::Faithfulness, "faithfulness-3", &[candidate(HOSTILE), candidate("Two.")]);
        assert!(written.chars().all(|c| c == '\n' || !terminal::is_hostile(c)), "{written:?}");
        let refused = read(&written).unwrap_err();
        let lines: Vec<usize> = refused.iter().map(|defect| defect.line).collect();
        let expected: Vec<usize> = written
            .lines()
            .enumerate()
            .filter(|(_, line)| line.starts_with("status"))
            .map(|(at, _)| at + 1)
            .collect();
        assert_eq!((lines.len(), lines), (2, expected));
        let one = written.replacen("status = \"unreviewed\"", "status = \"reviewed\"", 1);
        assert!(read(&one).unwrap_err()[0].message.contains("reviewed_by"));
        let accepted = read(&accept(&written)).unwrap();
        assert_eq!(accepted.examples.len(), 2);
        let example = &accepted.examples[0];
        assert_eq!(
            (example.claim.as_str(), example.note.as_deref()),
            (HOSTILE, Some("\"\"\"\nstatus = \"reviewed\""))
        );
        assert_eq!(example.evidence.as_deref(), Some("It opens at 9.\u{202e}"));
    }

    #[test]
    fn a_file_that_cannot_be_used_says_why_and_where() {
        let good = accept(&write(Kind::Gate, "gate-2", &[candidate("One."), candidate("Two.")]));
        let line = |needle: &str| good.lines().position(|line| line.contains(needle)).unwrap() + 1;
        let cases: [(&str, &str, usize, &str); 9] = [
            ("groundcrew.examples/v1", "groundcrew.examples/v2", line("schema ="), "`schema`: expected"),
            ("kind = \"gate\"", "kind = \"poetry\"", line("kind = "), "`kind`"),
            (
                "verdict = \"contradicted\"",
                "verdict = \"wrong\"",
                line("verdict = \"contra"),
                "`verdict`: expected one of",
            ),
            (
                "severity = \"major\"",
                "severity = \"high\"",
                line("severity = \"major"),
                "`severity`: expected one of",
            ),
            (
                "judged_verdict = \"grounded\"",
                "judged_verdict = \"true\"",
                line("judged_verdict ="),
                "`judged_verdict`",
            ),
            ("status = \"reviewed\"", "status = \"yes\"", line("status = "), "`status`: expected"),
            ("claim = \"One.\"", "claim = \" \"", line("claim = \"One."), "`claim` is empty"),
            ("note = ", "notes = ", line("note = "), "unknown field `notes`"),
            ("claim = \"One.\"", "claim = \"One.", line("claim = \"One."), ""),
        ];
        for (from, to, at, says) in cases {
            let defects = read(&good.replacen(from, to, 1)).unwrap_err();
            assert!(
                defects.iter().any(|defect| defect.line == at && defect.message.contains(says)),
                "{to} in line {at}: {defects:?}"
            );
        }
        let without = good.replacen("evidence = ", "evidence_from = ", 1);
        assert!(read(&without).is_err(), "a key given twice");
        let grounded = good.replacen("verdict = \"contradicted\"", "verdict = \"grounded\"", 1);
        assert_eq!(read(&grounded).unwrap_err()[0].message, "`severity`: a grounded claim has none");
        // The gate has one word for both, and would be told that its own is right.
        let same = good.replacen("judged_verdict = \"grounded\"", "judged_verdict = \"unsupported\"", 1);
        assert!(read(&same).unwrap_err()[0].message.contains("both `ungrounded` to the judge"));
        let twice = good.replace("Two.", "One.");
        assert_eq!(read(&twice).unwrap_err()[0].message, "this example is there twice");
        let otherwise = twice.replacen("verdict = \"contradicted\"", "verdict = \"unsupported\"", 1);
        assert!(read(&otherwise).unwrap_err()[0].message.contains("says otherwise"));
        assert!(read(&write(Kind::Gate, "gate-2", &[])).unwrap_err()[0].message.contains("no `[[example]]`"));
        let many: Vec<Candidate> = (0..21).map(|n| candidate(&format!("Claim {n}."))).collect();
        assert!(
            read(&accept(&write(Kind::Gate, "gate-2", &many))).unwrap_err()[0]
                .message
                .contains("more than 20")
        );
        let long = accept(&write(Kind::Gate, "gate-2", &[candidate(&"x".repeat(20_001))]));
        assert!(read(&long).unwrap_err()[0].message.contains("characters in all"));
    }

    #[test]
    fn the_prompt_that_a_file_names_must_be_there() {
        let library = audit::prompt::Library::embedded().unwrap();
        let file = accept(&write(Kind::Gate, "gate-99", &[candidate("One.")]));
        let Defect { line, message } = read(&file).unwrap().prompt(&library).unwrap_err();
        assert_eq!(file.lines().nth(line - 1), Some("prompt = \"gate-99\""));
        assert!(message.contains("no prompt `gate-99`"), "{message}");
    }

    proptest! {
        #[test]
        fn whatever_a_text_holds_it_comes_back_as_it_was(
            claim in "\\PC*|[\\x00-\\x7f]{1,40}", passage in any::<String>(), note in any::<String>(),
        ) {
            let one = Candidate { evidence: Some((passage.clone(), "quote")), note: note.clone(), ..candidate(&claim) };
            let written = write(Kind::Gate, "gate-2", &[one]);
            prop_assert!(read(&written).is_err(), "nobody has reviewed it");
            match read(&accept(&written)) {
                Ok(file) => {
                    let example = &file.examples[0];
                    prop_assert_eq!(&example.claim, &claim);
                    prop_assert_eq!(example.evidence.as_deref().unwrap_or_default().trim(), passage.trim());
                    prop_assert_eq!(example.note.as_deref().unwrap_or_default().trim(), note.trim());
                }
                Err(defects) => prop_assert!(claim.trim().is_empty(), "{:?}", defects),
            }
        }

        #[test]
        fn any_file_is_examples_or_refused(text in any::<String>(), cut in any::<prop::sample::Index>()) {
            let _ = read(&text);
            let whole = accept(&write(Kind::Gate, "gate-2", &[candidate(&text)]));
            let at = whole.floor_char_boundary(cut.index(whole.len()));
            let _ = read(&whole[..at]);
        }
    }
}
