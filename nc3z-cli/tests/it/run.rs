//! The binary under test, a directory of its own for each test, and goldens.

use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The result of a run.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: Vec<u8>,
    pub(crate) err: String,
}

impl Ran {
    /// Standard output as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.out.clone()).unwrap()
    }

    /// Returns standard output as one JSON document.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.out).unwrap()
    }

    /// Checks the exit code, and shows the messages if it differs.
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}{}", String::from_utf8_lossy(&self.out), self.err);
        self
    }

    /// Checks that a message contains this text.
    pub(crate) fn says(self, words: &str) -> Self {
        assert!(self.err.contains(words), "no `{words}` in: {}", self.err);
        self
    }
}

/// A directory that is deleted after the test. Programs run in it.
pub(crate) struct Dir(tempfile::TempDir);

impl Dir {
    pub(crate) fn new() -> Self {
        Dir(tempfile::tempdir().unwrap())
    }

    /// A directory with these files.
    pub(crate) fn with(files: &[(&str, &[u8])]) -> Self {
        let dir = Dir::new();
        for (name, bytes) in files {
            dir.write(name, bytes);
        }
        dir
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nc3z"));
        command.args(args).current_dir(self.0.path()).env_remove("NO_COLOR").stdin(Stdio::null());
        command
    }

    /// Runs `nc3z` with these arguments.
    pub(crate) fn nc3z(&self, args: &[&str]) -> Ran {
        ran(self.command(args).output().unwrap())
    }

    /// Runs `nc3z` with bytes on standard input.
    pub(crate) fn nc3z_with_input(&self, args: &[&str], input: &[u8]) -> Ran {
        let mut command = self.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        ran(child.wait_with_output().unwrap())
    }

    /// Returns all files below the directory, sorted, including hidden and temporary ones.
    pub(crate) fn files(&self) -> Vec<String> {
        let mut names = Vec::new();
        collect(self.0.path(), self.0.path(), &mut names);
        names.sort();
        names
    }
}

fn collect(root: &Path, dir: &Path, names: &mut Vec<String>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(root, &path, names);
        } else {
            names.push(path.strip_prefix(root).unwrap().to_str().unwrap().to_owned());
        }
    }
}

fn ran(output: Output) -> Ran {
    Ran { code: output.status.code(), out: output.stdout, err: String::from_utf8(output.stderr).unwrap() }
}

/// Compares with a recorded file in `tests/snapshots`; `UPDATE_SNAPSHOTS=1` writes it instead.
pub(crate) fn assert_snapshot(name: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(name);
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, found).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        expected == found,
        "{name} differs; UPDATE_SNAPSHOTS=1 accepts it\n--- expected\n{expected}\n--- found\n{found}"
    );
}

/// Returns the keys of a document, one path in each line. Rows of an array count as one.
pub(crate) fn keys(value: &Value) -> String {
    let mut paths = std::collections::BTreeSet::new();
    walk(value, "", &mut paths);
    paths.into_iter().fold(String::new(), |all, path| all + &path + "\n")
}

fn walk(value: &Value, path: &str, paths: &mut std::collections::BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let path = format!("{path}.{key}");
                walk(value, &path, paths);
                paths.insert(path);
            }
        }
        Value::Array(rows) => rows.iter().for_each(|row| walk(row, &format!("{path}[]"), paths)),
        _ => {}
    }
}
