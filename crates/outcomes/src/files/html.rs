//! One self-contained HTML page: each flagged answer beside its evidence, the gap marked in both.
//!
//! The page loads nothing and runs nothing (its content security policy says so to the browser as well). Text of
//! traces is escaped by the template engine; characters that would reorder or hide text are written out.

use askama::Template;
use audit::{Basis, Claim, Passage, Role, Verdict, kinds, text, verify};
use chrono::{DateTime, SecondsFormat, Utc};
use trace::Trace;

use super::Malformed;
use crate::baseline::Change;
use crate::conclusion::{Conclusion, Ending, number};
use crate::highlight::{self, Piece, visible};
use crate::record::{Record, Standing};
use crate::tally::Tally;
use crate::thresholds::{Missed, Verdict as ThresholdVerdict};

/// How much text stays beside a mark, in scalar values.
const AROUND: usize = 240;

/// Malformed lines that are listed; the rest are counted.
const MALFORMED_LISTED: usize = 50;

/// Where on the page an audit stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Section {
    /// Something was found, or a threshold missed.
    Flagged,
    /// There is no verdict.
    NotJudged,
    /// Nothing was found.
    Passed,
}

impl Section {
    /// The sections in the order in which they stand.
    pub const ALL: [Self; 3] = [Self::Flagged, Self::NotJudged, Self::Passed];

    /// Where an audit belongs.
    pub fn of(record: &Record, missed: &[Missed]) -> Self {
        match record.standing() {
            Standing::Judged if missed.is_empty() && record.findings().next().is_none() => {
                if record.reasons.is_empty() { Self::Passed } else { Self::Flagged }
            }
            Standing::Judged => Self::Flagged,
            _ => Self::NotJudged,
        }
    }
}

/// What the page says above the audits.
#[derive(Debug, Clone)]
pub struct Overview<'a> {
    /// The files that were read, as they were given.
    pub sources: &'a str,
    /// When the page was made.
    pub made_at: DateTime<Utc>,
    /// What the audits add up to.
    pub tally: &'a Tally,
    /// How the thresholds stand.
    pub thresholds: &'a [ThresholdVerdict],
    /// How the run ends.
    pub conclusion: &'a Conclusion,
    /// Lines that are no traces.
    pub malformed: &'a [Malformed],
    /// How many of them there are in all.
    pub malformed_total: u64,
}

/// What a piece of text is marked as, the gravest last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Mark {
    Supporting,
    Near,
    InsufficientEvidence,
    Unsupported,
    Contradicted,
}

impl Mark {
    const fn class(self) -> &'static str {
        match self {
            Self::Supporting => "supporting",
            Self::Near => "near",
            Self::InsufficientEvidence => "insufficient",
            Self::Unsupported => "unsupported",
            Self::Contradicted => "contradicted",
        }
    }

    const fn of(verdict: Verdict) -> Option<Self> {
        match verdict {
            Verdict::Grounded => None,
            Verdict::Contradicted => Some(Self::Contradicted),
            Verdict::Unsupported => Some(Self::Unsupported),
            Verdict::InsufficientEvidence => Some(Self::InsufficientEvidence),
        }
    }
}

