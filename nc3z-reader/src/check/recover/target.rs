//! Chooses the generation to rebuild, and its blocks: the newest with an intact trailer or, if that is lost,
//! with an intact commit block (`spec/archive.md`, section 10).

use super::entry_points::EntryPoints;
use super::probe::Probe;
use super::{RecoverOptions, Recovered};
use crate::error::{Error, ErrorKind, Result};
use crate::monitor::Monitor;
use crate::source::lenient::Lenient;
use crate::tile::ProbedBlock;
use crate::versions::with_blocks;
use nc3z_format::archive::constants::HEAD_OFFSET;
use nc3z_format::archive::{ArrayId, BLOCK_HEADER_LEN, BlockKind, Commit, IndexEntry};
use std::collections::{BTreeMap, BTreeSet};

/// All blocks with intact headers of an archive.
pub(super) struct Probed {
    /// All blocks except commits, in the order of the file.
    pub(super) blocks: Vec<ProbedBlock>,
    /// The intact commit blocks, by generation.
    commits: BTreeMap<u32, Commit>,
    /// The number of blocks found of each generation.
    counts: BTreeMap<u32, u64>,
}

/// The generation that is rebuilt.
pub(super) struct Target {
    generation: u32,
    /// The generations whose blocks it refers to.
    chain: BTreeSet<u32>,
    commit: Option<Commit>,
    /// True if no trailer describes its content, but its commit block does.
    pub(super) is_by_commit: bool,
    /// The place of its later head, if it has one.
    head: Option<IndexEntry>,
}

impl Probed {
    /// Reads the whole source once.
    ///
    /// # Errors
    /// A cancelled monitor.
    pub(super) fn read(points: &EntryPoints, report: &mut Recovered, monitor: &dyn Monitor) -> Result<Self> {
        let source = &*points.source;
        let lenient = Lenient::new(source);
        let mut probe = Probe::new(&lenient, points.salt, points.missing.max(HEAD_OFFSET), source.len());
        let mut found = Probed { blocks: Vec::new(), commits: BTreeMap::new(), counts: BTreeMap::new() };
        let mut at = 0;
        while let Some(block) = probe.next(monitor)? {
            monitor.advance(block.end().saturating_sub(at));
            at = block.end();
            report.blocks += 1;
            let generation = block.header.generation;
            report.generation = report.generation.max(generation);
            *found.counts.entry(generation).or_default() += 1;
            if block.header.kind != BlockKind::Commit {
                found.blocks.push(block);
                continue;
            }
            let mut payload = vec![0; block.header.stored_len as usize];
            lenient.read(block.offset + BLOCK_HEADER_LEN as u64, &mut payload);
            match Commit::read(&block.header, &payload, block.offset) {
                Ok(commit) => _ = found.commits.insert(generation, commit),
                Err(e) => report.notes.push(e.to_string()),
            }
        }
        monitor.advance(source.len().saturating_sub(at));
        for range in lenient.unreadable() {
            report.notes.push(format!("bytes {} to {} cannot be read", range.start, range.end));
        }
        Ok(found)
    }

    /// Tiles that a generation of the target changed, for those generations that lost blocks or have
    /// `damaged` containers or lists.
    pub(super) fn missing<'a>(
        &'a self,
        target: &'a Target,
        damaged: &'a BTreeSet<u32>,
    ) -> impl Iterator<Item = (u32, ArrayId, std::ops::Range<u64>)> + 'a {
        let incomplete = target.chain.iter().filter_map(|generation| {
            let commit = self.commits.get(generation)?;
            let is_whole = self.counts.get(generation) == Some(&commit.blocks);
            (!is_whole || damaged.contains(generation)).then_some((*generation, commit))
        });
        incomplete.flat_map(|(generation, commit)| {
            commit
                .changed
                .iter()
                .flat_map(move |(array, runs)| runs.iter().map(move |run| (generation, *array, run.clone())))
        })
    }
}

