//! Operations on whole files: archive, restore, verify, estimate. Each returns a dict, which
//! `nc3z/_operations.py` converts to its result.

use crate::error::{Failure, of_file};
use crate::handle::{explained, with_read_repair};
use crate::source::{self, BufferSource, Origin, Settings};
use crate::work::{self, Cancel};
use nc3z::Name;
use nc3z::opener::{Kind, Opener};
use nc3z_collections::tree;
use nc3z_collections::tree::present::{Evidence, is_present};
use nc3z_format::bytes::hex;
use nc3z_format::codec::ChainRequest;
use nc3z_format::quantize::Quantize;
use nc3z_format::tile::Edge;
use nc3z_reader::platform::takes_stream;
use nc3z_reader::source::{ByteSource, SharedSource};
use nc3z_reader::verify::{self, Examination};
use nc3z_reader::{Archive, ClassicFile, OpenOptions, VersionName};
use nc3z_remote::ForwardSource;
use nc3z_writer::{
    ArchiveReport, AtomicFile, ChunkRequest, PerVariable, Preset, Share, TileChoice, WriterOptions,
    archive_file, archive_source, archive_to_vec,
};
use pyo3::exceptions::{PyFileExistsError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

fn preset(name: &str) -> PyResult<Preset> {
    [Preset::Fast, Preset::Default, Preset::Max].into_iter().find(|p| p.name() == name).ok_or_else(|| {
        PyValueError::new_err(format!("unknown preset {name:?}; expected \"fast\", \"default\" or \"max\""))
    })
}

/// The options of archiving. Those that are not given have the writer's defaults.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options {
    #[pyo3(default)]
    preset: Option<String>,
    #[pyo3(default)]
    tile_nbytes: Option<u64>,
    #[pyo3(default)]
    memory: Option<u64>,
    #[pyo3(default)]
    verify: Option<bool>,
    #[pyo3(default)]
    parity: Option<String>,
    pub(crate) force: bool,
    #[pyo3(default)]
    layout: Option<String>,
    #[pyo3(default)]
    chunks: Option<BTreeMap<String, u64>>,
    #[pyo3(default)]
    pad_edges: Option<bool>,
    #[pyo3(default)]
    quantize: Option<BTreeMap<String, String>>,
    #[pyo3(default)]
    chains: Option<BTreeMap<String, String>>,
    #[pyo3(default)]
    profile: Option<String>,
}

impl Options {
    pub(crate) fn into_writer(self) -> Result<WriterOptions, Failure> {
        let is_zarr = match self.profile.as_deref() {
            None => false,
            Some("zarr") => true,
            Some(other) => {
                let words = format!("unknown profile {other:?}; expected \"zarr\"");
                return Err(PyValueError::new_err(words).into());
            }
        };
        // Other options take precedence over those of the profile.
        let tiles = self.layout.as_deref().or(is_zarr.then_some("chunked"));
        let mut options = WriterOptions::default()
            .with_verify(self.verify.unwrap_or(true))
            .with_force(self.force)
            .with_edge(if self.pad_edges.unwrap_or(is_zarr) { Edge::Padded } else { Edge::Clipped });
        if let Some(name) = &self.preset {
            options = options.with_preset(preset(name)?);
        }
        if let Some(name) = tiles {
            options = options.with_layout(layout(name)?);
        }
        if let Some(len) = self.tile_nbytes {
            options = options.with_tile_len(len);
        }
        if let Some(memory) = self.memory {
            options = options.with_memory(memory);
        }
        if let Some(share) = &self.parity {
            options = options.with_parity(Share::parse(share)?);
        }
        if let Some(chunks) = self.chunks {
            options = options.with_chunks(ChunkRequest::new(chunks));
        }
        let mut rounded = PerVariable::default();
        for (name, how) in self.quantize.into_iter().flatten() {
            rounded.push(name, how.parse::<Quantize>()?);
        }
        let mut chains = PerVariable::default();
        let mut given = self.chains.unwrap_or_default();
        if is_zarr {
            given.entry("*".to_owned()).or_insert_with(|| nc3z_zarr::PROFILE_CHAIN.to_owned());
        }
        for (name, chain) in given {
            chains.push(name, ChainRequest::parse(&chain)?);
        }
        Ok(options.with_quantize(rounded).with_chains(chains))
    }
}

fn layout(name: &str) -> PyResult<TileChoice> {
    let all =
        [TileChoice::Linear, TileChoice::Chunked, TileChoice::Auto, TileChoice::Series, TileChoice::Map];
    let known = || all.map(|c| format!("{:?}", c.name())).join(", ");
    all.into_iter()
        .find(|c| c.name() == name)
        .ok_or_else(|| PyValueError::new_err(format!("unknown layout {name:?}; expected {}", known())))
}

