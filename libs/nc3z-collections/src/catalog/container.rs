//! A bundle: a catalogue with its files. The table of files is read when it is asked for.

use super::content::Content;
use super::member::{Head, HeadKind};
use super::read::{Catalog, Table};
use super::table::{Axis, Column, MAX_MEMBERS, has_bundle_mark, is_bundle, wrong};
use crate::bundle::inside;
use crate::error::Result;
use crate::pack::PackedRow;
use bytes::Bytes;
use nc3z_format::archive::constants::{SLOTS_AT, SUPERBLOCK_TEXT_AT, TEXT};
use nc3z_format::archive::short::is_short;
use nc3z_format::archive::{SUPERBLOCK_LEN, Slot, Superblock, unpack};
use nc3z_format::classic::Header;
use nc3z_reader::source::SharedSource;
use nc3z_reader::{Archive, Dataset};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// The number of names that are found by looking at all. For more they are sorted once.
const UNSORTED: usize = 8;
/// In a bundle of at most this many files, their places are fetched with the names.
const FETCHED_TOGETHER: u64 = 100_000;
/// In a bundle of at most this many files, the columns that lead to headers are fetched with the names, too: some bytes for each file.
const HEADERS_TOGETHER: u64 = 10_000;
/// The maximal length in bytes of the header of a packed member.
const MAX_HEADER: u64 = 4 << 20;
/// A longer head copy is not decoded to look for the mark of bundles: the archive is opened.
const LONG_HEAD: u32 = 1 << 20;
/// Rows that are read at a time.
const STEP: usize = 1 << 20;

/// The files of an open bundle.
pub(crate) struct Container {
    archive: Archive,
    table: Table,
    content: Arc<Content>,
    names: OnceLock<Names>,
    searches: AtomicUsize,
    /// The numbers of the files in the order of their names.
    sorted: OnceLock<Vec<u32>>,
    headers: OnceLock<Headers>,
}

/// The headers of all files.
struct Headers {
    /// The headers of each block, and their bytes.
    blocks: Vec<(Range<u64>, Range<u64>)>,
    /// The table with the columns that lead to a header.
    near: Table,
}

/// The names of all files.
pub(crate) struct Names {
    bytes: Bytes,
    /// The end of each name.
    ends: Vec<usize>,
    /// The table with the columns that were fetched with the names.
    near: Table,
}

impl Names {
    fn stored(&self, number: usize) -> &[u8] {
        let begin = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[begin..self.ends[number]]
    }

    /// The name of a file.
    fn get(&self, number: usize) -> Result<&str> {
        let name = std::str::from_utf8(self.stored(number));
        let name = name.map_err(|e| wrong(format!("the name of file {number}: {e}")))?;
        if name.contains('\0') || name.is_empty() || inside("", name).as_deref() != Some(name) {
            let shown = name.escape_debug();
            return Err(wrong(format!("the name of file {number} is not one of a member: `{shown}`")));
        }
        Ok(name)
    }
}

impl Container {
    /// Returns whether a header is that of a bundle.
    pub(crate) fn is_one(header: &Header) -> bool {
        is_bundle(header)
    }

    /// Returns false if a file is an archive in the short form, or one of one generation whose header does not have the mark of bundles.
    /// That takes the superblock and the head copy, a third of the work of opening the archive. True for all other files.
    pub(crate) fn may_be(source: &SharedSource) -> bool {
        let mut start = [0; SUPERBLOCK_LEN];
        if source.len() < start.len() as u64 || source.read_into(0, &mut start).is_err() {
            return true;
        }
        // The short form has the SHA-256 of the classic file, and that of a bundle's table is never computed.
        // With the text of the long form, only the byte for the form is damaged.
        if is_short(&start) && start[SUPERBLOCK_TEXT_AT..SLOTS_AT] != *TEXT.as_bytes() {
            return false;
        }
        let Ok(superblock) = Superblock::decode(&start) else { return true };
        let (stored, decoded) = (superblock.head_stored_len, superblock.head_decoded_len);
        let is_first = |slot: &Slot| match slot {
            Slot::Empty => true,
            Slot::Whole(slot) => slot.generation == 1,
            Slot::Damaged => false,
        };
        if !superblock.slots.0.iter().all(is_first) || stored.max(decoded) > LONG_HEAD {
            return true;
        }
        let Ok(head) = source.read_at(SUPERBLOCK_LEN as u64, stored as usize) else { return true };
        if stored == decoded {
            return has_bundle_mark(&head);
        }
        unpack(&head, decoded.into()).map_or(true, |head| has_bundle_mark(&head))
    }

