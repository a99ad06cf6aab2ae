//! Where an audit stands, derived from its attempts alone. Live runs and runs that go on after a
//! crash ask the same function, so they cannot differ.

use std::collections::HashMap;
use std::sync::Arc;

use audit::kinds::Spec;
use audit::policy::{Action, Class, Policy, Remedy, Tally, decide};
use audit::record::Attempt;
use audit::reply::Problem;
use audit::units::{self, Cut};
use audit::{Assessment, Outcome, Report, Unit};
use trace::Trace;

/// Units of one split; the next, finer split counts on from here, so that numbers stay unique.
pub(crate) const UNITS_PER_SPLIT: u32 = 1000;

/// The finest split is the first halved this many times.
const MAX_SPLITS: u32 = 6;

/// What comes next.
#[derive(Debug, PartialEq)]
pub(crate) enum Next {
    /// Ask about these units, in any order or at once. At least one.
    Ask(Vec<Ask>),
    /// Every unit has an accepted reply.
    Done(Vec<Report>),
    /// More replies would be needed than one audit may cost.
    OverBudget,
    /// The budget of this class is gone, or the judge declined.
    GaveUp {
        /// The class of the last failure.
        class: Class,
        /// What was wrong, in words.
        message: String,
    },
}

/// One call to make.
#[derive(Debug, PartialEq)]
pub(crate) struct Ask {
    /// The unit's number.
    pub(crate) at: u32,
    /// The number of the attempt.
    pub(crate) number: u32,
    /// What the call covers.
    pub(crate) unit: Unit,
    /// How this call differs from the last reply's, and that reply's problems.
    pub(crate) again: Option<(Remedy, Vec<Problem>)>,
}

/// A replied-to unit: what `assess` said about each reply is asked again rather than stored twice.
pub(crate) trait Assessor {
    /// Judges a stored reply about a unit.
    fn assess(&self, unit: &Unit, attempt: &Attempt) -> Assessment;
}

/// What an audit is asked about, and under which policy.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan<'a> {
    pub(crate) spec: &'a Spec,
    pub(crate) trace: &'a Trace,
    pub(crate) cut: Cut,
    pub(crate) policy: &'a Policy,
    /// How many units may be asked about at once, at least 1.
    pub(crate) width: usize,
}

/// What an earlier step of the same run has worked out. It holds nothing that could not be worked out again, and
/// makes the work of a run grow with its units, not with their square.
#[derive(Debug, Default)]
pub(crate) struct Recall {
    /// The units of each split.
    units: HashMap<u32, Vec<Unit>>,
    /// What the replies turned out to be, by unit and attempt.
    assessed: Assessed,
}

type Assessed = HashMap<(u32, u32), Arc<Assessment>>;

