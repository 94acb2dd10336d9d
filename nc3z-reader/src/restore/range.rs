//! Any byte range of the original file, from header, tiles and residue: what aliased variables, mounts and servers read.

use crate::archive::Archive;
use crate::error::Result;
use crate::tile::read_run;
use nc3z_format::Error as FormatError;
use nc3z_format::archive::ArrayId;
use nc3z_format::arrays::ArrayInfo;
use nc3z_format::classic::{Records, SegmentKind};

impl Archive {
    /// Fills `out` with the original file's bytes from `offset`.
    ///
    /// # Errors
    /// A range beyond the original's length; damage.
    pub fn read_original(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        let left = self.original_len().saturating_sub(offset);
        if out.len() as u64 > left {
            return Err(FormatError::truncated(
                "original file",
                offset,
                "read",
                out.len() as u64 - left,
                left,
            )
            .into());
        }
        let (mut at, mut rest) = (offset, out);
        while !rest.is_empty() {
            let segment = self.layout().segment_at(at).expect("segments tile the file");
            let take = usize::try_from(segment.end() - at).map_or(rest.len(), |n| n.min(rest.len()));
            let (here, after) = rest.split_at_mut(take);
            let arrays = self.arrays();
            match segment.kind {
                SegmentKind::Header => {
                    let from = usize::try_from(at).expect("the header is in memory");
                    here.copy_from_slice(&self.header_bytes()[from..from + take]);
                }
                SegmentKind::Fixed(var) => self.read_flat(arrays.variable(var), at - segment.offset, here)?,
                SegmentKind::Gap => {
                    let (first, _) = self.layout().gaps.position(at).expect("gap segments are residue");
                    self.read_flat(arrays.gap(), first, here)?;
                }
                SegmentKind::Records => {
                    let records = self
                        .layout()
                        .records
                        .as_ref()
                        .expect("a record segment exists only where records are regular");
                    self.read_records(records, at, here)?;
                }
            }
            at += take as u64;
            rest = after;
        }
        Ok(())
    }

    /// Fills `out` with bytes of an array's flattened form, big-endian, from byte `first` on.
    ///
    /// # Errors
    /// No such array; bytes that it does not have; damage.
    pub fn read_array_bytes(&self, array: ArrayId, first: u64, out: &mut [u8]) -> Result<()> {
        let info = self.arrays().get(array);
        let info = info.ok_or_else(|| FormatError::invalid(format!("there is no array {array}")))?;
        let left = info.total_bytes().saturating_sub(first);
        if out.len() as u64 > left {
            let missing = out.len() as u64 - left;
            return Err(FormatError::truncated(array.to_string(), first, "read", missing, left).into());
        }
        self.read_flat(info, first, out)
    }

    /// Bytes of one array's flattened form.
    fn read_flat(&self, info: &ArrayInfo, first: u64, out: &mut [u8]) -> Result<()> {
        read_run(&self.inner.store, &self.near, info, first, out)
    }

    /// A range of the record region: slot by slot, each column's bytes of all records at once.
    fn read_records(&self, records: &Records, begin: u64, out: &mut [u8]) -> Result<()> {
        let end = begin + out.len() as u64;
        let first = (begin - records.begin) / records.stride;
        let last = (end - 1 - records.begin) / records.stride;
        for slot in &records.slots {
            let padding = self
                .arrays()
                .padding(slot.variable)
                .map(|p| (p, slot.offset_in_record + slot.slot_len, slot.padded_len - slot.slot_len));
            let variable =
                Some((self.arrays().variable(slot.variable), slot.offset_in_record, slot.slot_len));
            for (info, offset, len) in variable.into_iter().chain(padding).filter(|c| c.2 > 0) {
                let total = info.total_bytes();
                // What of this column lies in the range: its first and last slot may be cut.
                let slot_begin = |record: u64| records.begin + record * records.stride + offset;
                let from = first * len + begin.saturating_sub(slot_begin(first)).min(len);
                let to = (last * len + end.saturating_sub(slot_begin(last)).min(len)).min(total);
                let at_of = |byte: u64| slot_begin(byte / len) + byte % len;
                if from >= to {
                    continue;
                }
                let mut bytes = vec![0; usize::try_from(to - from).expect("not more than the request")];
                self.read_flat(info, from, &mut bytes)?;
                let mut at = from;
                let mut rest = bytes.as_slice();
                while !rest.is_empty() {
                    let run = usize::try_from(len - at % len).map_or(rest.len(), |n| n.min(rest.len()));
                    let to = usize::try_from(at_of(at) - begin).expect("inside the request");
                    out[to..to + run].copy_from_slice(&rest[..run]);
                    at += run as u64;
                    rest = &rest[run..];
                }
            }
        }
        Ok(())
    }
}
