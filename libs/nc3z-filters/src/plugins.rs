//! The table of plug-ins: finds them in directories, queries them, and pairs filters with codecs.

use crate::host::{Launcher, Workers};
use crate::kind::{CodecKind, Hdf5Kind};
use crate::wire::{Op, Request};
use nc3z_format::codec::Registry;
use serde_json::Value;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The filter that a library exports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    /// The registered number of the filter.
    pub id: u32,
    /// Its name, as the library reports it.
    pub name: String,
    /// True if the library reports that it encodes.
    pub encodes: bool,
    /// True if the library reports that it decodes.
    pub decodes: bool,
    /// True if HDF5 lets it complete its parameters for a dataset. Then the parameters that HDF5 stored are
    /// required.
    pub sets_local: bool,
}

/// A codec that a library translates: its id in JSON, and the number of its filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Codec {
    /// NumCodecs' id.
    pub id: String,
    /// HDF5's number.
    pub hdf5_id: u32,
}

/// The exports of a library.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exports {
    /// By `H5PLget_plugin_type` and `H5PLget_plugin_info`.
    pub filter: Option<Filter>,
    /// By `NCZ_get_codec_info`.
    pub codec: Option<Codec>,
    /// From `NCZ_codec_info_defaults`: the codecs that it translates if no other library does.
    pub defaults: Vec<Codec>,
}

/// A file of a plug-in directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Library {
    /// The path of the library.
    pub path: PathBuf,
    /// Its exports, or the reason why they are not known.
    pub exports: Result<Exports, String>,
}

/// The possible use of a row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// Chains in both notations: both filter and codec exist.
    Both,
    /// Chains that give the filter by number and parameters: no codec translates them to JSON.
    Number,
    /// None: a codec without its filter.
    Nothing,
}

/// One filter of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// HDF5's number.
    pub id: u32,
    /// The filter's name, if the filter exists.
    pub name: Option<String>,
    /// The path of the filter, if it exists.
    pub filter: Option<PathBuf>,
    /// The codec's id and path, if it exists.
    pub codec: Option<(String, PathBuf)>,
    /// True if the codec is one of a library's defaults.
    pub is_default: bool,
    /// The possible use of the row.
    pub usable: Use,
}

/// The plug-ins of some directories.
pub struct Plugins {
    libraries: Vec<Library>,
    rows: Vec<Row>,
    pub(crate) workers: Workers,
}

impl std::fmt::Debug for Plugins {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plugins")
            .field("libraries", &self.libraries)
            .field("rows", &self.rows)
            .finish_non_exhaustive()
    }
}

impl Plugins {
    /// Opens and queries all libraries of these directories, each in a process of its own. The directories
    /// are searched in their order. A directory that does not exist is skipped.
    ///
    /// # Errors
    /// A directory that cannot be listed.
    pub fn scan(directories: &[PathBuf], launcher: Launcher) -> io::Result<Self> {
        let workers = Workers::new(launcher);
        let mut libraries = Vec::new();
        for directory in directories {
            for path in candidates(directory)? {
                let exports = interrogate(&workers, &path);
                // Files without plug-ins are not listed, such as the libraries that plug-ins use.
                if exports.as_ref() != Ok(&Exports::default()) {
                    libraries.push(Library { path, exports });
                }
            }
        }
        let rows = pair(&libraries);
        Ok(Plugins { libraries, rows, workers })
    }

    /// Ends the processes that call plug-ins, with all processes that plug-ins have started in them. Another
    /// call starts new ones.
    pub fn end(&self) {
        self.workers.end();
    }

    /// The libraries with exports, or that could not be queried, in the order of the search.
    pub fn libraries(&self) -> &[Library] {
        &self.libraries
    }

    /// The filters, by number.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Returns a registry that also has these filters: all of them by number, and those with a codec by its
    /// id, if that is not built in.
    pub fn register(&self, registry: &Registry) -> Registry {
        let workers = self.workers.clone();
        let filters = self.rows.iter().filter_map(|row| Some((row.id, row.filter.clone()?)));
        let kind = Arc::new(Hdf5Kind::new(workers, filters.collect()));
        let mut registry = registry.with(crate::kind::Shared(Arc::clone(&kind)));
        for row in self.rows.iter().filter(|row| row.usable == Use::Both) {
            if let Some((id, library)) = row.codec.clone().filter(|(id, _)| registry.get(id).is_none()) {
                registry = registry.with(CodecKind::new(id, row.id, library, Arc::clone(&kind)));
            }
        }
        registry
    }
}

/// Returns files of a directory that may be libraries, sorted by name.
fn candidates(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => {
            return Err(io::Error::new(
                e.kind(),
                format!("plug-in directory `{}`: {e}", directory.display()),
            ));
        }
    };
    let mut paths = entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>()?;
    paths.retain(|path| is_library(path.file_name().unwrap_or_default()) && path.is_file());
    // The worker opens it by its path: without a slash the system would search elsewhere.
    for path in &mut paths {
        *path = std::path::absolute(&*path)?;
    }
    paths.sort_unstable();
    Ok(paths)
}

/// Returns true for names such as `libx.so`, `libx.so.1.2`, `libx.dylib`.
fn is_library(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    let holds = |part: &[u8]| name.windows(part.len()).any(|window| window == part);
    name.ends_with(b".so") || name.ends_with(b".dylib") || holds(b".so.")
}

