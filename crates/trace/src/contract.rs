//! The types of `groundcrew.trace/v1`. The JSON Schema in `schemas/` is generated from them.

use std::fmt;

use chrono::{DateTime, SecondsFormat, Utc};
use schemars::JsonSchema;
use serde::de::{Deserializer, Error as _, Unexpected};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Map;

/// The only version of the contract that exists.
pub const SCHEMA: &str = "groundcrew.trace/v1";

/// The longest `trace_id` and `project`, in Unicode scalar values.
pub const MAX_ID_CHARS: usize = 256;

/// One production trace of a RAG system: a question, the evidence that was retrieved for it, and
/// the answer that the model gave. One message carries one trace. Fields that this version does
/// not know are kept as they are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trace {
    /// Always `groundcrew.trace/v1`.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// The producer's id of this trace; unique within the project. 1 to 256 characters, not blank.
    #[schemars(length(min = 1, max = 256))]
    pub trace_id: String,
    /// Who owns this trace; policies and thresholds are set per project. 1 to 256 characters, not blank.
    #[schemars(length(min = 1, max = 256))]
    pub project: String,
    /// When the answer was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub occurred_at: Option<Timestamp>,
    /// Why this trace was sent. `monitoring` and `user_report` are never sampled away.
    #[serde(default, deserialize_with = "null_as_default")]
    #[schemars(with = "Option<Origin>")]
    pub origin: Origin,
    /// What the answer was meant to be. Only `factual` answers can be audited against evidence.
    #[serde(default, deserialize_with = "null_as_default")]
    #[schemars(with = "Option<Intent>")]
    pub intent: Intent,
    /// The user's question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// The answer under audit. Present and empty means that the model said nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// What the retriever found, all of it, not only what was put into the prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retrieval: Option<Retrieval>,
    /// Authoritative documents, for the kind `reference`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<Vec<Reference>>,
    /// A judgment that a person has already made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub human_label: Option<HumanLabel>,
    /// `high` sends every claim that is not grounded to people.
    #[serde(default, deserialize_with = "null_as_default")]
    #[schemars(with = "Option<Risk>")]
    pub risk: Risk,
    /// Subject area, such as `health` or `legal`; a project can list domains that people must see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// What is at stake in a wrongly blocked answer.
    #[serde(default, deserialize_with = "null_as_default")]
    #[schemars(with = "Option<Value>")]
    pub value: Value,
    /// The model and prompt that made the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator: Option<Generator>,
    /// How long the pipeline took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timings: Option<Timings>,
    /// Who is told when a critical finding is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_owner: Option<String>,
    /// The audit kinds wanted; absent or empty means what the project's configuration says.
    #[serde(default, deserialize_with = "null_as_default")]
    #[schemars(with = "Option<Vec<Kind>>")]
    pub audits: Vec<Kind>,
    /// Anything the producer wants to keep with the trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, serde_json::Value>>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: Map<String, serde_json::Value>,
}

impl Trace {
    /// The retrieved chunks, in the order sent; empty when there is no retrieval.
    pub fn chunks(&self) -> &[Chunk] {
        self.retrieval.as_ref().and_then(|retrieval| retrieval.chunks.as_deref()).unwrap_or_default()
    }
}

/// What the retriever returned for the query.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Retrieval {
    /// When the retrieval ended; it serves for chunks without a time of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retrieved_at: Option<Timestamp>,
    /// True when the stored context is known to be cut; such a trace is never judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated: Option<bool>,
    /// The pieces found. Present and empty means that the retriever found nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunks: Option<Vec<Chunk>>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: Map<String, serde_json::Value>,
}

/// One piece of retrieved evidence.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Chunk {
    /// The id by which a verdict cites this chunk. Several chunks may share one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_id: Option<String>,
    /// Place in the retriever's ranking; a whole number.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "whole_number")]
    pub rank: Option<i64>,
    /// The retriever's or reranker's score, on its own scale.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// The full text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Whether the generator saw this chunk; absent when unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_prompt: Option<bool>,
    /// When this chunk was retrieved, if it differs from the retrieval's time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retrieved_at: Option<Timestamp>,
    /// Where a person can read the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The source's title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Filters, sections and the like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, serde_json::Value>>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: Map<String, serde_json::Value>,
}

/// An authoritative document that the answer is compared with.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reference {
    /// The id by which a verdict cites it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_id: Option<String>,
    /// The full text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Where a person can read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// A judgment made by a person before the audit.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HumanLabel {
    /// Who judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labeler: Option<String>,
    /// Whether the whole answer is faithful; absent or null where the person could not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faithful: Option<bool>,
    /// Faithfulness from 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// Judgments of single claims.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claims: Option<Vec<HumanClaim>>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: Map<String, serde_json::Value>,
}

