//! Which judge is asked: the one that is configured, one at an address, or the practice judge.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use judge::{Judge, Judges, Limits, Profile, ProfileSettings};

use crate::args::offline::{JudgeChoice, Named};
use crate::commands::check_services;
use crate::config::{self, Settings};
use crate::failure::{Failure, chain};
use crate::services;

/// The judges of a run.
pub(crate) struct Chosen {
    pub(crate) judges: Judges,
    /// Audits in work at once.
    pub(crate) concurrency: usize,
    practice: Option<practice::Server>,
}

impl Chosen {
    /// Ends what was started for the run.
    pub(crate) async fn stop(self) {
        if let Some(practice) = self.practice {
            practice.stop().await;
        }
    }
}

/// Makes the judges ready. Nothing is sent, but for a list of models where none is named.
///
/// # Errors
/// Without a judge: nobody shall have a green build because nobody was asked.
pub(crate) async fn choose(choice: &JudgeChoice, settings: &Settings) -> Result<Chosen, Failure> {
    let given = choice.concurrency.map(usize::from);
    if choice.judge == Some(Named::Practice) {
        return practice(given).await;
    }
    let Some(first) = named(choice, settings).await? else {
        return Err(Failure::usage("no judge is named: nothing can be audited").hint(
            "name one with --judge-url URL and --judge-model NAME, or in the configuration (judge.base_url, \
             judge.model); `--judge practice` takes the practice judge, whose verdicts prove nothing",
        ));
    };
    let first = with_concurrency(first, given);
    let fallback = if choice.judge_url.is_some() { &[][..] } else { &settings.fallback };
    let concurrency = given.unwrap_or(first.limits.max_concurrency);
    Ok(Chosen { judges: services::judges(&first, fallback)?, concurrency, practice: None })
}

/// Calls in flight are as many as audits in work.
fn with_concurrency(judge: config::Judge, given: Option<usize>) -> config::Judge {
    let max_concurrency = given.unwrap_or(judge.limits.max_concurrency);
    config::Judge { limits: Limits { max_concurrency, ..judge.limits }, ..judge }
}

async fn practice(given: Option<usize>) -> Result<Chosen, Failure> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let server =
        practice::Server::start(address, practice::Settings::default()).await.map_err(Failure::failed)?;
    let settings = ProfileSettings {
        practice: true,
        ..ProfileSettings::new("practice", server.base_url(), practice::MODEL)
    };
    let profile = Profile::new(settings).map_err(Failure::failed)?;
    let concurrency = given.unwrap_or(Limits::default().max_concurrency);
    let limits = Limits { max_concurrency: concurrency, ..Limits::default() };
    let judge = Judge::new(profile, &limits).map_err(Failure::failed)?;
    Ok(Chosen { judges: judge.into(), concurrency, practice: Some(server) })
}

/// The first judge: the configured one, with what the command line says instead.
async fn named(choice: &JudgeChoice, settings: &Settings) -> Result<Option<config::Judge>, Failure> {
    let configured = settings.judge.as_ref();
    let (url, model) = (choice.judge_url.as_deref(), choice.judge_model.as_deref());
    let Some(url) = url.or(configured.map(|judge| judge.profile.settings().base_url.as_str())) else {
        return match model {
            Some(_) => Err(Failure::usage("--judge-model names a model, and no judge that has it")
                .hint("name the judge's address with --judge-url")),
            None => Ok(None),
        };
    };
    if choice.judge_url.is_none() && model.is_none() {
        return Ok(configured.cloned());
    }
    let (limits, base) = match configured {
        Some(judge) => (judge.limits.clone(), judge.profile.settings().clone()),
        None => (Limits::default(), unconfigured(settings)),
    };
    let is_other_address = configured.is_some_and(|judge| judge.profile.settings().base_url != url);
    let known_model = model
        .map(str::to_owned)
        .or_else(|| configured.filter(|_| !is_other_address).map(|judge| judge.profile.model().to_owned()));
    let profile = |model: String| ProfileSettings {
        // Another model is another judge: results of the two must not be mistaken for each other.
        name: model.clone(),
        base_url: url.to_owned(),
        // The key of one address is nobody else's business.
        api_key: if is_other_address { None } else { base.api_key.clone() },
        practice: model == practice::MODEL,
        model,
        ..base.clone()
    };
    let model = match known_model {
        Some(model) => model,
        None => only_model(profile("unknown".to_owned()), &limits, url).await?,
    };
    let profile = Profile::new(profile(model)).map_err(|error| {
        Failure::usage(error).hint("--judge-url takes where the API begins, such as http://127.0.0.1:8000/v1")
    })?;
    Ok(Some(config::Judge { profile, limits }))
}

/// What holds for a judge that the configuration does not name: its defaults, and the key if there is one.
fn unconfigured(settings: &Settings) -> ProfileSettings {
    let defaults = ProfileSettings::new("", "", "");
    ProfileSettings {
        api_key: settings.judge_key.clone(),
        temperature: Some(0.0),
        max_tokens: Some(8192),
        ..defaults
    }
}

/// The model of a judge that has one.
async fn only_model(settings: ProfileSettings, limits: &Limits, url: &str) -> Result<String, Failure> {
    let profile = Profile::new(settings).map_err(Failure::usage)?;
    let judge = config::Judge { profile, limits: limits.clone() };
    let asked = tokio::time::timeout(Duration::from_secs(30), check_services::models(&judge)).await;
    let name_it = |why: String| {
        Failure::usage(format!("which model shall {url} use? {why}")).hint("name it with --judge-model")
    };
    let body = match asked {
        Ok(Ok((_, body))) => body,
        Ok(Err(error)) => {
            return Err(name_it(format!("its list of models cannot be read: {}", chain(error.as_ref()))));
        }
        Err(_) => return Err(name_it("its list of models does not come".to_owned())),
    };
    match check_services::listed(&body).as_deref() {
        Some([only]) => Ok(only.clone()),
        Some([]) | None => Err(name_it("it has no list of models".to_owned())),
        Some(several) => Err(name_it(format!("it has {}", several.join(", ")))),
    }
}
