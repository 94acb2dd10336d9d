//! Commits edits as a generation: the new header, and the changed tiles.

use super::Edit;
use super::cells::Fate;
use super::file::EditedFile;
use crate::error::{Error, ErrorKind, Result};
use crate::generation::{InPlace, Medium, Unsealed};
use crate::job::commit::{CommitNote, CommitReport, next_number};
use crate::job::state::{Content, Match, State, Tiles};
use crate::parity::Renewal;
use nc3z_format::Limits;
use nc3z_format::archive::{ArrayId, Digest, Role};
use nc3z_format::array_table::{ArrayInfo, padded_variables};
use nc3z_format::classic::{VarId, arrange};
use nc3z_format::tile::{Edge, TileLayout};
use nc3z_reader::source::SharedSource;
use nc3z_reader::{Archive, ClassicFile, Monitor};
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

pub(super) fn commit(edit: &mut Edit, note: &CommitNote, monitor: &dyn Monitor) -> Result<CommitReport> {
    if !edit.touched {
        edit.place.check()?;
        return known(edit.place.archive(), edit.place.end());
    }
    let renewal = Renewal::begin(&mut edit.place, &edit.options, monitor)?;
    let done = commit_what_changed(edit, note, monitor);
    let (done, parity) = renewal.end(&mut edit.place, &edit.options, monitor, done)?;
    Ok(CommitReport { parity, ..done })
}

/// Returns the newest version, if there is nothing to commit.
fn known(archive: &Archive, end: u64) -> Result<CommitReport> {
    let sha256 = archive.digest().sha256().unwrap_or_default();
    Ok(CommitReport {
        version: archive.version()?.number,
        generation: archive.trailer().generation,
        new_tiles: 0,
        kept_tiles: 0,
        stored_len: (end, end),
        sha256,
        parity: None,
    })
}

fn commit_what_changed(edit: &mut Edit, note: &CommitNote, monitor: &dyn Monitor) -> Result<CommitReport> {
    if edit.options.dry_run || !edit.place.archive().is_short() {
        return commit_to(edit, note, edit.options.dry_run, monitor);
    }
    // An archive in the short form keeps it if nothing changes.
    let done = commit_to(edit, note, true, &())?;
    if done.is_unchanged() { Ok(done) } else { commit_to(edit, note, false, monitor) }
}

/// Commits to the archive, or, in a dry run, to a temporary file.
fn commit_to(
    edit: &mut Edit,
    note: &CommitNote,
    dry_run: bool,
    monitor: &dyn Monitor,
) -> Result<CommitReport> {
    for at in 0..edit.variables.len() {
        let variable = &edit.variables[at];
        let archive = edit.place.archive();
        let as_it_was = variable.cells.is_none()
            && variable.origin.is_some_and(|v| {
                let old = &archive.layout().variables[v.index()];
                old.owned && old.shape == edit.shape(at)
            });
        if !as_it_was {
            edit.cells(at)?;
            edit.spill_if_full()?;
        }
    }
    let number = next_number(edit.place.archive())?;
    let arrangement = arrange(edit.header.clone(), edit.numrecs)?;
    let scratch = if dry_run { Some(edit.place.rehearsal()?) } else { None };
    if scratch.is_none()
        && let Some(longer) = edit.place.longer()?
    {
        edit.place = longer;
    }
    let place = scratch.as_ref().unwrap_or(&edit.place);
    let old = place.archive();
    let header_bytes = arrangement.header_bytes.clone();
    let file = Arc::new(EditedFile::new(old.clone(), arrangement, edit.variables.clone())?);
    let source: SharedSource = file.clone();
    let classic =
        ClassicFile::with_header(source, &header_bytes, &Limits::default())?.with_arrays(file.clone());
    let matched = (0..).map(VarId).zip(&edit.variables).map(|(id, variable)| {
        let of = match (variable.kept(), &variable.cells) {
            (Some(v), _) => Match::Same(v),
            (None, Some(cells)) => Match::Fresh(cells.spec().clone()),
            (None, None) => unreachable!("a variable without kept tiles has cells"),
        };
        (id, of)
    });
    let matched: HashMap<VarId, Match> = matched.collect();
    let state = State::new(old, &classic, matched, &edit.options)?;
    let changed = Changed::find(edit, old, &state, &file)?;
    let before = place.end();
    if changed.is_empty() && header_bytes == old.header_bytes() {
        place.check()?;
        return known(old, before);
    }
    let record = note.record(old, number)?;
    let mut metadata = old.metadata().clone();
    record.put(&mut metadata);
    let read = |info: &ArrayInfo, tile: u64| changed.read(edit, old, &file, info, tile);
    let mut counts = (0, 0);
    let (mut generation, mut sha256) = (0, [0; 32]);
    let after = place.append(|medium| {
        let tiles = Tiles::Known { changed: &changed.tiles, read: &read };
        let (mut unsealed, written) = state.write(place, medium, None, &metadata, &tiles, monitor)?;
        counts = written;
        let digest = prove(place, medium, &unsealed, &state, &changed, &read, edit.digest, monitor)?;
        if let Some(digest) = digest {
            unsealed.trailer.digest = Digest::Sha256(digest);
            sha256 = digest;
        }
        generation = unsealed.trailer.generation;
        Ok(unsealed)
    })?;
    let (new_tiles, kept_tiles) = counts;
    Ok(CommitReport {
        version: record.number,
        generation,
        new_tiles,
        kept_tiles,
        stored_len: (before, after),
        sha256,
        parity: None,
    })
}

