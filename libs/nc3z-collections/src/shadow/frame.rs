//! Frames of a shadow, and their directory.
//!
//! ```text
//! 0         8  "nc3xshd3"
//! 8            frames, one behind another
//!              directory: a frame
//! end - 40  8  offset of the directory
//! end - 32  8  its length as stored
//! end - 24  8  its length when decompressed
//! end - 16  4  its CRC-32
//! end - 12  4  CRC-32 of the 28 bytes before
//! end - 8   8  "nc3xend2"
//! ```

use super::columns::wrong;
use crate::error::{Error, Result};
use bytes::Bytes;
use nc3z_format::bytes::{ByteCursor, put_varint};
use nc3z_reader::source::SharedSource;
use zstd::zstd_safe::find_frame_compressed_size;

pub(super) const MAGIC: &[u8; 8] = b"nc3xshd3";
const END: &[u8; 8] = b"nc3xend2";
/// Bytes of the last part.
const END_LEN: u64 = 40;
/// Bytes of a frame at most when decompressed: some 7 million tiles of one variable.
const MAX_LEN: u64 = 256 << 20;
/// A frame has at most this many bytes when decompressed, for each stored byte, besides [`FREE`]. Shorter ones are filled up with zeros.
const MOST_RATIO: u64 = 1000;
/// Bytes that each frame may have.
const FREE: u64 = 64 << 10;
/// Blocks and groups of variables at most for each byte of the directory as stored: each has a checksum of 4 bytes.
const ENTRIES_SHARE: u64 = 1;
/// Names of variables at most for each byte of the directory as stored. Those of one block after the other compress well.
const NAMES_SHARE: u64 = 8;
/// Blocks, groups and names that each directory may have.
const FREE_ENTRIES: u64 = 1 << 16;
const FREE_NAMES: u64 = 4 << 20;
/// Files of a block at most.
pub(super) const MAX_MEMBERS: usize = 4096;
/// Level of compression: a shadow is written once, and kept where space is dear.
const LEVEL: i32 = 12;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) offset: u64,
    pub(super) stored: u64,
    pub(super) decoded: u64,
    pub(super) crc: u32,
}

/// Variables that share frames, and the frames.
#[derive(Debug, Clone, Default)]
pub(super) struct Group {
    pub(super) names: Vec<String>,
    pub(super) tiles: Frame,
    pub(super) sums: Frame,
    pub(super) places: Frame,
}

/// Files that share frames, and the frames.
#[derive(Debug, Clone, Default)]
pub(super) struct Entry {
    pub(super) members: usize,
    pub(super) names: Frame,
    pub(super) heads: Frame,
    pub(super) headers: Frame,
    pub(super) coordinates: Frame,
    pub(super) groups: Vec<Group>,
}

fn most(stored: u64) -> u64 {
    MAX_LEN.min(stored.saturating_mul(MOST_RATIO).saturating_add(FREE))
}

/// The stored form of a frame, with its place if it begins at `offset`.
pub(super) fn pack(plain: &[u8], offset: u64) -> Result<(Frame, Vec<u8>)> {
    let decoded = plain.len() as u64;
    if decoded == 0 {
        return Ok((Frame { offset, ..Frame::default() }, Vec::new()));
    }
    if decoded > MAX_LEN {
        return Err(Error::refused(format!(
            "the shadow cannot be written: a part of {decoded} bytes, and at most {MAX_LEN} are allowed"
        )));
    }
    let failed = |e: std::io::Error| Error::refused(format!("the shadow cannot be written: {e}"));
    let mut packed = zstd::bulk::compress(plain, LEVEL).map_err(failed)?;
    let least = decoded.saturating_sub(FREE).div_ceil(MOST_RATIO);
    packed.resize(packed.len().max(usize::try_from(least).unwrap_or(0)), 0);
    let frame = Frame { offset, stored: packed.len() as u64, decoded, crc: crc32fast::hash(&packed) };
    Ok((frame, packed))
}

