//! The prompts: those in the binary, and those in a folder, which go before them.

use std::path::{Path, PathBuf};

use audit::prompt::{Library, Prompt};

use super::key::Key;
use super::sources::Sources;

/// Every prompt that can be used. None when a file cannot; why is then among the problems of `sources`.
pub(super) fn library(dir: &str, sources: &mut Sources) -> Option<Library> {
    let key = Key::new(&["prompts", "dir"]);
    let mut library = match Library::embedded() {
        Ok(library) => library,
        Err(error) => {
            sources.note(&key, format!("a prompt in the binary is broken: {error}"));
            return None;
        }
    };
    if dir.is_empty() {
        return Some(library);
    }
    let files = match files(Path::new(dir)) {
        Ok(files) => files,
        Err(error) => {
            sources.note(&key, format!("the folder cannot be read: {error}"));
            return None;
        }
    };
    let mut is_sound = true;
    for file in files {
        if let Err(why) = add(&mut library, &file) {
            sources.note(&key, format!("{}: {why}", file.display()));
            is_sound = false;
        }
    }
    is_sound.then_some(library)
}

/// The prompt files of a folder, by name: of one kind the last one is used.
fn files(dir: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "md") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn add(library: &mut Library, file: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
    let prompt = Prompt::parse(&text).map_err(|error| chain(&error))?;
    library.add(prompt).map_err(|error| chain(&error))
}

fn chain(error: &dyn std::error::Error) -> String {
    std::iter::successors(error.source(), |error| error.source())
        .fold(error.to_string(), |text, source| format!("{text}: {source}"))
}
