//! Reads a file with reviewed examples; says line by line what is wrong with one that cannot be used.

use std::collections::HashMap;
use std::fmt;

use audit::kinds;
use audit::prompt::{Library, Prompt, PromptError, RuledExample};
use audit::{Severity, Verdict};
use serde::Deserialize;
use toml::Spanned;
use trace::Kind;

use super::{MOST, MOST_CHARS, REVIEWED, SCHEMA, UNREVIEWED};
use crate::failure::chain;

/// What is wrong, and in which line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Defect {
    pub(crate) line: usize,
    pub(crate) message: String,
}

impl fmt::Display for Defect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.line, self.message)
    }
}

/// Reviewed examples.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExampleFile {
    /// The kind they are for.
    pub(crate) kind: Kind,
    /// The version of the prompt that they are added to.
    pub(crate) prompt: String,
    /// The examples, in their order.
    pub(crate) examples: Vec<RuledExample>,
    prompt_line: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    schema: Spanned<String>,
    kind: Spanned<String>,
    prompt: Spanned<String>,
    #[serde(default)]
    example: Vec<Spanned<RawExample>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawExample {
    status: Spanned<String>,
    #[serde(default)]
    reviewed_by: String,
    claim: Spanned<String>,
    evidence: Option<String>,
    verdict: Spanned<String>,
    severity: Option<Spanned<String>>,
    judged_verdict: Option<Spanned<String>>,
    note: Option<String>,
    // Where it comes from, for whoever reviews it.
    #[serde(rename = "evidence_from")]
    _evidence_from: Option<String>,
    #[serde(rename = "judged_severity")]
    _judged_severity: Option<String>,
    #[serde(rename = "review_item")]
    _review_item: Option<String>,
    #[serde(rename = "project")]
    _project: Option<String>,
    #[serde(rename = "trace_id")]
    _trace_id: Option<String>,
    #[serde(rename = "judged_under")]
    _judged_under: Option<String>,
    #[serde(rename = "ruled_by")]
    _ruled_by: Option<Vec<String>>,
}

/// Reads a file.
///
/// # Errors
/// Everything that is wrong with it, in the order of its lines; the first thing alone where it is not TOML.
pub(crate) fn read(text: &str) -> Result<ExampleFile, Vec<Defect>> {
    let text = text.trim_start_matches('\u{feff}');
    let mut reader = Reader { text, defects: Vec::new(), word: None };
    let raw: Raw = match toml::from_str(text) {
        Ok(raw) => raw,
        Err(error) => {
            let at = error.span().map_or(0, |span| span.start);
            reader.note(at, error.message().replace('\n', "; "));
            return Err(reader.defects);
        }
    };
    if raw.schema.get_ref() != SCHEMA {
        reader.note(raw.schema.span().start, format!("`schema`: expected \"{SCHEMA}\""));
    }
    let kind = raw.kind.get_ref().parse::<Kind>();
    if let Err(error) = &kind {
        reader.note(raw.kind.span().start, format!("`kind`: {error}"));
    }
    if raw.example.is_empty() {
        reader.note(text.trim_end().len(), "there is no `[[example]]`".to_owned());
    }
    reader.word = kind.as_ref().ok().and_then(|kind| kinds::find(*kind).ok()).map(|spec| spec.word);
    let examples: Vec<RuledExample> = raw.example.iter().filter_map(|it| reader.example(it)).collect();
    reader.limits(&raw.example, &examples);
    reader.contradictions(&raw.example);
    let prompt_line = reader.line(raw.prompt.span().start);
    match kind {
        Ok(kind) if reader.defects.is_empty() => {
            Ok(ExampleFile { kind, prompt: raw.prompt.into_inner(), examples, prompt_line })
        }
        _ => {
            reader.defects.sort_by_key(|defect| defect.line);
            Err(reader.defects)
        }
    }
}

impl ExampleFile {
    /// The prompt that it makes of one in the library.
    ///
    /// # Errors
    /// When the library has no such prompt, or the examples cannot be added to it.
    pub(crate) fn prompt(&self, library: &Library) -> Result<Prompt, Defect> {
        let defect = |error: PromptError| Defect {
            line: self.prompt_line,
            message: format!("`prompt`: {}", chain(&error)),
        };
        let base = library.of_version(self.kind, &self.prompt).map_err(defect)?;
        base.with_examples(&self.examples).map_err(defect)
    }
}

struct Reader<'a> {
    text: &'a str,
    defects: Vec<Defect>,
    /// The judge's word for a verdict, where the kind is known.
    word: Option<fn(Verdict) -> &'static str>,
}

