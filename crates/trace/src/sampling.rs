//! Which traces are audited where not all of them are.
//!
//! The choice depends on project and trace id alone, so that everybody who is asked gives the same answer: the
//! publisher and the worker, today and at the next delivery, for each audit kind. A trace that is in at one rate is in
//! at every higher one.

use sha2::{Digest, Sha256};

use crate::{Origin, Trace};

/// Where a trace lies between 0 and 1, 1 excluded: it is in at every rate above that.
///
/// The first 53 bits of SHA-256 over both names, each with its length before it.
#[must_use]
pub fn position(project: &str, trace_id: &str) -> f64 {
    let mut hash = Sha256::new();
    hash.update(b"groundcrew sampling 1");
    for name in [project, trace_id] {
        hash.update(u64::try_from(name.len()).unwrap_or(u64::MAX).to_be_bytes());
        hash.update(name.as_bytes());
    }
    let digest: [u8; 32] = hash.finalize().into();
    let bits = digest.iter().take(8).fold(0_u64, |bits, byte| (bits << 8) | u64::from(*byte)) >> 11;
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    let position = bits as f64 / (1_u64 << 53) as f64;
    position
}

/// Whether a trace is audited at this rate, 0 to 1. What was monitored or reported by a user always is.
#[must_use]
pub fn is_in(trace: &Trace, rate: f64) -> bool {
    match trace.origin {
        Origin::Monitoring | Origin::UserReport => true,
        Origin::Sample => position(&trace.project, &trace.trace_id) < rate,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Kind;

    fn trace(project: &str, id: &str) -> Trace {
        let text = serde_json::json!({ "schema": crate::SCHEMA, "project": project, "trace_id": id });
        crate::decode(text.to_string().as_bytes()).unwrap()
    }

    fn name() -> impl Strategy<Value = String> {
        "[^\\s\\p{C}][^\\p{C}]{0,20}"
    }

    proptest! {
        #[test]
        fn the_choice_is_the_same_each_time_whatever_else_the_trace_says(
            project in name(), id in name(), rate in 0.0_f64..=1.0, answer in ".{0,20}",
        ) {
            let plain = trace(&project, &id);
            let mut other = plain.clone();
            other.audits = vec![Kind::Gate, Kind::Reference];
            other.answer = Some(answer);
            prop_assert_eq!(is_in(&plain, rate), is_in(&other, rate));
            prop_assert_eq!(position(&project, &id).to_bits(), position(&project, &id).to_bits());
        }

        #[test]
        fn a_higher_rate_keeps_all_that_a_lower_one_keeps(
            project in name(), id in name(), one in 0.0_f64..=1.0, two in 0.0_f64..=1.0,
        ) {
            let trace = trace(&project, &id);
            let (low, high) = if one < two { (one, two) } else { (two, one) };
            prop_assert!(!is_in(&trace, low) || is_in(&trace, high));
            prop_assert!(is_in(&trace, 1.0));
            prop_assert!(!is_in(&trace, 0.0));
        }

        #[test]
        fn what_was_monitored_or_reported_is_never_left_out(project in name(), id in name()) {
            for origin in [Origin::Monitoring, Origin::UserReport] {
                let trace = Trace { origin, ..trace(&project, &id) };
                prop_assert!(is_in(&trace, 0.0));
            }
        }
    }

    #[test]
    fn the_share_that_is_kept_is_the_rate() {
        for rate in [0.1, 0.5, 0.9] {
            let kept = (0..20_000).filter(|at| position("p", &format!("t-{at}")) < rate).count();
            let share = f64::from(u32::try_from(kept).unwrap()) / 20_000.0;
            // Five standard deviations.
            assert!(
                (share - rate).abs() < 5.0 * (rate * (1.0 - rate) / 20_000.0_f64).sqrt(),
                "{share} at {rate}"
            );
        }
    }

    #[test]
    fn names_are_not_run_together() {
        assert_ne!(position("ab", "c").to_bits(), position("a", "bc").to_bits());
    }

    /// Another program must be able to make the same choice, and a new version must not change it.
    #[test]
    fn the_position_is_fixed() {
        let expected = 0.7052972384950212;
        assert_eq!(position("city-helpdesk", "t-1").to_bits(), f64::to_bits(expected));
    }
}