impl Frame {
    pub(super) fn read(&self, source: &SharedSource) -> Result<Vec<u8>> {
        if self.decoded == 0 {
            return Ok(Vec::new());
        }
        let len = usize::try_from(self.stored).map_err(wrong)?;
        let packed: Bytes = source.read_at(self.offset, len)?;
        let found = crc32fast::hash(&packed);
        if found != self.crc {
            return Err(wrong(format!(
                "byte {}: the CRC-32 is {found:08x}, and {:08x} is on record: it is damaged; run `nc3z catalog` again",
                self.offset, self.crc
            )));
        }
        let here = |what: String| wrong(format!("byte {}: {what}", self.offset));
        let end = find_frame_compressed_size(&packed).map_err(|_| here("this is not a zstd frame".into()))?;
        let (frame, filling) = packed.split_at(end.min(packed.len()));
        if filling.iter().any(|byte| *byte != 0) {
            return Err(here("bytes follow the zstd frame".into()));
        }
        // Frame::check: the length is in proportion to the stored one.
        let capacity = usize::try_from(self.decoded).map_err(wrong)?;
        let plain = zstd::bulk::decompress(frame, capacity).map_err(|e| here(e.to_string()))?;
        if plain.len() != capacity {
            return Err(here(format!("it has {} bytes, and {capacity} are on record", plain.len())));
        }
        Ok(plain)
    }

    /// Checks lengths before anything is allocated.
    fn check(&self) -> Result<()> {
        if self.decoded > most(self.stored) || (self.decoded == 0) != (self.stored == 0) {
            let most = most(self.stored);
            return Err(wrong(format!(
                "byte {}: a part of {} stored bytes says that it has {}, and at most {most} are possible",
                self.offset, self.stored, self.decoded
            )));
        }
        Ok(())
    }

    fn put(&self, out: &mut Vec<u8>) {
        put_varint(out, self.stored);
        put_varint(out, self.decoded);
        out.extend(self.crc.to_le_bytes());
    }

    /// Reads a place; `offset` is that of the frame, and then that of the next one.
    fn take(from: &mut ByteCursor<'_>, offset: &mut u64) -> Result<Self> {
        let (stored, decoded) = (from.varint("stored length")?, from.varint("length")?);
        let frame = Frame { offset: *offset, stored, decoded, crc: from.u32("CRC-32")? };
        frame.check()?;
        *offset = offset.checked_add(stored).ok_or_else(|| wrong("a part is beyond the end"))?;
        Ok(frame)
    }
}

/// Appends the directory of a shadow whose frames end at `offset`, and the end of the file.
pub(super) fn finish(entries: &[Entry], offset: u64) -> Result<Vec<u8>> {
    let mut plain = Vec::new();
    put_varint(&mut plain, entries.len() as u64);
    for entry in entries {
        put_varint(&mut plain, entry.members as u64);
        put_varint(&mut plain, entry.groups.len() as u64);
        for frame in [&entry.names, &entry.heads, &entry.headers, &entry.coordinates] {
            frame.put(&mut plain);
        }
        for group in &entry.groups {
            put_varint(&mut plain, group.names.len() as u64);
            for name in &group.names {
                put_varint(&mut plain, name.len() as u64);
                plain.extend(name.as_bytes());
            }
            [&group.tiles, &group.sums, &group.places].iter().for_each(|frame| frame.put(&mut plain));
        }
    }
    let (frame, mut out) = pack(&plain, offset)?;
    let mut end = Vec::new();
    [offset, frame.stored, frame.decoded].iter().for_each(|n| end.extend(n.to_le_bytes()));
    end.extend(frame.crc.to_le_bytes());
    end.extend(crc32fast::hash(&end).to_le_bytes());
    end.extend(END);
    out.extend(end);
    Ok(out)
}

pub(super) fn directory(source: &SharedSource) -> Result<Vec<Entry>> {
    let len = source.len();
    let begin = source.read_at(0, usize::try_from(len.min(8)).unwrap_or(0))?;
    if !begin.starts_with(MAGIC) {
        return Err(wrong("it does not begin as one; `nc3z catalog` writes shadows"));
    }
    let at = len.checked_sub(END_LEN).filter(|at| *at >= 8).ok_or_else(|| wrong("it ends early"))?;
    let end = source.read_at(at, 40)?;
    let mut from = ByteCursor::new("shadow", at, &end);
    let (offset, stored, decoded) = (from.u64("offset")?, from.u64("length")?, from.u64("length")?);
    let (crc, own) = (from.u32("CRC-32")?, from.u32("CRC-32")?);
    if &end[32..] != END || own != crc32fast::hash(&end[..28]) {
        return Err(wrong("it does not end as one: it is damaged, or not complete"));
    }
    let frame = Frame { offset, stored, decoded, crc };
    frame.check()?;
    if offset.checked_add(stored) != Some(at) {
        return Err(wrong("its directory is not at its end"));
    }
    let plain = frame.read(source)?;
    let mut from = ByteCursor::new("directory of the shadow", 0, &plain);
    let mut room = Room::new(stored);
    let entries = entries(&mut from, offset, &mut room)?;
    from.finish()?;
    Ok(entries)
}

