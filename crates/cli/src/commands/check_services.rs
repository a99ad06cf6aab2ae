//! `groundcrew check services`: can a worker start here?

use std::time::Duration;

use queue::topology::{self, Finding, Presence};
use queue::{Connection, Purpose};
use reqwest::StatusCode;
use serde::Serialize;
use store::{Schema, Store};

use crate::args::CheckServices;
use crate::config::{Judge, Settings};
use crate::failure::{Failure, Outcome, chain};
use crate::output::Output;
use crate::{services, terminal};

/// How one service is.
#[derive(Debug, Serialize)]
struct Service {
    name: &'static str,
    ok: bool,
    /// What was found.
    found: String,
    /// What to do about it; none when nothing has to be done.
    hint: Option<String>,
}

impl Service {
    fn fine(name: &'static str, found: impl Into<String>) -> Self {
        Self { name, ok: true, found: found.into(), hint: None }
    }

    fn wrong(name: &'static str, found: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { name, ok: false, found: found.into(), hint: Some(hint.into()) }
    }

    fn failed(name: &'static str, failure: &Failure) -> Self {
        Self { name, ok: false, found: failure.message(), hint: failure.hint_text().map(str::to_owned) }
    }
}

/// Looks at all of them and says how they are.
pub(crate) async fn run(args: CheckServices, settings: &Settings) -> Outcome {
    let (postgres, rabbitmq, first) = tokio::join!(postgres(settings), rabbitmq(settings), judge(settings));
    let mut services = vec![postgres, rabbitmq, first];
    for judge in &settings.fallback {
        let service = reach(judge).await;
        let found = format!("{}: {}", judge.profile.name(), service.found);
        services.push(Service { found, ..service });
    }
    let mut output = Output::new();
    if args.json.json {
        output.json(&services);
    } else {
        for service in &services {
            let state = if service.ok { "ok" } else { "not ok" };
            output.line(format!("{:<9} {state:<7} {}", service.name, terminal::block(&service.found)));
            if let Some(hint) = &service.hint {
                output.line(format!("{:<9} {:<7} {}", "", "to do:", terminal::block(hint)));
            }
        }
    }
    if services.iter().all(|service| service.ok) {
        return Ok(());
    }
    Err(Failure::not_fine())
}

async fn postgres(settings: &Settings) -> Service {
    const NAME: &str = "postgres";
    let target = match services::store_settings(settings) {
        Ok(target) => target,
        Err(failure) => return Service::failed(NAME, &failure),
    };
    if let Err(failure) = services::knock(&target).await {
        return Service::wrong(NAME, failure.message(), "start Postgres, or correct DATABASE_URL");
    }
    let store = match Store::connect(&target) {
        Ok(store) => store,
        Err(error) => {
            return Service::wrong(NAME, chain(&error), "correct DATABASE_URL or the section [database]");
        }
    };
    if let Err(error) = store.ping().await {
        return Service::wrong(NAME, chain(&error), "start Postgres, or correct DATABASE_URL");
    }
    let service = match store.check_schema().await {
        Ok(Schema::Current) => Service::fine(NAME, "reached, the tables are those of this version"),
        Ok(Schema::Newer { version }) => Service::fine(
            NAME,
            format!("reached, the tables are newer than this version (migration {version})"),
        ),
        Err(error) if error.is_schema() => Service::wrong(NAME, chain(&error), "run `groundcrew migrate`"),
        Err(error) => Service::wrong(NAME, chain(&error), "look at the server's log"),
    };
    store.close().await;
    service
}

async fn rabbitmq(settings: &Settings) -> Service {
    const NAME: &str = "rabbitmq";
    let settings = match services::queue_settings(settings) {
        Ok(settings) => settings,
        Err(failure) => return Service::failed(NAME, &failure),
    };
    let connection = match Connection::open(settings, Purpose::Consume).await {
        Ok(connection) => connection,
        Err(error) => {
            let hint = if error.is_configuration() {
                "correct AMQP_URL"
            } else {
                "start RabbitMQ, or correct AMQP_URL"
            };
            return Service::wrong(NAME, chain(&error), hint);
        }
    };
    let service = match topology::verify(&connection).await {
        Ok(findings) => topology_of(&findings),
        Err(error) => Service::wrong(NAME, chain(&error), "look at the broker's log"),
    };
    connection.close().await;
    service
}

