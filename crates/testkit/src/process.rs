//! The built program as a child process.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, SystemTime};

use crate::{unique, wait_for};

/// A call of the program in the making.
#[derive(Debug, Clone)]
pub struct Command {
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
}

/// A running program. It is killed when this goes out of scope.
#[derive(Debug)]
pub struct Process {
    child: Child,
    log: PathBuf,
    what: String,
}

impl Command {
    /// The program with these arguments.
    pub fn new(arguments: &[&str]) -> Self {
        Self {
            arguments: arguments.iter().map(|argument| (*argument).to_owned()).collect(),
            environment: Vec::new(),
        }
    }

    /// One more argument.
    #[must_use]
    pub fn argument(mut self, argument: impl Into<String>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// A variable of its environment.
    #[must_use]
    pub fn set(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Several variables.
    #[must_use]
    pub fn set_all(mut self, variables: impl IntoIterator<Item = (String, String)>) -> Self {
        self.environment.extend(variables);
        self
    }

    /// Starts it.
    ///
    /// # Panics
    /// When the program is not there, or is older than its sources.
    pub fn start(&self) -> Process {
        let log = std::env::temp_dir().join(format!("{}.log", unique("groundcrew-test")));
        let file = File::create(&log).expect("a log file can be made");
        let child = self
            .prepared()
            .stdout(file.try_clone().expect("a file handle can be cloned"))
            .stderr(file)
            .spawn()
            .expect("the program can be started");
        Process { child, log, what: self.arguments.join(" ") }
    }

    /// Runs it to its end and gives its exit code and all that it printed.
    ///
    /// # Panics
    /// As [`Command::start`].
    pub async fn run(&self) -> (Option<i32>, String) {
        let mut process = self.start();
        let status = process.ended(crate::PATIENCE).await;
        (status.code(), process.log())
    }

    fn prepared(&self) -> std::process::Command {
        let mut command = std::process::Command::new(program());
        command.args(&self.arguments).stdin(Stdio::null());
        // Only what the test says may decide how the program behaves.
        for (name, _) in std::env::vars() {
            if name.starts_with("GROUNDCREW_") || name == "DATABASE_URL" || name == "AMQP_URL" {
                command.env_remove(name);
            }
        }
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }
}

impl Process {
    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has not ended.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// SIGKILL: it gets no chance to do anything. Returns when it is gone.
    ///
    /// # Panics
    /// When it had ended by itself before.
    pub fn kill(mut self) {
        assert!(self.is_running(), "{} had ended before it was killed:\n{}", self.what, self.log());
        self.child.kill().expect("a child can be killed");
        self.child.wait().expect("a killed child ends");
    }

    /// SIGTERM: it is asked to end.
    ///
    /// # Panics
    /// When no signal can be sent.
    pub fn terminate(&self) {
        self.signal("TERM");
    }

    /// Sends a signal by its name, such as `STOP`.
    ///
    /// # Panics
    /// When no signal can be sent.
    pub fn signal(&self, name: &str) {
        let line = format!("kill -{name} {}", self.child.id());
        let status =
            std::process::Command::new("sh").arg("-c").arg(&line).status().expect("a shell can be run");
        assert!(status.success(), "`{line}` failed");
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// When it does not end in time.
    pub async fn ended(&mut self, deadline: Duration) -> ExitStatus {
        let what = format!("the end of `{}`", self.what);
        wait_for(&what, deadline, async || self.child.try_wait().expect("a child can be waited for")).await
    }

    /// Everything it has printed so far.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.log).unwrap_or_default()).into_owned()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already; both are fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            let log = self.log();
            let lines: Vec<&str> = log.lines().collect();
            let tail = lines[lines.len().saturating_sub(60)..].join("\n");
            eprintln!(
                "--- the end of what `{}` printed, all of it is in {}:\n{tail}",
                self.what,
                self.log.display()
            );
        } else {
            // A file that stays behind disturbs nobody.
            let _ = std::fs::remove_file(&self.log);
        }
    }
}

/// The program beside the one that runs, as cargo lays them out: tests lie one folder deeper.
fn program() -> PathBuf {
    let own = std::env::current_exe().expect("a program knows its path");
    let folder = own.parent().expect("a program lies in a folder");
    let folder =
        if folder.ends_with("deps") { folder.parent().expect("deps lies in target") } else { folder };
    let program = folder.join("groundcrew");
    let how = "build it with: cargo build --bin groundcrew";
    assert!(program.is_file(), "{} does not exist; {how}", program.display());
    if let Some(newer) = newer_source(&program) {
        panic!("{} is older than {}; {how}", program.display(), newer.display());
    }
    program
}

/// A source that was changed after the program was built: the test would try yesterday's program. Cargo lists the
/// sources beside the program.
fn newer_source(program: &Path) -> Option<PathBuf> {
    let modified = |path: &Path| -> Option<SystemTime> { std::fs::metadata(path).ok()?.modified().ok() };
    let built = modified(program)?;
    let list = std::fs::read_to_string(program.with_extension("d")).ok()?;
    let (_, sources) = list.split_once(": ")?;
    sources
        .replace("\\ ", "\0")
        .split_whitespace()
        .map(|source| PathBuf::from(source.replace('\0', " ")))
        .find(|source| modified(source).is_some_and(|changed| changed > built))
}
