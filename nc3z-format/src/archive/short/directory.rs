//! The directory of the short form.

use super::SECTION;
use crate::archive::{ArrayId, BlockKind};
use crate::bytes::{ByteCursor, put_varint};
use crate::error::{Error, Result};

/// Bit of a record's first byte: the payload is in the directory.
const INSIDE: u8 = 4;

/// The content of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Directory {
    pub(super) required: u32,
    pub(super) original_len: u64,
    /// The head copy, decoded.
    pub(super) head: Vec<u8>,
    /// The metadata, decoded.
    pub(super) metadata: Vec<u8>,
    /// The blocks in their order.
    pub(super) blocks: Vec<Record>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) kind: BlockKind,
    pub(super) array: ArrayId,
    pub(super) tile: u64,
    pub(super) chain: u16,
    pub(super) decoded_len: u32,
    /// Zero if the chain is 0: the CRC is then computed from the payload.
    pub(super) decoded_crc: u32,
    pub(super) payload: Payload,
    /// The members of a container.
    pub(super) members: Vec<MemberRow>,
}

/// The place of a block's payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Payload {
    /// In the directory. For a container, without the fields that its members' rows contain. Stored with
    /// chain 0.
    Inside(Vec<u8>),
    /// After the directory.
    Outside { len: u32, crc: u32 },
}

/// One member of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MemberRow {
    pub(super) array: ArrayId,
    pub(super) tile: u64,
    pub(super) chain: u16,
    pub(super) len: u32,
    /// CRC-32 of the decoded tile.
    pub(super) check: u32,
}

/// The bytes of a decoded container before its members' bytes.
pub(super) fn container_start(members: &[MemberRow]) -> Vec<u8> {
    let mut rows = Vec::new();
    put_varint(&mut rows, members.len() as u64);
    for m in members {
        put_varint(&mut rows, m.array.0.into());
        put_varint(&mut rows, m.tile);
        put_varint(&mut rows, m.chain.into());
        put_varint(&mut rows, m.len.into());
    }
    let mut out =
        u32::try_from(rows.len()).expect("some bytes for each of the members").to_le_bytes().to_vec();
    out.extend(rows);
    out
}

impl Directory {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.head.len() + self.metadata.len() + 1024);
        put_varint(&mut out, self.required.into());
        put_varint(&mut out, self.original_len);
        for part in [&self.head, &self.metadata] {
            put_varint(&mut out, part.len() as u64);
            out.extend(part);
        }
        put_varint(&mut out, self.blocks.len() as u64);
        self.blocks.iter().for_each(|block| block.encode(&mut out));
        out
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self> {
        let mut c = ByteCursor::new(SECTION, 0, bytes);
        let required = narrow(c.varint("required features")?, "required features")?;
        let original_len = c.varint("original length")?;
        let len = c.varint_up_to("length of the head", bytes.len())?;
        let head = c.split("head", len)?.to_vec();
        let len = c.varint_up_to("length of the metadata", bytes.len())?;
        let metadata = c.split("metadata", len)?.to_vec();
        let count = c.varint_up_to("number of blocks", c.left())?;
        let mut blocks = Vec::with_capacity(count);
        // Containers and lists are numbered in the order of their records.
        let (mut containers, mut lists) = (0, 0);
        for _ in 0..count {
            blocks.push(Record::decode(&mut c, &mut containers, &mut lists)?);
        }
        c.finish()?;
        Ok(Directory { required, original_len, head, metadata, blocks })
    }
}

impl Record {
    fn encode(&self, out: &mut Vec<u8>) {
        let inside = matches!(self.payload, Payload::Inside(_));
        out.push(self.kind as u8 | if inside { INSIDE } else { 0 });
        match self.kind {
            BlockKind::Container => {
                put_varint(out, self.members.len() as u64);
                put_members(out, &self.members);
            }
            BlockKind::Constants => {}
            _ => {
                put_varint(out, self.array.0.into());
                put_varint(out, self.tile);
            }
        }
        match &self.payload {
            Payload::Inside(bytes) if self.kind == BlockKind::Container => out.extend(bytes),
            Payload::Inside(bytes) => {
                put_varint(out, bytes.len() as u64);
                out.extend(bytes);
            }
            Payload::Outside { len, crc } => {
                put_varint(out, self.chain.into());
                put_varint(out, (*len).into());
                out.extend(crc.to_le_bytes());
                if self.chain != 0 {
                    put_varint(out, self.decoded_len.into());
                    out.extend(self.decoded_crc.to_le_bytes());
                }
            }
        }
    }

