//! What the judge is asked: a versioned prompt, rendered with the trace between nonce delimiters.
//!
//! Order of the parts: the stable instructions first, then the evidence, then question and answer,
//! then what changes from call to call. Providers cache by prefix, so this order is the cheap one.

use std::fmt::Write as _;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use trace::{Kind, Trace};

use crate::policy::Remedy;
use crate::reply::Problem;
use crate::report::Span;

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
    system: String,
    task: String,
    section_task: String,
    strengthen: String,
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
    /// No prompt of this version is known.
    #[error("no prompt `{version}` of kind {kind} is known to this version of groundcrew")]
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
        let (header, parts) = file.split_once("\n=== ").unwrap_or((file, ""));
        let field = |key: &'static str| {
            header
                .lines()
                .find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))
                .map(|value| value.trim().to_owned())
                .ok_or(PromptError::Header(key))
        };
        let part = |name: &'static str| {
            parts
                .split("\n=== ")
                .find_map(|part| part.split_once('\n').filter(|(title, _)| title.trim() == name))
                .map(|(_, text)| text.trim().to_owned())
                .ok_or(PromptError::Part(name))
        };
        Ok(Self {
            kind: field("kind")?.parse().map_err(PromptError::Kind)?,
            version: field("version")?,
            notes: field("notes")?,
            hash: hex(&Sha256::digest(file.as_bytes())),
            system: part("system")?,
            task: part("task")?,
            section_task: part("section task")?,
            strengthen: part("strengthen")?,
        })
    }

    /// The newest embedded prompt of a kind.
    ///
    /// # Errors
    /// A defect of an embedded file.
    pub fn newest(spec: &crate::kinds::Spec) -> Result<Self, PromptError> {
        let source = spec.prompts.last().ok_or(PromptError::Part("system"))?;
        Self::parse(source.0)
    }

    /// The embedded prompt of that version: an open audit keeps its own across deploys.
    ///
    /// # Errors
    /// [`PromptError::Unknown`] when this binary does not have it.
    pub fn of_version(spec: &crate::kinds::Spec, version: &str) -> Result<Self, PromptError> {
        spec.prompts
            .iter()
            .filter_map(|source| Self::parse(source.0).ok())
            .find(|prompt| prompt.version == version)
            .ok_or_else(|| PromptError::Unknown { kind: spec.kind, version: version.to_owned() })
    }

    /// The stable instructions.
    pub fn system(&self) -> &str {
        &self.system
    }
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

/// Renders one call. `section`: the part of the answer to audit, if it is not the whole.
pub fn render(
    prompt: &Prompt,
    trace: &Trace,
    section: Option<Span>,
    nonce: &str,
    constraint: Option<Constraint<'_>>,
) -> Rendered {
    let answer = trace.answer.as_deref().unwrap_or_default();
    let mut user = String::with_capacity(answer.len() + 4096);
    for chunk in trace.chunks() {
        let mut header = json!({ "source_id": chunk.source_id, "rank": chunk.rank });
        for (key, value) in
            [("score", chunk.score.map(Value::from)), ("title", chunk.title.clone().map(Value::from))]
        {
            if let (Some(object), Some(value)) = (header.as_object_mut(), value) {
                object.insert(key.to_owned(), value);
            }
        }
        block(&mut user, nonce, &format!("EVIDENCE {header}"), chunk.text.as_deref().unwrap_or_default());
    }
    block(&mut user, nonce, "QUESTION", trace.query.as_deref().unwrap_or_default());
    block(&mut user, nonce, "ANSWER", answer);
    match section {
        Some(section) => {
            let part: String = answer.chars().skip(section.start).take(section.end - section.start).collect();
            block(&mut user, nonce, "SECTION", &part);
            user.push_str(&prompt.section_task);
        }
        None => user.push_str(&prompt.task),
    }
    if let Some(constraint) = constraint {
        constrain(&mut user, prompt, &constraint);
    }
    Rendered { system: prompt.system.clone(), user }
}

fn block(user: &mut String, nonce: &str, title: &str, text: &str) {
    // Writing to a String cannot fail.
    let _ = write!(user, "<<{nonce} {title}>>\n{text}\n<<{nonce} end>>\n");
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

/// The first of `candidates` that occurs in no text of the trace, so that no text can close its own block.
pub fn choose_nonce(trace: &Trace, mut candidates: impl Iterator<Item = String>) -> Option<String> {
    let texts: Vec<&str> =
        [trace.query.as_deref(), trace.answer.as_deref()]
            .into_iter()
            .chain(trace.chunks().iter().flat_map(|chunk| {
                [chunk.text.as_deref(), chunk.source_id.as_deref(), chunk.title.as_deref()]
            }))
            .flatten()
            .collect();
    candidates.find(|nonce| !texts.iter().any(|text| text.contains(nonce.as_str())))
}

/// The blocks of a rendered user message, for a judge that reads them by program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Blocks {
    /// The question.
    pub question: String,
    /// The whole answer.
    pub answer: String,
    /// The part of the answer to audit, if it is not the whole.
    pub section: Option<String>,
    /// The evidence, in order.
    pub evidence: Vec<EvidenceBlock>,
}

/// One evidence block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvidenceBlock {
    /// The id to cite.
    pub source_id: String,
    /// The text.
    pub text: String,
}

/// Reads a user message back into its blocks; none when it is not one of ours.
pub fn blocks(user: &str) -> Option<Blocks> {
    let nonce = user.strip_prefix("<<")?.split([' ', '>']).next()?;
    let (opening, closing) = (format!("<<{nonce} "), format!("\n<<{nonce} end>>"));
    let mut blocks = Blocks::default();
    let mut rest = user;
    while let Some(after) = rest.strip_prefix(opening.as_str()) {
        let (title, body) = after.split_once(">>\n")?;
        let (text, next) = body.split_once(closing.as_str())?;
        match title.split_once(' ').map_or((title, ""), |(word, header)| (word, header)) {
            ("EVIDENCE", header) => {
                let header: Value = serde_json::from_str(header).ok()?;
                let source_id =
                    header.get("source_id").and_then(Value::as_str).unwrap_or_default().to_owned();
                blocks.evidence.push(EvidenceBlock { source_id, text: text.to_owned() });
            }
            ("QUESTION", _) => blocks.question = text.to_owned(),
            ("ANSWER", _) => blocks.answer = text.to_owned(),
            ("SECTION", _) => blocks.section = Some(text.to_owned()),
            _ => return None,
        }
        rest = next.strip_prefix('\n').unwrap_or(next);
    }
    Some(blocks)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}
