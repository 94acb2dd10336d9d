//! Campaigns: many runs that archive trees of millions of files, under a site's scheduler. A campaign is a directory of plain files:
//!
//! ```text
//! camp/plan.json          roots, numbers, the SHA-256 of total.csv; written last
//! camp/total.csv          path, size, mtime, kind, unit: a row for each file of the trees
//! camp/units/00001.list   the files of a unit, each with a zero byte behind it
//! camp/logs/00001.jsonl   what runs of that unit append (`journal`)
//! camp/PAUSE              while it exists, runs begin no more files
//! ```
//!
//! [`plan`] writes a campaign, [`status`] compares it with the logs. Neither holds a name for each file in memory.

pub mod page;
pub mod plan;
pub mod reconcile;
pub mod retire;
pub mod status;

use crate::tree::error::Context as _;
use crate::tree::refusal::Refusal;
use crate::tree::table::{self, TableReader};
use crate::tree::{Error, Result};
use nc3z_reader::platform::path_of;
use serde_json::Value;
use std::fs::File;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::io::BufReader;
use std::path::{Path, PathBuf};

/// The name of the file that describes the plan.
const PLAN: &str = "plan.json";
/// The name of the table of all files.
const TOTAL: &str = "total.csv";
/// The first line of the table.
const COLUMNS: [&str; 5] = ["path", "size", "mtime", "kind", "unit"];
/// The kind of files that are archived.
const CLASSIC: &str = "classic netCDF";
/// The kind of files whose data are on tape, and that are archived by their names.
const OFFLINE: &str = "on tape";
/// The kind of files that an earlier plan had.
const GONE: &str = "gone";

/// A row of the table of all files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The path, as it was given and found.
    pub path: PathBuf,
    /// Its length in bytes.
    pub size: u64,
    /// Its modification time, in UTC.
    pub mtime: String,
    /// The kind of the row.
    pub kind: String,
    /// Its unit, from 1; none for a file that is not archived.
    pub unit: Option<u32>,
}

impl Row {
    fn from_row(row: table::Row<'_>) -> Option<Self> {
        let unit = row.text(4)?;
        Some(Row {
            path: path_of(row.get(0)?),
            size: row.text(1)?.parse().ok()?,
            mtime: row.text(2)?.to_owned(),
            kind: row.text(3)?.to_owned(),
            unit: if unit.is_empty() { None } else { Some(unit.parse().ok()?) },
        })
    }
}

/// A plan that was written.
#[derive(Debug, Clone)]
pub struct Campaign {
    /// The path of its directory.
    pub directory: PathBuf,
    /// The directories that were planned.
    pub roots: Vec<PathBuf>,
    /// The number of units.
    pub units: u32,
    /// The number of files that are archived.
    pub files: u64,
    /// The SHA-256 of the table of all files, in hexadecimal digits.
    pub digest: String,
}

impl Campaign {
    /// Opens a campaign.
    ///
    /// # Errors
    /// The plan is missing or damaged.
    pub fn open(directory: &Path) -> Result<Self> {
        let path = directory.join(PLAN);
        let bytes = std::fs::read(&path).with_context(|| format!("read the plan `{}`", path.display()))?;
        let fault = || Error::from(Refusal::NoPlan(path.clone()));
        let plan: Value = serde_json::from_slice(&bytes).map_err(|_| fault())?;
        let read = || {
            let roots = plan["roots"].as_array()?.iter().map(name_in).collect::<Option<_>>()?;
            let units = u32::try_from(plan["units"].as_u64()?).ok()?;
            let digest = plan["digest"].as_str()?.to_owned();
            let files = plan["files"].as_u64().unwrap_or_default();
            Some(Campaign { directory: directory.to_owned(), roots, units, files, digest })
        };
        read().ok_or_else(fault)
    }

