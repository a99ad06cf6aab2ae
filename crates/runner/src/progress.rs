//! Where an audit stands, derived from its attempts alone. Live runs and runs that go on after a
//! crash ask the same function, so they cannot differ.

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
    /// Ask about a unit.
    Ask {
        /// The unit's number.
        at: u32,
        /// The number of the attempt.
        number: u32,
        /// What the call covers.
        unit: Unit,
        /// How this call differs from the last reply's, and that reply's problems.
        again: Option<(Remedy, Vec<Problem>)>,
    },
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
}

/// Where the audit stands after `attempts`.
pub(crate) fn next(plan: Plan<'_>, attempts: &[Attempt], assessor: &impl Assessor) -> Next {
    let splits = count(attempts.iter().filter(|attempt| attempt.class == Class::ContextTooLong).count());
    let units_after = |splits: u32| units::first(plan.spec, plan.trace, plan.cut.halved(splits));
    let mut units = units_after(splits);
    if splits > MAX_SPLITS || (splits > 0 && units == units_after(splits - 1)) {
        return Next::GaveUp {
            class: Class::ContextTooLong,
            message: "the trace does not fit into the judge's context, even in the smallest units".into(),
        };
    }
    let replies = count(attempts.iter().filter(|attempt| attempt.class.is_reply()).count());
    // Known before the first call: nobody pays for a part of an audit that cannot be ended.
    if count(units.len()) > plan.policy.max_replies {
        return Next::OverBudget;
    }
    let mut reports = Vec::new();
    let mut extracted = Vec::new();
    let mut at = 0;
    while let Some(unit) = units.get(at) {
        let number = splits * UNITS_PER_SPLIT + count(at);
        let of_unit: Vec<&Attempt> = attempts.iter().filter(|attempt| attempt.unit == number).collect();
        match unit_step(plan.policy, replies, &of_unit) {
            Step::Accepted(attempt) => {
                let assessment = assessor.assess(unit, attempt);
                match (assessment.outcome, assessment.report) {
                    (Outcome::Accepted, Some(report)) => reports.push(report),
                    (Outcome::Accepted, None) => extracted.extend(assessment.extracted),
                    // The rules have become stricter since this reply was accepted; what was
                    // accepted then cannot be read now. Ask again rather than guess.
                    _ => {
                        let again = Some((Remedy::SamePrompt, assessment.problems));
                        return ask(number, &of_unit, unit.clone(), again);
                    }
                }
            }
            Step::Ask(None) if replies >= plan.policy.max_replies => return Next::OverBudget,
            Step::Ask(None) => return ask(number, &of_unit, unit.clone(), None),
            Step::Ask(Some((remedy, attempt))) => {
                let again = Some((remedy, assessor.assess(unit, attempt).problems));
                return ask(number, &of_unit, unit.clone(), again);
            }
            Step::GaveUp(class, attempt) => {
                return Next::GaveUp {
                    class,
                    message: in_words(class, &assessor.assess(unit, attempt).problems),
                };
            }
        }
        at += 1;
        // The list is whole when its last part is read; only then can its claims be numbered and sent.
        if at == units.len() && !extracted.is_empty() {
            let claims = units::numbered(std::mem::take(&mut extracted));
            units.extend(units::batches(&claims, plan.cut.halved(splits).claims_per_call));
        }
    }
    Next::Done(reports)
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

fn ask(at: u32, attempts: &[&Attempt], unit: Unit, again: Option<(Remedy, Vec<Problem>)>) -> Next {
    let number = attempts.iter().map(|attempt| attempt.number).max().unwrap_or(0) + 1;
    Next::Ask { at, number, unit, again }
}

fn in_words(class: Class, problems: &[Problem]) -> String {
    let what = match class {
        Class::Content => "the judge's replies contradict the trace or themselves",
        Class::Refusal => "the judge declined to assess this trace",
        _ => "the judge's replies could not be read",
    };
    match problems.first() {
        Some(problem) => {
            format!("{what}: {} at {}: {}", problem.code.as_str(), problem.path, problem.message)
        }
        None => what.to_owned(),
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
