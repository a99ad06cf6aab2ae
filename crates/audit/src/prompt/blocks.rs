//! A rendered prompt, read back by a judge that is a program.

use serde_json::Value;

use crate::units::SentClaim;

/// The blocks of a rendered user message, for a judge that reads them by program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Blocks {
    /// The question.
    pub question: String,
    /// The whole answer.
    pub answer: String,
    /// The part of the answer to audit, if it is not the whole.
    pub section: Option<String>,
    /// The evidence or the reference, in order.
    pub evidence: Vec<EvidenceBlock>,
    /// The claims to judge, where the list is ours.
    pub claims: Option<Vec<SentClaim>>,
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
    let first = user.strip_prefix("<<")?.lines().next()?;
    let nonce = first.strip_suffix(">>")?.rsplit_once(" #")?.1;
    let (opened, closing) = (format!(" #{nonce}>>\n"), format!("\n<</{nonce}>>"));
    let mut blocks = Blocks::default();
    let mut rest = user;
    while let Some(after) = rest.strip_prefix("<<") {
        let (title, body) = after.split_once(opened.as_str())?;
        let (text, next) = body.split_once(closing.as_str())?;
        match title.split_once(' ').map_or((title, ""), |(word, header)| (word, header)) {
            ("EVIDENCE" | "REFERENCE", header) => {
                let header: Value = serde_json::from_str(header).ok()?;
                let source_id =
                    header.get("source_id").and_then(Value::as_str).unwrap_or_default().to_owned();
                blocks.evidence.push(EvidenceBlock { source_id, text: text.to_owned() });
            }
            ("QUESTION", _) => blocks.question = text.to_owned(),
            ("ANSWER", _) => blocks.answer = text.to_owned(),
            ("SECTION", _) => blocks.section = Some(text.to_owned()),
            ("CLAIMS", _) => {
                let claims = text.lines().map(serde_json::from_str).collect::<Result<_, _>>();
                blocks.claims = Some(claims.ok()?);
            }
            ("METADATA" | super::ruled::BLOCK, _) => {}
            _ => return None,
        }
        rest = next.strip_prefix('\n').unwrap_or(next);
    }
    Some(blocks)
}
