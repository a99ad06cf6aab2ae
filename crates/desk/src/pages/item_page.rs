//! What the page of an item shows, in words and pieces that its template only puts in place.

use askama::Template;
use outcomes::highlight::visible;
use serde_json::Value;

use super::frame::{Frame, machine, moment};
use super::marks::{self, Marked};
use crate::review::{ClaimPart, ItemView, OmissionPart, RulingPart};

#[derive(Template)]
#[template(path = "item.html")]
pub(super) struct ItemPage {
    frame: Frame,
    id: String,
    trace_id: String,
    facts: Vec<(&'static str, String)>,
    created: String,
    due: String,
    overdue: bool,
    urgent: bool,
    severity: String,
    decision: String,
    is_held: bool,
    practice: bool,
    uncalibrated: bool,
    held_by: String,
    mine: bool,
    can_take: bool,
    opinion_given: bool,
    fence: i64,
    leased_until: String,
    leased_until_words: String,
    report_version: String,
    query: String,
    answer: Marked,
    evidence: Vec<EvidenceModel>,
    evidence_missing: String,
    revealed: bool,
    why: Vec<String>,
    assessment: String,
    flags: Vec<ClaimModel>,
    grounded: Vec<ClaimModel>,
    omissions: Vec<OmissionModel>,
    added: Vec<AddedModel>,
    doubts: Vec<String>,
    undecided: usize,
    decided: usize,
    attempts: Vec<AttemptModel>,
    is_failed: bool,
    is_sample: bool,
    has_ruled: bool,
    raw: String,
    label: Option<LabelModel>,
    others: Vec<OtherModel>,
    overall: String,
    history: Vec<String>,
    undo: String,
    end: Option<EndModel>,
    verdicts: [(&'static str, &'static str, &'static str); 4],
}

struct EvidenceModel {
    number: usize,
    source: String,
    title: String,
    url: String,
    rank: String,
    text: Marked,
}

struct ClaimModel {
    index: usize,
    number: usize,
    text: String,
    class: &'static str,
    word: String,
    severity: String,
    confidence: String,
    judge_word: String,
    explanation: String,
    by_rule: bool,
    doubts: Vec<String>,
    quotes: Vec<QuoteModel>,
    ruling: Option<RulingModel>,
    notes: Vec<String>,
    given: String,
}

struct QuoteModel {
    what: &'static str,
    source: String,
    quote: String,
    /// The piece of evidence, from 1.
    number: usize,
}

struct OmissionModel {
    index: usize,
    number: usize,
    fact: String,
    impact: String,
    source: String,
    evidence: String,
    ruling: Option<RulingModel>,
    notes: Vec<String>,
}

struct AddedModel {
    index: usize,
    text: String,
    word: String,
    class: &'static str,
    severity: String,
    note: String,
    id: String,
}

struct RulingModel {
    id: String,
    words: String,
    note: String,
}

struct AttemptModel {
    name: String,
    class: String,
    is_accepted: bool,
    model: String,
    ms: i64,
    problems: Vec<String>,
    remedy: String,
    content: String,
}

struct LabelModel {
    labeler: String,
    word: &'static str,
    score: String,
    agrees: &'static str,
    differs: String,
}

struct OtherModel {
    name: String,
    outcome: String,
    link: String,
}

struct EndModel {
    words: String,
    notes: Vec<(String, String)>,
}

fn words_of(verdict: &str) -> String {
    match verdict {
        "insufficient_evidence" => "too little evidence".to_owned(),
        other => other.to_owned(),
    }
}

fn faithful_word(faithful: Option<bool>) -> &'static str {
    match faithful {
        Some(true) => "faithful",
        Some(false) => "not faithful",
        None => "undecided",
    }
}

fn some(text: Option<&str>) -> String {
    text.map(visible).unwrap_or_default()
}

fn ruling_model(ruling: &RulingPart) -> RulingModel {
    let words = match ruling.ruling.as_str() {
        "confirm" => "confirmed".to_owned(),
        _ => match (&ruling.verdict, &ruling.severity) {
            (Some(verdict), Some(severity)) => format!("overridden: {}, {severity}", words_of(verdict)),
            (Some(verdict), None) => format!("overridden: {}", words_of(verdict)),
            (None, _) => "overridden: not an omission".to_owned(),
        },
    };
    RulingModel { id: ruling.id.clone(), words, note: some(ruling.note.as_deref()) }
}

fn notes(notes: &[RulingPart]) -> Vec<String> {
    notes.iter().map(|note| some(note.note.as_deref())).collect()
}

fn claim_model(claim: &ClaimPart) -> ClaimModel {
    let text = |value: &Value, key: &str| some(value.get(key).and_then(Value::as_str));
    let quotes = claim.evidence.as_array().into_iter().flatten();
    ClaimModel {
        index: claim.index,
        number: claim.index + 1,
        text: visible(&claim.text),
        class: marks::class(claim),
        word: words_of(&claim.verdict),
        severity: some(claim.severity.as_deref()),
        confidence: some(claim.confidence.as_deref()).to_lowercase(),
        judge_word: some(claim.judge_verdict.as_deref()),
        explanation: visible(claim.explanation.trim()),
        by_rule: claim.by_rule,
        doubts: claim.doubts.iter().map(|doubt| text(doubt, "message")).collect(),
        quotes: quotes
            .map(|quote| QuoteModel {
                what: match quote.get("role").and_then(Value::as_str) {
                    Some("contradicting") => "says otherwise",
                    _ => "supports",
                },
                source: text(quote, "source_id"),
                quote: text(quote, "quote"),
                number: quote
                    .get("chunk")
                    .and_then(Value::as_u64)
                    .and_then(|at| usize::try_from(at).ok())
                    .unwrap_or(0)
                    + 1,
            })
            .collect(),
        ruling: claim.ruling.as_ref().map(ruling_model),
        notes: notes(&claim.notes),
        given: claim.verdict.clone(),
    }
}

fn omission_model(omission: &OmissionPart) -> OmissionModel {
    OmissionModel {
        index: omission.index,
        number: omission.index + 1,
        fact: visible(&omission.missing_fact),
        impact: visible(&omission.impact),
        source: visible(&omission.source_id),
        evidence: visible(&omission.available_evidence),
        ruling: omission.ruling.as_ref().map(ruling_model),
        notes: notes(&omission.notes),
    }
}

fn added_models(item: &ItemView) -> Vec<AddedModel> {
    let added = item.rulings.iter().filter(|ruling| ruling.ruling == "add" && !ruling.withdrawn);
    added
        .enumerate()
        .map(|(index, ruling)| {
            let verdict = ruling.verdict.as_deref().unwrap_or_default();
            AddedModel {
                index,
                text: some(ruling.text.as_deref()),
                word: words_of(verdict),
                class: match verdict {
                    "contradicted" => "contradicted",
                    "insufficient_evidence" => "insufficient",
                    "grounded" => "grounded",
                    _ => "unsupported",
                },
                severity: some(ruling.severity.as_deref()),
                note: some(ruling.note.as_deref()),
                id: ruling.id.clone(),
            }
        })
        .collect()
}

fn history(item: &ItemView) -> Vec<String> {
    let line = |ruling: &RulingPart| {
        let about = match (ruling.claim, ruling.omission) {
            (Some(at), _) => format!(" claim {}", at + 1),
            (_, Some(at)) => format!(" omission {}", at + 1),
            _ => String::new(),
        };
        let what = match ruling.ruling.as_str() {
            "overall" => format!("the answer is {}", faithful_word(ruling.faithful)),
            "withdraw" => "took back a ruling".to_owned(),
            "add" => "added a claim".to_owned(),
            word => format!("{word}{about}"),
        };
        let to = match (&ruling.verdict, ruling.ruling.as_str()) {
            (Some(verdict), "override" | "add") => format!(" as {}", words_of(verdict)),
            _ => String::new(),
        };
        let gone = if ruling.withdrawn { " (taken back)" } else { "" };
        let blind = if ruling.blind { " (before the verdict was shown)" } else { "" };
        let note = ruling.note.as_deref().map(|note| format!(": {}", visible(note))).unwrap_or_default();
        format!("{} {}: {what}{to}{gone}{blind}{note}", moment(ruling.at), visible(&ruling.reviewer))
    };
    item.rulings.iter().map(line).collect()
}

impl ItemPage {
    pub(super) fn new(item: &ItemView, frame: Frame) -> Self {
        let report = item.report.as_ref();
        let claims = report.map(|report| report.claims.as_slice()).unwrap_or_default();
        let models = |flags: bool| {
            claims.iter().filter(move |claim| claim.is_flag == flags).map(claim_model).collect()
        };
        let omissions: Vec<OmissionModel> =
            report.map(|report| report.omissions.iter().map(omission_model).collect()).unwrap_or_default();
        let undecided = report.map_or(0, |report| report.undecided);
        let flag_count = claims.iter().filter(|claim| claim.is_flag).count() + omissions.len();
        let own = |ruling: &&RulingPart| ruling.reviewer == frame.name;
        let overall =
            item.rulings.iter().filter(own).rev().find(|it| it.ruling == "overall" && !it.withdrawn);
        // The last thing that can be undone.
        let undo = item
            .rulings
            .iter()
            .filter(own)
            .rev()
            .find(|it| !it.withdrawn && it.ruling != "withdraw" && !(it.blind && it.ruling == "overall"));
        let decision = report.and_then(|report| report.decision.clone()).unwrap_or_default();
        let can_take = frame.can_review && !item.mine && item.end.is_none() && !item.opinion_given;
        Self {
            id: item.review_item.clone(),
            trace_id: visible(&item.trace_id),
            facts: facts(item),
            created: moment(item.created_at),
            due: moment(item.due_at),
            overdue: item.overdue,
            urgent: item.urgent,
            severity: report.and_then(|report| report.severity.clone()).unwrap_or_default(),
            is_held: matches!(decision.as_str(), "hold" | "block"),
            decision,
            practice: report.is_some_and(|report| report.practice),
            uncalibrated: report.is_some_and(|report| report.uncalibrated),
            held_by: item.held_by.as_deref().map(visible).unwrap_or_default(),
            mine: item.mine && frame.can_review,
            can_take: can_take && item.held_by.is_none(),
            opinion_given: item.opinion_given,
            fence: item.fence.unwrap_or_default(),
            leased_until: item.leased_until.map(machine).unwrap_or_default(),
            leased_until_words: item
                .leased_until
                .map(|at| at.format("%H:%M UTC").to_string())
                .unwrap_or_default(),
            report_version: item.report_version.clone(),
            query: visible(&item.trace.query),
            answer: marks::answer(item),
            evidence: evidence(item),
            evidence_missing: item.trace.evidence_missing.clone().unwrap_or_default(),
            revealed: item.revealed,
            why: report.map(|it| it.why.iter().map(|why| visible(why)).collect()).unwrap_or_default(),
            assessment: some(report.and_then(|report| report.assessment.as_deref())),
            flags: models(true),
            grounded: models(false),
            omissions,
            added: added_models(item),
            doubts: report.map(|report| doubts(&report.doubts)).unwrap_or_default(),
            undecided,
            decided: flag_count.saturating_sub(undecided),
            attempts: report.map(|report| report.attempts.iter().map(attempt).collect()).unwrap_or_default(),
            is_failed: item.list == "failed",
            is_sample: item.list == "sample",
            has_ruled: overall.is_some(),
            raw: some(item.trace.raw.as_deref()),
            label: report.and_then(|report| report.label.as_ref()).map(label),
            others: report.map(|report| report.other_audits.iter().map(other).collect()).unwrap_or_default(),
            overall: overall.map(|ruling| faithful_word(ruling.faithful).to_owned()).unwrap_or_default(),
            history: history(item),
            undo: undo.map(|ruling| ruling.id.clone()).unwrap_or_default(),
            end: item.end.as_ref().map(end),
            verdicts: [
                ("grounded", "grounded", "g"),
                ("contradicted", "contradicted", "x"),
                ("unsupported", "unsupported", "u"),
                ("insufficient_evidence", "too little evidence", "i"),
            ],
            frame,
        }
    }
}

fn facts(item: &ItemView) -> Vec<(&'static str, String)> {
    let trace = &item.trace;
    let mut facts = vec![("project", visible(&item.project)), ("kind", item.kind.replace('_', " "))];
    let mut add = |name, value: Option<String>| facts.extend(value.map(|value| (name, value)));
    add("answered", trace.occurred_at.map(moment));
    add("risk", Some(trace.risk.clone()).filter(|risk| risk != "standard"));
    add("value", Some(trace.value.clone()).filter(|value| value != "normal"));
    add("origin", Some(trace.origin.replace('_', " ")).filter(|origin| origin != "sample"));
    add("domain", trace.domain.as_deref().map(visible));
    add("written by", trace.generator.as_deref().map(visible));
    add("content owner", trace.content_owner.as_deref().map(visible));
    if let Some(report) = &item.report {
        add("judge", Some(visible(&format!("{}, {}", report.judge, report.prompt_version))));
        add("score", report.score.map(|score| format!("{score:.2}")));
        add("ended", report.disposition.as_ref().map(|word| word.replace('_', " ")));
    }
    facts
}

fn evidence(item: &ItemView) -> Vec<EvidenceModel> {
    let model = |(at, part): (usize, &crate::review::EvidencePart)| EvidenceModel {
        number: at + 1,
        source: visible(&part.source_id),
        title: some(part.title.as_deref()),
        url: part.url.clone().unwrap_or_default(),
        rank: part.rank.map(|rank| rank.to_string()).unwrap_or_default(),
        text: marks::evidence(item, at),
    };
    item.trace.evidence.iter().enumerate().map(model).collect()
}

fn doubts(doubts: &[Value]) -> Vec<String> {
    doubts.iter().filter_map(|doubt| doubt.get("message")?.as_str()).map(visible).collect()
}

fn attempt(part: &crate::review::AttemptPart) -> AttemptModel {
    let text =
        |problem: &Value, key: &str| problem.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let problems = part.problems.as_array().into_iter().flatten();
    AttemptModel {
        name: format!("unit {}, attempt {}", part.unit + 1, part.number),
        class: part.class.replace('_', " "),
        is_accepted: part.class == "accepted",
        model: visible(&part.model),
        ms: part.latency_ms,
        problems: problems
            .map(|it| {
                visible(&format!("{} at {}: {}", text(it, "code"), text(it, "path"), text(it, "message")))
            })
            .collect(),
        remedy: part.remedy.as_deref().map(|remedy| remedy.replace('_', " ")).unwrap_or_default(),
        content: some(part.content.as_deref()),
    }
}

fn label(part: &crate::review::LabelPart) -> LabelModel {
    LabelModel {
        labeler: part.labeler.as_deref().map_or_else(|| "somebody".to_owned(), visible),
        word: faithful_word(part.faithful),
        score: part.score.map(|score| format!("{score:.2}")).unwrap_or_default(),
        agrees: match part.agrees {
            Some(true) => "the audit agrees",
            Some(false) => "the audit disagrees",
            None => "",
        },
        differs: some(part.differs.as_deref()),
    }
}

fn other(part: &crate::review::OtherAudit) -> OtherModel {
    let repeat = if part.repeat > 0 { format!(", run {}", part.repeat + 1) } else { String::new() };
    OtherModel {
        name: format!("{}, generation {}{repeat}", part.kind.replace('_', " "), part.generation),
        outcome: match (&part.disposition, part.score) {
            (Some(disposition), Some(score)) => {
                format!("{}, score {score:.2}", disposition.replace('_', " "))
            }
            (Some(disposition), None) => disposition.replace('_', " "),
            (None, _) => "goes on".to_owned(),
        },
        link: part.review_item.as_ref().map(|id| format!("/items/{id}")).unwrap_or_default(),
    }
}

fn end(part: &crate::review::EndPart) -> EndModel {
    let what = match part.outcome.as_str() {
        "ruled" => format!("the answer is {}", faithful_word(part.faithful)),
        "retried" => "the audit was asked for again".to_owned(),
        _ => "dismissed".to_owned(),
    };
    let then = match part.final_decision.as_deref() {
        Some("deliver") => ", it may be delivered",
        Some("block") => ", it stays blocked",
        _ => "",
    };
    EndModel {
        words: format!("Closed by {} on {}: {what}{then}.", visible(&part.closed_by), moment(part.closed_at)),
        notes: part
            .notes
            .iter()
            .filter_map(|(who, note)| Some((visible(who), visible(note.as_deref()?))))
            .collect(),
    }
}
