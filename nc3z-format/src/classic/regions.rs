//! The ordered partition of a file into header, variables, records and gaps.

use super::header::VarId;

/// The kinds of segments of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SegmentKind {
    /// The header of the classic file.
    Header,
    /// The whole present elements of an owned fixed variable, from its first.
    Fixed(VarId),
    /// Records: slots and their padding, without a partial element at the end of the file.
    Records,
    /// Bytes of the gap residue.
    Gap,
}

/// A run of bytes of the file, all of one kind. Never empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// The kind of the segment.
    pub kind: SegmentKind,
    /// First byte in the file.
    pub offset: u64,
    /// Bytes.
    pub len: u64,
}

impl Segment {
    /// The offset after the last byte.
    pub const fn end(&self) -> u64 {
        // Segments are inside [0, file_len).
        self.offset + self.len
    }
}

/// The gap residue: the concatenation of all bytes, in the order of the file, that belong neither to the header, nor to a
/// complete element of an owned variable, nor to record padding. Positions in it are *residue positions*.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gaps {
    /// (file offset, length, residue position), ascending, none empty, none adjacent.
    runs: Vec<(u64, u64, u64)>,
    len: u64,
}

impl Gaps {
    /// Bytes of residue.
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// True without residue.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The runs as (file offset, length), ascending.
    pub fn runs(&self) -> impl ExactSizeIterator<Item = (u64, u64)> + '_ {
        self.runs.iter().map(|&(offset, len, _)| (offset, len))
    }

    /// The offset in the file of residue position `position`, and the number of bytes of the run from there
    /// on.
    pub fn file_offset(&self, position: u64) -> Option<(u64, u64)> {
        let index = self.runs.partition_point(|&(_, _, start)| start <= position).checked_sub(1)?;
        let (offset, len, start) = self.runs[index];
        let within = position - start;
        (within < len).then(|| (offset + within, len - within))
    }

    /// The residue position of the file's byte `offset`, and the number of bytes of the run from there on.
    pub fn position(&self, offset: u64) -> Option<(u64, u64)> {
        let index = self.runs.partition_point(|&(first, _, _)| first <= offset).checked_sub(1)?;
        let (first, len, start) = self.runs[index];
        let within = offset - first;
        (within < len).then(|| (start + within, len - within))
    }

    fn push(&mut self, offset: u64, len: u64) {
        self.runs.push((offset, len, self.len));
        self.len += len;
    }
}

/// Sorts the owned pieces (disjoint, inside the file) and fills what is between them with gaps.
pub(super) fn partition(mut pieces: Vec<Segment>, file_len: u64) -> (Vec<Segment>, Gaps) {
    pieces.retain(|p| p.len > 0);
    pieces.sort_unstable_by_key(|p| p.offset);
    let mut segments = Vec::with_capacity(2 * pieces.len() + 1);
    let mut gaps = Gaps::default();
    let mut at = 0;
    let mut gap = |segments: &mut Vec<Segment>, from: u64, to: u64| {
        if from < to {
            segments.push(Segment { kind: SegmentKind::Gap, offset: from, len: to - from });
            gaps.push(from, to - from);
        }
    };
    for piece in pieces {
        debug_assert!(at <= piece.offset && piece.end() <= file_len, "owned pieces are disjoint");
        gap(&mut segments, at, piece.offset);
        segments.push(piece);
        at = piece.end();
    }
    gap(&mut segments, at, file_len);
    (segments, gaps)
}
