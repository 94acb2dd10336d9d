//! Writes the plan of a campaign: units of work of about equal bytes, in the order of the directories or of a list.

use super::{CLASSIC, COLUMNS, Campaign, GONE, Numbers, OFFLINE, PLAN, Row, TOTAL, name_json, number_of};
use crate::tree::error::Context as _;
use crate::tree::manifest::fixity::date;
use crate::tree::offline::{self, is_offline};
use crate::tree::refusal::Refusal;
use crate::tree::table::write_row;
use crate::tree::walk::{Visited, looks_classic, visit};
use crate::tree::{Error, FileKind, Other, Result};
use nc3z_format::bytes::hex;
use nc3z_reader::{ClassicFile, Monitor};
use nc3z_writer::{AtomicFile, Preset, estimate};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{File, Metadata};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The largest number of files of a unit. Each run holds the names of its unit.
const FILES: usize = 100_000;
/// The number of files that are sampled.
const SAMPLES: usize = 16;
/// The bytes of a file that are read as a sample.
const SAMPLE_LEN: u64 = 4 << 20;
/// The seconds that each file takes, whatever its length.
const SECONDS_PER_FILE: f64 = 0.006;
/// The largest number of paths of one kind of change that are returned.
const LISTED: usize = 20;

/// The files of a campaign.
pub struct Inputs<'a> {
    /// The directories of the originals.
    pub roots: &'a [PathBuf],
    /// A list of files in the order in which they are recalled; with it, the trees are not walked.
    pub listed: Option<Vec<PathBuf>>,
}

/// The number of files and their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Amount {
    /// The number of files.
    pub files: u64,
    /// The length of the files in bytes. Hard links of one file count once.
    pub bytes: u64,
}