fn interrogate(workers: &Workers, path: &Path) -> Result<Exports, String> {
    let library = path.as_os_str().as_encoded_bytes();
    let request =
        Request { op: Op::Interrogate, library, codec: "", cd_values: &[], input: &[], most: 1 << 20 };
    let answer = workers.ask_alone(&request).map_err(|why| why.to_string())?;
    let value: Value = serde_json::from_slice(&answer).map_err(|e| e.to_string())?;
    let number = |value: &Value| value.as_u64().and_then(|n| u32::try_from(n).ok());
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let filter = |value: &Value| {
        Some(Filter {
            id: number(&value["id"])?,
            name: text(&value["name"])?,
            encodes: value["encodes"].as_bool()?,
            decodes: value["decodes"].as_bool()?,
            sets_local: value["sets_local"].as_bool()?,
        })
    };
    // A codec without an id, or with an invalid filter number, cannot be used.
    let codec = |value: &Value| {
        let id = text(&value["id"]).filter(|id| !id.is_empty())?;
        Some(Codec { id, hdf5_id: number(&value["hdf5id"])? })
    };
    let defaults = value["defaults"].as_array().map_or(&[][..], Vec::as_slice);
    Ok(Exports {
        filter: filter(&value["filter"]),
        codec: codec(&value["codec"]),
        defaults: defaults.iter().filter_map(codec).collect(),
    })
}

/// Returns the row of a number. It is added if it does not exist.
fn row_of(rows: &mut Vec<Row>, id: u32) -> &mut Row {
    let at = rows.iter().position(|row| row.id == id).unwrap_or_else(|| {
        let (name, filter, codec) = (None, None, None);
        rows.push(Row { id, name, filter, codec, is_default: false, usable: Use::Nothing });
        rows.len() - 1
    });
    &mut rows[at]
}

/// Pairs filters and codecs by number. Of several the first one found is used. Defaults are used only if
/// no other codec exists.
fn pair(libraries: &[Library]) -> Vec<Row> {
    let known = || libraries.iter().filter_map(|library| Some((library, library.exports.as_ref().ok()?)));
    let filters = known().filter_map(|(library, exports)| Some((library, exports.filter.as_ref()?)));
    let own = known().filter_map(|(library, exports)| Some((library, exports.codec.as_ref()?, false)));
    let defaults = known()
        .flat_map(|(library, exports)| exports.defaults.iter().map(move |codec| (library, codec, true)));
    let mut rows: Vec<Row> = Vec::new();
    for (library, filter) in filters {
        let row = row_of(&mut rows, filter.id);
        if row.filter.is_none() {
            (row.filter, row.name) = (Some(library.path.clone()), Some(filter.name.clone()));
        }
    }
    for (library, codec, is_default) in own.chain(defaults) {
        let row = row_of(&mut rows, codec.hdf5_id);
        if row.codec.is_none() {
            (row.codec, row.is_default) = (Some((codec.id.clone(), library.path.clone())), is_default);
        }
    }
    for row in &mut rows {
        row.usable = match (&row.filter, &row.codec) {
            (Some(_), Some(_)) => Use::Both,
            (Some(_), None) => Use::Number,
            (None, _) => Use::Nothing,
        };
    }
    rows.sort_by_key(|row| row.id);
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn library(path: &str, filter: Option<u32>, codec: Option<&str>, defaults: &[&str]) -> Library {
        let id_of = |name: &str| name.trim_start_matches(|c: char| !c.is_ascii_digit()).parse().unwrap();
        let codec_of = |name: &str| Codec { id: name.to_owned(), hdf5_id: id_of(name) };
        let filter = filter.map(|id| Filter {
            id,
            name: format!("f{id}"),
            encodes: true,
            decodes: true,
            sets_local: false,
        });
        let exports = Exports {
            filter,
            codec: codec.map(codec_of),
            defaults: defaults.iter().map(|c| codec_of(c)).collect(),
        };
        Library { path: path.into(), exports: Ok(exports) }
    }

    #[test]
    fn filters_and_codecs_are_paired_by_number_and_defaults_come_last() {
        let rows = pair(&[
            library("/a", Some(1), None, &[]),
            library("/b", None, Some("c2"), &[]),
            library("/c", Some(3), Some("c3"), &["d1", "d3", "d4"]),
            library("/d", Some(5), None, &[]),
            library("/e", None, Some("c5"), &[]),
            library("/f", Some(1), None, &[]),
            Library { path: "/g".into(), exports: Err("it crashed".to_owned()) },
            library("/h", Some(6), None, &[]),
        ]);
        let told: Vec<_> = rows
            .iter()
            .map(|row| {
                let codec = row.codec.as_ref().map(|(id, path)| format!("{id}@{}", path.display()));
                (row.id, row.filter.clone(), codec, row.is_default, row.usable)
            })
            .collect();
        let expected = [
            (1, Some("/a"), Some("d1@/c"), true, Use::Both),
            (2, None, Some("c2@/b"), false, Use::Nothing),
            (3, Some("/c"), Some("c3@/c"), false, Use::Both),
            (4, None, Some("d4@/c"), true, Use::Nothing),
            (5, Some("/d"), Some("c5@/e"), false, Use::Both),
            (6, Some("/h"), None, false, Use::Number),
        ]
        .map(|(id, filter, codec, default, usable)| {
            (id, filter.map(PathBuf::from), codec.map(str::to_owned), default, usable)
        });
        assert_eq!(told, expected);
    }

    #[test]
    fn libraries_are_known_by_their_names() {
        for (name, is) in [
            ("libh5zstd.so", true),
            ("libx.so.1.2", true),
            ("x.dylib", true),
            ("so", false),
            ("a.sow", false),
        ] {
            assert_eq!(is_library(OsStr::new(name)), is, "{name}");
        }
    }
}