/// A text in pieces, ready for the template.
struct Marked {
    pieces: Vec<(String, &'static str)>,
}

impl Marked {
    fn of(pieces: Vec<Piece<Mark>>) -> Self {
        let pieces =
            pieces.into_iter().map(|piece| (visible(&piece.text), piece.mark.map_or("", Mark::class)));
        Self { pieces: pieces.collect() }
    }
}

#[derive(Template)]
#[template(path = "head.html")]
struct HeadPage<'a> {
    overview: &'a Overview<'a>,
    result: &'static str,
    class: &'static str,
    made_at: String,
    cost: String,
    tiles: Vec<(String, &'static str)>,
    thresholds: Vec<ThresholdRow>,
    malformed: Vec<(String, u64, String)>,
    malformed_more: u64,
    practice: bool,
    uncalibrated: bool,
}

struct ThresholdRow {
    threshold: String,
    project: String,
    state: &'static str,
    class: &'static str,
    detail: String,
}

#[derive(Template)]
#[template(path = "flagged.html")]
struct FlaggedPage {
    id: String,
    trace_id: String,
    project: String,
    place: String,
    kind: &'static str,
    disposition: &'static str,
    decision: &'static str,
    score: String,
    change: &'static str,
    made_by: String,
    why: Vec<String>,
    query: String,
    answer: Marked,
    findings: Vec<FindingPart>,
    omissions: Vec<OmissionPart>,
    passages: Vec<(String, Marked)>,
}

struct FindingPart {
    claim: String,
    word: &'static str,
    class: &'static str,
    severity: &'static str,
    confidence: &'static str,
    gap: String,
    quotes: Vec<QuotePart>,
}

struct QuotePart {
    what: &'static str,
    source: String,
    text: Marked,
}

struct OmissionPart {
    fact: String,
    impact: String,
    source: String,
    text: Marked,
}

#[derive(Template)]
#[template(path = "row.html")]
struct RowPage {
    trace_id: String,
    place: String,
    kind: &'static str,
    disposition: &'static str,
    score: String,
    detail: String,
}

/// Everything before the audits.
///
/// # Errors
/// Never for these templates; the engine's type has errors.
pub fn head(overview: &Overview<'_>) -> askama::Result<String> {
    let tally = overview.tally;
    let tile = |number: u64, what| (number.to_string(), what);
    let mut tiles = vec![
        tile(tally.audits, "audits"),
        tile(tally.verdict(Verdict::Contradicted), "contradicted claims"),
        tile(tally.verdict(Verdict::Unsupported), "unsupported claims"),
        tile(tally.verdict(Verdict::InsufficientEvidence), "claims with too little evidence"),
        tile(tally.verdict(Verdict::Grounded), "grounded claims"),
        tile(tally.omissions, "omissions"),
        tile(tally.standing(Standing::Incomplete), "incomplete traces"),
        tile(tally.standing(Standing::NotMade), "audits not made"),
    ];
    if tally.disagreements > 0 {
        tiles.push(tile(tally.disagreements, "disagree with a person"));
    }
    let class = match overview.conclusion.result {
        Ending::Passed => "passed",
        Ending::Missed => "missed",
        Ending::NotMade => "not-made",
    };
    let listed = overview.malformed.iter().take(MALFORMED_LISTED);
    let malformed: Vec<_> =
        listed.map(|line| (visible(&line.place.file), line.place.line, visible(&line.in_words()))).collect();
    HeadPage {
        result: overview.conclusion.result.as_str(),
        class,
        made_at: overview.made_at.to_rfc3339_opts(SecondsFormat::Secs, true),
        cost: if tally.practice > 0 {
            "cost: nothing (practice)".to_owned()
        } else {
            format!("cost: {}", tally.cost.in_words())
        },
        tiles,
        thresholds: overview.thresholds.iter().map(threshold).collect(),
        malformed_more: overview.malformed_total
            - u64::try_from(malformed.len()).unwrap_or_default().min(overview.malformed_total),
        malformed,
        practice: tally.practice > 0,
        uncalibrated: tally.uncalibrated > tally.practice,
        overview,
    }
    .render()
}

fn threshold(verdict: &ThresholdVerdict) -> ThresholdRow {
    let (state, class) = match verdict.fails() {
        _ if verdict.looked_at == 0 => ("never applied", if verdict.idle { "not-made" } else { "" }),
        true => ("missed", "missed"),
        false => ("kept", "passed"),
    };
    let detail = match verdict.value {
        Some(value) => format!("it is {}", number(value)),
        None if verdict.known > 0 => format!(
            "missed by {} of {} audits, {} of them as in the earlier run",
            verdict.missed, verdict.looked_at, verdict.known
        ),
        None => format!("missed by {} of {} audits", verdict.missed, verdict.looked_at),
    };
    ThresholdRow {
        threshold: verdict.threshold.clone(),
        project: verdict.project.as_deref().map(visible).unwrap_or_default(),
        state,
        class,
        detail,
    }
}

/// The beginning of a section with this many audits.
pub fn section(section: Section, audits: u64) -> String {
    match section {
        Section::Flagged => format!("<section><h2>Flagged answers <small>{audits}</small></h2>\n"),
        Section::NotJudged => format!(
            "<section><h2>Not judged <small>{audits}</small></h2>\n<div class=\"scroll\"><table>{TABLE_HEAD}"
        ),
        Section::Passed => format!(
            "<section><h2>Without findings <small>{audits}</small></h2>\n<details><summary>Show them</summary>\
             <div class=\"scroll\"><table>{TABLE_HEAD}"
        ),
    }
}

const TABLE_HEAD: &str =
    "<thead><tr><th>trace</th><th>kind</th><th>result</th><th>score</th><th></th></tr></thead>\n";

/// The end of a section.
pub const fn section_end(section: Section) -> &'static str {
    match section {
        Section::Flagged => "</section>\n",
        Section::NotJudged => "</table></div></section>\n",
        Section::Passed => "</table></div></details></section>\n",
    }
}

