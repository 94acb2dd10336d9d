//! Versions of an archive: the commits, newest first, and the search for one by number or tag.

use crate::archive::Archive;
use crate::error::Result;
use crate::sections::{read_section, read_sections};
use crate::source::ByteSource;
use crate::trailers::{last_trailer_between, read_previous};
use nc3z_format::archive::constants::HEAD_OFFSET;
use nc3z_format::archive::version::{find_tags, is_tag_name};
use nc3z_format::archive::{
    ArrayId, BLOCK_HEADER_LEN, BlockHeader, IndexEntry, Metadata, SectionKind, Trailer, VersionRecord,
};
use nc3z_format::{Error as FormatError, Limits};
use std::collections::BTreeMap;
use std::str::FromStr;

/// Largest number of trailers that one search examines past damage. Each may take a megabyte to find, and a
/// forged archive may have very many.
const PAST_DAMAGE: u32 = 1024;

/// The name of a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VersionName {
    /// By its number; 1 is the original.
    Number(u64),
    /// By a tag.
    Tag(String),
}

impl FromStr for VersionName {
    type Err = FormatError;

    fn from_str(text: &str) -> Result<Self, FormatError> {
        if let Some(number) = text.parse().ok().filter(|&n| n > 0) {
            return Ok(VersionName::Number(number));
        }
        if is_tag_name(text) {
            return Ok(VersionName::Tag(text.to_owned()));
        }
        Err(FormatError::invalid(format!("invalid version `{text}`; expected a number from 1, or a tag")))
    }
}

/// One version of the file that an archive holds.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Version {
    /// Its number and description.
    pub record: VersionRecord,
    /// The trailer of its newest generation.
    pub trailer: Trailer,
    /// Offset of that trailer.
    pub trailer_offset: u64,
    /// Bytes that its generations added to the archive.
    pub added_len: u64,
}

impl Archive {
    /// The versions of the archive up to the opened generation, newest first, at most `most` of them. Reads a
    /// few hundred bytes for each generation.
    ///
    /// # Errors
    /// Damage of a generation's end or metadata; more generations than the limits allow.
    pub fn versions(&self, most: u64) -> Result<Vec<Version>> {
        let store = &self.inner.store;
        let (source, limits) = (&*store.source, &store.limits);
        let mut node = Node::of_archive(self)?;
        let mut all: Vec<Version> = Vec::new();
        for _ in 0..limits.generations {
            let (record, begin) = (node.record.clone(), begin_of(&node.trailer));
            // The offsets of an archive in the short form are those of its long form.
            let added_len =
                if self.is_short() { self.stored_len() } else { node.trailer.archive_len - begin };
            let found = all.len() as u64;
            match all.last_mut().filter(|last| last.record.number == record.number) {
                // Tags and parity add generations to the same version.
                Some(last) => last.added_len += added_len,
                None if found == most => return Ok(all),
                None => {
                    let (trailer, trailer_offset) = (node.trailer.clone(), node.at);
                    all.push(Version { record, trailer, trailer_offset, added_len });
                }
            }
            if node.trailer.previous == 0 {
                return Ok(all);
            }
            node = Node::before(source, &node, limits)?;
        }
        let found = all.len() as u64;
        Err(FormatError::limit("archive", None, "generations", limits.generations, found).into())
    }

    /// The version that was opened.
    ///
    /// # Errors
    /// An invalid record.
    pub fn version(&self) -> Result<VersionRecord> {
        Ok(Node::of_archive(self)?.record)
    }

    /// The tags of the opened generation, and the versions that they name.
    ///
    /// # Errors
    /// The tags are invalid.
    pub fn tags(&self) -> Result<BTreeMap<String, u64>> {
        Ok(find_tags(self.metadata())?)
    }

    /// The generation of the newest blocks to which this one may refer, and the generation of the later head.
    /// The first is this generation or, if it only adds parity, the one before. The second is 0 if the head
    /// is the head copy.
    ///
    /// # Errors
    /// A damaged trailer, or a damaged block of the later head.
    pub fn block_generations(&self) -> Result<(u32, u32)> {
        let source = &*self.inner.store.source;
        let content = with_blocks(source, self.trailer().clone())?.generation;
        let head = match self.variable_table().find(ArrayId::HEADS) {
            Some((_, [IndexEntry::Stored { offset, .. }])) => {
                let mut header = [0; BLOCK_HEADER_LEN];
                source.read_into(*offset, &mut header)?;
                BlockHeader::decode(&header, &self.superblock().salt, *offset)?.0.generation
            }
            _ => 0,
        };
        Ok((content, head))
    }

