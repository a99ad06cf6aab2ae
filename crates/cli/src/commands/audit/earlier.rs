//! What an earlier start of a run has written, so that it is not audited and paid again.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use outcomes::{Record, Standing};
use uuid::Uuid;

use crate::failure::Failure;

use super::goal::{self, Goal};
use super::out::{Format, Target};

/// The results of earlier starts: where each stands in the file.
#[derive(Debug)]
pub(crate) struct Earlier {
    path: PathBuf,
    /// By the audit's id: prompt version, judge and model, and the offset of its line.
    done: HashMap<Uuid, Done>,
}

#[derive(Debug)]
struct Done {
    prompt_version: String,
    judge: String,
    model: String,
    offset: u64,
}

impl Earlier {
    /// Reads the JSON Lines file among the outputs. What could not be judged then, and a line that was cut by a crash,
    /// is taken out of the file first, so that it holds each audit once in the end.
    ///
    /// # Errors
    /// When there is no such output, or the file is another one's.
    pub(crate) fn of(targets: &[Target]) -> Result<Self, Failure> {
        let target = targets.iter().find(|target| target.format == Format::Jsonl).ok_or_else(|| {
            Failure::usage("--resume needs a file to go on with")
                .hint("name the one of the earlier run, such as --out run.jsonl")
        })?;
        let failed = |error: std::io::Error| {
            Failure::usage(format!("{} cannot be rewritten: {error}", target.path.display()))
        };
        let mut done = HashMap::new();
        let path = match Goal::of(&target.path).map_err(failed)? {
            Goal::File(path) if path.exists() => path,
            Goal::File(path) => return Ok(Self { path, done }),
            Goal::Stream(_) => {
                return Err(Failure::usage(format!("{} is no file", target.path.display()))
                    .hint("--resume goes on with what stands in a file"));
            }
        };
        let old = File::open(&path).map_err(failed)?;
        goal::lock(&old, &path).map_err(failed)?;
        let mut kept = goal::out_file(&path).map_err(failed)?;
        let mut offset = 0;
        each_line(&path, |number, line, is_whole| {
            let record = match Record::parse(line) {
                Ok(record) => record,
                // The end of a file whose writer was killed.
                Err(_) if !is_whole && is_begun(line) => return Ok(()),
                Err(error) => {
                    return Err(Failure::usage(format!("{} line {number} {error}", path.display()))
                        .hint("--resume goes on with what `groundcrew audit --out FILE.jsonl` wrote"));
                }
            };
            // What was not judged has cost nothing, and may go better now.
            if record.standing() == Standing::Judged {
                writeln!(kept, "{line}").map_err(failed)?;
                let Record { prompt_version, judge, model, .. } = record;
                done.insert(record.audit_id, Done { prompt_version, judge, model, offset });
                offset += u64::try_from(line.len()).unwrap_or_default() + 1;
            }
            Ok(())
        })?;
        kept.persist(&path).map_err(|error| failed(error.error))?;
        Ok(Self { path, done })
    }

    /// The earlier result of an audit, if this prompt and this judge would make it again.
    pub(crate) fn find(&self, audit: Uuid, prompt_version: &str, judge: &judge::Profile) -> Option<Record> {
        let done = self.done.get(&audit)?;
        if done.prompt_version != prompt_version || done.judge != judge.name() || done.model != judge.model()
        {
            return None;
        }
        let mut file = File::open(&self.path).ok()?;
        file.seek(SeekFrom::Start(done.offset)).ok()?;
        let mut line = String::new();
        BufReader::new(file).read_line(&mut line).ok()?;
        Record::parse(&line).ok().filter(|record| record.audit_id == audit)
    }
}

/// Whether a line is the beginning of one of ours.
fn is_begun(line: &str) -> bool {
    let ours = format!("{{\"schema\":\"{}\",", outcomes::SCHEMA);
    line.starts_with(&ours) || ours.starts_with(line)
}

/// Calls `each` with number, text and wholeness (it ends with a line break) of every line that is not blank.
///
/// # Errors
/// When the file cannot be read, or `each` fails.
pub(super) fn each_line(
    path: &Path,
    mut each: impl FnMut(u64, &str, bool) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let unreadable =
        |error: std::io::Error| Failure::usage(format!("{} cannot be read: {error}", path.display()));
    let mut reader = BufReader::new(File::open(path).map_err(unreadable)?);
    let mut bytes = Vec::new();
    let mut number = 0;
    loop {
        bytes.clear();
        if reader.by_ref().read_until(b'\n', &mut bytes).map_err(unreadable)? == 0 {
            return Ok(());
        }
        number += 1;
        let is_whole = bytes.ends_with(b"\n");
        let line = String::from_utf8_lossy(&bytes);
        let line = line.trim_end_matches(['\n', '\r']);
        if !line.trim().is_empty() {
            each(number, line, is_whole)?;
        }
    }
}