/// Everything behind the audits.
pub const FOOT: &str = "</main>\n</body>\n</html>\n";

/// One audit, as it stands in its section. `trace` is the one that the audit is about.
///
/// # Errors
/// As [`head`].
pub fn audit(
    section: Section,
    record: &Record,
    trace: &Trace,
    missed: &[Missed],
    change: Option<Change>,
) -> askama::Result<String> {
    let score = record.score.map(number).unwrap_or_default();
    let place = visible(&format!("{}:{}", record.place.file, record.place.line));
    if section != Section::Flagged {
        let detail = match section {
            Section::NotJudged => visible(&record.why_not_judged()),
            _ if record.claims.len() == 1 => "1 claim".to_owned(),
            _ => format!("{} claims", record.claims.len()),
        };
        let (trace_id, kind) = (visible(&record.trace_id), record.kind.as_str());
        let disposition = record.disposition.as_str();
        let row = RowPage { trace_id, place, kind, disposition, score, detail }.render()?;
        return Ok(row + "\n");
    }
    let basis = kinds::find(record.kind).map_or(Basis::Retrieval, |spec| spec.basis);
    let passages = basis.passages(trace);
    let missed = missed.iter().map(|missed| {
        let known = if missed.known { ", as in the earlier run" } else { "" };
        format!("threshold {} missed: it is {}{known}", missed.threshold, number(missed.value))
    });
    FlaggedPage {
        id: record.audit_id.to_string(),
        trace_id: visible(&record.trace_id),
        project: visible(&record.project),
        place,
        kind: record.kind.as_str(),
        disposition: record.disposition.as_str(),
        decision: record.decision.map_or("", |decision| decision.as_str()),
        score,
        change: match change {
            Some(Change::Worse) => "worse than before",
            Some(Change::Better) => "better than before",
            Some(Change::New) => "new",
            Some(Change::Same) | None => "",
        },
        made_by: visible(&format!("judge {}, prompt {}", record.judge, record.prompt_version)),
        why: missed.chain(record.reasons.iter().map(|reason| visible(&reason.message))).collect(),
        query: visible(trace.query.as_deref().unwrap_or_default()),
        answer: answer(record, trace),
        findings: record.findings().map(|claim| finding(claim, &passages)).collect(),
        omissions: record.omissions.iter().map(|omission| of_omission(omission, &passages)).collect(),
        passages: passages.iter().enumerate().map(|(at, passage)| whole(record, at, passage)).collect(),
    }
    .render()
}

fn answer(record: &Record, trace: &Trace) -> Marked {
    let marks: Vec<_> = record
        .claims
        .iter()
        .filter_map(|claim| Some((claim.answer_span?, Mark::of(claim.verdict)?)))
        .collect();
    Marked::of(highlight::cut(trace.answer.as_deref().unwrap_or_default(), &marks))
}

