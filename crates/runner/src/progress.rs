//! Where an audit stands, derived from its attempts alone. Live runs and runs that go on after a
//! crash ask the same function, so they cannot differ.

use audit::policy::{Action, Class, Policy, Remedy, Tally, decide};
use audit::record::Attempt;
use audit::reply::Problem;
use audit::{Report, Span, sections};

/// Units of one split; the next, finer split counts on from here, so that numbers stay unique.
const UNITS_PER_SPLIT: u32 = 1000;

/// The finest split is the first halved this many times.
const MAX_SPLITS: u32 = 6;

/// What comes next.
#[derive(Debug, PartialEq)]
pub(crate) enum Next {
    /// Ask about a unit.
    Ask {
        /// The unit's number.
        unit: u32,
        /// The number of the attempt.
        number: u32,
        /// The part of the answer, if it is not the whole.
        section: Option<Span>,
        /// How this call differs from the last reply's, and that reply's problems.
        again: Option<(Remedy, Vec<Problem>)>,
    },
    /// Every unit has an accepted reply.
    Done(Vec<Report>),
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
    /// Judges a stored reply: its problems, and its report when it is accepted.
    fn assess(&self, section: Option<Span>, attempt: &Attempt) -> (Vec<Problem>, Option<Report>);
}

/// Where the audit stands after `attempts`.
pub(crate) fn next(
    answer: &str,
    max_unit_chars: usize,
    policy: &Policy,
    attempts: &[Attempt],
    assessor: &impl Assessor,
) -> Next {
    let splits = count(attempts.iter().filter(|attempt| attempt.class == Class::ContextTooLong).count());
    let sections = sections::split(answer, (max_unit_chars >> splits.min(MAX_SPLITS)).max(1));
    if splits > MAX_SPLITS || (splits > 0 && sections.len() == 1) {
        return Next::GaveUp {
            class: Class::ContextTooLong,
            message: "the trace does not fit into the judge's context, even in the smallest units".into(),
        };
    }
    let replies = count(attempts.iter().filter(|attempt| attempt.class.is_reply()).count());
    let mut reports = Vec::new();
    for (at, section) in sections.iter().enumerate() {
        let unit = splits * UNITS_PER_SPLIT + count(at);
        let section = (sections.len() > 1).then_some(*section);
        let of_unit: Vec<&Attempt> = attempts.iter().filter(|attempt| attempt.unit == unit).collect();
        match unit_step(policy, replies, &of_unit) {
            Step::Accepted(attempt) => match assessor.assess(section, attempt) {
                (_, Some(report)) => reports.push(report),
                (problems, None) => {
                    // The rules have become stricter since this reply was accepted; what was
                    // accepted then cannot be read now. Ask again rather than guess.
                    return ask(unit, &of_unit, section, Some((Remedy::SamePrompt, problems)));
                }
            },
            Step::Ask(None) => return ask(unit, &of_unit, section, None),
            Step::Ask(Some((remedy, attempt))) => {
                return ask(unit, &of_unit, section, Some((remedy, assessor.assess(section, attempt).0)));
            }
            Step::GaveUp(class, attempt) => {
                let problems = assessor.assess(section, attempt).0;
                return Next::GaveUp { class, message: in_words(class, &problems) };
            }
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

fn ask(
    unit: u32,
    attempts: &[&Attempt],
    section: Option<Span>,
    again: Option<(Remedy, Vec<Problem>)>,
) -> Next {
    let number = attempts.iter().map(|attempt| attempt.number).max().unwrap_or(0) + 1;
    Next::Ask { unit, number, section, again }
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
