//! What a reply looks like: the keys and words of each kind, and how its figures follow from its claims.
//!
//! One file per kind. Nothing else in this crate knows a kind's keys.

mod evidence_check;
mod extraction;
mod faithfulness;
mod gate;
mod hallucination_eval;
mod reference;

use audit::kinds::{self, Listing, Spec};
use serde_json::{Map, Value};

use crate::honest::{Analysis, Claim};

/// A JSON object.
type Object = Map<String, Value>;

/// The keys and words of one kind's reply.
#[derive(Debug)]
pub(crate) struct Shape {
    /// The kind that is asked for; none where only the claims are to be listed.
    spec: Option<&'static Spec>,
    /// The key of the list of claims.
    pub(crate) list: &'static str,
    /// In a claim, the key of the verdict and the word for a grounded one.
    pub(crate) verdict: Option<(&'static str, &'static str)>,
    /// In a grounded claim, the key of the passage.
    pub(crate) quote: Option<&'static str>,
    /// In a claim, the key of the passage's source id.
    pub(crate) source: Option<&'static str>,
    /// A figure, as a JSON pointer, and a value outside of its range.
    pub(crate) figure: Option<(&'static str, f64)>,
    /// A text of the reply in which a remark does no harm, as a JSON pointer.
    pub(crate) remark: &'static str,
    /// A claim in the kind's words.
    claim: fn(&Claim<'_>) -> Value,
    /// What stands beside claims and figures.
    beside: fn(&Analysis<'_>) -> Object,
    /// The figures that follow from the claims.
    figures: fn(&[Value], &Object) -> Object,
}

/// Every shape that is known.
static ALL: [&Shape; 6] = [
    &faithfulness::SHAPE,
    &hallucination_eval::SHAPE,
    &reference::SHAPE,
    &evidence_check::SHAPE,
    &gate::SHAPE,
    &extraction::SHAPE,
];

impl Shape {
    /// The shape of this schema name.
    pub(crate) fn named(name: &str) -> Option<&'static Shape> {
        ALL.into_iter().find(|shape| shape.name() == name)
    }

    /// The shape whose keys are all there. Where several are, the one with most keys: it has the others' too.
    pub(crate) fn with_keys(has: impl Fn(&str) -> bool) -> Option<&'static Shape> {
        let meant = |shape: &&Shape| shape.keys().iter().all(|key| has(key));
        ALL.into_iter().filter(meant).max_by_key(|shape| shape.keys().len())
    }

    /// The names of all shapes, for messages.
    pub(crate) fn names() -> String {
        ALL.map(Shape::name).join(", ")
    }

    /// Whether the judge is sent the claims, so that each is known by its id.
    pub(crate) fn is_sent_claims(&self) -> bool {
        self.spec.is_some_and(|spec| spec.listing == Listing::Sent)
    }

    fn name(&self) -> &'static str {
        self.spec.map_or(kinds::extraction::SCHEMA_NAME, |spec| spec.kind.as_str())
    }

    /// The required top-level keys.
    fn keys(&self) -> &'static [&'static str] {
        self.spec.map_or(kinds::extraction::KEYS, Spec::reply_keys)
    }
}

/// A reply that can be taken apart.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reply {
    pub(crate) shape: &'static Shape,
    /// An object with the list of claims in it.
    value: Object,
}

impl PartialEq for Shape {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Reply {
    /// What was found out, in the words of a kind.
    pub(crate) fn new(shape: &'static Shape, analysis: &Analysis<'_>) -> Reply {
        let mut reply = Reply { shape, value: (shape.beside)(analysis) };
        reply.set_claims(analysis.claims.iter().map(shape.claim).collect());
        reply
    }

    /// A text read as a reply of this shape; none when it is no object with a list of claims.
    pub(crate) fn read(shape: &'static Shape, text: &str) -> Option<Reply> {
        let value: Object = serde_json::from_str(text).ok()?;
        value.get(shape.list)?.is_array().then_some(Reply { shape, value })
    }

    pub(crate) fn to_json(&self) -> String {
        // A map of texts cannot fail to serialise; the empty text would be refused like any broken reply.
        serde_json::to_string(&self.value).unwrap_or_default()
    }

    pub(crate) fn claims(&self) -> &[Value] {
        self.value.get(self.shape.list).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// Changes the list of claims and brings the figures in line with it.
    pub(crate) fn change_claims(&mut self, change: impl FnOnce(&mut Vec<Value>)) {
        let mut claims = self.claims().to_vec();
        change(&mut claims);
        self.set_claims(claims);
    }

    /// Sets the figures to those of other claims; the reply's own stay.
    pub(crate) fn count_instead(&mut self, claims: &[Value]) {
        let figures = (self.shape.figures)(claims, &self.value);
        self.value.extend(figures);
    }

    /// A claim, put into the kind's words.
    pub(crate) fn word(&self, claim: &Claim<'_>) -> Value {
        (self.shape.claim)(claim)
    }

    /// The reply as JSON, for changes that make it a wrong one.
    pub(crate) fn into_value(self) -> Value {
        Value::Object(self.value)
    }

    fn set_claims(&mut self, claims: Vec<Value>) {
        self.count_instead(&claims);
        self.value.insert(self.shape.list.to_owned(), Value::Array(claims));
    }
}

/// How many claims have this word under the key.
fn count(claims: &[Value], key: &str, word: &str) -> usize {
    claims.iter().filter(|claim| claim.get(key).and_then(Value::as_str) == Some(word)).count()
}

/// A part of the whole, 0 to 1; none where there is nothing.
#[expect(clippy::cast_precision_loss, reason = "nobody makes 2^53 claims")]
fn share(part: usize, whole: usize) -> Option<f64> {
    (0 < whole).then(|| part as f64 / whole as f64)
}

/// The summary of a reply. It says who speaks, and why no one should believe it.
fn summary(grounded: usize, total: usize) -> String {
    format!("Practice judge, by word overlap only: {grounded} of {total} claims are grounded.")
}

/// The members of a JSON object literal.
fn members(value: Value) -> Object {
    match value {
        Value::Object(members) => members,
        _ => Object::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_shape() {
        for spec in kinds::ALL {
            let shape = Shape::named(spec.kind.as_str()).unwrap();
            assert!(std::ptr::eq(shape.spec.unwrap(), *spec));
        }
        assert!(Shape::named("claim_extraction").unwrap().spec.is_none());
        assert!(Shape::named("poetry").is_none());
    }

    #[test]
    fn a_shape_is_known_by_its_prompts() {
        let prompts = audit::prompt::Library::embedded().unwrap();
        for prompt in kinds::ALL.iter().flat_map(|spec| prompts.of_kind(spec.kind)) {
            let text = prompt.prefix();
            let shape = Shape::with_keys(|key| text.contains(&format!("\"{key}\""))).unwrap();
            assert_eq!(shape.name(), prompt.kind.as_str(), "{}", prompt.version);
        }
    }

    #[test]
    fn a_reply_without_claims_has_every_key() {
        let analysis = Analysis { claims: Vec::new(), omissions: Vec::new() };
        for shape in ALL {
            let reply = Reply::new(shape, &analysis);
            for key in shape.keys() {
                assert!(reply.value.contains_key(*key), "{} {key}", shape.name());
            }
            assert_eq!(reply.value.len(), shape.keys().len(), "{}", shape.name());
            assert_eq!(Reply::read(shape, &reply.to_json()), Some(reply));
        }
    }
}
