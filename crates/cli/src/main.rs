//! The `groundcrew` binary: one subcommand per job.
//!
//! [`args`] says what may be typed, [`config`] what may be set, [`commands`] does the jobs. Errors are
//! printed here and nowhere else ([`failure`]).

mod args;
mod commands;
mod config;
mod examples;
mod failure;
mod input;
mod logging;
mod output;
mod services;
mod signals;
mod terminal;

use std::process::ExitCode;

use clap::Parser;

use args::offline::Golden;
use args::{Check, Cli, Command, Dead, Judge, Prompt, Queue, Replay, Review, Schema, Token, Trace};
use config::{ConfigError, Settings};
use failure::{Failure, Outcome};

/// A worker makes and drops many small texts: glibc's allocator took a quarter of its time
/// (docs/performance.md, "Throughput by itself").
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(&cli) {
        // Whoever reads a result from standard output must not take half of it for the whole.
        Ok(()) if output::is_lost() => Failure::not_made().report(),
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn run(cli: &Cli) -> Outcome {
    match &cli.command {
        Command::Schema(Schema::Trace) => commands::schema::trace(),
        Command::Prompt(Prompt::List(args)) => commands::prompt::list(args, &settings(cli)?),
        Command::Prompt(Prompt::Show(args)) => commands::prompt::show(args, &settings(cli)?),
        Command::Prompt(Prompt::Diff(args)) => commands::prompt::diff(args, &settings(cli)?),
        Command::Prompt(Prompt::Check(args)) => commands::prompt::check(args, &settings(cli)?),
        Command::Check(Check::Config(args)) => commands::check_config::run(*args, load(cli)),
        Command::Check(Check::Trace(args)) => commands::check_trace::run(args, &settings(cli)?),
        Command::Check(Check::Reply(args)) => commands::check_reply::run(args, &settings(cli)?),
        Command::Worker(args) => {
            let settings = settings(cli)?;
            logging::start(settings.log)?;
            block_on(commands::worker::run(args, settings))
        }
        Command::Desk(args) => {
            let settings = settings(cli)?;
            logging::start(settings.log)?;
            block_on(commands::desk::run(args, settings))
        }
        Command::Notify(args) => {
            let settings = settings(cli)?;
            match &args.send {
                None if !args.dry_run => logging::start(settings.log)?,
                _ => logging::start_quiet()?,
            }
            block_on(commands::notify::run(args, settings))
        }
        Command::Audit(args) => {
            let settings = settings(cli)?;
            logging::start_quiet()?;
            block_on(commands::audit::run(args, &settings))
        }
        Command::Golden(Golden::Run(args)) => {
            let settings = settings(cli)?;
            logging::start_quiet()?;
            block_on(commands::golden::run(args, &settings))
        }
        Command::Judge(Judge::Practice(args)) => {
            logging::start(settings(cli)?.log)?;
            block_on(commands::practice::run(args))
        }
        command => {
            let settings = settings(cli)?;
            logging::start_quiet()?;
            block_on(ask(command, &settings))
        }
    }
}

/// The commands that need services for a moment.
async fn ask(command: &Command, settings: &Settings) -> Outcome {
    match command {
        Command::Migrate(args) => commands::migrate::run(args, settings).await,
        Command::Maintain(args) => commands::maintain::run(*args, settings).await,
        Command::Replay(Replay::Replies(args)) => commands::replay::replies::run(args, settings).await,
        Command::Replay(Replay::Traces(args)) => commands::replay::traces::run(args, settings).await,
        Command::Replay(Replay::Compare(args)) => commands::replay::compare::run(args, settings).await,
        Command::Publish(args) => commands::publish::run(args, settings).await,
        Command::Watch(args) => commands::watch::run(args, settings).await,
        Command::Trace(Trace::Show(args)) => commands::show::run(args, settings).await,
        Command::Review(Review::List(args)) => commands::review::list(args, settings).await,
        Command::Queue(Queue::Status(args)) => commands::queue_status::run(args, settings).await,
        Command::Queue(Queue::Pause(args)) => commands::fleet::pause(args, settings).await,
        Command::Queue(Queue::Resume(args)) => commands::fleet::resume(args, settings).await,
        Command::Prompt(Prompt::Examples(args)) => commands::prompt::examples::run(args, settings).await,
        Command::Queue(Queue::Dead(Dead::List(args))) => commands::dead::list(args, settings).await,
        Command::Queue(Queue::Dead(Dead::Show(args))) => commands::dead::show(args, settings).await,
        Command::Queue(Queue::Dead(Dead::Replay(args))) => commands::dead::replay(args, settings).await,
        Command::Queue(Queue::Dead(Dead::Discard(args))) => commands::dead::discard(args, settings).await,
        Command::Golden(Golden::Export(args)) => commands::golden::export::run(args, settings).await,
        Command::Token(Token::Add(args)) => commands::token::add(args, settings).await,
        Command::Token(Token::List(args)) => commands::token::list(args, settings).await,
        Command::Token(Token::Revoke(args)) => commands::token::revoke(args, settings).await,
        Command::Check(Check::Services(args)) => commands::check_services::run(*args, settings).await,
        Command::Worker(_)
        | Command::Desk(_)
        | Command::Notify(_)
        | Command::Audit(_)
        | Command::Golden(Golden::Run(_))
        | Command::Judge(_)
        | Command::Schema(_)
        | Command::Prompt(_)
        | Command::Check(_) => Err(Failure::failed("this command needs no services")),
    }
}

fn load(cli: &Cli) -> Result<config::Config, ConfigError> {
    // An empty variable is how deployment tools say that they have nothing to say.
    let file = cli.config.as_deref().filter(|file| !file.as_os_str().is_empty());
    config::load(file, std::env::vars_os())
}

fn settings(cli: &Cli) -> Result<Settings, Failure> {
    let config = load(cli)?;
    for warning in &config.warnings {
        output::note(format!("warning: {warning}"));
    }
    Ok(config.settings)
}

fn block_on(job: impl Future<Output = Outcome>) -> Outcome {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // An error would mean that another thread was faster, and then there is one.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Failure::failed)?;
    runtime.block_on(job)
}
