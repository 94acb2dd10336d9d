//! Versions of an archive: lists, adds and names them.

use crate::dataset::version_name;
use crate::error::{Failure, of_file};
use crate::work::{self, Cancel};
use nc3z::opener::Kind;
use nc3z_format::bytes::hex;
use nc3z_reader::{Archive, Version};
use nc3z_writer::{CommitNote, CommitReport, TagChange, WriterOptions, commit_file, tag_version};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

/// The result of `log`: an archive's versions, newest first.
pub(crate) fn log<'py>(py: Python<'py>, archive: &Archive, most: u64) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let found = py.detach(|| Ok((archive.versions(most)?, archive.tags()?)));
    let (versions, tags) = found.map_err(|e: nc3z_reader::Error| Failure::from(e))?;
    let entry = |version: &Version| -> PyResult<Bound<'py, PyDict>> {
        let (record, trailer) = (&version.record, &version.trailer);
        let dict = PyDict::new(py);
        dict.set_item("number", record.number)?;
        dict.set_item("message", record.message.as_deref())?;
        dict.set_item("author", record.author.as_deref())?;
        dict.set_item("time", record.time.as_deref())?;
        let sha256 = trailer.digest.sha256().map(|digest| hex(&digest));
        dict.set_item("sha256", sha256)?;
        dict.set_item("original_nbytes", trailer.original_len)?;
        dict.set_item("added_nbytes", version.added_len)?;
        let names = tags.iter().filter(|(_, number)| **number == record.number).map(|(name, _)| name);
        dict.set_item("tags", names.collect::<Vec<_>>())?;
        Ok(dict)
    };
    versions.iter().map(entry).collect()
}

/// The description of a new version.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Note {
    message: Option<String>,
    author: Option<String>,
    time: Option<String>,
}

impl From<Note> for CommitNote {
    fn from(Note { message, author, time }: Note) -> Self {
        CommitNote { message, author, time }
    }
}

/// The result of a commit.
pub(crate) fn committed<'py>(
    py: Python<'py>,
    done: &CommitReport,
    digest: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("version", done.version)?;
    dict.set_item("is_new", !done.is_unchanged())?;
    dict.set_item("sha256", digest.then(|| hex(&done.sha256)))?;
    dict.set_item("new_tiles", done.new_tiles)?;
    dict.set_item("kept_tiles", done.kept_tiles)?;
    let parity = done.parity.map_or(0, |parity| parity.len);
    dict.set_item("stored_nbytes", done.stored_len.1 + parity)?;
    dict.set_item("added_nbytes", done.stored_len.1.saturating_sub(done.stored_len.0))?;
    Ok(dict)
}

/// Adds an edited file to an archive as a version.
#[pyfunction]
#[pyo3(signature = (archive, edited, note, allow_unrelated, dry_run, parity, progress=None, cancel=None))]
#[expect(clippy::too_many_arguments, reason = "Python's keyword arguments")]
pub(crate) fn commit<'py>(
    py: Python<'py>,
    archive: PathBuf,
    edited: PathBuf,
    note: &Bound<'py, PyAny>,
    allow_unrelated: bool,
    dry_run: bool,
    parity: bool,
    progress: Option<&Bound<'py, PyAny>>,
    cancel: Option<&Cancel>,
) -> PyResult<Bound<'py, PyDict>> {
    let note = note.extract::<Note>()?.into();
    // The file is hashed, compared and rebuilt. A file that cannot be read causes an error later, with a
    // better message.
    let total = std::fs::metadata(&edited).map_or(0, |m| m.len()).saturating_mul(3);
    let done = work::run(py, total, progress, cancel, |watch| {
        let options = WriterOptions::default()
            .with_force(allow_unrelated)
            .with_dry_run(dry_run)
            .with_parity_renewed(parity);
        Ok(commit_file(&archive, &edited, &note, &options, watch)?)
    });
    committed(py, &done.map_err(|e| of_file(&archive, Kind::Archive, e))?, true)
}

/// Sets a tag to a version, by number or another tag (the newest by default), or deletes the tag. Returns the
/// version's number.
#[pyfunction]
#[pyo3(signature = (archive, tag, version=None, *, delete=false, move_tag=false))]
pub(crate) fn tag(
    py: Python<'_>,
    archive: PathBuf,
    tag: &str,
    version: Option<&Bound<'_, PyAny>>,
    delete: bool,
    move_tag: bool,
) -> PyResult<u64> {
    let version = version.map(version_name).transpose()?;
    let change = if delete { TagChange::Delete } else { TagChange::Set { version, force: move_tag } };
    let done = py.detach(|| tag_version(&archive, tag, &change, &WriterOptions::default()));
    done.map_err(|e| of_file(&archive, Kind::Archive, e))
}