    /// Returns the campaign that a list is a unit of, and the name of the unit.
    ///
    /// # Errors
    /// The list is not a unit of a plan.
    pub fn of_unit(list: &Path) -> Result<(Self, String)> {
        let fault = || Error::from(Refusal::NoUnit(list.to_owned()));
        let name = list.file_stem().and_then(|name| name.to_str()).ok_or_else(fault)?.to_owned();
        let directory = list.parent().and_then(Path::parent).ok_or_else(fault)?;
        let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
        let campaign = Self::open(directory).map_err(|_| fault())?;
        if list.is_file() { Ok((campaign, name)) } else { Err(fault()) }
    }

    /// Returns the name of a file below its root, and the root.
    pub fn name_of<'a>(&self, file: &'a Path) -> &'a Path {
        self.roots.iter().find_map(|root| file.strip_prefix(root).ok()).unwrap_or(file)
    }

    /// Returns the path of the file that pauses all runs of the campaign while it exists.
    pub fn pause(&self) -> PathBuf {
        self.directory.join("PAUSE")
    }

    /// Returns the path of the log of a unit.
    pub fn log(&self, unit: &str) -> PathBuf {
        self.directory.join("logs").join(format!("{unit}.jsonl"))
    }

    /// Returns all logs, sorted.
    ///
    /// # Errors
    /// The directory of the logs cannot be read.
    pub fn logs(&self) -> Result<Vec<PathBuf>> {
        let directory = self.directory.join("logs");
        let reading = || format!("read the directory `{}`", directory.display());
        let entries = std::fs::read_dir(&directory).with_context(reading)?;
        let paths: std::io::Result<Vec<PathBuf>> = entries.map(|entry| Ok(entry?.path())).collect();
        let mut paths = paths.with_context(reading)?;
        paths.retain(|path| path.extension().is_some_and(|e| e == "jsonl"));
        paths.sort_unstable();
        Ok(paths)
    }

    /// Returns a map with room for all files of the plan, so that it need not grow, which takes half as much memory again. A row of the
    /// table has at least 16 bytes.
    fn numbers<V>(&self) -> Numbers<V> {
        let rows = self.directory.join(TOTAL).metadata().map_or(0, |meta| meta.len() / 16);
        Numbers::with_capacity_and_hasher(
            usize::try_from(self.files.min(rows)).unwrap_or(0),
            BuildHasherDefault::default(),
        )
    }

    /// Calls `with` for each row of the table of all files.
    ///
    /// # Errors
    /// The table cannot be read, or is damaged; an error of `with`.
    pub fn each_row(&self, with: &mut dyn FnMut(Row) -> Result<()>) -> Result<()> {
        let path = self.directory.join(TOTAL);
        let opened = File::open(&path).with_context(|| format!("open `{}`", path.display()))?;
        let mut table = TableReader::new(BufReader::new(opened), b',');
        while let Some(row) = table.row().with_context(|| format!("read `{}`", path.display()))? {
            // The first line has the names of the columns.
            if row.number() > 1 {
                let number = row.number();
                with(Row::from_row(row).ok_or_else(|| Refusal::Table { path: path.clone(), row: number })?)?;
            }
        }
        Ok(())
    }
}

/// A name as JSON: text, or hexadecimal digits where it is not text.
fn name_json(path: &Path) -> Value {
    match path.to_str() {
        Some(text) => text.into(),
        None => serde_json::json!({ "hex": nc3z_format::bytes::hex(path.as_os_str().as_encoded_bytes()) }),
    }
}

fn name_in(value: &Value) -> Option<PathBuf> {
    match value.as_str() {
        Some(text) => Some(PathBuf::from(text)),
        None => Some(path_of(&crate::tree::journal::unhex(value["hex"].as_str()?)?)),
    }
}

/// Returns a number that stands for a name in memory. Names that have the same are one in 2^64.
pub(in crate::tree) fn number_of(name: &[u8]) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(name)
}

/// The hasher of maps whose keys are such numbers.
pub(in crate::tree) type Numbers<V> = std::collections::HashMap<u64, V, BuildHasherDefault<DefaultHasher>>;