pub(crate) fn archived<'py>(py: Python<'py>, done: &ArchiveReport) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("original_nbytes", done.original_len)?;
    dict.set_item("stored_nbytes", done.stored_len)?;
    dict.set_item("sha256", hex(&done.sha256))?;
    dict.set_item("verified", done.proven)?;
    dict.set_item("lossy", done.lossy.is_some())?;
    dict.set_item("warnings", PyTuple::new(py, &done.warnings)?)?;
    Ok(dict)
}

/// Returns what archiving returns, of an existing archive, which must be that of the source.
#[pyfunction]
pub(crate) fn present(py: Python<'_>, input: PathBuf, output: PathBuf) -> PyResult<Bound<'_, PyDict>> {
    let options = OpenOptions::of_command();
    let refused =
        |e: tree::Error| PyFileExistsError::new_err(format!("{}; `force=True` replaces it", e.with_causes()));
    py.detach(|| is_present(&input, &output, Evidence::Header, &options, &())).map_err(refused)?;
    let of_archive = |e| of_file(&output, Kind::Archive, e);
    let archive = py.detach(|| Archive::open(&output)).map_err(|e| of_archive(Failure::from(e)))?;
    let dict = PyDict::new(py);
    dict.set_item("original_nbytes", archive.original_len())?;
    dict.set_item("stored_nbytes", archive.stored_len())?;
    dict.set_item("sha256", archive.digest().sha256().map_or_else(String::new, |digest| hex(&digest)))?;
    dict.set_item("verified", false)?;
    Ok(dict)
}

/// Archives a classic file on disk to a file.
#[pyfunction]
#[pyo3(signature = (input, output, options, progress=None, cancel=None))]
pub(crate) fn archive<'py>(
    py: Python<'py>,
    input: PathBuf,
    output: PathBuf,
    options: &Bound<'py, PyAny>,
    progress: Option<&Bound<'py, PyAny>>,
    cancel: Option<&Cancel>,
) -> PyResult<Bound<'py, PyDict>> {
    let name = input.to_string_lossy().into_owned();
    let named = |e: Failure| e.in_file(Some(&name));
    let options = options.extract::<Options>()?.into_writer().map_err(named)?;
    // A file that cannot be read causes an error later, with a better message.
    let total = std::fs::metadata(&input).map_or(0, |m| m.len());
    let done =
        work::run(py, total, progress, cancel, |watch| Ok(archive_file(&input, &output, &options, watch)?));
    archived(py, &done.map_err(|e| of_file(&input, Kind::Classic, e))?)
}

/// Archives a classic file in memory to a file. The memory must not change meanwhile.
#[pyfunction]
#[pyo3(signature = (input, output, options, progress=None, cancel=None))]
pub(crate) fn archive_buffer<'py>(
    py: Python<'py>,
    input: &Bound<'py, PyAny>,
    output: PathBuf,
    options: &Bound<'py, PyAny>,
    progress: Option<&Bound<'py, PyAny>>,
    cancel: Option<&Cancel>,
) -> PyResult<Bound<'py, PyDict>> {
    let name = output.to_string_lossy().into_owned();
    let named = |e: Failure| e.in_file(Some(&name));
    let options = options.extract::<Options>()?.into_writer().map_err(named)?;
    let source = Arc::new(BufferSource::new(input)?);
    let total = source.len();
    let done =
        work::run(py, total, progress, cancel, |watch| Ok(archive_source(source, &output, &options, watch)?));
    archived(py, &done.map_err(named)?)
}

/// Archives a classic file in memory, and returns the archive's bytes.
#[pyfunction]
#[pyo3(signature = (input, options, progress=None, cancel=None))]
pub(crate) fn archive_bytes<'py>(
    py: Python<'py>,
    input: &Bound<'py, PyAny>,
    options: &Bound<'py, PyAny>,
    progress: Option<&Bound<'py, PyAny>>,
    cancel: Option<&Cancel>,
) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyDict>)> {
    let (source, origin, _) = source::open(py, input, None)?;
    let options = options.extract::<Options>()?.into_writer()?;
    let made = work::run(py, source.len(), progress, cancel, |watch| {
        Ok(archive_to_vec(Arc::clone(&source), &options, watch)?)
    });
    let (bytes, done) = made.map_err(|e| not_classic(e, source, &origin))?;
    Ok((PyBytes::new(py, &bytes), archived(py, &done)?))
}

/// Opens the input of a command that checks bytes, with the version that its name requests. A file is read by position, so that a
/// failing disk gives an error instead of a signal.
fn command_source(
    py: Python<'_>,
    input: &Bound<'_, PyAny>,
    settings: Option<Settings>,
) -> PyResult<(SharedSource, Origin, Option<VersionName>)> {
    let (source, origin, place) = source::open_as(py, input, settings, false)?;
    Ok((source, origin, place.version().cloned()))
}

