//! The files that a run writes: JSON Lines as it goes, everything else whole at the end.
//!
//! What has to know its counts before its parts (JUnit, HTML) is put together from spools, so that no run is held in
//! memory. A file appears under its name only when it is whole; an earlier one stays until then.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};

use outcomes::files::html::{self, Overview, Section};
use outcomes::files::{Malformed, csv, junit};
use outcomes::{Change, Missed, Record};
use trace::Trace;

use crate::failure::Failure;

use super::goal::{self, Goal};

/// A format of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Jsonl,
    Csv,
    Junit,
    Html,
}

impl Format {
    const ALL: [(&'static str, Self); 8] = [
        ("jsonl", Self::Jsonl),
        ("csv", Self::Csv),
        ("junit", Self::Junit),
        ("html", Self::Html),
        // By ending only.
        ("ndjson", Self::Jsonl),
        ("xml", Self::Junit),
        ("htm", Self::Html),
        ("json", Self::Jsonl),
    ];
}

/// A file to write, and how.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) format: Format,
    pub(crate) path: PathBuf,
}

impl std::str::FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some((word, path)) = text.split_once('=')
            && let Some((_, format)) = Format::ALL[..4].iter().find(|(name, _)| *name == word)
            && !path.is_empty()
        {
            return Ok(Self { format: *format, path: path.into() });
        }
        let ending = Path::new(text).extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let format = Format::ALL.iter().find(|(name, _)| name.eq_ignore_ascii_case(ending));
        let is_ending = |name: &&(&str, Format)| !["junit", "json"].contains(&name.0);
        match format.filter(is_ending) {
            Some((_, format)) => Ok(Self { format: *format, path: text.into() }),
            None => Err(
                "expected a name that ends in .jsonl, .csv, .xml or .html, or FORMAT=FILE with the format \
                 jsonl, csv, junit or html"
                    .to_owned(),
            ),
        }
    }
}

/// An ended audit, with what is said about it.
pub(crate) struct Part<'a> {
    pub(crate) record: &'a Record,
    pub(crate) trace: &'a Trace,
    pub(crate) missed: &'a [Missed],
    pub(crate) change: Option<Change>,
    /// Whether that alone fails the run.
    pub(crate) is_worse: bool,
    /// Whether it stands in the JSON Lines file already.
    pub(crate) is_resumed: bool,
}

/// All files of a run.
pub(crate) struct Files(Vec<(Goal, PathBuf, Sheet)>);

enum Sheet {
    Jsonl(BufWriter<File>),
    Csv(BufWriter<File>),
    Junit { spool: BufWriter<File>, counts: junit::Counts },
    Html(Vec<Spool>),
}

/// A section of the page, as it grows.
struct Spool {
    section: Section,
    file: BufWriter<File>,
    audits: u64,
}

impl Files {
    /// Opens everything before the first audit is paid, and writes over nothing before all of it is open. With
    /// `is_resumed` JSON Lines are added to.
    ///
    /// # Errors
    /// When a file cannot be made, or two are the same.
    pub(crate) fn create(targets: &[Target], is_resumed: bool) -> Result<Self, Failure> {
        let mut sheets: Vec<(Goal, PathBuf, Sheet)> = Vec::new();
        for Target { format, path } in targets {
            let failed =
                |error: io::Error| Failure::usage(format!("{} cannot be written: {error}", path.display()));
            let goal = Goal::of(path).map_err(failed)?;
            if sheets.iter().any(|(known, ..)| *known == goal || known.is(path)) {
                return Err(Failure::usage(format!("--out names {} twice", path.display())));
            }
            let sheet = sheet(*format, &goal).map_err(failed)?;
            sheets.push((goal, path.clone(), sheet));
        }
        for (_, path, sheet) in &mut sheets {
            if let Sheet::Jsonl(lines) = sheet
                && !is_resumed
            {
                goal::empty(lines.get_mut()).map_err(|error| lost(path, &error))?;
            }
        }
        Ok(Self(sheets))
    }

    /// Adds an audit.
    ///
    /// # Errors
    /// When a file cannot be written: results would be lost.
    pub(crate) fn audited(&mut self, part: &Part<'_>) -> Result<(), Failure> {
        self.each(|sheet| sheet.audited(part))
    }

