//! The prompts: those in the binary, those in a folder, which go before them, and what reviewed examples from rulings
//! make of them.

use std::path::{Path, PathBuf};

use audit::prompt::{Library, Prompt};

use super::key::Key;
use super::sources::Sources;
use crate::examples;
use crate::failure::chain;

/// Every prompt that can be used. None when a file cannot; why is then among the problems of `sources`.
pub(super) fn library(dir: &str, examples_dir: &str, sources: &mut Sources) -> Option<Library> {
    let mut library = match Library::embedded() {
        Ok(library) => library,
        Err(error) => {
            let key = Key::new(&["prompts", "dir"]);
            sources.note(&key, format!("a prompt in the binary is broken: {error}"));
            return None;
        }
    };
    let is_sound = [
        folder(&mut library, dir, ("dir", "md"), add, sources),
        folder(&mut library, examples_dir, ("examples_dir", "toml"), add_examples, sources),
    ];
    is_sound.iter().all(|is_sound| *is_sound).then_some(library)
}

/// Adds the files of a folder; false when one cannot be used.
fn folder(
    library: &mut Library,
    dir: &str,
    (key, extension): (&str, &str),
    add: fn(&mut Library, &str) -> Result<(), Vec<String>>,
    sources: &mut Sources,
) -> bool {
    if dir.is_empty() {
        return true;
    }
    let key = Key::new(&["prompts", key]);
    let files = match files(Path::new(dir), extension) {
        Ok(files) => files,
        Err(error) => {
            sources.note(&key, format!("the folder cannot be read: {error}"));
            return false;
        }
    };
    let mut is_sound = true;
    for file in files {
        let added = std::fs::read_to_string(&file)
            .map_err(|error| vec![format!(" {error}")])
            .and_then(|text| add(library, &text));
        for why in added.err().into_iter().flatten() {
            sources.note(&key, format!("{}:{why}", file.display()));
            is_sound = false;
        }
    }
    is_sound
}

/// The files of a folder, by name: of one kind the last one is used.
fn files(dir: &Path, ending: &str) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == ending) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn add(library: &mut Library, text: &str) -> Result<(), Vec<String>> {
    let added = Prompt::parse(text).and_then(|prompt| library.add(prompt));
    added.map_err(|error| vec![format!(" {}", chain(&error))])
}

/// Each problem begins with its line.
fn add_examples(library: &mut Library, text: &str) -> Result<(), Vec<String>> {
    let file = examples::read(text)
        .map_err(|defects| defects.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    let prompt = file.prompt(library).map_err(|defect| vec![defect.to_string()])?;
    library.add(prompt).map_err(|error| vec![format!(" {}", chain(&error))])
}
