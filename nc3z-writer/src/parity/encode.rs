//! Computes parity shards: in one pass over the archive for as many groups as memory allows, with their stripes in
//! parallel.

use super::region::Covered;
use crate::error::{ErrorKind, Result};
use nc3z_format::parity::Encoder;
use nc3z_reader::Monitor;
use rayon::prelude::*;
use std::ops::Range;

/// Bytes of a shard that are encoded at a time: a span of such stripes fits in the caches better than whole shards.
const STRIPE: usize = 512;

/// The passes over an archive.
pub(super) struct Groups<'a> {
    covered: &'a Covered<'a>,
    step: u64,
    span: u64,
}

/// One stripe of one group.
struct Stripe {
    group: u64,
    column: usize,
    encoder: Encoder,
}

impl<'a> Groups<'a> {
    pub(super) fn new(covered: &'a Covered<'a>, memory: u64) -> Self {
        let code = &covered.layout.shards;
        // The data of a group in a chunk, and the encoder's two spans.
        let one = 3 * code.span() * covered.layout.params.shard_len;
        Groups { covered, step: (memory / one).clamp(1, code.groups()), span: code.span() }
    }

    /// Computes and writes all parity shards.
    pub(super) fn write(&self, monitor: &dyn Monitor) -> Result<()> {
        let groups = self.covered.layout.shards.groups();
        let mut begin = 0;
        while begin < groups {
            let end = (begin + self.step).min(groups);
            self.pass(begin..end, monitor)?;
            begin = end;
        }
        Ok(())
    }

    fn pass(&self, groups: Range<u64>, monitor: &dyn Monitor) -> Result<()> {
        let code = &self.covered.layout.shards;
        let len = self.covered.shard_len();
        let width = STRIPE.min(len);
        let parity = usize::try_from(code.parity()).expect("Interleave: at most 65,536 positions");
        let mut stripes: Vec<Stripe> = groups
            .clone()
            .flat_map(|group| (0..len).step_by(width).map(move |column| (group, column)))
            .map(|(group, column)| Stripe {
                group,
                column,
                encoder: Encoder::new(parity, width.min(len - column)),
            })
            .collect();
        let mut chunk = Vec::new();
        for slot in (0..code.slots(groups.start)).step_by(usize::try_from(self.span).expect("as above")) {
            if monitor.is_cancelled() {
                return Err(ErrorKind::Interrupted.into());
            }
            let counts = self.read_chunk(&groups, slot, &mut chunk)?;
            stripes.par_iter_mut().for_each(|stripe| {
                let index = usize::try_from(stripe.group - groups.start).expect("a group of this pass");
                let shards = &chunk[index * usize::try_from(self.span).expect("as above") * len..];
                for i in 0..counts[index] {
                    let bytes = stripe.encoder.shard_mut(i);
                    let at = i * len + stripe.column;
                    bytes.copy_from_slice(&shards[at..at + bytes.len()]);
                }
                if counts[index] > 0 {
                    stripe.encoder.take(counts[index]);
                }
            });
            monitor.advance(counts.iter().map(|&n| n as u64).sum::<u64>() * len as u64);
        }
        stripes.par_iter_mut().for_each(|stripe| stripe.encoder.finish());
        self.write_parity(&groups, &stripes)
    }

    /// Reads the groups' data shards in the span from `slot` on, into one span of memory for each group. Returns
    /// the number of shards of each group.
    fn read_chunk(&self, groups: &Range<u64>, slot: u64, chunk: &mut Vec<u8>) -> Result<Vec<usize>> {
        let code = &self.covered.layout.shards;
        let len = self.covered.shard_len();
        let small = |n: u64| usize::try_from(n).expect("at most a span");
        let room = small(self.span) * len;
        chunk.resize(room * small(groups.end - groups.start), 0);
        let counts: Vec<u64> =
            groups.clone().map(|g| code.slots(g).saturating_sub(slot).min(self.span)).collect();
        // Runs of neighbouring groups are neighbours in the file, so they are read in that order.
        let run = if code.groups() == 1 { self.span } else { code.run() };
        for row in (0..self.span).step_by(small(run)) {
            for (i, group) in groups.clone().enumerate() {
                let count = counts[i].saturating_sub(row).min(run);
                if count > 0 {
                    let item = code.item_at(group, slot + row).expect("below the group's slots");
                    let at = i * room + small(row) * len;
                    self.covered.read(item..item + count, &mut chunk[at..at + small(count) * len])?;
                }
            }
        }
        Ok(counts.into_iter().map(small).collect())
    }

    fn write_parity(&self, groups: &Range<u64>, stripes: &[Stripe]) -> Result<()> {
        let layout = self.covered.layout;
        let each = stripes.len() / usize::try_from(groups.end - groups.start).expect("groups of a pass");
        let mut shard = Vec::new();
        for row in 0..layout.shards.parity() {
            for (group, mine) in groups.clone().zip(stripes.chunks(each)) {
                shard.clear();
                let at = usize::try_from(row).expect("at most a span");
                mine.iter().for_each(|stripe| shard.extend_from_slice(stripe.encoder.parity(at)));
                let number = layout.shards.items() + layout.shards.parity_item(group, row);
                self.covered.write(layout.shard_place(number).start, &shard)?;
            }
        }
        Ok(())
    }
}