/// What a directory of this stored length may still have, so that a short one does not ask for much memory.
struct Room {
    entries: u64,
    names: u64,
}

impl Room {
    fn new(stored: u64) -> Self {
        let most = |free: u64, share: u64| stored.saturating_mul(share).saturating_add(free);
        Room { entries: most(FREE_ENTRIES, ENTRIES_SHARE), names: most(FREE_NAMES, NAMES_SHARE) }
    }

    /// Subtracts `n` from the remaining number.
    fn take(left: &mut u64, n: usize, what: &str) -> Result<()> {
        let rest = left.checked_sub(n as u64);
        *left = rest
            .ok_or_else(|| wrong(format!("its directory has more {what} than one of its length can have")))?;
        Ok(())
    }
}

fn entries(from: &mut ByteCursor<'_>, end: u64, room: &mut Room) -> Result<Vec<Entry>> {
    let blocks = from.varint_up_to("number of blocks", from.left())?;
    let mut at = MAGIC.len() as u64;
    let mut all = Vec::new();
    for _ in 0..blocks {
        let members = from.varint_up_to("number of files", MAX_MEMBERS)?;
        let groups = from.varint_up_to("number of groups", from.left())?;
        Room::take(&mut room.entries, groups.saturating_add(1), "groups of variables")?;
        let mut next = |from: &mut ByteCursor<'_>| Frame::take(from, &mut at);
        let (names, heads) = (next(from)?, next(from)?);
        let (headers, coordinates) = (next(from)?, next(from)?);
        let mut entry = Entry { members, names, heads, headers, coordinates, groups: Vec::new() };
        for _ in 0..groups {
            let count = from.varint_up_to("number of variables", from.left())?;
            Room::take(&mut room.names, count, "variables")?;
            let mut names = Vec::new();
            for _ in 0..count {
                let len = from.varint_up_to("length of a name", from.left())?;
                let name = std::str::from_utf8(from.split("name", len)?);
                names.push(name.map_err(|e| wrong(format!("the name of a variable: {e}")))?.to_owned());
            }
            entry.groups.push(Group { names, tiles: next(from)?, sums: next(from)?, places: next(from)? });
        }
        all.push(entry);
    }
    if at != end {
        return Err(wrong(format!("its parts end at byte {at}, and its directory begins at byte {end}")));
    }
    Ok(all)
}

/// The frames of a shadow in their order, decompressed.
#[cfg(test)]
pub(super) fn open_frames(bytes: &[u8]) -> Vec<Vec<u8>> {
    use nc3z_reader::source::MemorySource;
    let source: SharedSource = std::sync::Arc::new(MemorySource::new(Bytes::copy_from_slice(bytes)));
    let mut entries = directory(&source).expect("a shadow");
    each(&mut entries).map(|frame| frame.read(&source).expect("a frame")).collect()
}

/// The shadow with other frames.
#[cfg(test)]
pub(super) fn with_frames(bytes: &[u8], frames: &[Vec<u8>]) -> Vec<u8> {
    use nc3z_reader::source::MemorySource;
    let source: SharedSource = std::sync::Arc::new(MemorySource::new(Bytes::copy_from_slice(bytes)));
    let mut entries = directory(&source).expect("a shadow");
    let mut out = MAGIC.to_vec();
    for (place, plain) in each(&mut entries).zip(frames) {
        let (frame, packed) = pack(plain, out.len() as u64).expect("a frame");
        *place = frame;
        out.extend(packed);
    }
    let end = finish(&entries, out.len() as u64).expect("a directory");
    out.extend(end);
    out
}

#[cfg(test)]
fn each(entries: &mut [Entry]) -> impl Iterator<Item = &mut Frame> {
    entries.iter_mut().flat_map(|e| {
        let own = [&mut e.names, &mut e.heads, &mut e.headers, &mut e.coordinates];
        let groups = e.groups.iter_mut().flat_map(|g| [&mut g.tiles, &mut g.sums, &mut g.places]);
        own.into_iter().chain(groups)
    })
}
