//! An error for programs: what a line of standard error says to people, as one JSON object with a stable code.

use super::{code, message, streams, text};
use crate::cmd::url;
use serde::Serialize;
use serde_json::{Value, json};
use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// True after the command line has requested JSON.
static IS_JSON: AtomicBool = AtomicBool::new(false);

/// The errors that were reported, if JSON was requested.
static REPORTED: Mutex<Vec<Failure>> = Mutex::new(Vec::new());

/// An error, in the field `error` of a JSON report.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Failure {
    /// The next step, if one is known.
    advice: Option<String>,
    /// A stable name of the cause, such as `input.missing`.
    code: &'static str,
    message: String,
    /// The file that it concerns, if one is known.
    path: Option<String>,
}

impl Failure {
    /// Describes an error. `file` is the file that it concerns, if the caller knows it.
    pub(crate) fn new(error: &anyhow::Error, file: Option<&Path>) -> Self {
        let clean = |words: &str| url::hidden_in(&text::safe(words));
        let file = file.map(Path::to_owned).or_else(|| message::file_of(error));
        let output = streams::output_failed(error);
        let file = file.filter(|_| output.is_none());
        let (words, advice) = match output {
            Some(words) => (words, None),
            None => message::parts(error, file.as_deref()),
        };
        let named = file.as_ref().map(|file| format!("`{}`: ", url::shown(file)));
        let rest = named.and_then(|named| words.strip_prefix(&named));
        Failure {
            advice: advice.as_deref().map(clean),
            code: code(error),
            message: clean(rest.unwrap_or(&words)),
            path: file.as_deref().map(crate::cmd::shown),
        }
    }

    /// Describes a usage error that clap found.
    fn of_usage(words: &str) -> Self {
        let words = words.strip_prefix("error: ").unwrap_or(words);
        let (message, advice) = words.split_once("\n\n").unwrap_or((words, ""));
        Failure {
            advice: Some(advice.trim()).filter(|advice| !advice.is_empty()).map(url::hidden_in),
            code: super::USAGE,
            message: url::hidden_in(message.trim_end()),
            path: None,
        }
    }
}

/// Remembers that the command line requests JSON.
pub(crate) fn set_json() {
    IS_JSON.store(true, Ordering::Relaxed);
}

/// Remembers a reported error, if the command line requests JSON.
pub(super) fn remember(error: &anyhow::Error, file: Option<&Path>) {
    if IS_JSON.load(Ordering::Relaxed) {
        let failure = Failure::new(error, file);
        REPORTED.lock().unwrap_or_else(PoisonError::into_inner).push(failure);
    }
}

/// Returns the errors that were reported so far, for a report that has no row for each file.
pub(crate) fn reported() -> Vec<Failure> {
    REPORTED.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Returns a row for each of these errors, for a report whose rows are files.
pub(crate) fn rows() -> impl Iterator<Item = Value> {
    reported().into_iter().map(|failure| json!({"file": failure.path, "error": failure}))
}

/// Prints the first error as a JSON object, if JSON was requested and the command has printed nothing: a report that
/// was printed has its errors in its rows.
pub(crate) fn print_first() {
    if !streams::has_written()
        && let Some(failure) = reported().first()
    {
        print(failure);
    }
}

/// Prints a usage error that clap found as a JSON object.
pub(super) fn print_usage(words: &str) {
    print(&Failure::of_usage(words));
}

fn print(failure: &Failure) {
    let report = json!({"error": failure});
    // If it cannot be written, the message on standard error and the exit code are enough.
    let _ = writeln!(streams::Stdout::verdicts(), "{report:#}");
}
