//! The only module that writes to standard output and standard error.

use std::io::{self, IsTerminal, StderrLock, StdoutLock, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;

use crate::terminal;

/// Whether something could not be written to standard output, such as to a full disk.
static LOST: AtomicBool = AtomicBool::new(false);

/// Whether standard output lacks something that nobody chose to do without.
pub(crate) fn is_lost() -> bool {
    LOST.load(Ordering::Relaxed)
}

/// Standard output, locked for the length of a command.
///
/// A reader that has gone (`| head`) is no error: what follows is dropped, and the command still
/// ends with the code that its result deserves. Any other error is told once, see [`is_lost`].
#[derive(Debug)]
pub(crate) struct Output {
    out: StdoutLock<'static>,
    gone: bool,
}

impl Output {
    pub(crate) fn new() -> Self {
        Self { out: io::stdout().lock(), gone: false }
    }

    /// Writes one line. The text must be fit for a terminal; see [`crate::terminal`].
    pub(crate) fn line(&mut self, text: impl AsRef<str>) {
        self.write(|out| writeln!(out, "{}", text.as_ref()));
    }

    /// Writes a value as JSON, on one line.
    pub(crate) fn json_line(&mut self, value: &impl Serialize) {
        self.write(|out| writeln!(out, "{}", terminal::json(&serde_json::to_string(value)?)));
    }

    /// Writes a value as JSON, indented.
    pub(crate) fn json(&mut self, value: &impl Serialize) {
        self.write(|out| writeln!(out, "{}", terminal::json(&serde_json::to_string_pretty(value)?)));
    }

    /// Writes bytes as they are: only for what the caller asked for in so many words.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.write(|out| out.write_all(bytes));
    }

    /// Hands everything to the reader now, for output that is followed as it grows.
    pub(crate) fn flush(&mut self) {
        self.write(Write::flush);
    }

    /// Whether nobody reads any more.
    pub(crate) const fn is_gone(&self) -> bool {
        self.gone
    }

    fn write(&mut self, write: impl FnOnce(&mut StdoutLock<'static>) -> io::Result<()>) {
        if self.gone {
            return;
        }
        if let Err(error) = write(&mut self.out) {
            self.gone = true;
            if error.kind() != io::ErrorKind::BrokenPipe && !LOST.swap(true, Ordering::Relaxed) {
                note(format!("error: standard output cannot be written: {error}"));
            }
        }
    }
}

impl Drop for Output {
    /// Whatever is still on its way must not fail unseen after the last look.
    fn drop(&mut self) {
        self.flush();
    }
}

/// How wide lists and texts may be: as the terminal, and never wider than is good to read.
pub(crate) fn columns() -> usize {
    const MOST: usize = 100;
    const LEAST: usize = 60;
    let terminal = terminal_size::terminal_size_of(io::stdout());
    terminal.map_or(MOST, |(width, _)| usize::from(width.0).clamp(LEAST, MOST))
}

/// Writes one line to standard error. Nothing can be done when that fails.
pub(crate) fn note(text: impl AsRef<str>) {
    let mut err: StderrLock<'static> = io::stderr().lock();
    let _ = writeln!(err, "{}", text.as_ref());
}

/// A bar for long work, drawn on standard error and only if that is a terminal.
pub(crate) fn progress(length: usize, what: &'static str) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let length = u64::try_from(length).unwrap_or(u64::MAX);
    let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{msg} {bar:30} {pos}/{len} {eta}");
    // The template is fixed, so it is either always right or never.
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar.set_message(what);
    bar
}

/// A bar for audits of files, over their bytes; it only turns where the end is not known.
pub(crate) fn audits(total: Option<u64>) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr());
    let template = if total.is_some() { "{bar:10} {percent}% {wide_msg}" } else { "{spinner} {wide_msg}" };
    // The template is fixed, so it is either always right or never.
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}
