//! Prints plans as instructions.

use crate::plan::{Changes, CommitPlan, GetPlan, LoadPlan, Place, ResizePlan, SetPlan, Transfer, Transfers};
use std::fmt;

/// `[0:2, 1:7:3, 4::-1]`.
fn slices(start: &[usize], step: &[isize], count: &[usize]) -> String {
    let word = |((&start, &step), &count): ((&usize, &isize), &usize)| {
        let span = step.unsigned_abs() * count.saturating_sub(1);
        match step {
            1 => format!("{start}:{}", start + count),
            2.. => format!("{start}:{}:{step}", start + span + 1),
            // Backwards down to the first index, a stop cannot be written as a number.
            _ if span == start => format!("{start}::{step}"),
            _ => format!("{start}:{}:{step}", start - span - 1),
        }
    };
    let words: Vec<String> = start.iter().zip(step).zip(count).map(word).collect();
    words.join(", ")
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Slab(n) => write!(f, "slabs[{n}]"),
            Place::Value => f.write_str("value"),
            Place::Out => f.write_str("out"),
        }
    }
}

fn write_transfers(f: &mut fmt::Formatter<'_>, groups: &[Transfers]) -> fmt::Result {
    for Transfers { from, to, boxes } in groups {
        writeln!(f, "  # {} transfers from {from} to {to}", boxes.len())?;
        for Transfer { from: at, from_step, to: there, to_step, count } in boxes {
            // For rows the value has only the last axis.
            let lengths = |axes: usize| &count[count.len().saturating_sub(axes)..];
            let source = slices(at, from_step, lengths(at.len()));
            let target = slices(there, to_step, lengths(there.len()));
            writeln!(f, "  {to}[{target}] = {from}[{source}]")?;
        }
    }
    Ok(())
}

/// `(6, 2)`, `(5,)`.
fn tuple(shape: &[usize]) -> String {
    let words: Vec<String> = shape.iter().map(ToString::to_string).collect();
    format!("({}{})", words.join(", "), if shape.len() == 1 { "," } else { "" })
}

fn total(groups: &[Transfers]) -> usize {
    groups.iter().map(|group| group.boxes.len()).sum()
}

impl Changes {
    fn head(&self) -> String {
        let (append, pairs, drop) = (self.append.len(), self.transfers.len(), self.drop.len());
        let transfers = total(&self.transfers);
        format!(
            "append {append} empty slabs, {transfers} slice transfers among {pairs} slab pairs, drop {drop} slabs"
        )
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, shape) in (self.first..).zip(&self.append) {
            writeln!(f, "  slabs.append(empty({}))  # slabs[{n}]", tuple(shape))?;
        }
        write_transfers(f, &self.transfers)?;
        for n in &self.drop {
            writeln!(f, "  slabs[{n}] = None")?;
        }
        writeln!(f, "slab_indices:\n{}", self.slab_indices)?;
        write!(f, "slab_offsets:\n{}", self.slab_offsets)
    }
}

impl fmt::Display for GetPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (transfers, pairs) = (total(&self.transfers), self.transfers.len());
        writeln!(
            f,
            "GetPlan<shape={}, {transfers} slice transfers among {pairs} slab pairs>",
            tuple(&self.shape)
        )?;
        write_transfers(f, &self.transfers)
    }
}

impl fmt::Display for SetPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "SetPlan<value_shape={}, {}>", tuple(&self.value_shape), self.changes.head())?;
        self.changes.write(f)
    }
}

impl fmt::Display for ResizePlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "ResizePlan<{} -> {}, {}>",
            tuple(&self.before),
            tuple(&self.after),
            self.changes.head()
        )?;
        self.changes.write(f)
    }
}

impl fmt::Display for LoadPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "LoadPlan<{}>", self.changes.head())?;
        self.changes.write(f)
    }
}

impl fmt::Display for CommitPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (store, keep, full) = (self.store.len(), self.keep.len(), self.full.len());
        writeln!(f, "CommitPlan<store {store} chunks, keep {keep}, {full} of the fill value>")?;
        for chunk in &self.store {
            let begin = [&[chunk.offset][..], &vec![0; chunk.shape.len().saturating_sub(1)]].concat();
            let step = vec![1; chunk.shape.len()];
            let place = slices(&begin[..chunk.shape.len()], &step, &chunk.shape);
            writeln!(f, "  chunk {} = slabs[{}][{place}]", tuple(&chunk.at), chunk.slab)?;
        }
        Ok(())
    }
}