impl Amount {
    fn add(&mut self, bytes: u64) {
        self.files += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// The files and units of the plan.
#[derive(Debug, Default)]
pub struct Planned {
    /// The files that are archived.
    pub all: Amount,
    /// Those of them whose data are on tape.
    pub offline: Amount,
    /// Hard links to files that have another name, too.
    pub links: u64,
    /// Other files by their kinds.
    pub others: BTreeMap<FileKind, u64>,
    /// The number of units.
    pub units: u32,
    /// Files and directories that could not be read.
    pub failures: Vec<(PathBuf, Error)>,
    /// The differences from the plan that was there.
    pub changes: Option<Changes>,
    samples: Vec<PathBuf>,
}

/// The differences between the trees and an earlier plan.
#[derive(Debug, Default)]
pub struct Changes {
    /// Files that the plan lacks.
    pub new: Amount,
    /// Files of another length or time.
    pub changed: Amount,
    /// Files of the plan that are not there.
    pub gone: Amount,
    /// The first of them, with the word for the difference.
    pub first: Vec<(&'static str, PathBuf)>,
}

impl Changes {
    /// Returns whether the plan describes the trees as they are.
    pub fn is_none(&self) -> bool {
        self.new.files + self.changed.files + self.gone.files == 0
    }

    fn note(&mut self, what: &'static str, path: &Path) {
        let known = self.first.iter().filter(|(word, _)| *word == what).count();
        if known < LISTED {
            self.first.push((what, path.to_owned()));
        }
    }
}

/// The estimate for the files of a plan.
#[derive(Debug, Clone, Copy)]
pub struct Saving {
    /// The number of files that were sampled.
    pub samples: usize,
    /// The length of all archives in bytes.
    pub stored: u64,
    /// The hours of one core.
    pub core_hours: f64,
}

impl Planned {
    /// Estimates sizes and time from a few files, which are spread over the bytes of the plan. None if no file can be sampled.
    pub fn saving(&self, monitor: &dyn Monitor) -> Option<Saving> {
        let (mut before, mut after, mut seconds, mut samples) = (0_u64, 0_u64, 0.0, 0);
        for path in &self.samples {
            let source = nc3z_reader::source::open(path, false).ok();
            let classic =
                source.and_then(|s| ClassicFile::from_source(s, &nc3z_format::Limits::default()).ok());
            let found = classic.and_then(|c| estimate(&c, &[Preset::Default], SAMPLE_LEN, monitor).ok());
            let Some(found) = found else { continue };
            let Some(preset) = found.presets.first() else { continue };
            before += found.file_len;
            after += preset.stored_len;
            #[expect(clippy::cast_precision_loss, reason = "an estimate")]
            let threads = found.threads as f64;
            seconds += preset.archive_seconds * threads;
            samples += 1;
        }
        if before == 0 {
            return None;
        }
        let stored = u128::from(self.all.bytes) * u128::from(after) / u128::from(before);
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let core_seconds =
            seconds * (self.all.bytes as f64 / before as f64) + SECONDS_PER_FILE * self.all.files as f64;
        let stored = u64::try_from(stored).unwrap_or(u64::MAX);
        Some(Saving { samples, stored, core_hours: core_seconds / 3600.0 })
    }
}

/// Plans a campaign. If there is a plan, the trees are compared with it, and it changes only with `update`: then new and changed files
/// become further units.
///
/// # Errors
/// A file of the plan cannot be written or read. Files of the trees that cannot be read are in the result.
pub fn plan(inputs: &Inputs<'_>, camp: &Path, unit_bytes: u64, update: bool) -> Result<Planned> {
    nc3z_writer::refuse_url(camp)?;
    let before = match camp.join(PLAN).symlink_metadata() {
        Ok(_) => Some(Campaign::open(camp)?),
        Err(_) => None,
    };
    if let Some(before) = &before
        && inputs.listed.is_none()
        && before.roots != inputs.roots
    {
        return Err(Refusal::OtherPlan(camp.to_owned()).into());
    }
    let mut known = EarlierFiles::new(before.as_ref())?;
    let writes = before.is_none() || update;
    let mut out = if writes { Some(Units::create(camp, before.as_ref(), unit_bytes)?) } else { None };
    let mut planned = Planned { changes: before.as_ref().map(|_| Changes::default()), ..Planned::default() };
    let mut sampled = Sampled::default();
    let mut failed = None;
    let mut take = |visited: Visited| {
        if failed.is_none() {
            failed = taken(visited, &mut planned, &mut known, &mut sampled, out.as_mut()).err();
        }
    };
    match &inputs.listed {
        Some(files) => {
            for path in files {
                if looks_classic(path) {
                    take(Visited::File(path.clone(), path.clone()));
                } else {
                    let kind = FileKind::from_path(path);
                    take(Visited::Other(Other { path: path.clone(), name: path.clone(), kind }));
                }
            }
        }
        None => inputs.roots.iter().for_each(|root| visit(root, &looks_classic, &mut take)),
    }
    failed.map_or(Ok(()), Err)?;
    offline::check()?;
    if let (Some(before), Some(changes)) = (&before, &mut planned.changes) {
        before.each_row(&mut |row| {
            if (row.unit.is_some() || row.kind == GONE) && !known.is_seen(&row.path) {
                if row.kind != GONE {
                    changes.gone.add(row.size);
                    changes.note("gone", &row.path);
                }
                out.as_mut()
                    .map_or(Ok(()), |out| out.row(&Row { kind: GONE.to_owned(), unit: None, ..row }))?;
            }
            Ok(())
        })?;
    }
    planned.samples = sampled.paths;
    planned.units = match out {
        Some(out) => out.finish(inputs, &planned, unit_bytes)?,
        None => before.map_or(0, |before| before.units),
    };
    Ok(planned)
}

fn taken(
    visited: Visited,
    planned: &mut Planned,
    known: &mut EarlierFiles,
    sampled: &mut Sampled,
    out: Option<&mut Units>,
) -> Result<()> {
    let path = match visited {
        Visited::Notice(_) => return Ok(()),
        Visited::Failure(path, error) => {
            planned.failures.push((path, error));
            return Ok(());
        }
        Visited::Other(Other { path, kind, .. }) => {
            *planned.others.entry(kind).or_default() += 1;
            let meta = path.symlink_metadata().ok();
            let row = row_of(path, meta.as_ref(), kind.to_string());
            return out.map_or(Ok(()), |out| out.row(&row));
        }
        Visited::File(path, _) => path,
    };
    let meta = match path.metadata() {
        Ok(meta) => meta,
        Err(e) => {
            let failed: std::io::Result<()> = Err(e);
            let error =
                failed.with_context(|| format!("look at `{}`", path.display())).expect_err("it failed");
            planned.failures.push((path, error));
            return Ok(());
        }
    };
    let offline = is_offline(&path);
    let mut row = row_of(path, Some(&meta), if offline { OFFLINE } else { CLASSIC }.to_owned());
    let link = link_of(&meta);
    let is_first = link.is_none_or(|link| known.links.insert(link));
    let bytes = if is_first { row.size } else { 0 };
    planned.links += u64::from(!is_first);
    planned.all.add(bytes);
    if offline {
        planned.offline.add(bytes);
    } else {
        sampled.offer(&row.path, bytes);
    }
    let before = known.see(&row);
    if let Some(changes) = &mut planned.changes {
        match before {
            Seen::New => {
                changes.new.add(row.size);
                changes.note("new", &row.path);
            }
            Seen::Changed => {
                changes.changed.add(row.size);
                changes.note("changed", &row.path);
            }
            Seen::Same(_) => {}
        }
    }
    let Some(out) = out else { return Ok(()) };
    if let Seen::Same(unit) = before {
        row.unit = Some(unit);
        return out.row(&row);
    }
    out.file(row, bytes, link)
}

fn row_of(path: PathBuf, meta: Option<&Metadata>, kind: String) -> Row {
    let mtime = meta.and_then(|meta| meta.modified().ok()).map(date).unwrap_or_default();
    Row { path, size: meta.map_or(0, Metadata::len), mtime, kind, unit: None }
}

/// Returns the number of a file that has several names.
#[cfg(unix)]
fn link_of(meta: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    (meta.nlink() > 1).then(|| (meta.dev(), meta.ino()))
}

#[cfg(not(unix))]
fn link_of(_: &Metadata) -> Option<(u64, u64)> {
    None
}

/// The entry of a file in an earlier plan.
enum Seen {
    New,
    Changed,
    /// Unchanged, in this unit.
    Same(u32),
}

/// The files of an earlier plan, by the numbers of their names.
struct EarlierFiles {
    files: Numbers<(u64, u32, bool)>,
    links: HashSet<(u64, u64)>,
}

impl EarlierFiles {
    fn new(before: Option<&Campaign>) -> Result<Self> {
        let mut files = before.map_or_else(Numbers::default, Campaign::numbers);
        before.map_or(Ok(()), |before| {
            before.each_row(&mut |row| {
                // Unit 0 is that of files that were gone.
                if let Some(unit) = row.unit.or((row.kind == GONE).then_some(0)) {
                    files.insert(
                        number_of(row.path.as_os_str().as_encoded_bytes()),
                        (stamp(&row), unit, false),
                    );
                }
                Ok(())
            })
        })?;
        Ok(EarlierFiles { files, links: HashSet::new() })
    }

    fn see(&mut self, row: &Row) -> Seen {
        match self.files.get_mut(&number_of(row.path.as_os_str().as_encoded_bytes())) {
            None => Seen::New,
            Some((_, 0, seen)) => {
                *seen = true;
                Seen::New
            }
            Some((before, unit, seen)) => {
                *seen = true;
                if *before == stamp(row) { Seen::Same(*unit) } else { Seen::Changed }
            }
        }
    }

    fn is_seen(&self, path: &Path) -> bool {
        let number = number_of(path.as_os_str().as_encoded_bytes());
        self.files.get(&number).is_none_or(|(_, _, seen)| *seen)
    }
}

/// Returns a number for length and time.
fn stamp(row: &Row) -> u64 {
    number_of(format!("{} {}", row.size, row.mtime).as_bytes())
}

/// Files at even distances in the sequence of all bytes.
#[derive(Default)]
struct Sampled {
    paths: Vec<PathBuf>,
    bytes: u64,
    next: u64,
    step: u64,
}

impl Sampled {
    fn offer(&mut self, path: &Path, bytes: u64) {
        self.bytes += bytes;
        if self.bytes < self.next || bytes == 0 {
            return;
        }
        self.paths.push(path.to_owned());
        if self.paths.len() == 2 * SAMPLES {
            let mut n = 0;
            self.paths.retain(|_| {
                n += 1;
                n % 2 == 1
            });
            self.step = (self.bytes / SAMPLES as u64).max(1);
        }
        self.next = self.bytes + self.step;
    }
}

/// The lists of units, and the table, while they are written.
struct Units {
    camp: PathBuf,
    table: Hashing,
    target: u64,
    /// The number of the unit that is filled.
    number: u32,
    /// Its files, with the bytes that count and the number of a file with several names.
    open: Vec<(Row, u64, Option<(u64, u64)>)>,
    bytes: u64,
    /// The last change of the directory in its second half, and the bytes before it.
    change: Option<(usize, u64)>,
    /// The units of files with several names.
    links: HashMap<(u64, u64), u32>,
}

/// A file that is hashed while it is written.
struct Hashing {
    file: AtomicFile,
    out: BufWriter<File>,
    sha: Sha256,
}

impl Write for Hashing {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let n = self.out.write(bytes)?;
        self.sha.update(&bytes[..n]);
        Ok(n)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}

impl Units {
    fn create(camp: &Path, before: Option<&Campaign>, target: u64) -> Result<Self> {
        for directory in ["units", "logs"].map(|name| camp.join(name)) {
            let made = std::fs::create_dir_all(&directory);
            made.with_context(|| format!("create `{}`", directory.display()))?;
        }
        let path = camp.join(TOTAL);
        let file = AtomicFile::create_with_mode(&path, true, 0o666)?;
        let out = file.file().try_clone().with_context(|| format!("open `{}`", path.display()))?;
        let mut table = Hashing { file, out: BufWriter::new(out), sha: Sha256::new() };
        write_row(&mut table, &COLUMNS.map(str::as_bytes))
            .with_context(|| format!("write `{}`", path.display()))?;
        Ok(Units {
            camp: camp.to_owned(),
            table,
            target: target.max(1),
            number: before.map_or(1, |before| before.units + 1),
            open: Vec::new(),
            bytes: 0,
            change: None,
            links: HashMap::new(),
        })
    }

    /// Adds a file that is archived.
    fn file(&mut self, mut row: Row, bytes: u64, link: Option<(u64, u64)>) -> Result<()> {
        // All names of a file are in one unit.
        if let Some(&unit) = link.and_then(|link| self.links.get(&link)) {
            if unit == self.number {
                self.open.push((row, bytes, link));
                return Ok(());
            }
            row.unit = Some(unit);
            self.list(unit, true, std::slice::from_ref(&row))?;
            return self.row(&row);
        }
        let last = self.open.last().map(|(row, _, _)| row.path.parent());
        if last.is_some_and(|last| last != row.path.parent()) && self.bytes >= self.target / 2 {
            self.change = Some((self.open.len(), self.bytes));
        }
        while !self.open.is_empty()
            && (self.bytes.saturating_add(bytes) > self.target || self.open.len() >= FILES)
        {
            let (cut, before) = self.change.take().unwrap_or((self.open.len(), self.bytes));
            self.close(cut, before)?;
        }
        if let Some(link) = link {
            self.links.insert(link, self.number);
        }
        self.bytes = self.bytes.saturating_add(bytes);
        self.open.push((row, bytes, link));
        Ok(())
    }

    /// Writes the first files as a unit. Other names of its files come with it.
    fn close(&mut self, cut: usize, bytes: u64) -> Result<()> {
        let rest = self.open.split_off(cut);
        let mine: Vec<_> = self.open.iter().filter_map(|(_, _, link)| *link).collect();
        let (with, rest): (Vec<_>, Vec<_>) =
            rest.into_iter().partition(|(_, _, link)| link.is_some_and(|link| mine.contains(&link)));
        self.open.extend(with);
        let number = self.number;
        let rows: Vec<Row> = std::mem::take(&mut self.open)
            .into_iter()
            .map(|(row, _, _)| Row { unit: Some(number), ..row })
            .collect();
        self.list(number, false, &rows)?;
        rows.iter().try_for_each(|row| self.row(row))?;
        self.number += 1;
        for (_, _, link) in &rest {
            link.iter().for_each(|link| _ = self.links.insert(*link, self.number));
        }
        self.open = rest;
        self.bytes -= bytes;
        Ok(())
    }

    /// Writes or extends the list of a unit.
    fn list(&self, unit: u32, append: bool, rows: &[Row]) -> Result<()> {
        let path = self.camp.join("units").join(format!("{unit:05}.list"));
        let write = || {
            let file =
                File::options().create(true).write(true).append(append).truncate(!append).open(&path)?;
            let mut out = BufWriter::new(file);
            for row in rows {
                out.write_all(row.path.as_os_str().as_encoded_bytes())?;
                out.write_all(b"\0")?;
            }
            out.flush()
        };
        write().with_context(|| format!("write `{}`", path.display()))
    }

    fn row(&mut self, row: &Row) -> Result<()> {
        let unit = row.unit.map_or_else(String::new, |unit| unit.to_string());
        let size = row.size.to_string();
        let path = row.path.as_os_str().as_encoded_bytes();
        let fields = [path, size.as_bytes(), row.mtime.as_bytes(), row.kind.as_bytes(), unit.as_bytes()];
        let written = write_row(&mut self.table, &fields);
        written.with_context(|| format!("write `{}`", self.camp.join(TOTAL).display()))
    }

    /// Writes the rest. Returns the number of units.
    fn finish(mut self, inputs: &Inputs<'_>, planned: &Planned, unit_bytes: u64) -> Result<u32> {
        while !self.open.is_empty() {
            let (cut, before) = (self.open.len(), self.bytes);
            self.close(cut, before)?;
        }
        let (camp, units) = (self.camp, self.number - 1);
        let path = camp.join(TOTAL);
        let writing = || format!("write `{}`", path.display());
        let mut hashing = self.table;
        hashing.flush().with_context(writing)?;
        hashing.file.commit(None)?;
        let digest = hex(&hashing.sha.finalize());
        let plan = json!({
            "tool": nc3z_format::SOFTWARE, "time": date(SystemTime::now()),
            "directory": std::env::current_dir().ok().map(|d| name_json(&d)),
            "roots": inputs.roots.iter().map(|root| name_json(root)).collect::<Vec<_>>(),
            "unit_bytes": unit_bytes, "units": units, "files": planned.all.files, "bytes": planned.all.bytes, "digest": digest,
        });
        let text = serde_json::to_string_pretty(&plan).expect("a value is JSON");
        crate::tree::manifest::replace(&camp.join(PLAN), format!("{text}\n").as_bytes())?;
        Ok(units)
    }
}