    /// The generation that a later generation's jump should name, so that a search for older versions takes
    /// the fewest steps: this generation, or the one in its own jump. The jumps of all generations form a
    /// skew-binary list.
    ///
    /// # Errors
    /// A damaged generation.
    pub fn next_jump(&self) -> Result<(u64, u64)> {
        let store = &self.inner.store;
        let node = Node::of_archive(self)?;
        let (number, at) = node.jump();
        if at != node.at {
            let further = Node::at(&*store.source, at, &node.trailer, &store.limits)?.jump();
            if node.record.number - number == number.saturating_sub(further.0) {
                return Ok(further);
            }
        }
        Ok((node.record.number, node.at))
    }
}

/// The trailer, or the nearest earlier one whose generation has blocks. The first trailer if no generation
/// has blocks.
pub(crate) fn with_blocks(source: &dyn ByteSource, mut trailer: Trailer) -> Result<Trailer> {
    while trailer.blocks_begin == trailer.blocks_end && trailer.previous != 0 {
        trailer = read_previous(source, &trailer)?.1;
    }
    Ok(trailer)
}

fn begin_of(trailer: &Trailer) -> u64 {
    match trailer.previous {
        0 => 0,
        at => at + nc3z_format::archive::TRAILER_LEN as u64,
    }
}

/// A generation in a search for versions.
struct Node {
    at: u64,
    trailer: Trailer,
    record: VersionRecord,
}

impl Node {
    fn of_archive(archive: &Archive) -> Result<Self> {
        let (at, trailer) = (archive.trailer_offset(), archive.trailer().clone());
        let record = record_of(archive.metadata())?;
        Ok(Node { at, trailer, record })
    }

    fn read(source: &dyn ByteSource, (at, trailer): (u64, Trailer), limits: &Limits) -> Result<Self> {
        let metadata = read_metadata(source, at, &trailer, limits)?;
        let record = record_of(&metadata)?;
        Ok(Node { at, trailer, record })
    }

    /// The newest generation whose metadata are intact, for a search for the version `wanted`: `last` is the archive's last.
    fn last(source: &dyn ByteSource, last: (u64, Trailer), wanted: u64, limits: &Limits) -> Result<Self> {
        let mut found = last.clone();
        let first = match Node::read(source, last, limits) {
            Err(e) if e.is_corrupt() => e,
            read => return read,
        };
        for _ in 0..PAST_DAMAGE {
            if found.1.previous == 0 {
                break;
            }
            let Ok(before) = read_previous(source, &found.1) else { break };
            found = before;
            if let Ok(node) = Node::read(source, found.clone(), limits) {
                // A later version may be the one whose metadata are damaged.
                return if node.record.number < wanted { Err(first) } else { Ok(node) };
            }
        }
        Err(first)
    }

    /// The generation before this one.
    fn before(source: &dyn ByteSource, node: &Node, limits: &Limits) -> Result<Self> {
        let before = Node::read(source, read_previous(source, &node.trailer)?, limits)?;
        if before.record.number > node.record.number {
            let expected = format!("at most {}", node.record.number);
            let found = before.record.number;
            return Err(
                FormatError::corrupt("metadata", None, "number of the version", expected, found).into()
            );
        }
        Ok(before)
    }

    /// The generation whose trailer is at `at`, before that of `later`.
    fn at(source: &dyn ByteSource, at: u64, later: &Trailer, limits: &Limits) -> Result<Self> {
        // Read as a previous trailer: the same checks hold.
        let named = Trailer { previous: at, ..later.clone() };
        Node::read(source, read_previous(source, &named)?, limits)
    }

    /// One step of the search for a version.
    fn towards(&self, source: &dyn ByteSource, wanted: u64, limits: &Limits) -> Result<Self> {
        let (number, at) = self.jump();
        if number <= wanted || at >= self.at {
            return Node::before(source, self, limits);
        }
        let found = Node::at(source, at, &self.trailer, limits)?;
        if found.record.number != number {
            let (what, found) = ("version that a jump leads to", found.record.number);
            return Err(FormatError::corrupt("metadata", at, what, number, found).into());
        }
        Ok(found)
    }

