//! Figures for operators: the one recorder of a process, its text for Prometheus, and the endpoint that serves it.

mod endpoint;

use std::sync::{Mutex, PoisonError};

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

pub use endpoint::{Endpoint, live, ready};

/// What [`Figures::text`] is.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Upper bounds of the histograms, in seconds: calls of a judge take from milliseconds to minutes, waits up to a day.
const BUCKETS: [f64; 18] = [
    0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 600.0, 3_600.0,
    86_400.0,
];

/// The figures of this process. Clones show the same.
#[derive(Debug, Clone)]
pub struct Figures(Option<PrometheusHandle>);

impl Figures {
    /// The recorder of this process: there can be one only, whoever comes first.
    pub fn install() -> Self {
        static RECORDER: Mutex<Option<PrometheusHandle>> = Mutex::new(None);
        let mut recorder = RECORDER.lock().unwrap_or_else(PoisonError::into_inner);
        if recorder.is_none() {
            let built = PrometheusBuilder::new()
                .set_buckets_for_metric(Matcher::Suffix("_seconds".into()), &BUCKETS)
                .and_then(PrometheusBuilder::install_recorder);
            match built {
                Ok(handle) => {
                    describe();
                    *recorder = Some(handle);
                }
                Err(error) => tracing::error!(%error, "there will be no metrics"),
            }
        }
        Self(recorder.clone())
    }

    /// All figures; none when this process could have no recorder.
    pub fn text(&self) -> Option<String> {
        let figures = self.0.as_ref()?;
        figures.run_upkeep();
        Some(figures.render())
    }
}

fn describe() {
    use metrics::{describe_counter as counter, describe_gauge as gauge, describe_histogram as histogram};
    counter!("groundcrew_deliveries_total", "Deliveries, by lane and by what became of them.");
    counter!("groundcrew_audits_total", "Audits that ended, by kind and disposition.");
    counter!("groundcrew_duplicates_total", "Deliveries of audits that had ended before.");
    counter!("groundcrew_dead_letters_total", "Messages that became dead letters, by source.");
    counter!("groundcrew_sampled_out_total", "Traces that sampling left out.");
    counter!("groundcrew_moved_to_bulk_total", "Traces of projects over their rate that were moved to bulk.");
    counter!("groundcrew_judge_calls_total", "Calls of a judge, by how they ended.");
    counter!("groundcrew_consumers_rebuilt_total", "Consumers that received nothing while messages waited.");
    counter!("groundcrew_outbox_messages_total", "Messages of the outbox, by outcome.");
    histogram!("groundcrew_judge_call_seconds", "How long a call of a judge took.");
    histogram!("groundcrew_delivery_seconds", "How long a delivery was in work.");
    histogram!("groundcrew_queue_wait_seconds", "Age of a message when it was taken, to the second.");
    gauge!("groundcrew_deliveries_in_work", "Deliveries in work, by lane.");
    gauge!("groundcrew_judge_concurrency_limit", "Calls of a judge that may be in flight now.");
    gauge!("groundcrew_judge_calls_in_flight", "Calls of a judge in flight.");
    gauge!(
        "groundcrew_judge_breaker_open",
        "1 while a judge is left alone, 0.5 while a probe is on its way."
    );
    gauge!("groundcrew_paused", "1 while an operator has paused the fleet.");
    gauge!("groundcrew_ready", "What /readyz says.");
    gauge!("groundcrew_up", "1 while a service answers.");
    counter!("groundcrew_http_requests_total", "Requests to the desk, by route and status.");
    histogram!("groundcrew_http_request_seconds", "How long a request to the desk took.");
    counter!("groundcrew_gate_calls_total", "Calls of the gate, by kind, verdict, action and outcome.");
    counter!("groundcrew_gate_refused_total", "Calls of the gate beyond gate.max_calls.");
    histogram!("groundcrew_gate_seconds", "How long a call of the gate took.");
    histogram!("groundcrew_gate_added_seconds", "What a call of the gate took beyond the judge's own time.");
    gauge!("groundcrew_gate_calls_in_work", "Calls of the gate in work.");
    counter!(
        "groundcrew_notification_tries_total",
        "Tries to tell a receiver something, by receiver and outcome."
    );
    counter!("groundcrew_notifications_failed_total", "Notifications that were given up, by receiver.");
    counter!("groundcrew_notify_unreadable_total", "Messages of groundcrew.review that nobody could read.");
    counter!(
        "groundcrew_refusals_not_kept_total",
        "Refusals that were too many for the access log of their minute."
    );
    counter!("groundcrew_logins_failed_total", "Requests whose token was not known or revoked.");
}
