//! What the judge is asked: a versioned prompt, rendered with the trace between nonce delimiters.
//!
//! Order of the parts: the stable instructions first, then the evidence, then question and answer,
//! then what changes from call to call. Providers cache by prefix, so this order is the cheap one.

mod blocks;
mod example;
mod library;
mod ruled;

pub use blocks::{Blocks, EvidenceBlock, blocks};
pub use example::Example;
pub use library::Library;
pub use ruled::RuledExample;

use std::fmt::Write as _;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use trace::{Kind, Trace};

use crate::evidence::{Basis, Passage};
use crate::kinds::{self, Listing, Spec};
use crate::policy::Remedy;
use crate::reply::Problem;
use crate::text;
use crate::units::Unit;

/// The text of a prompt file, embedded in the binary.
#[derive(Debug, Clone, Copy)]
pub struct Source(pub &'static str);

/// One version of a kind's prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// The kind it is for.
    pub kind: Kind,
    /// Its version; unique, and stored with every attempt.
    pub version: String,
    /// Which models it was written for.
    pub notes: String,
    /// SHA-256 of the file, in hex; stored with every attempt.
    pub hash: String,
    /// The whole file.
    pub file: String,
    system: String,
    examples: String,
    task: String,
    section_task: Option<String>,
    strengthen: String,
    extraction: Option<(String, String)>,
    /// Examples from rulings; none unless [`Prompt::with_examples`] gave it some.
    ruled: ruled::Ruled,
}

/// A prompt file that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PromptError {
    /// A line of the header is missing.
    #[error("the prompt file has no `{0}:` line in its header")]
    Header(&'static str),
    /// The header names a kind that does not exist.
    #[error("the prompt file names an unknown kind")]
    Kind(#[source] trace::contract::UnknownWord),
    /// A part is missing.
    #[error("the prompt file has no part `=== {0}`")]
    Part(&'static str),
    /// A part stands there twice.
    #[error("the prompt file has the part `=== {0}` twice: one of them would not be used")]
    PartTwice(String),
    /// The version has characters that no version has.
    #[error("`{0}` is no version: up to 64 letters of ASCII, digits, `.`, `_` and `-`, such as `gate-3`")]
    Version(String),
    /// The file holds examples from rulings itself.
    #[error(
        "the prompt file has a part `=== {part}`: examples from rulings come from the files of \
        `prompts.examples_dir`, where their review is looked at",
        part = ruled::PART
    )]
    RuledPart,
    /// Examples cannot be added.
    #[error("no examples can be added to the prompt `{0}`: there are none, or it has some already")]
    Examples(String),
    /// This version cannot run the kind.
    #[error(transparent)]
    Unavailable(#[from] kinds::Unavailable),
    /// Two files claim the same version and differ.
    #[error("two different prompts have the version `{0}`: a changed prompt needs a version of its own")]
    Twice(String),
    /// No prompt of this version is known.
    #[error("no prompt `{version}` of kind {kind} is known; put its file into the folder `prompts.dir`")]
    Unknown {
        /// The kind.
        kind: Kind,
        /// The version asked for.
        version: String,
    },
}

impl Prompt {
    /// Reads a prompt file: header lines `key: value`, then parts that begin with `=== name`.
    ///
    /// # Errors
    /// Which header line or part is missing.
    pub fn parse(file: &str) -> Result<Self, PromptError> {
        // Written on another system, it is the same prompt.
        let file = &file.trim_start_matches('\u{feff}').replace("\r\n", "\n");
        let (header, parts) = file.split_once("\n=== ").unwrap_or((file, ""));
        let field = |key: &'static str| {
            header
                .lines()
                .find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))
                .map(|value| value.trim().to_owned())
                .filter(|value| !value.is_empty())
                .ok_or(PromptError::Header(key))
        };
        let part = |name: &str| {
            parts
                .split("\n=== ")
                .find_map(|part| part.split_once('\n').filter(|(title, _)| title.trim() == name))
                .map(|(_, text)| text.trim().to_owned())
        };
        let required = |name: &'static str| part(name).ok_or(PromptError::Part(name));
        let mut titles: Vec<&str> =
            parts.split("\n=== ").filter_map(|part| part.lines().next()).map(str::trim).collect();
        titles.sort_unstable();
        if let Some(pair) = titles.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(PromptError::PartTwice(text::shorten(pair[0], 40).escape_debug().to_string()));
        }
        if titles.contains(&ruled::PART) {
            return Err(PromptError::RuledPart);
        }
        let kind: Kind = field("kind")?.parse().map_err(PromptError::Kind)?;
        let extraction = part("extraction system").zip(part("extraction task"));
        if extraction.is_none() && kinds::find(kind).is_ok_and(|spec| spec.listing == Listing::Sent) {
            return Err(PromptError::Part("extraction system` and `=== extraction task"));
        }
        Ok(Self {
            kind,
            version: version(field("version")?)?,
            notes: field("notes")?,
            hash: hex(&Sha256::digest(file.as_bytes())),
            file: file.to_owned(),
            system: required("system")?,
            examples: part("examples").unwrap_or_default(),
            task: required("task")?,
            section_task: part("section task"),
            strengthen: required("strengthen")?,
            extraction,
            ruled: ruled::Ruled::default(),
        })
    }

    /// The stable instructions, with their examples: the same for every trace.
    pub fn prefix(&self) -> String {
        let parts = [Some(self.system.as_str()), Some(self.examples.as_str()), self.ruled.introduction()];
        parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
    }

    /// The examples, one by one.
    pub fn examples(&self) -> Vec<Example> {
        self.examples.split("\n\n").filter_map(Example::parse).collect()
    }

    fn system_for(&self, unit: &Unit) -> String {
        match (unit, &self.extraction) {
            (Unit::Extraction(_), Some((system, _))) => system.clone(),
            _ => self.prefix(),
        }
    }

    fn task_for(&self, unit: &Unit) -> &str {
        match (unit, &self.extraction, &self.section_task) {
            (Unit::Extraction(_), Some((_, task)), _) => task,
            (Unit::Section(_), _, Some(task)) => task,
            _ => &self.task,
        }
    }
}