/// Where the audit stands after `attempts`.
pub(crate) fn next(
    plan: Plan<'_>,
    attempts: &[Attempt],
    assessor: &impl Assessor,
    recall: &mut Recall,
) -> Next {
    let splits = count(attempts.iter().filter(|attempt| attempt.class == Class::ContextTooLong).count());
    let Recall { units, assessed } = recall;
    let mut prepare = |splits: u32| {
        units.entry(splits).or_insert_with(|| units::first(plan.spec, plan.trace, plan.cut.halved(splits)));
    };
    prepare(splits);
    let before = splits.checked_sub(1).inspect(|before| prepare(*before));
    if splits > MAX_SPLITS || before.is_some_and(|before| units.get(&splits) == units.get(&before)) {
        return Next::GaveUp {
            class: Class::ContextTooLong,
            message: "the trace does not fit into the judge's context, even in the smallest units".into(),
        };
    }
    let first = units.get(&splits).map(Vec::as_slice).unwrap_or_default();
    let replies = count(attempts.iter().filter(|attempt| attempt.class.is_reply()).count());
    // Known before the first call: nobody pays for a part of an audit that cannot be ended.
    if count(first.len()) > plan.policy.max_replies {
        return Next::OverBudget;
    }
    let mut by_unit: HashMap<u32, Vec<&Attempt>> = HashMap::new();
    for attempt in attempts {
        by_unit.entry(attempt.unit).or_default().push(attempt);
    }
    let mut assess = |unit: &Unit, attempt: &Attempt| {
        let known = assessed.entry((attempt.unit, attempt.number));
        Arc::clone(known.or_insert_with(|| Arc::new(assessor.assess(unit, attempt))))
    };
    let mut accepted: Vec<Arc<Assessment>> = Vec::new();
    // The batches of claims that an extraction found.
    let mut batches: Vec<Unit> = Vec::new();
    let mut asks: Vec<Ask> = Vec::new();
    let mut at = 0;
    while let Some(unit) = first.get(at).or_else(|| batches.get(at - first.len())) {
        let number = splits * UNITS_PER_SPLIT + count(at);
        let of_unit = by_unit.get(&number).map(Vec::as_slice).unwrap_or_default();
        let step = unit_step(plan.policy, replies, of_unit);
        // What is under way counts as well: the cap holds for all of it together.
        let is_full = replies + count(asks.len()) >= plan.policy.max_replies;
        let again = match step {
            Step::Accepted(attempt) => {
                let assessment = assess(unit, attempt);
                let is_accepted = assessment.outcome == Outcome::Accepted;
                // Where it is not, the rules have become stricter since this reply was accepted; what was
                // accepted then cannot be read now. Ask again rather than guess.
                let again = (!is_accepted).then(|| Some((Remedy::SamePrompt, assessment.problems.clone())));
                accepted.extend(is_accepted.then_some(assessment));
                again
            }
            Step::Ask(None) if is_full && asks.is_empty() => return Next::OverBudget,
            Step::Ask(None) => Some(None),
            Step::Ask(Some((remedy, attempt))) => {
                Some(Some((remedy, assess(unit, attempt).problems.clone())))
            }
            Step::GaveUp(class, attempt) => {
                let place = (first.len() + batches.len() > 1).then_some(at + 1);
                return Next::GaveUp {
                    class,
                    message: in_words(class, place, &assess(unit, attempt).problems),
                };
            }
        };
        if let Some(again) = again {
            if is_full && !asks.is_empty() {
                break;
            }
            asks.push(ask(number, of_unit, unit.clone(), again));
            if asks.len() >= plan.width {
                break;
            }
        }
        at += 1;
        // The list is whole when its last part is read; only then can its claims be numbered and sent.
        if at == first.len() && asks.is_empty() {
            let extracted = accepted.iter().flat_map(|assessment| assessment.extracted.iter().cloned());
            let claims = units::numbered(extracted);
            if !claims.is_empty() {
                batches = units::batches(&claims, plan.cut.halved(splits).claims_per_call);
            }
        }
    }
    if !asks.is_empty() {
        return Next::Ask(asks);
    }
    Next::Done(accepted.iter().filter_map(|assessment| assessment.report.clone()).collect())
}

enum Step<'a> {
    Accepted(&'a Attempt),
    Ask(Option<(Remedy, &'a Attempt)>),
    GaveUp(Class, &'a Attempt),
}

fn unit_step<'a>(policy: &Policy, replies: u32, attempts: &[&'a Attempt]) -> Step<'a> {
    let mut tally = Tally::default();
    attempts.iter().for_each(|attempt| tally.add(attempt.class));
    tally.replies = replies;
    let Some(last) = attempts.iter().rev().find(|attempt| attempt.class.is_reply()) else {
        return Step::Ask(None);
    };
    match decide(policy, &tally, last.class) {
        Action::Accept => Step::Accepted(last),
        Action::AskAgain(remedy) => Step::Ask(Some((remedy, last))),
        Action::GiveUp(class) => Step::GaveUp(class, last),
        Action::Refused => Step::GaveUp(Class::Refusal, last),
        Action::Unanswered => Step::Ask(None),
    }
}

fn ask(at: u32, attempts: &[&Attempt], unit: Unit, again: Option<(Remedy, Vec<Problem>)>) -> Ask {
    let number = attempts.iter().map(|attempt| attempt.number).max().unwrap_or(0) + 1;
    Ask { at, number, unit, again }
}

/// `unit`: its number from 1, where there are several.
fn in_words(class: Class, unit: Option<usize>, problems: &[Problem]) -> String {
    let what = match class {
        Class::Content => "the judge's replies contradict the trace or themselves",
        Class::Refusal => "the judge declined to assess this trace",
        _ => "the judge's replies could not be read",
    };
    match problems.first() {
        Some(problem) => {
            let place = unit.map(|unit| format!("unit {unit}, ")).unwrap_or_default();
            format!("{what}: {} at {place}{}: {}", problem.code.as_str(), problem.path, problem.message)
        }
        None => what.to_owned(),
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