/// Returns the exception for bytes that are not a classic file; a bundle is named.
fn not_classic(e: impl Into<Failure>, source: SharedSource, origin: &Origin) -> PyErr {
    let name = origin.name();
    let e = match Kind::from_source(&source) {
        Ok(kind @ Kind::Bundle) => {
            let name = Name::whole(name.unwrap_or("input"));
            let wrong = Opener::new(OpenOptions::default()).wrong_kind(kind, Kind::Classic, source, &name);
            nc3z_reader::Error::other(wrong).into()
        }
        _ => e.into(),
    };
    e.in_file(name)
}

/// Restores the classic file of an archive.
#[pyfunction]
#[pyo3(signature = (input, output, force, storage_options=None, progress=None, cancel=None))]
pub(crate) fn restore<'py>(
    py: Python<'py>,
    input: &Bound<'py, PyAny>,
    output: PathBuf,
    force: bool,
    storage_options: Option<Settings>,
    progress: Option<&Bound<'py, PyAny>>,
    cancel: Option<&Cancel>,
) -> PyResult<Bound<'py, PyDict>> {
    let (source, origin, version) = command_source(py, input, storage_options)?;
    let named = |e: Failure| e.in_file(origin.name());
    let options =
        with_read_repair(OpenOptions::of_command(), origin.name().unwrap_or("input")).with_version(version);
    let name = origin.name().unwrap_or("input");
    let archive = py.detach(|| {
        let opened = Archive::from_source(Arc::clone(&source), &options);
        opened.map_err(|e| explained(e, &source, name, Kind::Archive))
    });
    let archive = archive.map_err(|e| named(e.into()))?;
    if nc3z_collections::bundle::Bundle::is_one(&nc3z_reader::Dataset::from(archive.clone())) {
        let opener = Opener::new(OpenOptions::default());
        let wrong = opener.wrong_kind(Kind::Bundle, Kind::Classic, source, &Name::whole(name));
        return Err(named(nc3z_reader::Error::other(wrong).into()));
    }
    let like = match &origin {
        Origin::Path { path, .. } => {
            let name = Name::from_path(path).map_err(Failure::from)?;
            let meta = std::fs::metadata(name.file())?;
            Some((nc3z_writer::Attributes::of_path(name.file(), &meta), meta))
        }
        _ => None,
    };
    if like.as_ref().is_some_and(|(_, like)| nc3z_writer::is_same_file(like, &output)) {
        let name = origin.name().unwrap_or_default();
        return Err(PyFileExistsError::new_err(format!("archive and output are the same file `{name}`")));
    }
    // A device is written to, not replaced.
    let device = takes_stream(&output);
    let target =
        if device { None } else { Some(AtomicFile::create(&output, force).map_err(|e| named(e.into()))?) };
    let restored = work::run(py, archive.original_len(), progress, cancel, |watch| {
        let Some(target) = target else { return Ok(archive.restore_to_device(&output, watch)?) };
        let restored = archive.restore_to_file(target.file(), &output, watch)?;
        target.commit_as(like.map(|(attributes, _)| attributes).unwrap_or_default())?;
        Ok(restored)
    });
    let restored = restored.map_err(named)?;
    let dict = PyDict::new(py);
    dict.set_item("nbytes", restored.len)?;
    dict.set_item("sha256", hex(&restored.sha256))?;
    dict.set_item("matches_record", restored.matches_record)?;
    Ok(dict)
}

/// Refuses the name of an output that is meant as a URL.
#[pyfunction]
pub(crate) fn refuse_url(output: PathBuf) -> PyResult<()> {
    nc3z_writer::refuse_url(&output).map_err(|e| Failure::from(e).into())
}

