//! `groundcrew check config`: every key in force, and where it comes from.

use serde_json::{Value, json};

use crate::args::CheckConfig;
use crate::config::{Config, ConfigError, Line, Origin, Problem};
use crate::failure::{Failure, Outcome, chain};
use crate::output::Output;
use crate::terminal;

/// Prints the configuration, or what is wrong with it.
pub(crate) fn run(args: CheckConfig, loaded: Result<Config, ConfigError>) -> Outcome {
    let mut output = Output::new();
    match loaded {
        Ok(config) if args.json.json => output.json(&json!({
            "ok": true,
            "keys": config.lines.iter().map(line_json).collect::<Vec<_>>(),
            "problems": [],
            "warnings": config.warnings,
        })),
        Ok(config) => {
            print(&mut output, &config.lines);
            for warning in &config.warnings {
                output.line(format!("warning: {}", terminal::line(warning)));
            }
        }
        Err(error) => {
            refuse(&mut output, &error, args.json.json);
            return Err(Failure::not_fine());
        }
    }
    Ok(())
}

fn print(output: &mut Output, lines: &[Line]) {
    let shown = |line: &Line| line.value.as_deref().map_or_else(|| "(not set)".to_owned(), terminal::line);
    let assigned: Vec<String> =
        lines.iter().map(|line| format!("{} = {}", terminal::line(&line.key), shown(line))).collect();
    let width =
        assigned.iter().map(|text| terminal::width(text)).filter(|width| *width <= 64).max().unwrap_or(0);
    for (text, line) in assigned.iter().zip(lines) {
        output.line(format!(
            "{}  # {}",
            terminal::pad(text, width),
            terminal::line(&line.origin.to_string())
        ));
    }
}

fn refuse(output: &mut Output, error: &ConfigError, json: bool) {
    let problems = match error {
        ConfigError::Keys(problems) => problems.as_slice(),
        _ => &[],
    };
    if json {
        let problems: Vec<Value> = match problems {
            [] => vec![
                json!({ "key": null, "value": null, "source": null, "origin": null, "message": chain(error) }),
            ],
            problems => problems.iter().map(problem_json).collect(),
        };
        output.json(&json!({ "ok": false, "keys": [], "problems": problems, "warnings": [] }));
        return;
    }
    output.line(format!("wrong: {}", terminal::block(&chain(error))));
}

fn line_json(line: &Line) -> Value {
    json!({
        "key": line.key,
        "value": line.value,
        "source": line.origin.word(),
        "origin": line.origin.to_string(),
    })
}

fn problem_json(problem: &Problem) -> Value {
    json!({
        "key": problem.key,
        "value": problem.value,
        "source": problem.origin.as_ref().map(Origin::word),
        "origin": problem.origin.as_ref().map(ToString::to_string),
        "message": problem.message,
    })
}
