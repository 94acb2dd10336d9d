//! Compares a site's catalogue with archives by the lengths and digests that the archives record: no values are read.

use super::{Numbers, number_of};
use crate::tree::error::Context as _;
use crate::tree::hash::unhex;
use crate::tree::refusal::Refusal;
use crate::tree::table::{Row, TableReader, write_row};
use crate::tree::walk::{Visited, restored_name, visit};
use crate::tree::{Error, Result};
use nc3z_format::bytes::hex;
use nc3z_reader::source::{self};
use nc3z_reader::{Archive, OpenOptions};
use std::fs::File;
use std::hash::BuildHasherDefault;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

/// The largest number of files that are named for each result.
const NAMED: usize = 1000;
/// The media type of an archive.
const MEDIA_TYPE: &str = "application/vnd.nc3z";

/// The names of the columns of a catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Columns {
    /// The path of a file.
    pub path: String,
    /// Its length; none if the catalogue has none.
    pub size: Option<String>,
    /// Its SHA-256 or MD5; none if the catalogue has none.
    pub checksum: Option<String>,
}

impl Columns {
    /// Returns the columns of a known kind of catalogue: `esgf` (as its search API writes them) or `intake-esm`.
    pub fn preset(name: &str) -> Option<Self> {
        let columns = |path: &str, size: Option<&str>, checksum: Option<&str>| Columns {
            path: path.to_owned(),
            size: size.map(str::to_owned),
            checksum: checksum.map(str::to_owned),
        };
        match name {
            "plain" => Some(columns("path", Some("size"), Some("checksum"))),
            "esgf" => Some(columns("title", Some("size"), Some("checksum"))),
            "intake-esm" => Some(columns("path", None, None)),
            _ => None,
        }
    }
}

/// The way to compare.
pub struct Reconciling<'a> {
    /// The catalogue, as CSV with a first line of names.
    pub catalogue: &'a Path,
    /// The columns of the catalogue.
    pub columns: &'a Columns,
    /// The directory that is the beginning of its paths, and that the archives' names do not have.
    pub root: Option<&'a Path>,
    /// Compares the last components of paths only, for catalogues with other directories.
    pub by_name: bool,
    /// The directories with archives.
    pub archives: &'a [PathBuf],
    /// The options for opening archives.
    pub open: &'a OpenOptions,
}

/// The result of a comparison with a catalogue.
#[derive(Debug, Default)]
pub struct Reconciled {
    /// Files whose archive records the length and the digest of the catalogue.
    pub matched: u64,
    /// Files of the catalogue without an archive.
    pub missing: (u64, Vec<PathBuf>),
    /// Archives of files that the catalogue lacks.
    pub extra: (u64, Vec<PathBuf>),
    /// Archives that record something else, with the difference.
    pub different: (u64, Vec<(PathBuf, String)>),
    /// Files without a digest of the same kind: at most the length was compared.
    pub not_compared: u64,
    /// Paths that the catalogue has twice.
    pub twice: (u64, Vec<PathBuf>),
    /// Archives that could not be opened.
    pub failures: Vec<(PathBuf, Error)>,
}

impl Reconciled {
    /// Returns whether catalogue and archives have the same files.
    pub fn is_same(&self) -> bool {
        self.missing.0 + self.extra.0 + self.different.0 + self.twice.0 == 0 && self.failures.is_empty()
    }
}

fn note<T>(list: &mut (u64, Vec<T>), item: T) {
    list.0 += 1;
    if list.1.len() < NAMED {
        list.1.push(item);
    }
}

/// The bytes of a digest that are kept.
const KEPT: usize = 15;

/// A digest of a catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sum {
    None,
    Md5([u8; KEPT]),
    Sha256([u8; KEPT]),
}

/// A file of the catalogue: 24 bytes.
struct Entry {
    /// Its length; `SEEN` once its archive was found.
    size: u64,
    sum: Sum,
}

/// Stands for a length that the catalogue does not have.
const UNKNOWN: u64 = u64::MAX;
/// Stands for the length of a file whose archive was found.
const SEEN: u64 = u64::MAX - 1;

