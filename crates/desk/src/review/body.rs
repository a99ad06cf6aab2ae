//! Bodies of requests, as they are written.

use audit::review::{Closing, FinalDecision, Said, Target};
use audit::{Severity, Span, Verdict};
use axum::extract::{FromRequest, Request};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use uuid::Uuid;

use crate::body::Bounded;
use crate::problem::{Problem, Refusal};
use crate::state::Desk;

/// The longest note, in Unicode scalar values.
const NOTE_CHARS: usize = audit::review::MAX_CHARS;

/// Refuses a note that is too long, whatever it is about.
///
/// # Errors
/// 422.
pub(crate) fn check_note(note: Option<&str>) -> Result<(), Refusal> {
    if note.is_some_and(|note| note.chars().count() > NOTE_CHARS) {
        let problem = Problem::new("$.note", format!("longer than {NOTE_CHARS} characters"));
        return Err(Refusal::unprocessable(vec![problem]));
    }
    Ok(())
}

/// A JSON body. What is no JSON is refused with line and column, what is wrong in it with its field.
pub(crate) struct Body<T>(pub T);

impl<T: DeserializeOwned> FromRequest<Desk> for Body<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, desk: &Desk) -> Result<Self, Refusal> {
        let Bounded(bytes) = Bounded::from_request(request, desk).await?;
        read(&bytes).map(Self)
    }
}

fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Refusal> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let (path, inner) = (error.path().to_string(), error.inner());
        if inner.is_data() {
            let path = if path == "." { "$".to_owned() } else { format!("$.{path}") };
            return Refusal::unprocessable(vec![Problem::new(path, plain(inner))]);
        }
        Refusal::malformed(format!("not JSON: {}", plain(inner))).at(inner.line(), inner.column())
    })?;
    reader.end().map_err(|error| {
        Refusal::malformed("there is something behind the JSON").at(error.line(), error.column())
    })?;
    Ok(value)
}

/// The message without the place, which is said apart.
fn plain(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_owned()
}

/// Something that is done under a fence.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fenced {
    /// The fence that taking the item gave.
    pub fence: i64,
    /// The reviewer's words.
    #[serde(default)]
    pub note: Option<String>,
}

/// The kinds of rulings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Word {
    /// The judge is right about a claim or an omission.
    Confirm,
    /// It is otherwise: say `verdict` and, for a finding, `severity`. An omission is overridden when it is none.
    Override,
    /// A note that decides nothing.
    Annotate,
    /// A claim that the judge missed: say `text` and `verdict`.
    Add,
    /// Whether the whole answer is `faithful`; null when you cannot say.
    Overall,
    /// The ruling `undo` does not count any more.
    Undo,
}

/// A ruling.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RulingBody {
    /// The fence that taking the item gave.
    pub fence: i64,
    /// The version of the report that was shown.
    pub report_version: String,
    /// An id of your own making: said twice under one id is said once. Without it one is made.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub id: Option<Uuid>,
    /// What it says.
    pub ruling: Word,
    /// The claim it is about, from 0.
    #[serde(default)]
    pub claim: Option<usize>,
    /// The omission it is about, from 0.
    #[serde(default)]
    pub omission: Option<usize>,
    /// The verdict that is right.
    #[serde(default)]
    pub verdict: Option<Verdict>,
    /// How grave it is.
    #[serde(default)]
    pub severity: Option<Severity>,
    /// The claim that the judge missed.
    #[serde(default)]
    pub text: Option<String>,
    /// Where that stands in the answer: first Unicode scalar value, from 0. Found by its words when it is left out.
    #[serde(default)]
    pub start: Option<usize>,
    /// One past its last.
    #[serde(default)]
    pub end: Option<usize>,
    /// Whether the whole answer is faithful.
    #[serde(default)]
    pub faithful: Option<bool>,
    /// The id of the ruling to withdraw.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub undo: Option<Uuid>,
    /// Your words.
    #[serde(default)]
    pub note: Option<String>,
}

