//! `groundcrew prompt`: the texts that judges are asked with.

pub(crate) mod examples;

use std::path::Path;
use std::sync::Arc;

use audit::prompt::{Library, Prompt, choose_nonce, render};
use audit::{kinds, units};
use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};
use trace::{Kind, Readiness, completeness};

use crate::args::{PromptCheck, PromptDiff, PromptList, PromptShow};
use crate::config::Settings;
use crate::failure::{Failure, Outcome, chain};
use crate::output::Output;
use crate::terminal;

use super::read;

/// Lists every prompt.
pub(crate) fn list(args: &PromptList, settings: &Settings) -> Outcome {
    let library = &settings.runner.prompts;
    let mut output = Output::new();
    let rows: Vec<(Arc<Prompt>, bool)> = kinds::ALL
        .iter()
        .flat_map(|spec| {
            let current = library.current(spec.kind).ok().map(|prompt| prompt.version.clone());
            library
                .of_kind(spec.kind)
                .map(move |prompt| (prompt.clone(), current.as_ref() == Some(&prompt.version)))
        })
        .collect();
    if args.json.json {
        output.json(&rows.iter().map(|(prompt, current)| line(prompt, *current)).collect::<Vec<_>>());
        return Ok(());
    }
    for (prompt, current) in &rows {
        output.line(format!(
            "{:<20} {:<24} {} {:>6} characters{}",
            prompt.kind.as_str(),
            terminal::line(&prompt.version),
            &prompt.hash[..12],
            prompt.prefix().chars().count(),
            if *current { "  in use" } else { "" }
        ));
    }
    Ok(())
}

fn line(prompt: &Prompt, current: bool) -> Value {
    json!({
        "kind": prompt.kind,
        "version": prompt.version,
        "hash": prompt.hash,
        "notes": prompt.notes,
        "prefix_chars": prompt.prefix().chars().count(),
        "current": current,
    })
}

/// Prints one prompt, or what it makes of a trace.
pub(crate) fn show(args: &PromptShow, settings: &Settings) -> Outcome {
    let prompt = find(&settings.runner.prompts, &args.prompt)?;
    let mut output = Output::new();
    let Some(path) = &args.trace else {
        if args.json.json {
            let mut value = line(&prompt, true);
            value["file"] = json!(prompt.file);
            output.json(&value);
        } else {
            // `line` ends the line, so that the output is the file byte for byte.
            output.line(terminal::block(prompt.file.strip_suffix('\n').unwrap_or(&prompt.file)));
        }
        return Ok(());
    };
    let rendered = rendered(&prompt, path, settings)?;
    if args.json.json {
        output.json(&json!({
            "system": rendered.system,
            "user": rendered.user,
            "prefix_chars": rendered.system.chars().count(),
            "chars": rendered.system.chars().count() + rendered.user.chars().count(),
        }));
    } else {
        output.line(terminal::block(&format!("{}\n\n{}", rendered.system, rendered.user)));
    }
    Ok(())
}

fn rendered(prompt: &Prompt, path: &Path, settings: &Settings) -> Result<audit::prompt::Rendered, Failure> {
    let trace = trace::decode(&read(path)?).map_err(Failure::usage)?;
    let requirements = &settings.worker.project(&trace.project).requirements;
    let prepared = match completeness::check(&trace, prompt.kind, requirements) {
        Readiness::Complete(prepared) => prepared,
        Readiness::Incomplete(_) | Readiness::NotApplicable(_) => {
            let hint = format!("`groundcrew check trace {} --kind {}` says why", path.display(), prompt.kind);
            return Err(Failure::usage("this trace would not be judged").hint(hint));
        }
    };
    let spec = kinds::find(prompt.kind).map_err(Failure::usage)?;
    let units = units::first(spec, &prepared.trace, settings.runner.cut);
    let unit = units.first().ok_or_else(|| Failure::usage("no call would be made for this trace"))?;
    let candidates = (0_u32..).map(|number| format!("{number:08x}"));
    let nonce = choose_nonce(prompt, &prepared.trace, candidates).unwrap_or_default();
    Ok(render(prompt, spec, &prepared.trace, unit, &nonce, None))
}

