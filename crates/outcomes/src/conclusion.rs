//! What follows from a run for whoever waits for it.

use audit::routing::Disposition;
use serde::Serialize;

use crate::baseline::Change;
use crate::record::Standing;
use crate::tally::Tally;
use crate::thresholds::Verdict;

/// How a run of audits ends.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Conclusion {
    /// The one word.
    pub result: Ending,
    /// Why, one line each; empty for a run that passed.
    pub why: Vec<String>,
}

/// The ends of a run, as exit codes know them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// Everything was audited, and nothing speaks against it.
    Passed,
    /// A threshold is missed, or something has become worse.
    Missed,
    /// Something could not be audited.
    NotMade,
}

impl Ending {
    /// The exit code: 0, 1 or 3.
    pub const fn code(self) -> u8 {
        match self {
            Self::Passed => 0,
            Self::Missed => 1,
            Self::NotMade => 3,
        }
    }

    /// The word for people.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Missed => "failed",
            Self::NotMade => "not everything could be audited",
        }
    }
}

/// What happened beside the audits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Circumstances {
    /// Lines that are no traces.
    pub malformed: u64,
    /// Files that hold nothing.
    pub empty: u64,
    /// Whether the run was stopped before its end.
    pub stopped: bool,
    /// Whether traces that lack something are let pass.
    pub allow_incomplete: bool,
    /// Whether there is an earlier run, and no threshold: then what has become worse fails.
    pub fails_on_change: bool,
}

/// Concludes a run. What is certain goes first: a missed threshold is one, whatever could not be audited.
pub fn conclude(tally: &Tally, thresholds: &[Verdict], circumstances: Circumstances) -> Conclusion {
    let missed = missed(tally, thresholds, circumstances);
    let not_made = not_made(tally, thresholds, circumstances);
    let result = match (missed.is_empty(), not_made.is_empty()) {
        (false, _) => Ending::Missed,
        (true, false) => Ending::NotMade,
        (true, true) => Ending::Passed,
    };
    Conclusion { result, why: missed.into_iter().chain(not_made).collect() }
}

fn missed(tally: &Tally, thresholds: &[Verdict], circumstances: Circumstances) -> Vec<String> {
    let mut why: Vec<String> = thresholds.iter().filter(|verdict| verdict.fails()).map(in_words).collect();
    let worse = tally.change(Change::Worse);
    if circumstances.fails_on_change && worse > 0 {
        why.push(format!("{} worse than in the earlier run", answers(worse)));
    }
    why
}

fn in_words(verdict: &Verdict) -> String {
    let threshold = &verdict.threshold;
    let project = verdict.project.as_ref().map(|name| format!(" (project {name})")).unwrap_or_default();
    let known = match verdict.known {
        0 => String::new(),
        known => format!(", {known} more as in the earlier run"),
    };
    match verdict.value {
        Some(value) => format!("{threshold}{project}: it is {}", number(value)),
        None => format!("{threshold}{project}: {}{known}", answers(verdict.missed - verdict.known)),
    }
}

fn not_made(tally: &Tally, thresholds: &[Verdict], circumstances: Circumstances) -> Vec<String> {
    let mut why = Vec::new();
    if circumstances.stopped {
        why.push("the run was stopped before its end".to_owned());
    }
    match tally.standing(Standing::NotMade) {
        0 => {}
        number => why.push(format!("{} without a usable reply of the judge", answers(number))),
    }
    match tally.standing(Standing::Incomplete) {
        0 => {}
        _ if circumstances.allow_incomplete => {}
        number => why.push(format!("{} not complete enough to be judged", traces(number))),
    }
    match circumstances.malformed {
        0 => {}
        1 => why.push("1 line is no trace".to_owned()),
        number => why.push(format!("{number} lines are no traces")),
    }
    match circumstances.empty {
        0 => {}
        1 => why.push("1 file holds no trace".to_owned()),
        number => why.push(format!("{number} files hold no trace")),
    }
    let judged = tally.standing(Standing::Judged);
    if judged == 0 && why.is_empty() {
        why.push("nothing was judged".to_owned());
    }
    // A judge that sees no claims anywhere has judged nothing either.
    if judged > 0 && tally.dispositions.get(&Disposition::NoClaims) == Some(&judged) {
        why.push("no answer holds a claim, says the judge: nothing was judged".to_owned());
    }
    if circumstances.fails_on_change && judged > 0 && tally.change(Change::New) == judged {
        why.push("the earlier run holds none of these audits: there is nothing to compare with".to_owned());
    }
    // A threshold on a number that no audit has would be green for ever.
    if judged > 0 {
        let idle = thresholds.iter().filter(|verdict| verdict.idle);
        why.extend(idle.map(|verdict| {
            let project =
                verdict.project.as_ref().map(|name| format!(" of project {name}")).unwrap_or_default();
            format!("{}: no audit{project} has this number", verdict.threshold)
        }));
    }
    why
}

fn answers(number: u64) -> String {
    if number == 1 { "1 audit".to_owned() } else { format!("{number} audits") }
}

fn traces(number: u64) -> String {
    if number == 1 { "1 trace is".to_owned() } else { format!("{number} traces are") }
}

/// A number with as many digits as are worth reading.
pub fn number(value: f64) -> String {
    let text = format!("{value:.4}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tally(judged: u64, incomplete: u64, not_made: u64) -> Tally {
        let mut tally = Tally { audits: judged + incomplete + not_made, ..Tally::default() };
        for (standing, count) in
            [(Standing::Judged, judged), (Standing::Incomplete, incomplete), (Standing::NotMade, not_made)]
        {
            if count > 0 {
                tally.standings.insert(standing, count);
            }
        }
        tally
    }

    fn verdict(looked_at: u64, missed: u64, known: u64) -> Verdict {
        Verdict {
            threshold: "contradicted>0".to_owned(),
            project: None,
            looked_at,
            idle: looked_at == 0,
            missed,
            known,
            value: None,
        }
    }

    #[test]
    fn a_number_is_as_long_as_it_is_worth_reading() {
        assert_eq!(
            [number(0.5), number(3.0), number(2.0 / 3.0), number(100.0)],
            ["0.5", "3", "0.6667", "100"]
        );
    }

    proptest! {
        /// The one rule that nothing may break.
        #[test]
        fn a_run_passes_only_when_everything_was_judged_and_kept(
            judged in 0..3_u64, incomplete in 0..2_u64, not_made in 0..2_u64, looked_at in 0..3_u64,
            missed in 0..3_u64, known in 0..3_u64, malformed in 0..2_u64, empty in 0..2_u64,
            stopped in any::<bool>(), allow_incomplete in any::<bool>(),
        ) {
            let (missed, known) = (missed.min(looked_at), known.min(missed.min(looked_at)));
            let circumstances =
                Circumstances { malformed, empty, stopped, allow_incomplete, fails_on_change: false };
            let conclusion =
                conclude(&tally(judged, incomplete, not_made), &[verdict(looked_at, missed, known)], circumstances);
            let is_kept = missed == known;
            let is_whole = judged > 0
                && not_made == 0
                && malformed == 0
                && empty == 0
                && !stopped
                && looked_at > 0
                && (incomplete == 0 || allow_incomplete);
            let wanted = if !is_kept {
                Ending::Missed
            } else if is_whole {
                Ending::Passed
            } else {
                Ending::NotMade
            };
            prop_assert_eq!(conclusion.result, wanted, "{:?}", conclusion.why);
            prop_assert_eq!(conclusion.why.is_empty(), wanted == Ending::Passed);
        }
    }
}
