//! Hashes the bytes of a file in order: the values of each owned variable into its tree, all bytes into one
//! SHA-256.

use super::DigestRequest;
use crate::error::Result;
use crate::parallel;
use nc3z_format::classic::{Layout, Records, SegmentKind, Slot, VarId};
use nc3z_format::digest::{Group, Hash, Pieces, Tree, ValuesHasher, stored_level};
use sha2::{Digest as _, Sha256};

/// Slots of record variables shorter than this are gathered before they are hashed.
const SHORT_SLOT: u64 = 4 << 10;

/// Hashes a file window by window, first to last.
pub(in crate::restore) struct Stream<'a> {
    layout: &'a Layout,
    sha: Option<Sha256>,
    content: Option<Content>,
}

/// The trees of the variables that are complete.
#[derive(Default)]
pub(super) struct Trees {
    /// The roots of their values.
    pub(super) roots: Vec<Hash>,
    /// The nodes of their stored levels, if wanted.
    pub(super) nodes: Option<Vec<Vec<Hash>>>,
}

impl Trees {
    /// Records the tree of a variable all of whose values have been hashed.
    pub(super) fn put(&mut self, variable: VarId, hasher: ValuesHasher) {
        put(variable, hasher, &mut self.roots, self.nodes.as_deref_mut());
    }
}

fn put(variable: VarId, hasher: ValuesHasher, roots: &mut [Hash], nodes: Option<&mut [Vec<Hash>]>) {
    let (root, level) = hasher.finish_level();
    roots[variable.index()] = root;
    if let Some(nodes) = nodes {
        nodes[variable.index()] = level;
    }
}

/// A hasher of a variable's values; `tree` keeps the nodes of its stored level.
pub(super) fn hasher(layout: &Layout, variable: VarId, tree: bool) -> ValuesHasher {
    let v = &layout.variables[variable.index()];
    let leaves = Pieces::leaves(v.ty, &v.shape, v.present);
    let hasher = ValuesHasher::new(leaves.branch());
    if tree { hasher.keeping(&stored_level(&leaves)) } else { hasher }
}

/// The trees of the variables, while values are added.
struct Content {
    roots: Vec<Hash>,
    /// The nodes of each variable's stored level; `None` unless they are wanted.
    nodes: Option<Vec<Vec<Hash>>>,
    /// Variables that are hashed in part.
    open: Vec<Option<Box<ValuesHasher>>>,
}

/// One variable's bytes in a window.
struct Task<'w> {
    variable: VarId,
    hasher: Box<ValuesHasher>,
    bytes: Bytes<'w>,
}

enum Bytes<'w> {
    Run(&'w [u8]),
    /// Records in a part of the record region that begins at this byte of the file.
    Records(u64, &'w [u8], &'w Slot),
}

impl<'a> Stream<'a> {
    pub(in crate::restore) fn new(layout: &'a Layout, wanted: DigestRequest) -> Result<Self> {
        let count = layout.variables.len();
        let content = || Content {
            roots: vec![Tree::default().root(); count],
            nodes: wanted.tree.then(|| vec![Vec::new(); count]),
            open: (0..count).map(|_| None).collect(),
        };
        if wanted.content || wanted.tree {
            super::aliased::check_work(layout)?;
        }
        let sha = wanted.sha256.then(Sha256::new);
        Ok(Stream { layout, sha, content: (wanted.content || wanted.tree).then(content) })
    }

    /// Hashes the next bytes of the file.
    pub(in crate::restore) fn feed(&mut self, at: u64, window: &[u8]) {
        let Stream { layout, sha, content } = self;
        let plain = || {
            if let Some(sha) = sha {
                sha.update(window);
            }
        };
        let values = || {
            if let Some(content) = content {
                content.feed(layout, at, window);
            }
        };
        parallel::join(plain, values);
    }

    /// The SHA-256 of all bytes, and the tree of each variable. The tree of an aliased variable is the empty
    /// one.
    pub(super) fn finish(self) -> (Option<Hash>, Trees) {
        let trees = self.content.map(|c| {
            debug_assert!(c.open.iter().all(Option::is_none), "every owned variable's bytes have come");
            Trees { roots: c.roots, nodes: c.nodes }
        });
        (self.sha.map(|sha| sha.finalize().into()), trees.unwrap_or_default())
    }
}