/// Shows how two prompts differ.
pub(crate) fn diff(args: &PromptDiff, settings: &Settings) -> Outcome {
    let library = &settings.runner.prompts;
    let (old, new) = (text(library, &args.old)?, text(library, &args.new)?);
    let diff = TextDiff::from_lines(&old, &new);
    let mut output = Output::new();
    for change in diff.iter_all_changes() {
        let sign = match change.tag() {
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
            ChangeTag::Equal => ' ',
        };
        output.line(format!("{sign} {}", terminal::line(change.value().trim_end_matches('\n'))));
    }
    if old == new { Ok(()) } else { Err(Failure::not_fine()) }
}

/// Checks prompts and their examples.
pub(crate) fn check(args: &PromptCheck, settings: &Settings) -> Outcome {
    let mut checked: Vec<(String, Vec<String>)> = Vec::new();
    for path in &args.files {
        let file = String::from_utf8_lossy(&read(path)?).into_owned();
        let name = path.display().to_string();
        let problems = if path.extension().is_some_and(|extension| extension == "toml") {
            check_ruled(&name, &file, &settings.runner.prompts)
        } else {
            match Prompt::parse(&file) {
                Ok(prompt) => prompt.check_examples(),
                Err(error) => vec![chain(&error)],
            }
        };
        checked.push((name, problems));
    }
    if args.files.is_empty() {
        for spec in kinds::ALL {
            let prompt = settings.runner.prompts.current(spec.kind).map_err(Failure::usage)?;
            checked.push((prompt.version.clone(), prompt.check_examples()));
        }
    }
    let mut output = Output::new();
    if args.json.json {
        let entry =
            |(name, problems): &(String, Vec<String>)| json!({ "prompt": name, "problems": problems });
        output.json(&checked.iter().map(entry).collect::<Vec<_>>());
    } else {
        for (name, problems) in &checked {
            let name = terminal::line(name);
            output.line(if problems.is_empty() {
                format!("{name}: sound")
            } else {
                format!("{name}: not sound")
            });
            for problem in problems {
                output.line(format!("  {}", terminal::line(problem)));
            }
        }
    }
    if checked.iter().all(|(_, problems)| problems.is_empty()) { Ok(()) } else { Err(Failure::not_fine()) }
}

/// What is wrong with a file of examples from rulings: path, line, problem.
fn check_ruled(name: &str, file: &str, library: &Library) -> Vec<String> {
    let read = crate::examples::read(file);
    let made = read.and_then(|file| file.prompt(library).map_err(|defect| vec![defect]));
    made.err().into_iter().flatten().map(|defect| format!("{name}:{defect}")).collect()
}

/// The prompt of that version, or the current one of that kind.
fn find(library: &Library, name: &str) -> Result<Arc<Prompt>, Failure> {
    if let Ok(kind) = name.parse::<Kind>() {
        return library.current(kind).cloned().map_err(Failure::usage);
    }
    let all = || kinds::ALL.iter().flat_map(|spec| library.of_kind(spec.kind));
    all().find(|prompt| prompt.version == name).cloned().ok_or_else(|| {
        let known: Vec<&str> = all().map(|prompt| prompt.version.as_str()).collect();
        Failure::usage(format!("there is no prompt `{name}`")).hint(format!("known: {}", known.join(", ")))
    })
}

/// The file of a version or kind, or a file.
fn text(library: &Library, name: &str) -> Result<String, Failure> {
    let path = Path::new(name);
    if path.is_file() {
        return Ok(String::from_utf8_lossy(&read(path)?).into_owned());
    }
    find(library, name).map(|prompt| prompt.file.clone())
}
