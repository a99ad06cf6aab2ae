//! What the typed replies of all kinds share: their schemas, and fields that mean "nothing" in words.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::reply::{Code, Fields, Problem};
use crate::report::{Confidence, Discrepancy, Fabrication, Severity};
use crate::verify::{Corpus, is_absent, says_absent};

/// The severities, confidences and fabrications as plain lists of words, which every provider's
/// structured output accepts.
#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
#[expect(dead_code, reason = "only its schema is used")]
pub enum SeverityWord {
    Critical,
    Major,
    Minor,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "UPPERCASE")]
#[expect(dead_code, reason = "only its schema is used")]
pub enum ConfidenceWord {
    High,
    Medium,
    Low,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
#[expect(dead_code, reason = "only its schema is used")]
pub enum FabricationWord {
    Plausible,
    Likely,
}

/// An enum value, and the judge's own spelling of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word<T> {
    pub value: T,
    pub spelling: String,
}

impl<T: Serialize> Serialize for Word<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
    }
}

/// The JSON Schema of a reply: all keys required, no others, no references, no formats, so that
/// every provider's structured output takes it. Ranges are the reader's business.
pub fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    simplify(&mut schema);
    schema
}

fn simplify(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            object.retain(|key, value| {
                !matches!(
                    (key.as_str(), value),
                    ("format" | "minimum" | "title", Value::String(_) | Value::Number(_))
                )
            });
            object.values_mut().for_each(simplify);
        }
        Value::Array(items) => items.iter_mut().for_each(simplify),
        _ => {}
    }
}

/// Reads a whole reply with `read`; the reply, and what was odd about it.
///
/// # Errors
/// Everything that is not as the schema and its rules want it.
pub fn read<'a, T>(
    object: &'a Map<String, Value>,
    read: impl FnOnce(&mut Fields<'a>) -> Option<T>,
) -> Result<(T, Vec<String>), Vec<Problem>> {
    let mut fields = Fields::new("$", object);
    let reply = read(&mut fields);
    let (problems, notes) = fields.finish();
    match reply {
        Some(reply) if problems.is_empty() => Ok((reply, notes)),
        _ => Err(problems),
    }
}

/// A quote; none where the judge says in words that there is none. The outer option is empty when the key
/// is missing or of the wrong type.
pub fn quote(fields: &mut Fields<'_>, key: &'static str, corpus: &Corpus<'_>) -> Option<Option<String>> {
    let text = fields.nullable_text(key)?;
    // Evidence may say such a thing itself: what stands there, or nearly does, is a quote.
    let is_remark = |text: &&str| says_absent(text) && corpus.is_foreign(text);
    Some(match text.filter(is_remark) {
        Some(_) => {
            fields.note(key, "a remark that the evidence is silent, read as null");
            None
        }
        None => said(fields, key, text),
    })
}

/// A source id. One that the trace has is an id even where it reads like words for nothing.
pub fn source(fields: &mut Fields<'_>, key: &'static str, corpus: &Corpus<'_>) -> Option<Option<String>> {
    Some(match fields.nullable_text(key)? {
        Some(id) if corpus.resolve(id).is_some() => Some(id.to_owned()),
        Some(id) if says_absent(id) => {
            fields.note(key, "a remark that the evidence is silent, read as null");
            None
        }
        id => said(fields, key, id),
    })
}

fn said(fields: &mut Fields<'_>, key: &str, text: Option<&str>) -> Option<String> {
    let text = text?;
    if is_absent(text) {
        fields.note(key, "words for nothing, read as null");
        return None;
    }
    Some(text.to_owned())
}

/// A verdict and the judge's spelling of it.
pub fn verdict<T: Copy>(
    fields: &mut Fields<'_>,
    key: &'static str,
    words: &[(&'static str, T)],
) -> Option<Word<T>> {
    let allowed: Vec<&'static str> = words.iter().map(|(word, _)| *word).collect();
    let word = fields.word(key, &allowed)?;
    let spelling = fields.string(key).unwrap_or_default().to_owned();
    let (_, value) = words.iter().find(|(known, _)| *known == word)?;
    Some(Word { value: *value, spelling })
}

/// How grave a finding is: required of a finding, nothing for a grounded claim.
pub fn severity(fields: &mut Fields<'_>, is_finding: Option<bool>) -> Option<Option<Severity>> {
    const WORDS: [(&str, Severity); 3] =
        [("critical", Severity::Critical), ("major", Severity::Major), ("minor", Severity::Minor)];
    let word = fields.nullable_word("severity", &WORDS.map(|(word, _)| word))?;
    let severity = word.and_then(|word| WORDS.iter().find(|(known, _)| *known == word));
    match (is_finding?, severity) {
        (true, None) => {
            fields.refuse(
                Code::MissingKey,
                "severity",
                "null; a claim that is not grounded needs `critical`, `major` or `minor`",
            );
            None
        }
        (false, Some(_)) => {
            fields.note("severity", "a grounded claim has none, ignored");
            Some(None)
        }
        (_, severity) => Some(severity.map(|(_, severity)| *severity)),
    }
}

/// How sure the judge was.
pub fn confidence(fields: &mut Fields<'_>) -> Option<Confidence> {
    const WORDS: [(&str, Confidence); 3] =
        [("HIGH", Confidence::High), ("MEDIUM", Confidence::Medium), ("LOW", Confidence::Low)];
    let word = fields.word("confidence", &WORDS.map(|(word, _)| word))?;
    WORDS.iter().find(|(known, _)| *known == word).map(|(_, confidence)| *confidence)
}

/// Plausible or likely made up: required of an unsupported claim, nothing for any other.
pub fn fabrication(fields: &mut Fields<'_>, is_unsupported: Option<bool>) -> Option<Option<Fabrication>> {
    const WORDS: [(&str, Fabrication); 2] =
        [("plausible", Fabrication::Plausible), ("likely", Fabrication::Likely)];
    let word = fields.nullable_word("fabrication", &WORDS.map(|(word, _)| word))?;
    let fabrication = word.and_then(|word| WORDS.iter().find(|(known, _)| *known == word));
    match (is_unsupported?, fabrication) {
        (true, None) => {
            fields.refuse(
                Code::MissingKey,
                "fabrication",
                "null; an unsupported claim needs `plausible` or `likely`",
            );
            None
        }
        (false, Some(_)) => {
            fields.note("fabrication", "only an unsupported claim has one, ignored");
            Some(None)
        }
        (_, fabrication) => Some(fabrication.map(|(_, fabrication)| *fabrication)),
    }
}

/// The passage of a grounded claim needs the id of its block.
pub fn require_source(
    fields: &mut Fields<'_>,
    key: &'static str,
    has_quote: bool,
    source: Option<&Option<String>>,
) {
    if has_quote && source == Some(&None) {
        fields.refuse(
            Code::MissingKey,
            key,
            "null; the passage of a supported claim needs the source_id of its block",
        );
    }
}

/// A figure of the judge beside ours; nothing where they agree.
pub fn discrepancy(path: &str, judge: f64, ours: Option<f64>, tolerance: f64) -> Option<Discrepancy> {
    let ours = ours?;
    ((judge - ours).abs() > tolerance).then(|| Discrepancy { path: path.to_owned(), judge, ours })
}

/// A count of the judge beside ours.
pub fn count_discrepancy(path: &str, judge: u64, ours: usize) -> Option<Discrepancy> {
    #[expect(
        clippy::cast_precision_loss,
        reason = "counts of claims; a judge's figure may lose its last digits"
    )]
    discrepancy(path, judge as f64, Some(ours as f64), 0.0)
}