    /// The nearest generation before `node` with an intact end and intact metadata, for a search whose path
    /// is damaged. `None` if that generation has an older version than the wanted one: then the end of the
    /// wanted one is damaged.
    fn past_damage(
        source: &dyn ByteSource,
        node: &Node,
        wanted: u64,
        limits: &Limits,
        tries: &mut u32,
    ) -> Result<Option<Self>> {
        let mut end = node.at;
        while *tries > 0 {
            *tries -= 1;
            let Some((at, trailer)) = last_trailer_between(source, HEAD_OFFSET, end, &node.trailer.salt)?
            else {
                break;
            };
            end = at;
            if trailer.generation >= node.trailer.generation {
                continue;
            }
            match Node::read(source, (at, trailer), limits) {
                Ok(found) if found.record.number > node.record.number => {}
                Ok(found) => return Ok((found.record.number >= wanted).then_some(found)),
                Err(e) if e.is_corrupt() => {}
                Err(e) => return Err(e),
            }
        }
        Ok(None)
    }

    /// The target of its jump. The first version jumps to itself.
    fn jump(&self) -> (u64, u64) {
        let jump = self.record.jump.filter(|&(number, at)| number < self.record.number && at < self.at);
        jump.unwrap_or((self.record.number, self.at))
    }
}

fn read_metadata(source: &dyn ByteSource, at: u64, trailer: &Trailer, limits: &Limits) -> Result<Metadata> {
    trailer.check_features()?;
    let sections = read_sections(source, trailer, at, limits)?;
    let bytes = read_section(source, &sections, SectionKind::Metadata, limits.metadata_len)?;
    Ok(Metadata::decode(&bytes, limits)?)
}

/// The number of the version of the generation with a trailer at `at`.
pub(crate) fn version_at(
    source: &dyn ByteSource,
    at: u64,
    trailer: &Trailer,
    limits: &Limits,
) -> Result<u32> {
    let record = record_of(&read_metadata(source, at, trailer, limits)?)?;
    Ok(u32::try_from(record.number).expect("as `VersionRecord::find` has checked"))
}

/// The record of a generation. One without a record is the first version.
fn record_of(metadata: &Metadata) -> Result<VersionRecord> {
    Ok(VersionRecord::find(metadata)?.unwrap_or(VersionRecord::FIRST))
}

/// The newest generation of a version: `last` is the archive's last. Takes O(log n) steps.
pub(crate) fn find_version(
    source: &dyn ByteSource,
    last: (u64, Trailer),
    wanted: &VersionName,
    limits: &Limits,
) -> Result<(u64, Trailer)> {
    let (wanted, mut node) = match wanted {
        VersionName::Number(number) => (*number, Node::last(source, last, *number, limits)?),
        VersionName::Tag(tag) => {
            let (at, trailer) = last;
            let metadata = read_metadata(source, at, &trailer, limits)?;
            let record = record_of(&metadata)?;
            let tags = find_tags(&metadata)?;
            let number = *tags.get(tag).ok_or_else(|| {
                let known: Vec<&str> = tags.keys().take(20).map(String::as_str).collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                FormatError::invalid(format!("no tag `{tag}`; the archive has {known}"))
            })?;
            (number, Node { at, trailer, record })
        }
    };
    let newest = node.record.number;
    let mut tries = PAST_DAMAGE;
    for _ in 0..limits.generations {
        if node.record.number == wanted {
            return Ok((node.at, node.trailer));
        }
        if node.record.number < wanted || node.trailer.previous == 0 {
            break;
        }
        node = match node.towards(source, wanted, limits) {
            Err(e) if e.is_corrupt() => {
                // Damaged generations cannot be followed. Versions before them have their own ends.
                Node::past_damage(source, &node, wanted, limits, &mut tries)?.ok_or(e)?
            }
            found => found?,
        };
    }
    if wanted < newest {
        // The number is in range, but the version does not exist.
        let why = format!("no version {wanted}: it was dropped, and the newest is {newest}");
        return Err(FormatError::invalid(why).into());
    }
    let known = if newest == 1 { "1 alone".to_owned() } else { format!("1 to {newest}") };
    Err(FormatError::invalid(format!("no version {wanted}; the archive has {known}")).into())
}
