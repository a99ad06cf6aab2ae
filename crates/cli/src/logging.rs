//! Log lines, on standard error.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use crate::config::{Log, LogFormat};
use crate::failure::Failure;

/// Which filter is used instead of the configured level, if it is set.
const FILTER_VARIABLE: &str = "GROUNDCREW_LOG";

/// Starts logging as configured, for commands that run for long.
pub(crate) fn start(log: Log) -> Result<(), Failure> {
    // What libraries say below a warning is about themselves; lapin calls every refusal an error, which our own
    // lines tell better.
    let default = format!("warn,lapin=off,{}", ours(log.level.as_str()));
    start_with(log.format, &default)
}

/// Starts logging of what goes wrong, for commands whose own output says the rest.
pub(crate) fn start_quiet() -> Result<(), Failure> {
    start_with(LogFormat::Text, "error,lapin=off")
}

fn ours(level: &str) -> String {
    [
        "groundcrew",
        "trace",
        "audit",
        "judge",
        "runner",
        "practice",
        "queue",
        "store",
        "durable",
        "figures",
        "worker",
        "desk",
        "notify",
    ]
    .map(|name| format!("{name}={level}"))
    .join(",")
}

fn is_no_level(filter: &str) -> bool {
    let is_word = |part: &str| !part.trim().is_empty() && !part.contains(['=', '[', ':']);
    let is_level = |part: &str| part.trim().parse::<tracing_subscriber::filter::LevelFilter>().is_ok();
    let mut parts = filter.split(',');
    // A module by itself is good for something only beside a level for the rest.
    parts.clone().all(is_word) && !parts.any(is_level)
}

fn start_with(format: LogFormat, default: &str) -> Result<(), Failure> {
    let given = std::env::var(FILTER_VARIABLE).ok().filter(|filter| !filter.trim().is_empty());
    let filter = match given {
        None => EnvFilter::new(default),
        // One word is taken for the name of a module, and silences everything else.
        Some(given) if is_no_level(&given) => {
            return Err(Failure::usage(format!("{FILTER_VARIABLE} = {given} is no level")).hint(
                "levels are error, warn, info, debug, trace and off; a filter is such as groundcrew=debug",
            ));
        }
        Some(given) => EnvFilter::try_new(&given).map_err(|error| {
            Failure::usage(format!("{FILTER_VARIABLE} = {given} is not a log filter: {error}"))
                .hint("expected such as info, or groundcrew=debug,sqlx=warn")
        })?,
    };
    let is_coloured =
        std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let builder =
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(is_coloured);
    match format {
        LogFormat::Text => builder.init(),
        LogFormat::Json => builder.json().flatten_event(true).init(),
    }
    Ok(())
}