struct Changed {
    /// Numbered by the position of their variables in the new header.
    tiles: BTreeSet<(ArrayId, u64)>,
    /// The changed tiles in which all elements are the fill value.
    fills: BTreeSet<(ArrayId, u64)>,
}

impl Changed {
    fn is_empty(&self) -> bool {
        self.tiles.is_empty()
    }

    fn find(edit: &Edit, old: &Archive, state: &State<'_>, file: &EditedFile) -> Result<Self> {
        let mut changed = Changed { tiles: BTreeSet::new(), fills: BTreeSet::new() };
        let arrays = state.arrays();
        for (id, variable) in (0..).map(VarId).zip(&edit.variables) {
            let Some(cells) = &variable.cells else { continue };
            let array = ArrayId::variable(id.0);
            let info = arrays.variable(id);
            let was = variable.kept().map(|v| old.arrays().variable(v));
            let fates = cells.fates();
            debug_assert_eq!(fates.len() as u64, info.tiling.tile_count());
            for (tile, fate) in (0_u64..).zip(fates) {
                let fate = match &variable.tail {
                    Some(tail) => {
                        let (first, len) = info.tile_bytes(tile)?;
                        let (begin, end) = tail.within(first, len as u64);
                        if begin < end { Fate::Store } else { fate }
                    }
                    None => fate,
                };
                let padded = |was: &ArrayInfo| {
                    matches!(was.tiling.layout(), TileLayout::Chunked { edge: Edge::Padded, .. })
                };
                // A tile at the edge that was cut: the stored tile is longer than the present one.
                let same = |was: &ArrayInfo| {
                    let (a, b) = (was.tiling.extent(tile), info.tiling.extent(tile));
                    a.is_ok_and(|a| b.is_ok_and(|b| a == b))
                };
                let was = was.filter(|was| tile < was.tiling.tile_count());
                let stays = match (&fate, was) {
                    (Fate::Keep, Some(was)) => padded(was) || same(was),
                    // The tile was written, but its bytes may be unchanged.
                    (Fate::Store, Some(was)) if same(was) => {
                        let content = changed.read(edit, old, file, info, tile)?;
                        matches!(content, Content::Bytes(bytes) if bytes == old.cached_tile(was.id, tile)?)
                    }
                    _ => false,
                };
                if stays {
                    continue;
                }
                changed.tiles.insert((array, tile));
                if matches!(fate, Fate::Fill) {
                    changed.fills.insert((array, tile));
                }
            }
        }
        for (VarId(v), len) in padded_variables(file_layout(state)) {
            let id = ArrayId::padding(v);
            let info = arrays.get(id).expect("it has padding");
            let before = file.padding_before(v).map_or(0, |(_, len)| len);
            if before != len {
                let tile = info.linear_tile_len().unwrap_or(1).max(1);
                changed.tiles.extend((before.min(len) / tile..len.div_ceil(tile)).map(|tile| (id, tile)));
            }
        }
        let gap = old.arrays().gap();
        let mut same = gap.total_bytes() == file.gap().len() as u64;
        if same {
            let mut bytes = vec![0; file.gap().len()];
            old.read_array_bytes(ArrayId::GAP, 0, &mut bytes)?;
            same = bytes == file.gap();
        }
        if !same {
            changed.tiles.extend((0..arrays.gap().tiling.tile_count()).map(|tile| (ArrayId::GAP, tile)));
        }
        Ok(changed)
    }

