//! Stored replies, read again under the present rules.

use audit::policy::Class;
use audit::record::Attempt;
use audit::reply::Problem;
use audit::units::{self, Cut};
use audit::{Outcome, Unit, assess, kinds};
use trace::{Kind, Trace};

use crate::ask::{MARKED_REFUSAL, class_of};
use crate::progress::UNITS_PER_SPLIT;

/// One stored reply, and what it would be called today.
#[derive(Debug, Clone, PartialEq)]
pub struct Replayed {
    /// Which unit of the audit.
    pub unit: u32,
    /// Which attempt at it.
    pub number: u32,
    /// What it was called.
    pub before: Class,
    /// What it is called now; none when it cannot be read again.
    pub after: Option<Class>,
    /// What is wrong with it now.
    pub problems: Vec<Problem>,
}

impl Replayed {
    /// Whether it would be called something else.
    pub fn is_changed(&self) -> bool {
        self.after.is_some_and(|after| after != self.before)
    }
}

/// Reads the replies among `attempts` again, in their order. `trace` is complete, with relaxed fields filled in;
/// `cut` is how the audit was cut into units.
///
/// # Errors
/// [`kinds::Unavailable`] when this version cannot run the kind.
pub fn replay(
    kind: Kind,
    trace: &Trace,
    cut: Cut,
    attempts: &[Attempt],
) -> Result<Vec<Replayed>, kinds::Unavailable> {
    let spec = kinds::find(kind)?;
    let replies = attempts.iter().filter(|attempt| attempt.class.is_reply());
    replies
        .map(|attempt| {
            let read = match (&attempt.content, unit_of(spec, trace, cut, attempts, attempt.unit)) {
                // The provider said so beside the words, which are all that can be read again.
                (Some(_), _) if is_marked(attempt) => Some((Class::Refusal, Vec::new())),
                (Some(content), Some(unit)) => {
                    let read = assess(kind, trace, &unit, content, attempt.finish_reason.as_deref())?;
                    Some((class_of(read.outcome), read.problems))
                }
                _ => None,
            };
            let (after, problems) = read.unzip();
            Ok(Replayed {
                unit: attempt.unit,
                number: attempt.number,
                before: attempt.class,
                after,
                problems: problems.unwrap_or_default(),
            })
        })
        .collect()
}

fn is_marked(attempt: &Attempt) -> bool {
    attempt.class == Class::Refusal && attempt.problems[0]["message"] == MARKED_REFUSAL
}

/// What the unit of this number covers; none when the list of claims that it came from cannot be told any more.
fn unit_of(spec: &kinds::Spec, trace: &Trace, cut: Cut, attempts: &[Attempt], number: u32) -> Option<Unit> {
    let (splits, at) = (number / UNITS_PER_SPLIT, usize::try_from(number % UNITS_PER_SPLIT).ok()?);
    let cut = cut.halved(splits);
    let first = units::first(spec, trace, cut);
    if let Some(unit) = first.get(at) {
        return Some(unit.clone());
    }
    let mut extracted = Vec::new();
    for (unit, number) in first.iter().zip(splits * UNITS_PER_SPLIT..) {
        let accepted = |attempt: &&Attempt| attempt.unit == number && attempt.class == Class::Accepted;
        let attempt = attempts.iter().rev().find(accepted)?;
        let content = attempt.content.as_deref()?;
        let read = assess(spec.kind, trace, unit, content, attempt.finish_reason.as_deref()).ok()?;
        if read.outcome != Outcome::Accepted {
            return None;
        }
        extracted.extend(read.extracted);
    }
    let batches = units::batches(&units::numbered(extracted), cut.claims_per_call);
    batches.into_iter().nth(at - first.len())
}
