//! The end of a run: everything that one commit writes.

use std::sync::Arc;
use std::time::Duration;

use audit::compare::{self, Comparison};
use audit::record::{Attempt, Ending, GateEnd, GateOutcome, Opening};
use audit::routing::{self, Circumstances, Routed};
use audit::{Report, gate, kinds};
use chrono::Utc;
use serde_json::{Value, json};
use trace::completeness::Prepared;

use crate::events;
use crate::run::{Delivery, Runner};

/// An end in the making.
#[derive(Clone, Copy)]
pub(crate) struct End<'a> {
    pub(crate) delivery: &'a Delivery,
    pub(crate) opening: &'a Opening,
    pub(crate) runner: &'a Runner,
    /// How long the judge was waited for.
    pub(crate) judged_for: Duration,
    /// What other calls of the gate's session have used, where that was asked again.
    pub(crate) regenerations: Option<gate::Regenerations>,
}

/// What was found, and what follows from it.
struct Found {
    report: Option<Report>,
    comparison: Option<Comparison>,
    routed: Routed,
}

impl End<'_> {
    /// The end of an audit with a report.
    pub(crate) fn judged(
        self,
        spec: &kinds::Spec,
        prepared: &Prepared,
        mut report: Report,
        attempts: Vec<Attempt>,
    ) -> Ending {
        let circumstances = Circumstances::new(&self.delivery.routing, &prepared.trace);
        (spec.conclude)(&mut report, &circumstances);
        let comparison = prepared.trace.human_label.as_ref().map(|label| compare::compare(&report, label));
        let id = self.delivery.key.id();
        let routed = routing::route(spec, &circumstances, id, &report, comparison.as_ref());
        let found = Found { report: Some(report), comparison, routed };
        self.ending(found, attempts, Vec::new(), json!(prepared.provenance))
    }

    /// The end of an audit without one.
    pub(crate) fn unjudged(
        self,
        routed: Routed,
        attempts: Vec<Attempt>,
        problems: Vec<trace::Problem>,
        provenance: Value,
    ) -> Ending {
        let found = Found { report: None, comparison: None, routed };
        self.ending(found, attempts, problems, provenance)
    }

    fn ending(
        self,
        found: Found,
        attempts: Vec<Attempt>,
        problems: Vec<trace::Problem>,
        provenance: Value,
    ) -> Ending {
        let Found { report, comparison, mut routed } = found;
        let gate = gate_end(self, report.as_ref(), &mut routed);
        let practice = self.runner.judge().profile().is_practice();
        let mut ending = Ending {
            key: self.delivery.key.clone(),
            opening: self.opening.clone(),
            trace: Arc::clone(&self.delivery.trace),
            attempts,
            report,
            comparison,
            routed,
            trace_problems: problems,
            provenance,
            uncalibrated: practice
                || !self.runner.calibration.holds(
                    self.delivery.key.kind,
                    &self.opening.prompt_version,
                    &self.opening.judge,
                ),
            practice,
            ended_at: Utc::now(),
            events: Vec::new(),
            gate,
        };
        let reply_to = self.delivery.reply_to.as_ref().map(|(queue, id)| (queue.as_str(), id.as_deref()));
        ending.events = events::all(&ending, reply_to);
        ending
    }
}

/// What the caller of the gate is told, when this is a call of it. The routing follows it.
fn gate_end(end: End<'_>, report: Option<&Report>, routed: &mut Routed) -> Option<GateEnd> {
    let delivery = end.delivery;
    let asked = delivery.gate.as_ref()?;
    let outcome = GateOutcome::of(routed.disposition);
    let circumstances = Circumstances::new(&delivery.routing, &delivery.trace.trace);
    let used = end.regenerations.unwrap_or_else(|| asked.call.regenerations.into());
    let resolution = gate::resolve(&asked.policy, &circumstances, report, routed, used);
    resolution.settle(report, routed);
    let call = asked.call.clone();
    Some(GateEnd { call, resolution, outcome, judged_for: end.judged_for, total: None, response: None })
}