fn topology_of(findings: &[Finding]) -> Service {
    const NAME: &str = "rabbitmq";
    let wrong: Vec<String> = findings
        .iter()
        .filter_map(|finding| match &finding.state {
            Presence::Wrong(mismatch) => Some(format!("\n  {mismatch}")),
            Presence::Right | Presence::Missing => None,
        })
        .collect();
    if !wrong.is_empty() {
        let found = format!("reached, and these are not what this version needs:{}", wrong.concat());
        return Service::wrong(NAME, found, "stop the workers, then do what stands behind each");
    }
    let missing = findings.iter().filter(|finding| finding.state == Presence::Missing).count();
    if missing == 0 {
        return Service::fine(
            NAME,
            format!("reached, all {} exchanges and queues are as they must be", findings.len()),
        );
    }
    Service::fine(
        NAME,
        format!(
            "reached; {missing} of {} exchanges and queues do not exist yet, a worker makes them",
            findings.len()
        ),
    )
}

async fn judge(settings: &Settings) -> Service {
    const NAME: &str = "judge";
    let Some(judge) = &settings.judge else {
        return Service::wrong(
            NAME,
            "none is configured",
            "set GROUNDCREW_JUDGE__BASE_URL and GROUNDCREW_JUDGE__MODEL, or start `groundcrew judge practice`",
        );
    };
    reach(judge).await
}

async fn reach(judge: &Judge) -> Service {
    match models(judge).await {
        Ok((status, body)) => models_of(judge, status, &body),
        Err(error) => Service::wrong("judge", chain(&*error), "start the judge, or correct its base_url"),
    }
}

/// Asks for the list of models: the one question that costs nothing.
pub(super) async fn models(judge: &Judge) -> Result<(StatusCode, Vec<u8>), Box<dyn std::error::Error>> {
    let patience = Duration::from_millis(judge.profile.settings().connect_timeout_ms.saturating_mul(2));
    let request = judge::client(&judge.profile)?
        .get(judge.profile.models_endpoint())
        .headers(judge.profile.headers().clone())
        .timeout(patience);
    let response = request.send().await.map_err(reqwest::Error::without_url)?;
    let status = response.status();
    Ok((status, response.bytes().await.map_err(reqwest::Error::without_url)?.to_vec()))
}

fn models_of(judge: &Judge, status: StatusCode, body: &[u8]) -> Service {
    const NAME: &str = "judge";
    let model = judge.profile.model();
    if status == StatusCode::UNAUTHORIZED || status == StatusCode::FORBIDDEN {
        return Service::wrong(
            NAME,
            format!("reached, and it refuses the key ({status})"),
            "correct GROUNDCREW_JUDGE__API_KEY",
        );
    }
    if status.is_server_error() {
        return Service::wrong(NAME, format!("reached, and it answers {status}"), "look at the judge's log");
    }
    let practice = if judge.profile.is_practice() { "; this is the practice judge" } else { "" };
    match listed(body) {
        Some(models) if models.iter().any(|listed| listed == model.trim_start_matches("models/")) => {
            Service::fine(NAME, format!("reached, and it has {model}{practice}"))
        }
        Some(_) => Service::fine(
            NAME,
            format!("reached; {model} is not in its list of models, which need not mean anything{practice}"),
        ),
        None => Service::fine(NAME, format!("reached; it has no list of models ({status}){practice}")),
    }
}

/// The names in a list of models; none when this is no such list.
pub(super) fn listed(body: &[u8]) -> Option<Vec<String>> {
    let list: serde_json::Value = serde_json::from_slice(body).ok()?;
    // One provider calls the list and the names in it otherwise.
    let models = list.get("data").or_else(|| list.get("models"))?.as_array()?;
    let name = |model: &serde_json::Value| {
        let name = model.get("id").or_else(|| model.get("name"))?.as_str()?;
        Some(name.trim_start_matches("models/").to_owned())
    };
    Some(models.iter().filter_map(name).collect())
}