/// A version as it may stand in tables, file names and commands.
fn version(text: String) -> Result<String, PromptError> {
    const LONGEST: usize = 64;
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if text.len() <= LONGEST && text.chars().all(is_allowed) {
        return Ok(text);
    }
    Err(PromptError::Version(text::shorten(&text, LONGEST).escape_debug().to_string()))
}

/// How a repeated question differs from the first.
#[derive(Debug, Clone, Copy)]
pub struct Constraint<'a> {
    /// The policy's remedy.
    pub remedy: Remedy,
    /// What was wrong with the last reply.
    pub problems: &'a [Problem],
}

/// The two messages of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// The system message: the same for every trace.
    pub system: String,
    /// The user message.
    pub user: String,
}

/// Renders one call about one unit of a trace.
pub fn render(
    prompt: &Prompt,
    spec: &Spec,
    trace: &Trace,
    unit: &Unit,
    nonce: &str,
    constraint: Option<Constraint<'_>>,
) -> Rendered {
    let answer = trace.answer.as_deref().unwrap_or_default();
    let mut user = String::with_capacity(answer.len() + 4096);
    // An extraction asks about the answer alone.
    if !matches!(unit, Unit::Extraction(_)) {
        if !prompt.ruled.lines.is_empty() {
            block(&mut user, nonce, ruled::BLOCK, &prompt.ruled.lines);
        }
        let word = if spec.basis == Basis::Reference { "REFERENCE" } else { "EVIDENCE" };
        for passage in spec.basis.passages(trace) {
            block(&mut user, nonce, &format!("{word} {}", header(&passage)), passage.text);
        }
    }
    if spec.shows_metadata
        && let Some(metadata) = metadata(trace)
    {
        block(&mut user, nonce, "METADATA", &metadata);
    }
    block(&mut user, nonce, "QUESTION", trace.query.as_deref().unwrap_or_default());
    block(&mut user, nonce, "ANSWER", answer);
    if let Some(section) = unit.section() {
        block(&mut user, nonce, "SECTION", text::slice(answer, section));
    }
    if let Unit::Claims(claims) = unit {
        let lines: Vec<String> = claims
            .iter()
            .map(|claim| json!({ "claim_id": claim.id, "claim_text": claim.text }).to_string())
            .collect();
        block(&mut user, nonce, "CLAIMS", &lines.join("\n"));
    }
    user.push_str(prompt.task_for(unit));
    if let Some(constraint) = constraint {
        constrain(&mut user, prompt, &constraint);
    }
    Rendered { system: prompt.system_for(unit), user }
}

