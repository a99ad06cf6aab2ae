//! Where a file of results goes, and that nothing that is read or paid for is written over.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek};
use std::path::{Path, PathBuf};

use same_file::Handle;

use crate::failure::Failure;

/// A place that results are written to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Goal {
    /// A file, whether or not it is there; links are followed to their end.
    File(PathBuf),
    /// A device, a pipe or standard output: written through, never replaced.
    Stream(PathBuf),
}

impl Goal {
    /// What a path leads to.
    ///
    /// # Errors
    /// When nothing can be written there.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        // What stands there is another name for something that is open.
        if path.starts_with("/dev") || path.starts_with("/proc") {
            fs::metadata(path)?;
            return Ok(Self::Stream(path.to_owned()));
        }
        match fs::metadata(path) {
            Ok(about) if about.is_dir() => Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder")),
            Ok(about) if about.is_file() => Ok(Self::File(path.canonicalize()?)),
            Ok(_) => Ok(Self::Stream(path.to_owned())),
            Err(_) => new_file(path).map(Self::File),
        }
    }

    /// Where spools for it are kept: on its own disk, or that of temporary files.
    pub(super) fn spool(&self) -> io::Result<File> {
        match self {
            Self::File(path) => tempfile::tempfile_in(folder_of(path)),
            Self::Stream(_) => tempfile::tempfile(),
        }
    }

    /// Writes a whole file: a file appears under its name only when it is whole, and an earlier one stays until then.
    pub(super) fn put(&self, write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>) -> io::Result<()> {
        match self {
            Self::File(path) => {
                let mut whole = io::BufWriter::new(out_file(path)?);
                write(&mut whole)?;
                let file = whole.into_inner().map_err(io::IntoInnerError::into_error)?;
                file.persist(path).map(|_| ()).map_err(|error| error.error)
            }
            Self::Stream(path) => {
                let mut stream = io::BufWriter::new(OpenOptions::new().append(true).open(path)?);
                write(&mut stream)?;
                io::Write::flush(&mut stream)
            }
        }
    }

    /// Opens it to grow line by line, as nobody else's. What is there stays.
    pub(super) fn open(&self) -> io::Result<File> {
        match self {
            Self::File(path) => {
                let file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
                lock(&file, path)?;
                Ok(file)
            }
            Self::Stream(path) => OpenOptions::new().append(true).open(path),
        }
    }

    /// Whether it is that very file, under whatever name.
    pub(super) fn is(&self, path: &Path) -> bool {
        let Self::File(own) = self else { return false };
        match (Handle::from_path(own), Handle::from_path(path)) {
            (Ok(own), Ok(other)) => own == other,
            _ => path.canonicalize().is_ok_and(|path| path == *own),
        }
    }

    /// Whether it lies in that folder.
    pub(super) fn is_in(&self, folder: &Path) -> bool {
        let Self::File(own) = self else { return false };
        folder.canonicalize().is_ok_and(|folder| own.starts_with(folder))
    }
}

/// A file that is not there yet, or a link that leads to one.
fn new_file(path: &Path) -> io::Result<PathBuf> {
    let path = match fs::read_link(path) {
        Ok(target) => folder_of(path).join(target),
        Err(_) => path.to_owned(),
    };
    let name =
        path.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "it has no name"))?;
    let folder = folder_of(&path).canonicalize();
    let folder = folder.map_err(|_| io::Error::new(io::ErrorKind::NotFound, "there is no such folder"))?;
    Ok(folder.join(name))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Keeps a second run off a file that grows. Some file systems have no locks; they are done without.
pub(super) fn lock(file: &File, path: &Path) -> io::Result<()> {
    let taken = || io::Error::new(io::ErrorKind::WouldBlock, "another run is writing it");
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => return Err(taken()),
        Ok(()) | Err(TryLockError::Error(_)) => {}
    }
    // It may have been put into another's place while it was opened.
    let is_same = Handle::from_file(file.try_clone()?)? == Handle::from_path(path)?;
    if is_same { Ok(()) } else { Err(taken()) }
}

/// Empties a file that an earlier run wrote.
pub(super) fn empty(file: &mut File) -> io::Result<()> {
    // What is no file has nothing to be emptied of.
    if file.metadata()?.is_file() && file.metadata()?.len() > 0 {
        file.set_len(0)?;
        file.rewind()?;
    }
    Ok(())
}

/// A file beside `path`, to be put into its place when it is whole.
pub(super) fn out_file(path: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".groundcrew-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // A file like any other, as far as the user's mask allows, and not its owner's alone.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder_of(path))
}

/// Results must not be written over what is read, nor where the next run would take them for traces.
///
/// # Errors
/// When one would be. `read` is what was asked for, `sources` are the files in it; lines that are added to a folder
/// while it is read would be read as well, so `grows` says of each goal whether it is written line by line.
pub(super) fn keep_apart(
    goals: &[(Goal, &Path, bool)],
    read: &Path,
    sources: &[PathBuf],
    baseline: Option<&Path>,
) -> Result<(), Failure> {
    for (goal, path, grows) in goals {
        let path = path.display();
        if sources.iter().any(|source| goal.is(source)) || (*grows && read.is_dir() && goal.is_in(read)) {
            let read = read.display();
            return Err(Failure::usage(format!("--out {path} lies where the traces are read from ({read})"))
                .hint("write the results to another folder"));
        }
        if baseline.is_some_and(|baseline| goal.is(baseline)) {
            return Err(Failure::usage(format!("--out {path} would be written over the --baseline")).hint(
                "write to another file, and put it into the place of the baseline when you accept it",
            ));
        }
    }
    Ok(())
}