    /// Opens the bundle in an archive. Nothing more is read.
    pub(crate) fn open(archive: &Archive) -> Result<Self> {
        let table = Table::new(Dataset::from(archive.clone()))?;
        let content = match table.variable(Column::Content) {
            Some(id) => Content::new(archive, id)?,
            None => Content::empty(archive),
        };
        Ok(Container {
            archive: archive.clone(),
            table,
            content: Arc::new(content),
            names: OnceLock::new(),
            searches: AtomicUsize::new(0),
            sorted: OnceLock::new(),
            headers: OnceLock::new(),
        })
    }

    /// The archive of the table and of the content.
    pub(crate) fn archive(&self) -> &Archive {
        &self.archive
    }

    /// The bytes of all files.
    pub(crate) fn content(&self) -> &Arc<Content> {
        &self.content
    }

    /// The number of files.
    pub(crate) fn len(&self) -> usize {
        usize::try_from(self.table.lengths[Axis::File]).unwrap_or(usize::MAX)
    }

    /// The catalogue, whose files are named as members of `bundle`.
    pub(crate) fn catalog(&self, bundle: &str) -> Result<Catalog> {
        Ok(Catalog::from_dataset(self.table.dataset.clone())?.within(bundle))
    }

    fn names(&self) -> Result<&Names> {
        if let Some(names) = self.names.get() {
            return Ok(names);
        }
        let names = self.read_names()?;
        Ok(self.names.get_or_init(|| names))
    }

    fn read_names(&self) -> Result<Names> {
        let (files, bytes) = (0..self.table.lengths[Axis::File], 0..self.table.lengths[Axis::NameByte]);
        let mut parts = vec![(Column::NameLength, files.clone()), (Column::Name, bytes.clone())];
        if files.end <= FETCHED_TOGETHER {
            let each = [Column::Kind, Column::Size, Column::Offset, Column::Stored];
            parts.extend(each.map(|column| (column, files.clone())));
        }
        if files.end <= HEADERS_TOGETHER {
            parts.extend(self.header_parts());
        }
        let near = self.table.near(&parts)?;
        let mut ends = Vec::with_capacity(self.len());
        let mut end = 0_usize;
        for rows in steps(&files) {
            for len in near.lengths(Column::NameLength, &rows)? {
                let next = usize::try_from(len).ok().and_then(|len| end.checked_add(len));
                end = next.filter(|end| *end as u64 <= bytes.end).ok_or_else(|| {
                    wrong(format!("the lengths of its names exceed their {} bytes", bytes.end))
                })?;
                ends.push(end);
            }
        }
        if end as u64 != bytes.end {
            return Err(wrong(format!("its names have {} bytes, and their lengths say {end}", bytes.end)));
        }
        Ok(Names { bytes: near.bytes(Column::Name, &bytes)?, ends, near })
    }

    /// The name of a file.
    pub(crate) fn name(&self, number: usize) -> Result<&str> {
        self.names()?.get(number)
    }