    /// Returns the content of a tile.
    fn read(
        &self,
        edit: &Edit,
        old: &Archive,
        file: &EditedFile,
        info: &ArrayInfo,
        tile: u64,
    ) -> Result<Content> {
        let Role::Variable(place) = info.id.role() else {
            let (first, len) = info.tile_bytes(tile)?;
            let mut bytes = vec![0; len];
            file.read(info.id, first, &mut bytes)?;
            return Ok(Content::Bytes(bytes));
        };
        let variable = &edit.variables[place as usize];
        let header = &edit.header.variables[place as usize];
        if self.fills.contains(&(info.id, tile)) {
            return Ok(Content::Constant(header.fill_value().to_vec()));
        }
        let mut bytes = match (&variable.cells, variable.origin) {
            (Some(cells), _) => {
                let extent = match info.tiling.extent(tile)? {
                    nc3z_format::tile::TileExtent::Chunk { shape, .. } => shape,
                    nc3z_format::tile::TileExtent::Linear { .. } => Vec::new(),
                };
                cells.read_padded_tile(tile, &extent)?
            }
            (None, Some(v)) => old.read_tile(old.arrays().variable(v).id, tile)?,
            (None, None) => unreachable!("new variables have cells"),
        };
        if let Some(tail) = &variable.tail {
            tail.copy(info.tile_bytes(tile)?.0, &mut bytes)?;
        }
        Ok(Content::Bytes(bytes))
    }
}

fn file_layout<'a>(state: &State<'a>) -> &'a nc3z_format::classic::Layout {
    state.classic().layout()
}

/// Checks the written generation: the header and every changed tile. With a digest, also checks that all other
/// tiles are unchanged, and the whole file.
#[expect(clippy::too_many_arguments, reason = "one call of one place")]
fn prove(
    place: &InPlace,
    medium: &Medium<'_>,
    unsealed: &Unsealed,
    state: &State<'_>,
    changed: &Changed,
    read: &dyn Fn(&ArrayInfo, u64) -> Result<Content>,
    digest: bool,
    monitor: &dyn Monitor,
) -> Result<Option<[u8; 32]>> {
    let failed = || Error::from(ErrorKind::Proof { path: place.path().to_owned(), offset: 0 });
    let archive = Archive::from_unsealed(medium.source()?, unsealed.trailer.clone(), place.options())?;
    if archive.header_bytes() != state.classic().header_bytes()
        || archive.layout().file_len != state.classic().layout().file_len
    {
        return Err(failed());
    }
    let old = place.archive();
    for info in state.arrays().iter() {
        let id = state.stored_id(info.id);
        let range = (info.id, 0)..=(info.id, u64::MAX);
        for &(_, tile) in changed.tiles.range(range) {
            if monitor.is_cancelled() {
                return Err(ErrorKind::Interrupted.into());
            }
            let found = archive.read_tile(id, tile)?;
            let same = match read(info, tile)? {
                Content::Bytes(bytes) => bytes == found,
                Content::Constant(value) => found.chunks(value.len()).all(|element| element == value),
            };
            if !same {
                return Err(failed());
            }
        }
        if !digest {
            continue;
        }
        for tile in (0..info.tiling.tile_count()).filter(|&tile| !changed.tiles.contains(&(info.id, tile))) {
            // A tile that refers to another one may have been stored anew.
            let (was, is) = (old.entry(id, tile)?, archive.entry(id, tile)?);
            if was != is && old.read_tile(id, tile)? != archive.read_tile(id, tile)? {
                return Err(failed());
            }
        }
    }
    if !digest {
        return Ok(None);
    }
    let mut sha = Sha256::new();
    archive.restore_into(monitor, &mut |_, bytes: &[u8]| -> nc3z_reader::Result<()> {
        sha.update(bytes);
        Ok(())
    })?;
    Ok(Some(sha.finalize().into()))
}