    /// Adds a line that is no trace.
    ///
    /// # Errors
    /// As [`Files::audited`].
    pub(crate) fn malformed(&mut self, malformed: &Malformed) -> Result<(), Failure> {
        self.each(|sheet| match sheet {
            Sheet::Junit { spool, counts } => spool.write_all(&junit::malformed(malformed, counts)?),
            Sheet::Jsonl(_) | Sheet::Csv(_) | Sheet::Html(_) => Ok(()),
        })
    }

    /// Puts every file into its place and gives their paths.
    ///
    /// # Errors
    /// As [`Files::audited`].
    pub(crate) fn finish(self, overview: &Overview<'_>) -> Result<Vec<PathBuf>, Failure> {
        let mut written = Vec::new();
        for (goal, path, sheet) in self.0 {
            sheet.finish(&goal, overview).map_err(|error| lost(&path, &error))?;
            written.push(path);
        }
        Ok(written)
    }

    fn each(&mut self, mut write: impl FnMut(&mut Sheet) -> io::Result<()>) -> Result<(), Failure> {
        self.0.iter_mut().try_for_each(|(_, path, sheet)| write(sheet).map_err(|error| lost(path, &error)))
    }
}

fn lost(path: &Path, error: &io::Error) -> Failure {
    Failure::unreachable(format!("{} cannot be written: {error}", path.display()))
}

fn sheet(format: Format, goal: &Goal) -> io::Result<Sheet> {
    let spool = || goal.spool().map(BufWriter::new);
    Ok(match format {
        Format::Jsonl => Sheet::Jsonl(BufWriter::new(goal.open()?)),
        Format::Csv => {
            let mut rows = spool()?;
            rows.write_all(&csv::head().map_err(io::Error::other)?)?;
            Sheet::Csv(rows)
        }
        Format::Junit => Sheet::Junit { spool: spool()?, counts: junit::Counts::default() },
        Format::Html => {
            let of = |section| Ok::<_, io::Error>(Spool { section, file: spool()?, audits: 0 });
            Sheet::Html(Section::ALL.into_iter().map(of).collect::<io::Result<_>>()?)
        }
    })
}

impl Sheet {
    fn audited(&mut self, part: &Part<'_>) -> io::Result<()> {
        let Part { record, trace, missed, change, is_worse, is_resumed } = part;
        match self {
            Self::Jsonl(_) if *is_resumed => Ok(()),
            Self::Jsonl(lines) => {
                serde_json::to_writer(&mut *lines, record)?;
                lines.write_all(b"\n")?;
                // Whatever happens next, this one is paid for.
                lines.flush()
            }
            Self::Csv(rows) => rows.write_all(&csv::audit(record).map_err(io::Error::other)?),
            Self::Junit { spool, counts } => {
                spool.write_all(&junit::audit(record, missed, *is_worse, counts)?)
            }
            Self::Html(spools) => {
                let section = Section::of(record, missed);
                let Some(spool) = spools.iter_mut().find(|spool| spool.section == section) else {
                    return Ok(());
                };
                spool.audits += 1;
                let html = html::audit(section, record, trace, missed, *change).map_err(io::Error::other)?;
                spool.file.write_all(html.as_bytes())
            }
        }
    }

    fn finish(self, goal: &Goal, overview: &Overview<'_>) -> io::Result<()> {
        match self {
            Self::Jsonl(mut lines) => lines.flush(),
            Self::Csv(rows) => goal.put(|whole| append(rows, whole)),
            Self::Junit { spool, mut counts } => {
                let mut of_run = Vec::new();
                for verdict in overview.thresholds {
                    of_run.extend(junit::threshold(verdict, &mut counts)?.unwrap_or_default());
                }
                goal.put(|whole| {
                    whole.write_all(&junit::head(counts)?)?;
                    append(spool, whole)?;
                    whole.write_all(&of_run)?;
                    whole.write_all(junit::FOOT)
                })
            }
            Self::Html(spools) => goal.put(|whole| {
                whole.write_all(html::head(overview).map_err(io::Error::other)?.as_bytes())?;
                for spool in spools.into_iter().filter(|spool| spool.audits > 0) {
                    whole.write_all(html::section(spool.section, spool.audits).as_bytes())?;
                    append(spool.file, whole)?;
                    whole.write_all(html::section_end(spool.section).as_bytes())?;
                }
                whole.write_all(html::FOOT.as_bytes())
            }),
        }
    }
}

/// Copies a spool, which goes away afterwards.
fn append(spool: BufWriter<File>, whole: &mut dyn Write) -> io::Result<()> {
    let mut file = spool.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.rewind()?;
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(()),
            read => whole.write_all(&buffer[..read])?,
        }
    }
}