    /// The number of the file with a name. None where there is none.
    pub(crate) fn find(&self, name: &str) -> Result<Option<usize>> {
        let names = self.names()?;
        let twice = || Err(wrong(format!("two files are called `{}`", name.escape_debug())));
        let wanted = name.as_bytes();
        if self.searches.fetch_add(1, Ordering::Relaxed) < UNSORTED {
            let mut all = (0..names.ends.len()).filter(|number| names.stored(*number) == wanted);
            let found = all.next();
            return if all.next().is_some() { twice() } else { self.checked(found) };
        }
        let sorted = self.sorted.get_or_init(|| {
            let mut all: Vec<u32> = (0..u32::try_from(names.ends.len()).unwrap_or(u32::MAX)).collect();
            all.sort_unstable_by(|a, b| names.stored(*a as usize).cmp(names.stored(*b as usize)));
            all
        });
        let at = sorted.partition_point(|number| names.stored(*number as usize) < wanted);
        let is_it = |at: usize| sorted.get(at).is_some_and(|n| names.stored(*n as usize) == wanted);
        match (is_it(at), is_it(at + 1)) {
            (true, true) => twice(),
            (true, false) => self.checked(Some(sorted[at] as usize)),
            (false, _) => Ok(None),
        }
    }

    /// Checks the name of a file that was found.
    fn checked(&self, found: Option<usize>) -> Result<Option<usize>> {
        found.map(|number| self.name(number).map(|_| number)).transpose()
    }

    /// Returns the row of a file, without checksum, time and permissions.
    pub(crate) fn head(&self, number: usize) -> Result<Head> {
        let row = number as u64;
        Ok(self.heads(&(row..row + 1), &[])?.remove(0))
    }

    /// What the table has of some files; of each, the parts that are wanted for reading, and those of `more`.
    fn heads(&self, rows: &Range<u64>, more: &[Column]) -> Result<Vec<Head>> {
        let known = self.names.get().filter(|_| self.table.lengths[Axis::File] <= FETCHED_TOGETHER);
        let table = match known {
            Some(names) if more.is_empty() => names.near.clone(),
            _ => {
                let each = [Column::Kind, Column::Size, Column::Offset, Column::Stored];
                let parts = each.iter().chain(more).map(|column| (*column, rows.clone()));
                self.table.near(&parts.collect::<Vec<_>>())?
            }
        };
        let kinds = table.numbers(Column::Kind, rows)?;
        let lengths = table.lengths(Column::Size, rows)?;
        let offsets = table.lengths(Column::Offset, rows)?;
        let stored = table.lengths(Column::Stored, rows)?;
        let column = |column: Column| {
            if more.contains(&column) { table.numbers(column, rows) } else { Ok(Vec::new()) }
        };
        let (crcs, modes) = (column(Column::Crc32)?, column(Column::Mode)?);
        let modified = column(Column::Modified)?;
        let head = |n: usize| -> Result<Head> {
            let kind = usize::try_from(kinds[n]).ok().and_then(|kind| HeadKind::ALL.get(kind));
            let number = rows.start + n as u64;
            let kind = *kind.ok_or_else(|| wrong(format!("file {number} is of kind {}", kinds[n])))?;
            let len = self.table.lengths[Axis::Content];
            let end = offsets[n].checked_add(stored[n]).filter(|end| *end <= len);
            end.ok_or_else(|| {
                wrong(format!(
                    "file {number} has {} bytes from byte {} of the content on, which has {len}",
                    stored[n], offsets[n]
                ))
            })?;
            let mut head =
                Head { kind, len: lengths[n], offset: offsets[n], stored: stored[n], ..Head::default() };
            head.crc32 = crcs.get(n).and_then(|crc| u32::try_from(*crc).ok());
            head.mode = modes.get(n).and_then(|mode| u16::try_from(*mode).ok());
            head.modified = modified.get(n).copied().unwrap_or(head.modified);
            Ok(head)
        };
        (0..kinds.len()).map(head).collect()
    }