fn finding(claim: &Claim, passages: &[Passage<'_>]) -> FindingPart {
    let mut quotes: Vec<QuotePart> = claim
        .evidence
        .iter()
        .filter_map(|evidence| {
            let passage = passages.get(evidence.chunk)?;
            let (what, mark) = match evidence.role {
                Role::Contradicting => ("says something else", Mark::Contradicted),
                Role::Supporting => ("carries part of it", Mark::Supporting),
            };
            let text = excerpt(passage, evidence.span, mark);
            Some(QuotePart { what, source: visible(&evidence.source_id), text })
        })
        .collect();
    if quotes.is_empty() {
        quotes = unquoted(claim, passages);
    }
    let gap = match claim.explanation.trim() {
        "" if claim.evidence.is_empty() => "No passage of the evidence supports this.".to_owned(),
        "" => "The evidence says something else.".to_owned(),
        explanation => visible(explanation),
    };
    FindingPart {
        claim: visible(&claim.text),
        word: match claim.verdict {
            Verdict::InsufficientEvidence => "too little evidence",
            verdict => verdict.as_str(),
        },
        class: Mark::of(claim.verdict).map_or("", Mark::class),
        severity: claim.severity.map_or("", |severity| severity.as_str()),
        confidence: claim.confidence.map_or("", |confidence| confidence.as_str()),
        gap,
        quotes,
    }
}

/// What stands beside a claim without a quote: the sentence that comes nearest, else how the evidence begins.
fn unquoted(claim: &Claim, passages: &[Passage<'_>]) -> Vec<QuotePart> {
    const SHOWN: usize = 2;
    if let Some((at, span)) = verify::nearest(passages, &claim.text) {
        let text = excerpt(&passages[at], span, Mark::Near);
        return vec![QuotePart { what: "comes nearest", source: visible(passages[at].source_id), text }];
    }
    let beginning = |passage: &Passage<'_>| QuotePart {
        what: "was retrieved",
        source: visible(passage.source_id),
        text: Marked::of(highlight::shorten(highlight::cut(passage.text, &[]), AROUND)),
    };
    passages.iter().take(SHOWN).map(beginning).collect()
}

fn excerpt(passage: &Passage<'_>, span: audit::Span, mark: Mark) -> Marked {
    Marked::of(highlight::shorten(highlight::cut(passage.text, &[(span, mark)]), AROUND))
}

fn of_omission(omission: &audit::Omission, passages: &[Passage<'_>]) -> OmissionPart {
    let text = passages.get(omission.chunk).map(|passage| excerpt(passage, omission.span, Mark::Near));
    OmissionPart {
        fact: visible(&omission.missing_fact),
        impact: visible(&omission.impact),
        source: visible(&omission.source_id),
        text: text.unwrap_or(Marked { pieces: Vec::new() }),
    }
}

/// A whole passage, with everything that was quoted from it.
fn whole(record: &Record, at: usize, passage: &Passage<'_>) -> (String, Marked) {
    let quoted =
        record.claims.iter().flat_map(|claim| &claim.evidence).filter(|evidence| evidence.chunk == at);
    let marks: Vec<_> = quoted
        .map(|evidence| match evidence.role {
            Role::Contradicting => (evidence.span, Mark::Contradicted),
            Role::Supporting => (evidence.span, Mark::Supporting),
        })
        .collect();
    let title = passage.title.map(|title| format!(" – {title}")).unwrap_or_default();
    let url = passage.url.map(|url| format!(" ({url})")).unwrap_or_default();
    let head = visible(&format!("{}{title}{url}", passage.source_id));
    (head, Marked::of(highlight::cut(passage.text, &marks)))
}

/// At most this much of a text, for titles.
pub fn title(sources: &str) -> String {
    const LONGEST: usize = 120;
    let shown = visible(sources);
    if shown.chars().count() <= LONGEST {
        return shown;
    }
    text::slice(&shown, audit::Span { start: 0, end: LONGEST }).to_owned() + "…"
}