/// Checks every byte of an archive.
#[pyfunction]
#[pyo3(signature = (input, deep, storage_options=None, progress=None, cancel=None))]
pub(crate) fn check<'py>(
    py: Python<'py>,
    input: &Bound<'py, PyAny>,
    deep: bool,
    storage_options: Option<Settings>,
    progress: Option<&Bound<'py, PyAny>>,
    cancel: Option<&Cancel>,
) -> PyResult<Bound<'py, PyDict>> {
    let (source, origin, version) = command_source(py, input, storage_options)?;
    // A ZIP or a tar is not an archive, although blocks of archives in it would be found.
    if matches!(py.detach(|| Kind::from_source(&source)), Ok(Kind::Bundle)) {
        let name = Name::whole(origin.name().unwrap_or("input"));
        let opener = Opener::new(OpenOptions::default());
        let wrong = opener.wrong_kind(Kind::Bundle, Kind::Archive, source, &name);
        return Err(Failure::from(nc3z_reader::Error::other(wrong)).in_file(origin.name()));
    }
    let source = match origin {
        Origin::Url { .. } => Arc::new(ForwardSource::new(source)),
        _ => source,
    };
    let options = OpenOptions::of_command().with_version(version.clone());
    let original =
        py.detach(|| Archive::from_source(Arc::clone(&source), &options)).map_or(0, |a| a.original_len());
    let total = source.len() + if deep { original } else { 0 };
    let report = work::run(py, total, progress, cancel, |watch| {
        let what = Examination { version, deep, all_versions: false };
        let found = verify::examine(&source, &what, &OpenOptions::of_command(), watch);
        let name = origin.name().unwrap_or("input");
        let found = found.map_err(|e| explained(e, &source, name, Kind::Archive))?;
        // Those that can be listed: generations also hold tags and parity.
        let versions =
            found.archive.and_then(|archive| archive.versions(u64::MAX).ok()).map_or(0, |all| all.len());
        Ok((found.report, versions))
    });
    let (report, versions) = report.map_err(|e| e.in_file(origin.name()))?;
    let dict = PyDict::new(py);
    dict.set_item("stored_nbytes", report.stored_len)?;
    dict.set_item("blocks", report.blocks)?;
    dict.set_item("tiles", report.tiles)?;
    dict.set_item("versions", versions)?;
    let findings = report.findings.iter().map(|f| {
        let variables = f.places.iter().filter_map(|p| p.variable.as_deref());
        let mut variables: Vec<_> = variables.map(|v| String::from_utf8_lossy(v).into_owned()).collect();
        variables.dedup();
        (f.structure.name(), f.bytes.start, f.bytes.end, f.message.clone(), variables)
    });
    dict.set_item("findings", findings.collect::<Vec<_>>())?;
    dict.set_item("more_findings", report.more)?;
    dict.set_item("sha256", report.restored.as_ref().map(|r| hex(&r.sha256)))?;
    let not_decoded = report.not_decoded.iter().map(|u| {
        let variable = u.place.variable.as_deref().map(|v| String::from_utf8_lossy(v).into_owned());
        (variable, u.tiles, u.why.clone())
    });
    dict.set_item("not_decoded", not_decoded.collect::<Vec<_>>())?;
    dict.set_item("not_rebuilt", report.not_rebuilt.as_deref())?;
    dict.set_item(
        "repairable",
        report.parity.as_ref().is_some_and(|p| !report.is_sound() && p.is_repairable()),
    )?;
    Ok(dict)
}

/// Estimates the size of archives of a classic file.
#[pyfunction]
#[pyo3(signature = (input, presets, sample_nbytes=None, progress=None, cancel=None))]
pub(crate) fn estimate<'py>(
    py: Python<'py>,
    input: &Bound<'py, PyAny>,
    presets: Vec<String>,
    sample_nbytes: Option<u64>,
    progress: Option<&Bound<'py, PyAny>>,
    cancel: Option<&Cancel>,
) -> PyResult<Bound<'py, PyDict>> {
    let (source, origin, _) = source::open(py, input, None)?;
    let named = |e: Failure| e.in_file(origin.name());
    let presets = presets.iter().map(|name| preset(name)).collect::<PyResult<Vec<_>>>()?;
    let classic =
        py.detach(|| ClassicFile::from_source(Arc::clone(&source), &nc3z_format::Limits::default()));
    let classic = classic.map_err(|e| not_classic(e, source, &origin))?;
    let sample = sample_nbytes.unwrap_or(nc3z_writer::DEFAULT_SAMPLE_LEN);
    let found = work::run(py, 0, progress, cancel, |watch| {
        Ok(nc3z_writer::estimate(&classic, &presets, sample, watch)?)
    });
    let found = found.map_err(named)?;
    let dict = PyDict::new(py);
    dict.set_item("original_nbytes", found.file_len)?;
    dict.set_item("sampled_nbytes", found.sampled_len)?;
    dict.set_item("whole", found.whole)?;
    let presets = found
        .presets
        .iter()
        .map(|p| (p.preset.name(), p.stored_len, p.uncertainty, p.archive_seconds, p.restore_seconds));
    dict.set_item("presets", presets.collect::<Vec<_>>())?;
    dict.set_item("peers", found.peers.iter().map(|p| (p.name, p.stored_len)).collect::<Vec<_>>())?;
    let header = classic.header();
    let variables = found.variables.iter().map(|v| {
        (header.variables[v.id.index()].name_lossy().into_owned(), v.original_len, v.stored_len.clone())
    });
    dict.set_item("variables", variables.collect::<Vec<_>>())?;
    Ok(dict)
}
