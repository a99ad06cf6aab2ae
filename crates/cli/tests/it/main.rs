//! The binary as people and scripts use it, without any service.
//!
//! Snapshots are plain text beside these files. After a change that is meant, run
//! `INSTA_UPDATE=always cargo test -p cli --test it` and look at the difference.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod check;
mod config;
mod examples;
mod golden;
mod help;
mod offline;
mod outputs;
mod schema;

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// One run of the binary.
struct Run {
    stdout: String,
    stderr: String,
    code: i32,
}

/// How the binary is called: in a folder of its own, with no variables but the given ones.
struct Call {
    folder: tempfile::TempDir,
    variables: Vec<(String, String)>,
    stdin: Vec<u8>,
}

impl Call {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), variables: Vec::new(), stdin: Vec::new() }
    }

    fn file(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
        self
    }

    fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    /// Calls that must all end as wrong usage, and what they print.
    fn refusals(&self, calls: &[&str]) -> String {
        let refusal = |arguments: &&str| {
            let run = self.run(arguments);
            assert_eq!(run.code, 2, "{arguments}: {}", run.shown());
            format!("$ groundcrew {arguments}\n{}\n", run.shown())
        };
        calls.iter().map(refusal).collect()
    }

    fn run(&self, arguments: &str) -> Run {
        let mut child = Command::new(env!("CARGO_BIN_EXE_groundcrew"))
            .args(arguments.split_whitespace())
            .env_clear()
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(self.folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A command that reads nothing may have ended already.
        let _ = child.stdin.take().unwrap().write_all(&self.stdin);
        let output = child.wait_with_output().unwrap();
        Run {
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
            code: output.status.code().unwrap_or(-1),
        }
    }
}

impl Run {
    /// All of it, for a snapshot.
    fn shown(&self) -> String {
        let mut shown = self.stdout.clone();
        if !self.stderr.is_empty() {
            shown.push_str("--- standard error ---\n");
            shown.push_str(&self.stderr);
        }
        shown + &format!("--- exit code {} ---\n", self.code)
    }
}

/// A file of the repository.
fn repository(path: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}