/// A person's judgment of one claim of the answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HumanClaim {
    /// The claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Whether the evidence supports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faithful: Option<bool>,
    /// The person's own word, read where `faithful` is absent: `supported`, `grounded` and `faithful` mean yes,
    /// `partially_supported`, `unsupported`, `not_supported`, `hallucinated` and `contradicted` mean no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<String>,
    /// Where the claim begins in the answer, in Unicode scalar values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<u64>,
    /// One past its end in the answer, in Unicode scalar values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<u64>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: Map<String, serde_json::Value>,
}

impl HumanClaim {
    /// Whether the person found the claim supported; none where neither `faithful` nor a known `verdict` says so.
    pub fn is_supported(&self) -> Option<bool> {
        self.faithful.or_else(|| match self.verdict.as_deref()?.trim().to_lowercase().as_str() {
            "supported" | "grounded" | "faithful" => Some(true),
            "partially_supported" | "unsupported" | "not_supported" | "hallucinated" | "contradicted" => {
                Some(false)
            }
            _ => None,
        })
    }
}

/// What made the answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Generator {
    /// The model's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The producer's own name of its prompt's version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_version: Option<String>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: Map<String, serde_json::Value>,
}

/// Durations of the producer's pipeline, in milliseconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Timings {
    /// Time spent in retrieval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retrieval_ms: Option<f64>,
    /// Time spent in generation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation_ms: Option<f64>,
}

/// Declares a closed set of words: its type, its spelling, and its parser.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        pub enum $name {
            $($(#[$variant_meta])* #[serde(rename = $word)] $variant),+
        }

        impl $name {
            /// Every value, in declaration order.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The word that stands for this value in messages, tables and configuration.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = UnknownWord;

            fn from_str(word: &str) -> Result<Self, UnknownWord> {
                Self::ALL.iter().copied().find(|value| value.as_str() == word).ok_or_else(|| UnknownWord {
                    word: word.to_owned(),
                    allowed: Self::ALL.iter().map(|value| value.as_str()).collect::<Vec<_>>().join(", "),
                })
            }
        }
    };
}

/// A word that is not one of a closed set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` is not one of: {allowed}")]
pub struct UnknownWord {
    word: String,
    allowed: String,
}

words! {
    /// Which of the five audits.
    Kind {
        /// Closed-world check of every claim .
        HallucinationEval = "hallucination_eval",
        /// Faithfulness of the answer to the retrieved evidence, with omissions.
        Faithfulness = "faithfulness",
        /// Comparison with authoritative reference documents.
        Reference = "reference",
        /// Evidence check that tells missing from insufficient evidence.
        EvidenceCheck = "evidence_check",
        /// Binary gate before delivery.
        Gate = "gate",
    }
}

words! {
    /// Why a trace was sent.
    #[derive(Default)]
    Origin {
        /// A random sample of production.
        #[default] Sample = "sample",
        /// Flagged by automated monitoring.
        Monitoring = "monitoring",
        /// Reported by a user.
        UserReport = "user_report",
    }
}

words! {
    /// What the answer was meant to be.
    #[derive(Default)]
    Intent {
        /// It should say only what the evidence says.
        #[default] Factual = "factual",
        /// It was meant to invent.
        Creative = "creative",
        /// It may use general knowledge.
        OpenDomain = "open_domain",
    }
}

words! {
    /// How much harm a wrong answer can do.
    #[derive(Default)]
    Risk {
        /// The normal case.
        #[default] Standard = "standard",
        /// Health, law, money and the like.
        High = "high",
    }
}

words! {
    /// What is at stake in a wrongly blocked answer.
    #[derive(Default)]
    Value {
        /// The normal case.
        #[default] Normal = "normal",
        /// A person should decide before it is blocked for good.
        High = "high",
    }
}

/// A point in time, written and read as RFC 3339 with an offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema)]
pub struct Timestamp(#[schemars(with = "DateTime<Utc>")] pub DateTime<Utc>);

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0.to_rfc3339_opts(SecondsFormat::AutoSi, true))
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        DateTime::parse_from_rfc3339(&text)
            .map(|time| Self(time.with_timezone(&Utc)))
            .map_err(|error| D::Error::custom(format!("not an RFC 3339 time with an offset ({error})")))
    }
}

/// Reads null as the default, since many producers write every field.
fn null_as_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Reads 3 and 3.0, since data frames write whole numbers as floats; JSON Schema calls both integers.
fn whole_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    let Some(number) = Option::<serde_json::Number>::deserialize(deserializer)? else { return Ok(None) };
    if let Some(whole) = number.as_i64() {
        return Ok(Some(whole));
    }
    const LARGEST_EXACT: f64 = 9_007_199_254_740_992.0;
    match number.as_f64() {
        Some(float) if float.fract() == 0.0 && float.abs() <= LARGEST_EXACT =>
        {
            #[expect(clippy::cast_possible_truncation, reason = "whole and within the exact range of f64")]
            Ok(Some(float as i64))
        }
        _ => Err(D::Error::invalid_value(Unexpected::Other("number"), &"a whole number")),
    }
}
