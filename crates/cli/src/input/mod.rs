//! Traces from files: JSON Lines, a JSON array, one JSON object, a folder of such files, or standard input.
//!
//! The files are read on a thread of their own and handed over through a short queue, so that a large file needs no
//! more memory than a small one.

mod split;

use std::fs::File;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use outcomes::Place;
use tokio::sync::mpsc;
use trace::Problem;

use crate::failure::Failure;

/// What ends in these is read from a folder.
const EXTENSIONS: [&str; 3] = ["jsonl", "ndjson", "json"];

/// How many traces wait to be taken.
const AHEAD: usize = 16;

/// What comes out of the files.
#[derive(Debug)]
pub(crate) enum Piece {
    /// The bytes of what should be a trace.
    Message { place: Place, body: Vec<u8> },
    /// Something that cannot be one.
    Broken { place: Place, problem: Problem },
    /// A file that holds nothing.
    Empty { file: String },
    /// A file that could not be read to its end.
    Unreadable { file: String, error: std::io::Error },
}

/// Files that are read one after the other.
#[derive(Debug)]
pub(crate) struct Input {
    pieces: mpsc::Receiver<Piece>,
    read: Arc<AtomicU64>,
    /// Bytes in all; none where that is not known before the end.
    pub(crate) total: Option<u64>,
    /// What was asked for, in words.
    pub(crate) name: String,
}

impl Input {
    /// Begins to read. Messages longer than `limit` bytes are not read into memory.
    ///
    /// # Errors
    /// When a file is not there, is empty, or the folder holds none.
    pub(crate) fn open(path: &Path, limit: usize) -> Result<Self, Failure> {
        let name =
            if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() };
        let files = files(path)?;
        let sizes = files.iter().map(|file| file.size).collect::<Option<Vec<u64>>>();
        if let Some(file) = files.iter().find(|file| file.size == Some(0)) {
            return Err(empty(&file.name()));
        }
        let (sender, pieces) = mpsc::channel(AHEAD);
        let read = Arc::new(AtomicU64::new(0));
        let counter = read.clone();
        std::thread::spawn(move || {
            for file in &files {
                if read_file(file, limit, &counter, &sender).is_break() {
                    return;
                }
            }
        });
        Ok(Self { pieces, read, total: sizes.map(|sizes| sizes.iter().sum()), name })
    }

    /// The next piece; none at the end. Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> Option<Piece> {
        self.pieces.recv().await
    }

    /// Bytes read so far.
    pub(crate) fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }
}

/// A file that holds no trace.
pub(crate) fn empty(file: &str) -> Failure {
    Failure::usage(format!("{file} is empty: there is no trace in it"))
        .hint("expected JSON Lines, a JSON array of traces, or one trace")
}

/// The files that would be read; none for standard input.
///
/// # Errors
/// When one is not there, or the folder holds none.
pub(crate) fn sources(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    Ok(files(path)?.into_iter().filter_map(|source| source.path).collect())
}

/// One source; no path for standard input.
#[derive(Debug)]
struct Source {
    path: Option<PathBuf>,
    size: Option<u64>,
}

impl Source {
    fn name(&self) -> String {
        self.path.as_ref().map_or("-".to_owned(), |path| path.display().to_string())
    }

    fn open(&self) -> std::io::Result<Box<dyn Read>> {
        match &self.path {
            Some(path) => Ok(Box::new(File::open(path)?)),
            None => Ok(Box::new(std::io::stdin())),
        }
    }
}

fn files(path: &Path) -> Result<Vec<Source>, Failure> {
    if path == Path::new("-") {
        return Ok(vec![Source { path: None, size: None }]);
    }
    let unreadable = |path: &Path, error: std::io::Error| {
        Failure::usage(format!("{} cannot be read: {error}", path.display()))
    };
    let about = |path: &Path| std::fs::metadata(path).map_err(|error| unreadable(path, error));
    if !about(path)?.is_dir() {
        File::open(path).map_err(|error| unreadable(path, error))?;
        // A pipe has no size.
        let size = Some(about(path)?).filter(std::fs::Metadata::is_file).map(|about| about.len());
        return Ok(vec![Source { path: Some(path.to_owned()), size }]);
    }
    let mut found = Vec::new();
    collect(path, &mut found).map_err(|error| unreadable(path, error))?;
    found.sort();
    if found.is_empty() {
        return Err(Failure::usage(format!("the folder {} holds no file of traces", path.display()))
            .hint("files that end in .jsonl, .ndjson or .json are read, in subfolders as well"));
    }
    found.into_iter().map(|path| Ok(Source { size: Some(about(&path)?.len()), path: Some(path) })).collect()
}

/// The files of a folder and its subfolders. Links to folders are not followed: they may lead round in circles.
fn collect(folder: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            collect(&path, found)?;
        } else if path
            .extension()
            .and_then(|ending| ending.to_str())
            .is_some_and(|ending| EXTENSIONS.iter().any(|known| known.eq_ignore_ascii_case(ending)))
            // A link that leads nowhere is an error that is told, and no file that is not there.
            && std::fs::metadata(&path).map_or(true, |about| about.is_file())
        {
            found.push(path);
        }
    }
    Ok(())
}

/// Reads one file; a break means that nobody wants more.
fn read_file(
    source: &Source,
    limit: usize,
    read: &Arc<AtomicU64>,
    pieces: &mpsc::Sender<Piece>,
) -> ControlFlow<()> {
    let file = source.name();
    let send = |piece| match pieces.blocking_send(piece) {
        Ok(()) => ControlFlow::Continue(()),
        Err(_) => ControlFlow::Break(()),
    };
    let counted = |inner| Counted { inner, read: read.clone() };
    let outcome = source.open().map(counted).and_then(|source| {
        split::split(source, limit, &mut |line, message| {
            let place = Place { file: file.clone(), line };
            match message {
                Ok(body) => send(Piece::Message { place, body }),
                Err(problem) => send(Piece::Broken { place, problem }),
            }
        })
    });
    match outcome {
        Ok(split::End::Whole(0)) => send(Piece::Empty { file }),
        Ok(split::End::Whole(_)) => ControlFlow::Continue(()),
        Ok(split::End::Stopped) => ControlFlow::Break(()),
        Err(error) => send(Piece::Unreadable { file, error }),
    }
}

/// Counts what is read, for the progress bar.
struct Counted {
    inner: Box<dyn Read>,
    read: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.read.fetch_add(u64::try_from(read).unwrap_or_default(), Ordering::Relaxed);
        Ok(read)
    }
}