/// What stands beside a block's word: the id to cite, and what else is known about the passage.
fn header(passage: &Passage<'_>) -> Value {
    /// Longer metadata of one chunk would drown its text.
    const LONGEST: usize = 300;
    let mut header = Map::new();
    header.insert("source_id".into(), Value::from(passage.source_id));
    let known = [
        ("rank", passage.rank.map(Value::from)),
        ("score", passage.score.map(Value::from)),
        ("title", passage.title.map(Value::from)),
        (
            "metadata",
            passage
                .metadata
                .map(|metadata| Value::Object(metadata.clone()))
                .filter(|metadata| metadata.to_string().len() <= LONGEST),
        ),
    ];
    header.extend(known.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
    Value::Object(header)
}

/// What the trace says about its retrieval: filters, rerankers and the like (docs/audits.md, F-16). Other metadata,
/// such as ids of a conversation, tells the judge nothing and costs tokens.
fn metadata(trace: &Trace) -> Option<String> {
    const TELLING: [&str; 8] =
        ["retriev", "filter", "rerank", "search", "top_k", "index", "embedding", "score"];
    /// More would cost tokens and tell nothing.
    const LONGEST: usize = 2000;
    let tells = |key: &str| {
        let key = key.to_lowercase();
        TELLING.iter().any(|word| key.contains(word))
    };
    let mut all = Map::new();
    all.extend(
        trace.metadata.iter().flatten().filter(|(key, _)| tells(key)).map(|(k, v)| (k.clone(), v.clone())),
    );
    all.extend(trace.retrieval.iter().flat_map(|retrieval| retrieval.unknown.clone()));
    let text = Value::Object(all).to_string();
    (text.len() > "{}".len() && text.len() <= LONGEST).then_some(text)
}

fn block(user: &mut String, nonce: &str, title: &str, text: &str) {
    // Writing to a String cannot fail.
    // The nonce comes last: next to `source_id` small models take it for one.
    let _ = write!(user, "<<{title} #{nonce}>>\n{text}\n<</{nonce}>>\n");
}

/// At most this many problems are sent back; more would only cost tokens.
const MAX_PROBLEMS_SENT: usize = 8;

fn constrain(user: &mut String, prompt: &Prompt, constraint: &Constraint<'_>) {
    let errors = constraint.problems.iter().take(MAX_PROBLEMS_SENT);
    match constraint.remedy {
        Remedy::SamePrompt => {}
        Remedy::AppendError => {
            user.push_str("\n\nYour last reply was refused by validation. Correct this:");
            for problem in errors {
                let _ =
                    write!(user, "\n- {} at {}: {}", problem.code.as_str(), problem.path, problem.message);
            }
        }
        Remedy::Strengthen => {
            user.push_str("\n\n");
            user.push_str(&prompt.strengthen);
            // Codes and places only: the messages may hold words of the judge or of the trace.
            for problem in errors {
                let _ = write!(user, "\n- {} at {}", problem.code.as_str(), problem.path);
            }
        }
    }
}

/// The first of `candidates` that occurs in no text of the trace and in no example from rulings, so that no text can
/// close its own block.
pub fn choose_nonce(
    prompt: &Prompt,
    trace: &Trace,
    mut candidates: impl Iterator<Item = String>,
) -> Option<String> {
    let passages = [Basis::Retrieval, Basis::Reference].map(|basis| basis.passages(trace)).concat();
    let metadata = metadata(trace);
    let mut texts: Vec<&str> = [trace.query.as_deref(), trace.answer.as_deref(), metadata.as_deref()]
        .into_iter()
        .flatten()
        .collect();
    let headers: Vec<String> = passages.iter().map(|passage| header(passage).to_string()).collect();
    texts.extend(passages.iter().map(|passage| passage.text));
    texts.extend(headers.iter().map(String::as_str));
    texts.push(&prompt.ruled.lines);
    candidates.find(|nonce| !texts.iter().any(|text| text.contains(nonce.as_str())))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}