/// Compares. With `table`, writes a row for each archive that matches, with what a catalogue of archives needs.
///
/// # Errors
/// The catalogue cannot be read, or lacks a column; the table cannot be written.
pub fn reconcile(how: &Reconciling<'_>, mut table: Option<&mut dyn Write>) -> Result<Reconciled> {
    let mut result = Reconciled::default();
    let mut rows = 0;
    how.each(&mut |_, _, _| {
        rows += 1;
        Ok(())
    })?;
    // A map that grows takes half as much memory again.
    let mut files: Numbers<Entry> = Numbers::with_capacity_and_hasher(rows, BuildHasherDefault::default());
    how.each(&mut |name, row, places| {
        let size = places.1.and_then(|n| row.text(n)).and_then(|text| text.trim().parse().ok());
        let size = size.unwrap_or(UNKNOWN);
        let sum = places.2.and_then(|n| row.get(n)).map_or(Sum::None, sum_of);
        if files.insert(number_of(how.key(&name)), Entry { size, sum }).is_some() {
            note(&mut result.twice, name);
        }
        Ok(())
    })?;
    if let Some(out) = &mut table {
        let columns = [
            "path",
            "size",
            "media_type",
            "original_path",
            "original_size",
            "original_sha256",
            "original_md5",
        ];
        write_row(out, &columns.map(str::as_bytes)).with_context(|| "write the table".to_owned())?;
    }
    let mut failed = None;
    for root in how.archives {
        let wanted = |path: &Path| path.extension().is_some_and(|e| e == "nc3z");
        visit(root, &wanted, &mut |visited| match visited {
            Visited::File(archive, name) if failed.is_none() => {
                let done = restored_name(&name)
                    .and_then(|name| how.one(&archive, &name, &mut files, &mut result, &mut table));
                match done {
                    Ok(()) => {}
                    Err(e) if is_output(&e) => failed = Some(e),
                    Err(e) => result.failures.push((archive, e)),
                }
            }
            Visited::Failure(path, error) => result.failures.push((path, error)),
            _ => {}
        });
    }
    failed.map_or(Ok(()), Err)?;
    // The names of what was not seen are only in the catalogue.
    how.each(&mut |name, _, _| {
        if files.get(&number_of(how.key(&name))).is_some_and(|entry| entry.size != SEEN) {
            note(&mut result.missing, name);
        }
        Ok(())
    })?;
    Ok(result)
}

fn is_output(e: &Error) -> bool {
    matches!(e.kind(), crate::tree::ErrorKind::Io { what, .. } if what == "write the table")
}