    fn decode(c: &mut ByteCursor<'_>, containers: &mut u64, lists: &mut u64) -> Result<Self> {
        let at = c.offset();
        let code = c.u8("kind of block")?;
        let kind = match code & !INSIDE {
            0 => BlockKind::Tile,
            1 => BlockKind::Container,
            2 => BlockKind::Definition,
            3 => BlockKind::Constants,
            _ => return Err(Error::corrupt(SECTION, at, "kind of block", "0 to 7", code)),
        };
        let inside = code & INSIDE != 0;
        let mut members = Vec::new();
        let (array, tile) = match kind {
            BlockKind::Container => {
                let count = c.varint_up_to("number of members", c.left() / 4)?;
                members = read_members(c, count)?;
                *containers += 1;
                (ArrayId::CONTAINERS, *containers - 1)
            }
            BlockKind::Constants if inside => {
                *lists += 1;
                (ArrayId::CONSTANTS, *lists - 1)
            }
            BlockKind::Constants => {
                let what = "place of a constants list";
                return Err(Error::corrupt(SECTION, at, what, "in the directory", "behind it"));
            }
            _ => (ArrayId(narrow(c.varint("variable")?, "variable")?), c.varint("tile")?),
        };
        let mut record = Record {
            kind,
            array,
            tile,
            chain: 0,
            decoded_len: 0,
            decoded_crc: 0,
            payload: Payload::Inside(Vec::new()),
            members,
        };
        if inside {
            let len = match kind {
                BlockKind::Container => {
                    record.members.iter().fold(0usize, |sum, m| sum.saturating_add(m.len as usize))
                }
                _ => c.varint_up_to("payload length", c.left())?,
            };
            record.payload = Payload::Inside(c.split("payload", len)?.to_vec());
            return Ok(record);
        }
        record.chain = u16::try_from(c.varint("chain")?)
            .map_err(|_| Error::corrupt(SECTION, c.offset(), "chain", "16 bits", "more"))?;
        let len = narrow(c.varint("stored length")?, "stored length")?;
        record.payload = Payload::Outside { len, crc: c.u32("payload CRC")? };
        record.decoded_len = len;
        if record.chain != 0 {
            record.decoded_len = narrow(c.varint("decoded length")?, "decoded length")?;
            record.decoded_crc = c.u32("decoded CRC")?;
        }
        Ok(record)
    }
}

/// Writes the members column by column: ids ascend by one and most tiles are 0, so both columns compress
/// well.
fn put_members(out: &mut Vec<u8>, members: &[MemberRow]) {
    let mut next = 0u32;
    for m in members {
        put_varint(out, m.array.0.wrapping_sub(next).into());
        next = m.array.0.wrapping_add(1);
    }
    members.iter().for_each(|m| put_varint(out, m.tile));
    members.iter().for_each(|m| put_varint(out, m.chain.into()));
    members.iter().for_each(|m| put_varint(out, m.len.into()));
    members.iter().for_each(|m| out.extend(m.check.to_le_bytes()));
}

fn read_members(c: &mut ByteCursor<'_>, count: usize) -> Result<Vec<MemberRow>> {
    let mut members = Vec::with_capacity(count);
    let mut next = 0u32;
    for _ in 0..count {
        let array = ArrayId(next.wrapping_add(narrow(c.varint("variable")?, "variable")?));
        next = array.0.wrapping_add(1);
        members.push(MemberRow { array, tile: 0, chain: 0, len: 0, check: 0 });
    }
    for m in &mut members {
        m.tile = c.varint("tile")?;
    }
    for m in &mut members {
        m.chain = u16::try_from(c.varint("chain")?)
            .map_err(|_| Error::corrupt(SECTION, c.offset(), "chain", "16 bits", "more"))?;
    }
    for m in &mut members {
        m.len = narrow(c.varint("stored length")?, "stored length")?;
    }
    for m in &mut members {
        m.check = c.u32("CRC of a tile")?;
    }
    Ok(members)
}

pub(super) fn narrow(n: u64, what: &'static str) -> Result<u32> {
    u32::try_from(n).map_err(|_| Error::corrupt(SECTION, None, what, "32 bits", n))
}
