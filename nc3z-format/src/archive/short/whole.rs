//! The short form that is the classic file itself, packed as one: the archive that it stands for has one container of all arrays.

use super::SECTION;
use super::directory::{Directory, MemberRow, Payload, Record, narrow};
use crate::archive::{ArrayId, BlockKind, Head, TileLayoutSpec};
use crate::array_table::{Arrays, padded_variables};
use crate::bytes::{ByteCursor, put_varint};
use crate::classic::{self, Layout, Parsed};
use crate::codec::ChainSpec;
use crate::error::{Error, Result};
use crate::limits::Limits;

/// The content, before it is packed.
pub(super) fn content(required: u32, metadata: &[u8], file: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(metadata.len() + file.len() + 16);
    put_varint(&mut out, required.into());
    put_varint(&mut out, metadata.len() as u64);
    out.extend(metadata);
    out.extend(file);
    out
}

/// Returns the directory of the archive that this content is expanded to. Each array that has bytes is one tile in one container,
/// and all of them are stored unencoded.
///
/// # Errors
/// Damage; a file whose header cannot be read.
pub(super) fn directory(content: &[u8]) -> Result<Directory> {
    let mut c = ByteCursor::new(SECTION, 0, content);
    let required = narrow(c.varint("required features")?, "required features")?;
    let len = c.varint_up_to("length of the metadata", content.len())?;
    let metadata = c.split("metadata", len)?.to_vec();
    let file_at = c.offset();
    let file = c.rest();
    let (limits, file_len) = (Limits::default(), file.len() as u64);
    let within = |e: Error| e.within(SECTION, file_at);
    let Parsed { header, header_len } = classic::parse(file, file_len, &limits).map_err(within)?;
    let layout = Layout::new(&header, header_len, file_len)?;
    let head = Head {
        header: file[..usize::try_from(header_len).expect("a part of the file")].to_vec(),
        chains: vec![ChainSpec::default()],
        layouts: layout
            .variables
            .iter()
            .map(|v| TileLayoutSpec::Linear(if v.owned { v.present.max(1) } else { 1 }))
            .collect(),
        padding_tile_lens: padded_variables(&layout).iter().map(|(_, len)| (*len).max(1)).collect(),
        gap_tile_len: layout.gaps.len().max(1),
    };
    let (paddings, gap) = (&head.padding_tile_lens, head.gap_tile_len);
    let arrays = Arrays::new(&header, &layout, &head.layouts, paddings, gap, &limits)?;
    let (mut members, mut payload) = (Vec::new(), Vec::with_capacity(file.len()));
    for array in arrays.iter().filter(|array| array.total_bytes() > 0) {
        let begin = payload.len();
        put_array(&layout, array.id, file, &mut payload);
        let bytes = &payload[begin..];
        let len = u32::try_from(bytes.len()).expect("a part of the file");
        members.push(MemberRow { array: array.id, tile: 0, chain: 0, len, check: crc32fast::hash(bytes) });
    }
    let container = Record {
        kind: BlockKind::Container,
        array: ArrayId::CONTAINERS,
        tile: 0,
        chain: 0,
        decoded_len: 0,
        decoded_crc: 0,
        payload: Payload::Inside(payload),
        members,
    };
    let blocks = if container.members.is_empty() { Vec::new() } else { vec![container] };
    Ok(Directory { required, original_len: file_len, head: head.encode(), metadata, blocks })
}

/// Appends an array's bytes.
fn put_array(layout: &Layout, array: ArrayId, file: &[u8], out: &mut Vec<u8>) {
    let begin = out.len();
    while let Some((offset, len)) = crate::array_table::byte_run(layout, array, (out.len() - begin) as u64) {
        let at = usize::try_from(offset).expect("a place in the file");
        out.extend(&file[at..at + usize::try_from(len).expect("a part of the file")]);
    }
}