impl Reader<'_> {
    fn line(&self, offset: usize) -> usize {
        self.text.get(..offset).unwrap_or(self.text).matches('\n').count() + 1
    }

    fn note(&mut self, offset: usize, message: String) {
        let defect = Defect { line: self.line(offset), message };
        self.defects.push(defect);
    }

    /// An example; none where it has a defect.
    fn example(&mut self, example: &Spanned<RawExample>) -> Option<RuledExample> {
        let (at, raw) = (example.span().start, example.get_ref());
        let before = self.defects.len();
        match raw.status.get_ref().as_str() {
            REVIEWED if raw.reviewed_by.trim().is_empty() => {
                self.note(at, "`reviewed_by`: say who has reviewed this example".to_owned());
            }
            REVIEWED => {}
            UNREVIEWED => self.note(
                raw.status.span().start,
                format!(
                    "nobody has reviewed this example: set `status` to \"{REVIEWED}\" and `reviewed_by` to your \
                     name, or remove it"
                ),
            ),
            _ => self.note(
                raw.status.span().start,
                format!("`status`: expected \"{REVIEWED}\" or \"{UNREVIEWED}\""),
            ),
        }
        if raw.claim.get_ref().trim().is_empty() {
            self.note(raw.claim.span().start, "`claim` is empty".to_owned());
        }
        let verdict = self.verdict("verdict", &raw.verdict);
        let judged = raw.judged_verdict.as_ref().map(|word| self.verdict("judged_verdict", word));
        let severity = raw.severity.as_ref().map(|word| self.severity(word));
        let evidence = raw.evidence.clone().filter(|passage| !passage.trim().is_empty());
        if verdict == Some(Verdict::Grounded) && evidence.is_none() {
            self.note(at, "`evidence`: a grounded claim needs the passage that carries it".to_owned());
        }
        if verdict == Some(Verdict::Grounded) && severity.is_some() {
            self.note(at, "`severity`: a grounded claim has none".to_owned());
        }
        self.teaches(at, verdict, judged.flatten());
        (self.defects.len() == before).then_some(())?;
        Some(RuledExample {
            claim: raw.claim.get_ref().clone(),
            evidence,
            verdict: verdict?,
            severity: severity.flatten(),
            judged: judged.flatten(),
            note: raw.note.clone().filter(|note| !note.trim().is_empty()),
        })
    }

    /// Notes an example of which the judge would hear that its own word is right.
    fn teaches(&mut self, at: usize, verdict: Option<Verdict>, judged: Option<Verdict>) {
        let (Some(word), Some(verdict), Some(judged)) = (self.word, verdict, judged) else { return };
        if word(verdict) == word(judged) {
            let message = format!(
                "`verdict` and `judged_verdict` are both `{}` to the judge: there is nothing to be learned; remove it",
                word(verdict)
            );
            self.note(at, message);
        }
    }

    fn verdict(&mut self, key: &str, word: &Spanned<String>) -> Option<Verdict> {
        let verdict = Verdict::parse(word.get_ref());
        if verdict.is_none() {
            let words = Verdict::ALL.map(Verdict::as_str).join(", ");
            self.note(word.span().start, format!("`{key}`: expected one of {words}"));
        }
        verdict
    }

    fn severity(&mut self, word: &Spanned<String>) -> Option<Severity> {
        let severity = Severity::parse(word.get_ref());
        if severity.is_none() {
            let words = Severity::ALL.map(Severity::as_str).join(", ");
            self.note(word.span().start, format!("`severity`: expected one of {words}"));
        }
        severity
    }

    fn limits(&mut self, raw: &[Spanned<RawExample>], examples: &[RuledExample]) {
        if let Some(first) = raw.get(MOST) {
            self.note(
                first.span().start,
                format!("more than {MOST} examples: they go along with every call, choose the best"),
            );
        }
        let chars = |text: &Option<String>| text.as_ref().map_or(0, |text| text.chars().count());
        let all: usize =
            examples.iter().map(|it| it.claim.chars().count() + chars(&it.evidence) + chars(&it.note)).sum();
        if all > MOST_CHARS {
            self.note(
                self.text.trim_end().len(),
                format!("{all} characters in all, of at most {MOST_CHARS}: shorten the passages"),
            );
        }
    }

    fn contradictions(&mut self, raw: &[Spanned<RawExample>]) {
        let mut known: HashMap<(String, String), (String, usize)> = HashMap::new();
        for example in raw {
            let (at, it) = (example.span().start, example.get_ref());
            let key =
                (it.claim.get_ref().trim().to_owned(), it.evidence.as_deref().unwrap_or_default().to_owned());
            let line = self.line(at);
            let verdict = it.verdict.get_ref().clone();
            match known.get(&key).cloned() {
                Some((other, _)) if other == verdict => {
                    self.note(at, "this example is there twice".to_owned());
                }
                Some((_, first)) => {
                    self.note(at, format!("the example in line {first} says otherwise about the same claim"));
                }
                None => {
                    known.insert(key, (verdict, line));
                }
            }
        }
    }
}
