//! Liveness, readiness and figures over HTTP.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use figures::{Endpoint, Figures};
use judge::BreakerState;
use queue::{Connection, Lane};
use tokio_util::sync::CancellationToken;

use crate::flow::Flow;
use crate::worker::Context;

/// A socket that waits for its server.
#[derive(Debug)]
pub(crate) struct Health(Endpoint);

impl Health {
    /// Listens. Nothing is answered before [`Health::serve`].
    pub(crate) fn bind(address: SocketAddr) -> std::io::Result<Self> {
        Endpoint::bind(address).map(Self)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.0.address()
    }

    /// Answers until `end`.
    pub(crate) fn serve(self, context: Arc<Context>, consuming: Connection, end: CancellationToken) {
        let state = Arc::new(Served { context, consuming, figures: Figures::install() });
        self.0.serve(router(state), end);
    }
}

struct Served {
    context: Arc<Context>,
    consuming: Connection,
    figures: Figures,
}

fn router(state: Arc<Served>) -> Router {
    Router::new()
        .route("/livez", get(live))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .with_state(state)
}

async fn live(State(served): State<Arc<Served>>) -> Response {
    figures::live(served.context.vitals.since_beat())
}

async fn ready(State(served): State<Arc<Served>>) -> Response {
    figures::ready(&served.reasons())
}

async fn metrics(State(served): State<Arc<Served>>) -> Response {
    served.measure();
    served.figures.response()
}

impl Served {
    /// Why the worker takes no deliveries now; empty when it does.
    fn reasons(&self) -> Vec<(&'static str, String)> {
        let mut reasons = Vec::new();
        if self.context.vitals.is_stopping() {
            reasons.push(("stopping", "the worker was told to stop".to_owned()));
        }
        for (what, connection) in [
            ("broker_consuming", &self.consuming),
            ("broker_publishing", self.context.publisher.connection()),
        ] {
            match connection.state() {
                queue::State::Up => {}
                queue::State::Blocked(why) => {
                    reasons.push((what, format!("the broker takes nothing: {why}")));
                }
                queue::State::Down(why) => reasons.push((what, why)),
                queue::State::Closed => reasons.push((what, "closed by this process".to_owned())),
            }
        }
        match self.context.vitals.database() {
            Some(Ok(())) => {}
            Some(Err(why)) => reasons.push(("database", why)),
            None => reasons.push(("database", "was not asked yet".to_owned())),
        }
        match *self.context.flow.borrow() {
            Flow::Full => {}
            Flow::Paused => reasons.push(("paused", "an operator paused the fleet".to_owned())),
            Flow::Probe => reasons.push(("judge", "one call finds out whether it is back".to_owned())),
            Flow::JudgeUnavailable => {
                reasons.push(("judge", "the breaker of every judge is open".to_owned()));
            }
        }
        reasons
    }

    /// Sets the gauges.
    fn measure(&self) {
        let context = &self.context;
        for lane in Lane::ALL {
            #[expect(clippy::cast_precision_loss, reason = "a count of deliveries")]
            let in_work = context.vitals.in_work(lane) as f64;
            metrics::gauge!("groundcrew_deliveries_in_work", "lane" => lane.routing_key()).set(in_work);
        }
        for judge in context.runner.judges().iter() {
            let name = judge.name().to_owned();
            let limiter = judge.limiter();
            let gauge = |figure: &'static str| metrics::gauge!(figure, "judge" => name.clone());
            gauge("groundcrew_judge_concurrency_limit").set(count(limiter.limit()));
            gauge("groundcrew_judge_calls_in_flight").set(count(limiter.in_flight()));
            let open = match judge.breaker().state() {
                BreakerState::Closed => 0.0,
                BreakerState::HalfOpen => 0.5,
                BreakerState::Open { .. } => 1.0,
            };
            gauge("groundcrew_judge_breaker_open").set(open);
        }
        let is = |is: bool| f64::from(u8::from(is));
        let flow = *context.flow.borrow();
        metrics::gauge!("groundcrew_paused").set(is(flow == Flow::Paused));
        metrics::gauge!("groundcrew_ready").set(is(self.reasons().is_empty()));
        let database = matches!(context.vitals.database(), Some(Ok(())));
        metrics::gauge!("groundcrew_up", "service" => "database").set(is(database));
        for (service, connection) in
            [("broker_consuming", &self.consuming), ("broker_publishing", context.publisher.connection())]
        {
            metrics::gauge!("groundcrew_up", "service" => service)
                .set(is(connection.state() == queue::State::Up));
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a count of calls")]
fn count(number: usize) -> f64 {
    number as f64
}