impl Content {
    fn feed(&mut self, layout: &Layout, at: u64, window: &[u8]) {
        let mut tasks = Vec::new();
        let (mut at, mut rest) = (at, window);
        while !rest.is_empty() {
            let segment = layout.segment_at(at).expect("segments tile the file");
            let take = usize::try_from(segment.end() - at).map_or(rest.len(), |n| n.min(rest.len()));
            let (here, after) = rest.split_at(take);
            match segment.kind {
                SegmentKind::Fixed(variable) => tasks.push(self.task(layout, variable, Bytes::Run(here))),
                SegmentKind::Records => {
                    let records = layout
                        .records
                        .as_ref()
                        .expect("a record segment exists only where records are regular");
                    let slots =
                        records.slots.iter().filter(|slot| meets(records, slot, at, here.len() as u64));
                    tasks.extend(
                        slots.map(|slot| self.task(layout, slot.variable, Bytes::Records(at, here, slot))),
                    );
                }
                SegmentKind::Header | SegmentKind::Gap => {}
            }
            at += take as u64;
            rest = after;
        }
        let tasks = parallel::map(tasks, |mut task| {
            task.run(layout);
            task
        });
        for Task { variable, hasher, .. } in tasks {
            let v = &layout.variables[variable.index()];
            if hasher.bytes() == v.present * v.element_size() {
                put(variable, *hasher, &mut self.roots, self.nodes.as_deref_mut());
            } else {
                self.open[variable.index()] = Some(hasher);
            }
        }
    }

    fn task<'w>(&mut self, layout: &Layout, variable: VarId, bytes: Bytes<'w>) -> Task<'w> {
        let open = self.open[variable.index()].take();
        let tree = self.nodes.is_some();
        Task { variable, hasher: open.unwrap_or_else(|| Box::new(hasher(layout, variable, tree))), bytes }
    }
}

/// Returns true if `len` bytes from byte `at` of the record region include a part of this slot.
fn meets(records: &Records, slot: &Slot, at: u64, len: u64) -> bool {
    if len >= records.stride {
        return true;
    }
    let from = (at - records.begin) % records.stride;
    let (begin, end) = (slot.offset_in_record, slot.offset_in_record + slot.slot_len);
    // Less than a record: the end of one, the beginning of the next, or something between.
    (begin < from + len && end > from) || begin + records.stride < from + len
}

impl Task<'_> {
    fn run(&mut self, layout: &Layout) {
        match self.bytes {
            Bytes::Run(bytes) => absorb(&mut self.hasher, bytes),
            Bytes::Records(begin, bytes, slot) => self.run_records(layout, begin, bytes, slot),
        }
    }

    /// Hashes this variable's part of each record in the window. The first and the last part may be
    /// incomplete.
    fn run_records(&mut self, layout: &Layout, begin: u64, bytes: &[u8], slot: &Slot) {
        let records = layout.records.as_ref().expect("only a layout with regular records has slots for them");
        let v = &layout.variables[slot.variable.index()];
        let total = v.present * v.element_size();
        let end = begin + bytes.len() as u64;
        let mut gathered = Vec::new();
        for record in (begin - records.begin) / records.stride..=(end - 1 - records.begin) / records.stride {
            let Some(left) = total.checked_sub(record * slot.slot_len) else { break };
            let first = records.begin + record * records.stride + slot.offset_in_record;
            let (from, to) = (first.max(begin), (first + slot.slot_len.min(left)).min(end));
            if from >= to {
                continue;
            }
            let inside = |x: u64| usize::try_from(x - begin).expect("inside the window");
            let part = &bytes[inside(from)..inside(to)];
            if slot.slot_len < SHORT_SLOT {
                gathered.extend_from_slice(part);
            } else {
                absorb(&mut self.hasher, part);
            }
        }
        absorb(&mut self.hasher, &gathered);
    }
}

/// Hashes the next values of a variable. Whole groups of leaves are hashed in parallel.
pub(super) fn absorb(hasher: &mut ValuesHasher, bytes: &[u8]) {
    let (head, groups, tail) = hasher.split(bytes);
    hasher.update(head);
    let level = hasher.level();
    let hashed = parallel::map(groups, |group| Group::new(group, level));
    hashed.iter().for_each(|group| hasher.push_group(group));
    hasher.update(tail);
}