impl Reconciling<'_> {
    /// Returns what the number of a file is made of.
    fn key<'p>(&self, name: &'p Path) -> &'p [u8] {
        let part = if self.by_name { name.file_name().unwrap_or_default() } else { name.as_os_str() };
        part.as_encoded_bytes()
    }

    /// Calls `with` for each file of the catalogue, with the positions of path, size and checksum.
    fn each(
        &self,
        with: &mut dyn FnMut(PathBuf, Row<'_>, (usize, Option<usize>, Option<usize>)) -> Result<()>,
    ) -> Result<()> {
        let reading = || format!("read the catalogue `{}`", self.catalogue.display());
        let mut input = BufReader::new(File::open(self.catalogue).with_context(reading)?);
        let first = input.fill_buf().with_context(reading)?;
        let head = first.split(|&b| b == b'\n').next().unwrap_or_default();
        let count = |delimiter: u8| head.split(|&b| b == delimiter).count();
        let delimiter =
            [b',', b'\t', b';'].into_iter().max_by_key(|d| (count(*d), *d == b',')).unwrap_or(b',');
        let mut table = TableReader::new(input, delimiter);
        let mut places = (0, None, None);
        while let Some(row) = table.row().with_context(reading)? {
            let number = row.number();
            if number == 1 {
                let names: Vec<String> = row
                    .fields()
                    .map(|f| String::from_utf8_lossy(f).trim().trim_start_matches('\u{feff}').to_owned())
                    .collect();
                let find = |name: &String| {
                    let found = names.iter().position(|known| known.eq_ignore_ascii_case(name));
                    found.ok_or_else(|| {
                        let (path, known) = (self.catalogue.to_owned(), names.join(", "));
                        Error::from(Refusal::NoColumn { path, column: name.clone(), known })
                    })
                };
                places = (
                    find(&self.columns.path)?,
                    self.columns.size.as_ref().map(find).transpose()?,
                    self.columns.checksum.as_ref().map(find).transpose()?,
                );
                continue;
            }
            let Some(path) = row.get(places.0).filter(|path| !path.is_empty()) else { continue };
            let path = nc3z_reader::platform::path_of(path);
            let name = self.root.and_then(|root| path.strip_prefix(root).ok()).unwrap_or(&path);
            let name = name.strip_prefix(".").unwrap_or(name).to_owned();
            with(name, row, places)?;
        }
        Ok(())
    }

    fn one(
        &self,
        path: &Path,
        name: &Path,
        files: &mut Numbers<Entry>,
        result: &mut Reconciled,
        table: &mut Option<&mut dyn Write>,
    ) -> Result<()> {
        let Some(entry) = files.get_mut(&number_of(self.key(name))) else {
            note(&mut result.extra, path.to_owned());
            return Ok(());
        };
        // A second archive of a name is of another file, and the catalogue has one.
        if entry.size == SEEN {
            note(&mut result.extra, path.to_owned());
            return Ok(());
        }
        let Entry { size, sum } = std::mem::replace(entry, Entry { size: SEEN, sum: Sum::None });
        let archive = source::open(path, false).and_then(|source| Archive::from_source(source, self.open));
        let archive = archive.with_context(|| format!("open `{}`", path.display()))?;
        let len = archive.original_len();
        let sha256 = archive.digest().sha256();
        let md5 = archive.recorded_digests().md5;
        let head = |bytes: &[u8]| <[u8; KEPT]>::try_from(&bytes[..KEPT]).expect("digests are longer");
        let differs = |what: &str, listed: String, held: String| {
            format!("{what}: the catalogue has {listed}, the archive records {held}")
        };
        let difference = match (size, sum, sha256, md5) {
            (size, ..) if size < SEEN && size != len => {
                Some(differs("length", size.to_string(), len.to_string()))
            }
            (_, Sum::Sha256(sum), Some(held), _) if sum != head(&held) => {
                Some(differs("SHA-256", hex(&sum) + "…", hex(&held)))
            }
            (_, Sum::Md5(sum), _, Some(held)) if sum != head(&held) => {
                Some(differs("MD5", hex(&sum) + "…", hex(&held)))
            }
            _ => None,
        };
        let is_compared =
            matches!((sum, sha256, md5), (Sum::Sha256(_), Some(_), _) | (Sum::Md5(_), _, Some(_)));
        if let Some(difference) = difference {
            note(&mut result.different, (path.to_owned(), difference));
            return Ok(());
        }
        result.not_compared += u64::from(!is_compared);
        result.matched += u64::from(is_compared);
        let Some(out) = table else { return Ok(()) };
        let (stored, len) = (archive.stored_len().to_string(), len.to_string());
        let sha256 = sha256.map_or_else(String::new, |digest| hex(&digest));
        let md5 = md5.map_or_else(String::new, |digest| hex(&digest));
        let fields = [
            path.as_os_str().as_encoded_bytes(),
            stored.as_bytes(),
            MEDIA_TYPE.as_bytes(),
            name.as_os_str().as_encoded_bytes(),
            len.as_bytes(),
            sha256.as_bytes(),
            md5.as_bytes(),
        ];
        write_row(&mut **out, &fields).with_context(|| "write the table".to_owned())
    }
}

/// Returns the digest of a field: hexadecimal digits, with or without its name in front (`sha256:…`).
fn sum_of(field: &[u8]) -> Sum {
    let field = field.trim_ascii();
    let digits = field.rsplit(|&b| b == b':').next().unwrap_or(field);
    let short = || {
        let text = std::str::from_utf8(digits).ok().filter(|text| text.len() == 32)?;
        crate::tree::journal::unhex(text)
    };
    let kept = |digest: &[u8]| <[u8; KEPT]>::try_from(&digest[..KEPT]).expect("digests are longer");
    match unhex(digits) {
        Some(digest) => Sum::Sha256(kept(&digest)),
        None => short().map_or(Sum::None, |digest| Sum::Md5(kept(&digest))),
    }
}