impl RulingBody {
    /// What is said.
    ///
    /// # Errors
    /// The field that is missing.
    pub(crate) fn said(&self) -> Result<Said, Refusal> {
        let missing = |path: &str, what: &str| Refusal::unprocessable(vec![Problem::new(path, what)]);
        let target = match (self.claim, self.omission) {
            (Some(_), Some(_)) => {
                return Err(missing("$.omission", "a ruling is about one thing: leave one out"));
            }
            (Some(at), None) => Some(Target::Claim(at)),
            (None, Some(at)) => Some(Target::Omission(at)),
            (None, None) => None,
        };
        let named = || target.ok_or_else(|| missing("$.claim", "missing: say which claim or omission"));
        Ok(match self.ruling {
            Word::Confirm => Said::Confirm(named()?),
            Word::Override => {
                Said::Override { target: named()?, verdict: self.verdict, severity: self.severity }
            }
            Word::Annotate => Said::Annotate(target),
            Word::Add => Said::Add {
                text: self.text.clone().ok_or_else(|| missing("$.text", "missing: the claim"))?,
                verdict: self
                    .verdict
                    .ok_or_else(|| missing("$.verdict", "missing: which verdict is right"))?,
                severity: self.severity,
                span: self.start.zip(self.end).map(|(start, end)| Span { start, end }),
            },
            Word::Overall => Said::Overall { faithful: self.faithful },
            Word::Undo => {
                Said::Withdraw(self.undo.ok_or_else(|| missing("$.undo", "missing: the id of the ruling"))?)
            }
        })
    }
}

/// The end of a review.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CloseBody {
    /// The fence that taking the item gave.
    pub fence: i64,
    /// Whether the whole answer is faithful; null when you cannot say. When it is left out, the rulings decide.
    #[serde(default, deserialize_with = "said")]
    pub faithful: Option<Option<bool>>,
    /// What the producer should do; asked for where the answer is held back.
    #[serde(default)]
    pub decision: Option<FinalDecision>,
    /// Your words.
    #[serde(default)]
    pub note: Option<String>,
}

/// Tells null from nothing.
fn said<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Option<bool>>, D::Error> {
    Option::<bool>::deserialize(deserializer).map(Some)
}

impl CloseBody {
    pub(crate) fn closing(&self) -> Closing {
        Closing { faithful: self.faithful, decision: self.decision }
    }
}

/// Why a dead letter needs nothing more.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoteBody {
    /// Your words.
    #[serde(default)]
    pub note: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let status = |text: &str| read::<CloseBody>(text.as_bytes()).err().map(|it| it.status().as_u16());
        assert_eq!(status(r#"{"fence": 1}"#), None);
        assert_eq!(status(r#"{"fence": "1"}"#), Some(422));
        assert_eq!(status(r#"{"fence": 1, "faithfull": true}"#), Some(422));
        assert_eq!(status(r#"{"fence": 1"#), Some(400));
        assert_eq!(status(r#"{"fence": 1} x"#), Some(400));
    }

    #[test]
    fn notes_at_the_end_have_a_limit() {
        let status = |note: &str| check_note(Some(note)).err().map(|it| it.status().as_u16());
        assert_eq!(status(&"é".repeat(NOTE_CHARS)), None);
        assert_eq!(status(&"é".repeat(NOTE_CHARS + 1)), Some(422));
        assert!(check_note(None).is_ok());
    }

    #[test]
    fn null_is_not_the_same_as_nothing() {
        let faithful = |text: &str| read::<CloseBody>(text.as_bytes()).map(|body| body.faithful).ok();
        assert_eq!(faithful(r#"{"fence": 1}"#), Some(None));
        assert_eq!(faithful(r#"{"fence": 1, "faithful": null}"#), Some(Some(None)));
        assert_eq!(faithful(r#"{"fence": 1, "faithful": true}"#), Some(Some(Some(true))));
    }
}
