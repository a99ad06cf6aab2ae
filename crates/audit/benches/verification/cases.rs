//! Traces with replies about them, of the size that the aim speaks of.

use serde_json::{Value, json};
use trace::{Chunk, Kind, Retrieval, Trace};

use crate::facts::{Dice, Fact, Language};

const CLAIMS: usize = 40;
const CHUNKS: usize = 40;
const EVIDENCE_BYTES: usize = 200_000;
const ANSWER_WORDS: usize = 2_000;

/// Writes what a judge would say about a case.
type Judge = fn(&Case) -> String;

/// The kinds that are measured, each with its judge.
pub const KINDS: &[(Kind, Judge)] = &[(Kind::Faithfulness, faithfulness)];

/// What the judge's quotes look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quoting {
    /// Of every grade, and some claims that nothing supports.
    Mixed,
    /// All with other typography than the source.
    Normalised,
    /// All with a middle left out.
    Elided,
    /// All with another digit: the search for what comes nearest runs every time.
    NearMiss,
    /// All in words that stand nowhere.
    Absent,
}

/// A name, a language, a way to quote, and whether the reply fits the trace.
pub type Description = (&'static str, Language, Quoting, bool);

pub const CASES: &[Description] = &[
    ("realistic", Language::English, Quoting::Mixed, true),
    ("all_normalised", Language::English, Quoting::Normalised, true),
    ("all_elided", Language::English, Quoting::Elided, true),
    ("near_misses", Language::English, Quoting::NearMiss, false),
    ("nowhere", Language::English, Quoting::Absent, false),
    ("japanese", Language::Japanese, Quoting::Mixed, true),
    ("japanese_near_misses", Language::Japanese, Quoting::NearMiss, false),
    ("thai", Language::Thai, Quoting::Mixed, true),
    ("arabic", Language::Arabic, Quoting::Mixed, true),
];

/// A trace, and the facts that its claims are about.
pub struct Case {
    pub name: &'static str,
    pub trace: Trace,
    pub is_consistent: bool,
    facts: Vec<Fact>,
    quoting: Quoting,
}

impl Case {
    pub fn new(&(name, language, quoting, is_consistent): &Description) -> Self {
        let mut dice = Dice::new(7);
        let facts: Vec<Fact> = (0..CLAIMS).map(|at| language.fact(at, &mut dice)).collect();
        let chunks = (0..CHUNKS).map(|at| Chunk {
            source_id: Some(source_id(at)),
            rank: i64::try_from(at + 1).ok(),
            text: Some(chunk(language, &facts[at % CLAIMS], &mut dice)),
            ..Chunk::default()
        });
        let chunks = Some(chunks.collect());
        let trace = Trace {
            query: Some("What is known about the sights of the district?".to_owned()),
            answer: Some(answer(language, &facts, &mut dice)),
            retrieval: Some(Retrieval { chunks, ..Retrieval::default() }),
            ..empty_trace()
        };
        Self { name, trace, is_consistent, facts, quoting }
    }
}

fn empty_trace() -> Trace {
    let required = json!({"schema": trace::SCHEMA, "trace_id": "benchmark", "project": "benchmark"});
    serde_json::from_value(required).expect("the three required fields")
}

fn source_id(at: usize) -> String {
    format!("guide-{at}")
}

/// Filler with the fact somewhere in its second half.
fn chunk(language: Language, fact: &Fact, dice: &mut Dice) -> String {
    let size = EVIDENCE_BYTES / CHUNKS;
    let place = size / 2 + dice.roll(size / 3);
    let mut text = String::with_capacity(size + 512);
    let mut is_told = false;
    while text.len() < size {
        if !is_told && text.len() >= place {
            text.push_str(&fact.evidence);
            is_told = true;
        }
        text.push_str(&language.filler(dice));
    }
    text
}

fn answer(language: Language, facts: &[Fact], dice: &mut Dice) -> String {
    let mut parts: Vec<String> = facts.iter().map(|fact| fact.answer.clone()).collect();
    let mut words: usize = parts.iter().map(|part| audit::text::words(part).len()).sum();
    while words < ANSWER_WORDS {
        let filler = language.filler(dice);
        words += audit::text::words(&filler).len();
        parts.insert(dice.roll(parts.len()), filler);
    }
    // Some paragraphs, some of them list items.
    let mark = |at: usize| {
        if at.is_multiple_of(7) {
            "\n\n"
        } else if at % 7 == 4 {
            "\n- "
        } else {
            ""
        }
    };
    parts.iter().enumerate().map(|(at, part)| format!("{}{part}", mark(at))).collect()
}

/// A reply for the kind `faithfulness`.
fn faithfulness(case: &Case) -> String {
    let claims: Vec<Value> = case.facts.iter().enumerate().map(|(at, fact)| claim(case, at, fact)).collect();
    let grounded = claims.iter().filter(|claim| claim["classification"] == "grounded").count();
    let omissions: Vec<Value> = case.facts.iter().take(3).map(omission).collect();
    let reply = json!({
        "faithfulness_score": 0.9, "total_claims": CLAIMS, "grounded_claims": grounded,
        "hallucinated_claims": CLAIMS - grounded, "omitted_facts": omissions.len(),
        "claim_analysis": claims, "omission_flags": omissions,
        "overall_assessment": "Most of what the answer says is in the guides.",
    });
    serde_json::to_string_pretty(&reply).expect("a JSON value")
}

fn omission(fact: &Fact) -> Value {
    json!({
        "omitted_fact": "The source is a chronicle.", "source_passage": fact.evidence.trim(),
        "relevance": "It says how far the figure can be trusted."
    })
}

fn claim(case: &Case, at: usize, fact: &Fact) -> Value {
    let is_unsupported = case.quoting == Quoting::Mixed && at % 8 == 7;
    let quote = if is_unsupported { Value::Null } else { quote(case.quoting, at, fact).into() };
    json!({
        "claim_text": fact.claim,
        "classification": if is_unsupported { "hallucinated" } else { "grounded" },
        "supporting_evidence": quote, "contradicting_evidence": null,
        "explanation": "The passage gives the year and the figure.",
        "severity": if is_unsupported { json!("minor") } else { Value::Null },
        "source_id": if is_unsupported { Value::Null } else { source_id(at).into() },
    })
}

fn quote(quoting: Quoting, at: usize, fact: &Fact) -> String {
    let exact = fact.evidence.trim();
    let elided = fact.ends.join(" [...] ");
    match (quoting, at % 4) {
        (Quoting::Mixed, 0) => exact.to_owned(),
        (Quoting::Mixed, 1) | (Quoting::Normalised, _) => retyped(exact),
        (Quoting::Mixed, 2) => retyped(exact).to_uppercase(),
        (Quoting::Mixed, _) | (Quoting::Elided, _) => elided,
        // The last digit of the quote becomes another one.
        (Quoting::NearMiss, _) => {
            let digit = exact.rfind(|c: char| c.is_ascii_digit()).expect("every fact has a number");
            let other = if exact.as_bytes()[digit] == b'7' { "8" } else { "7" };
            format!("{}{other}{}", &exact[..digit], &exact[digit + 1..])
        }
        (Quoting::Absent, _) => {
            format!(
                "Nobody in the whole valley remembers who painted the {at} ceilings of the guild hall, nor when."
            )
        }
    }
}

/// The same words in the typography of a keyboard.
fn retyped(text: &str) -> String {
    text.replace(['“', '”', '「', '」'], "\"").replace('’', "'").replace('–', "-")
}