impl Target {
    /// The newest generation that can be distinguished from its neighbours.
    pub(super) fn choose(
        points: &EntryPoints,
        probed: &Probed,
        options: &RecoverOptions,
        report: &mut Recovered,
    ) -> Self {
        let by_trailer = points.trailer.as_ref().map(|(_, trailer)| trailer.generation);
        let by_slot = points.slots.newest().map(|slot| slot.generation);
        let first = probed.counts.keys().next().copied().unwrap_or(1);
        // A generation that a slot names has been committed, whether its trailer is intact or not.
        let most = match by_trailer {
            Some(last) if !options.uncommitted => by_slot.unwrap_or(last).max(last),
            _ => u32::MAX,
        };
        let least = by_trailer.map_or(0, |last| last.saturating_add(1));
        let newest = if least > most { None } else { probed.commits.range(least..=most).next_back() };
        let (generation, is_by_commit) = match (newest, by_trailer) {
            (Some((&generation, _)), _) => (generation, true),
            (None, Some(_)) if options.uncommitted => (report.generation, false),
            (None, Some(last)) => (last, false),
            (None, None) => (first, false),
        };
        let beyond: Vec<u32> = probed.counts.keys().copied().filter(|&g| g > generation).collect();
        report.uncommitted = beyond.iter().map(|g| probed.counts[g]).sum();
        // An unfinished commit is not a lost version. Without a trailer or a slot the two cannot be
        // distinguished.
        let is_known = by_slot.is_some() || (by_trailer.is_some() && points.superblock.is_ok());
        // Without its tags or its parity it is the same file.
        let version = match points.lost.as_ref().map(Error::kind) {
            _ if is_by_commit => probed.commits.get(&generation).map(|commit| commit.version),
            Some(ErrorKind::NewestLost { whole, .. }) => *whole,
            _ => None,
        };
        // No version precedes the first.
        let is_same =
            points.slots.newest().is_some_and(|slot| slot.version == 1 || Some(slot.version) == version);
        let is_lost = by_slot.is_some_and(|slot| slot > generation) && !is_same;
        // A damaged slot and a torn tail: a later generation may have been there.
        let is_unknown =
            matches!(points.lost.as_ref().map(Error::kind), Some(ErrorKind::NewestUnknown { .. }));
        if is_lost || is_unknown || (!beyond.is_empty() && !is_known) {
            report.is_older = true;
        }
        if let (false, Some(last)) = (is_known, beyond.last()) {
            report.notes.push(format!(
                "commit {last} has neither an intact trailer nor an intact commit block: its blocks were left out, and commit {generation} was rebuilt"
            ));
        }
        let mut target =
            Target { generation, chain: BTreeSet::new(), commit: None, is_by_commit, head: None };
        let start = match &points.trailer {
            Some((_, trailer)) if trailer.generation == generation => {
                with_blocks(&*points.source, trailer.clone()).map_or(generation, |t| t.generation)
            }
            _ => generation,
        };
        target.follow(start, first, probed, report);
        target
    }

    /// Collects the generations that `start` refers to.
    fn follow(&mut self, start: u32, first: u32, probed: &Probed, report: &mut Recovered) {
        self.commit = probed.commits.get(&start).cloned();
        let head = self.commit.as_ref().map_or(0, |commit| commit.head);
        let is_head = |b: &&ProbedBlock| b.header.kind == BlockKind::Head && b.header.generation == head;
        self.head = probed.blocks.iter().rev().find(is_head).map(|block| IndexEntry::Stored {
            offset: block.offset,
            len: block.header.stored_len,
            chain: block.header.chain,
            check: block.check,
        });
        let mut at = start;
        self.chain.insert(at);
        while let Some(commit) = probed.commits.get(&at) {
            at = commit.base;
            self.chain.insert(at);
        }
        if at > first && probed.counts.contains_key(&at) {
            report.notes.push(format!(
                "the commit block of commit {at} is lost: nothing says which older commits it refers to"
            ));
            self.chain.extend(probed.counts.keys().filter(|&&g| g < at));
        }
    }

    /// Returns true if blocks of this generation count.
    pub(super) fn has(&self, generation: u32) -> bool {
        self.chain.contains(&generation)
    }

    /// The commit block of the generation, if only the commit block describes its content.
    pub(super) fn by_commit(&self) -> Option<(u32, &Commit)> {
        let commit = self.commit.as_ref().filter(|_| self.is_by_commit);
        commit.map(|commit| (self.generation, commit))
    }

    /// The number of the version, if a commit block has it. The first generation has none.
    pub(super) fn version(&self) -> Option<u32> {
        self.commit.as_ref().map(|commit| commit.version)
    }

    /// The index entry of the later head that the commit block names. `None` if the head is the head copy, or
    /// if the head is unknown.
    pub(super) fn head(&self) -> Option<IndexEntry> {
        self.head
    }

    /// True where the head is known to be a later one, and that is lost.
    pub(super) fn lacks_head(&self) -> bool {
        self.head.is_none() && self.commit.as_ref().is_some_and(|commit| commit.head != 0)
    }

    pub(super) fn generation(&self) -> u32 {
        self.generation
    }
}