    /// Returns the row of a file, with checksum, time and permissions.
    pub(crate) fn record(&self, number: usize) -> Result<Head> {
        let row = number as u64;
        let more = [Column::Crc32, Column::Mode, Column::Modified];
        Ok(self.heads(&(row..row + 1), &more)?.remove(0))
    }

    /// The columns that lead to headers.
    fn header_parts(&self) -> Vec<(Column, Range<u64>)> {
        let all = |column: Column| (column, 0..self.table.lengths[column.spec().axis]);
        let mut parts = vec![all(Column::BlockHeaders), all(Column::BlockHeaderBytes)];
        if self.table.lengths[Axis::File] <= FETCHED_TOGETHER {
            parts.extend([Column::FileHeader, Column::GroupMember, Column::HeaderLength].map(all));
        }
        parts
    }

    fn headers(&self) -> Result<&Headers> {
        if let Some(headers) = self.headers.get() {
            return Ok(headers);
        }
        let near = match self.table.lengths[Axis::File] {
            ..=HEADERS_TOGETHER => self.names()?.near.clone(),
            _ => self.table.near(&self.header_parts())?,
        };
        let headers = near.runs(Column::BlockHeaders, Axis::Header)?;
        let bytes = near.runs(Column::BlockHeaderBytes, Axis::HeaderByte)?;
        let blocks = headers.into_iter().zip(bytes).collect();
        Ok(self.headers.get_or_init(|| Headers { blocks, near }))
    }

    /// Returns what reading a packed member takes of the table, besides its place: that is the row `head`.
    pub(crate) fn packed(&self, number: usize, head: &Head) -> Result<PackedRow> {
        let Headers { blocks, near } = self.headers()?;
        let row = number as u64..number as u64 + 1;
        let header = near.lengths(Column::FileHeader, &row)?[0];
        let member = near.lengths(Column::GroupMember, &row)?[0];
        let block = blocks.get(blocks.partition_point(|(headers, _)| headers.end <= header));
        let (headers, bytes) = block.ok_or_else(|| wrong(format!("file {number} has header {header}")))?;
        if headers.end - headers.start > MAX_MEMBERS as u64 {
            return Err(wrong(format!("a block has more than {MAX_MEMBERS} headers")));
        }
        let lengths = near.lengths(Column::HeaderLength, &(headers.start..header + 1))?;
        let len = lengths.last().copied().unwrap_or(0);
        let end = lengths.iter().fold(bytes.start, |end, len| end.saturating_add(*len));
        if len > MAX_HEADER || end > bytes.end {
            return Err(wrong(format!(
                "header {header} has {len} bytes up to byte {end}, and those of its block end at byte {}",
                bytes.end
            )));
        }
        Ok(PackedRow {
            name: self.name(number)?.to_owned(),
            number: usize::try_from(member).map_err(wrong)?,
            len: head.len,
            header: self.table.bytes(Column::HeaderBytes, &(end - len..end))?,
        })
    }

    /// Returns the SHA-256 of a file.
    pub(crate) fn sha256(&self, number: usize) -> Result<[u8; 32]> {
        let row = number as u64..number as u64 + 1;
        let sum = self.table.bytes(Column::Sha256, &row)?;
        sum.first_chunk().copied().ok_or_else(|| wrong("a SHA-256 is too short"))
    }

    /// Calls `each` with what the table has of all files, one after another.
    pub(crate) fn each(&self, each: &mut dyn FnMut(usize, Head) -> Result<()>) -> Result<()> {
        for rows in steps(&(0..self.table.lengths[Axis::File])) {
            for (number, head) in (rows.start..).zip(self.heads(&rows, &[])?) {
                each(usize::try_from(number).map_err(wrong)?, head)?;
            }
        }
        Ok(())
    }
}

/// Rows in parts that are read at once.
fn steps(rows: &Range<u64>) -> impl Iterator<Item = Range<u64>> + use<> {
    let end = rows.end;
    (rows.start..end).step_by(STEP).map(move |begin| begin..end.min(begin + STEP as u64))
}
