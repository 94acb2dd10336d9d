//! An aggregation as an array source: reads its own variables from its file, and aggregated ones from their
//! fragments.

use super::Convention;
use crate::error::{Error, Result};
use crate::fragments::Fragments;
use crate::master::MasterArray;
use bytes::Bytes;
use nc3z_format::Error as FormatError;
use nc3z_format::classic::{Arrangement, DimId, Header, Layout, NumRecs, VarId, Version, arrange};
use nc3z_format::plan::TilePlan;
use nc3z_format::selection::Hyperslab;
use nc3z_format::tile::{Edge, TileExtent, TileLayout, Tiling};
use nc3z_reader::{ArraySource, Dataset};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Attributes that describe an aggregation, and have no meaning for its data.
const ATTRIBUTES: [&str; 8] = [
    "aggregated_dimensions",
    "aggregated_data",
    "fragment_fingerprints",
    "nca_dimensions",
    "nca_array",
    "cfa_dimensions",
    "cfa_array",
    "nca_private",
];
/// The length in bytes of the tiles that a variable is divided into when its partitions are too large for
/// that.
const TILE_LEN: u64 = 16 << 20;

/// The location of a variable's elements.
enum Slot {
    Own(VarId),
    Master(Box<Master>),
}

struct Master {
    convention: Convention,
    array: MasterArray,
    tiling: Tiling,
}

/// An open aggregation.
pub struct Aggregation {
    header: Header,
    layout: Layout,
    slots: Vec<Slot>,
    fragments: Fragments,
}

impl Aggregation {
    pub(super) fn new(
        fragments: Fragments,
        masters: BTreeMap<VarId, (Convention, MasterArray)>,
        hidden: &BTreeSet<VarId>,
    ) -> Result<Self> {
        let own = fragments.own();
        let arrangement = present(own, &masters, hidden)?;
        let mut masters = masters;
        let shown = own.header().variables().map(|(id, _)| id).filter(|id| !hidden.contains(id));
        let mut slots = Vec::new();
        for id in shown {
            slots.push(match masters.remove(&id) {
                None => Slot::Own(id),
                Some((convention, array)) => {
                    let tiling = tiling(&array)?;
                    Slot::Master(Box::new(Master { convention, array, tiling }))
                }
            });
        }
        Ok(Aggregation { header: arrangement.header, layout: arrangement.layout, slots, fragments })
    }

    /// The aggregated array of a variable, if it is one.
    pub fn master(&self, var: VarId) -> Option<(Convention, &MasterArray)> {
        match self.slots.get(var.index()) {
            Some(Slot::Master(m)) => Some((m.convention, &m.array)),
            _ => None,
        }
    }

    /// All aggregated arrays.
    pub fn masters(&self) -> impl Iterator<Item = (VarId, Convention, &MasterArray)> {
        (0_u32..).map(VarId).take(self.slots.len()).filter_map(|id| self.master(id).map(|(c, m)| (id, c, m)))
    }

    /// Returns the URIs of all fragments, with the fingerprint of each, if it is stored.
    ///
    /// # Errors
    /// The list of the partitions cannot be read.
    pub fn uris(&self) -> nc3z_reader::Result<BTreeSet<(String, Option<String>)>> {
        let mut uris = BTreeSet::new();
        for (_, _, master) in self.masters() {
            master.add_uris(&mut uris)?;
        }
        Ok(uris)
    }

    /// The number of partitions of all aggregated arrays: a bound for the work of [`Aggregation::uris`].
    pub fn partitions(&self) -> usize {
        self.masters().map(|(_, _, master)| master.partitions.len()).fold(0, usize::saturating_add)
    }

    /// The files that the aggregation refers to.
    pub fn fragments(&self) -> &Fragments {
        &self.fragments
    }

    fn slot(&self, var: VarId) -> nc3z_reader::Result<&Slot> {
        let missing =
            || FormatError::invalid(format!("no variable {}; there are {}", var.0, self.slots.len())).into();
        self.slots.get(var.index()).ok_or_else(missing)
    }
}

/// Makes the header that is presented: aggregated variables with their dimensions, without the variables that
/// only describe them.
fn present(
    own: &Dataset,
    masters: &BTreeMap<VarId, (Convention, MasterArray)>,
    hidden: &BTreeSet<VarId>,
) -> Result<Arrangement> {
    let old = own.header();
    let mut variables = Vec::new();
    for (id, v) in old.variables().filter(|(id, _)| !hidden.contains(id)) {
        let mut v = v.clone();
        if let Some((_, master)) = masters.get(&id) {
            v.attributes.retain(|a| !ATTRIBUTES.iter().any(|name| name.as_bytes() == a.name));
            let role =
                |a: &nc3z_format::classic::Attribute| a.name == b"cf_role" && a.values.starts_with(b"cfa_");
            v.attributes.retain(|a| !role(a));
            // Elements that a fragment lacks get the fill value of the type. Programs take it for data unless
            // an attribute names it. Types of one byte have no such value.
            let says = [&b"_FillValue"[..], b"missing_value"].iter().any(|name| v.attribute(name).is_some());
            if !says && v.ty.size() > 1 {
                let (ty, values) = (v.ty, master.fill.clone());
                v.attributes.push(nc3z_format::classic::Attribute {
                    name: b"_FillValue".to_vec(),
                    ty,
                    values,
                });
            }
            let dim = |name: &String| old.dimension(name.as_bytes()).map(|(id, _)| id);
            v.dimensions = master.dimensions.iter().filter_map(dim).collect();
        }
        variables.push(v);
    }
    // Dimensions that only hidden variables use are hidden too.
    let used = |vars: &[nc3z_format::classic::Variable]| -> BTreeSet<DimId> {
        vars.iter().flat_map(|v| v.dimensions.iter().copied()).collect()
    };
    let shown = used(&variables);
    let of_hidden: BTreeSet<DimId> =
        hidden.iter().flat_map(|id| old.variables[id.index()].dimensions.iter().copied()).collect();
    let kept: Vec<DimId> = (0_u32..)
        .map(DimId)
        .take(old.dimensions.len())
        .filter(|d| shown.contains(d) || !of_hidden.contains(d))
        .collect();
    for v in &mut variables {
        for d in &mut v.dimensions {
            let place = kept.iter().position(|k| k == d).and_then(|n| u32::try_from(n).ok());
            *d = DimId(place.ok_or_else(|| Error::refused("a dimension is not there"))?);
        }
    }
    let header = |version, fixed: bool| {
        let dimensions = kept.iter().map(|d| {
            let mut d = old.dimensions[d.index()].clone();
            if fixed && d.is_record() {
                d.len = own.records();
            }
            d
        });
        Header {
            version,
            numrecs: NumRecs::Count(own.records()),
            dimensions: dimensions.collect(),
            attributes: old.attributes.clone(),
            variables: variables.clone(),
        }
    };
    let versions = [Version::Cdf1, Version::Cdf2, Version::Cdf5];
    let from = versions.iter().position(|v| *v == old.version).unwrap_or(0);
    for fixed in [false, true] {
        for version in &versions[from..] {
            if let Ok(found) = arrange(header(*version, fixed), own.records()) {
                return Ok(found);
            }
        }
    }
    Ok(arrange(header(Version::Cdf5, true), own.records())?)
}

/// Returns the tiles that a variable is read in: its partitions, where those are not too large.
fn tiling(array: &MasterArray) -> Result<Tiling> {
    let shape = array.shape();
    let elements = nc3z_format::tile::element_count(&shape)?;
    let layout = if shape.is_empty() || elements == 0 {
        TileLayout::linear(1)
    } else {
        let longest = |cuts: &Vec<u64>| cuts.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(1);
        let mut tile: Vec<u64> = array.cuts.iter().map(longest).collect();
        let most = TILE_LEN / array.ty.size() as u64;
        while tile.iter().fold(1_u64, |n, len| n.saturating_mul(*len)) > most {
            let Some(d) = tile.iter().position(|len| *len > 1) else { break };
            tile[d] = tile[d].div_ceil(2);
        }
        TileLayout::chunked(tile, Edge::Clipped)
    };
    Ok(layout.bind(&shape, elements)?)
}

impl ArraySource for Aggregation {
    fn header(&self) -> &Header {
        &self.header
    }

    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn tiling(&self, var: VarId) -> nc3z_reader::Result<Cow<'_, Tiling>> {
        match self.slot(var)? {
            Slot::Own(id) => self.fragments.own().source().tiling(*id),
            Slot::Master(m) => Ok(Cow::Borrowed(&m.tiling)),
        }
    }

    fn fill_tile(&self, var: VarId, tile: u64, out: &mut [u8]) -> nc3z_reader::Result<()> {
        let (array, tiling) = match self.slot(var)? {
            Slot::Own(id) => return self.fragments.own().source().fill_tile(*id, tile, out),
            Slot::Master(m) => (&m.array, &m.tiling),
        };
        let slab = match tiling.extent(tile)? {
            TileExtent::Chunk { start, shape } => {
                let rank = start.len();
                Hyperslab::new(start, shape, vec![1; rank])?
            }
            // A scalar, or an array without elements.
            TileExtent::Linear { .. } => Hyperslab::all(tiling.shape()),
        };
        Ok(array.read(&self.fragments, &slab, out)?)
    }

    fn tile(&self, var: VarId, tile: &TilePlan<'_>, keep: bool) -> nc3z_reader::Result<(u64, Bytes)> {
        let (array, tiling) = match self.slot(var)? {
            Slot::Own(id) => return self.fragments.own().source().tile(*id, tile, keep),
            Slot::Master(m) => (&m.array, &m.tiling),
        };
        let elements = tiling.tile_elements(tile.tile)?;
        let len = usize::try_from(elements * array.ty.size() as u64).unwrap_or(usize::MAX);
        let mut bytes = vec![0; len];
        self.fill_tile(var, tile.tile, &mut bytes)?;
        Ok((0, bytes.into()))
    }

    fn reads_slabs(&self, var: VarId) -> bool {
        match self.slots.get(var.index()) {
            Some(Slot::Own(id)) => self.fragments.own().source().reads_slabs(*id),
            slot => slot.is_some(),
        }
    }

    fn read_slab(&self, var: VarId, slab: &Hyperslab, out: &mut [u8]) -> nc3z_reader::Result<()> {
        match self.slot(var)? {
            Slot::Own(id) => self.fragments.own().source().read_slab(*id, slab, out),
            Slot::Master(m) => Ok(m.array.read(&self.fragments, slab, out)?),
        }
    }

    fn decode_cost(&self, var: VarId, tile: u64) -> u64 {
        match self.slots.get(var.index()) {
            Some(Slot::Own(id)) => self.fragments.own().source().decode_cost(*id, tile),
            _ => 0,
        }
    }

    fn read_range(&self, var: VarId, first: u64, out: &mut [u8]) -> nc3z_reader::Result<()> {
        let array = match self.slot(var)? {
            Slot::Own(id) => return self.fragments.own().source().read_range(*id, first, out),
            Slot::Master(m) => &m.array,
        };
        let (size, shape) = (array.ty.size() as u64, array.shape());
        let end = first.checked_add(out.len() as u64);
        let total = shape.iter().product::<u64>() * size;
        if end.is_none_or(|end| end > total)
            || !first.is_multiple_of(size)
            || !(out.len() as u64).is_multiple_of(size)
        {
            let what = format!(
                "{} bytes from byte {first} are not whole elements of an array of {total} bytes",
                out.len()
            );
            return Err(FormatError::invalid(what).into());
        }
        let mut rest = out;
        for slab in flat(&shape, first / size, rest.len() as u64 / size) {
            let len = usize::try_from(slab.count.iter().product::<u64>() * size).unwrap_or(usize::MAX);
            let (here, after) = rest.split_at_mut(len);
            array.read(&self.fragments, &slab, here)?;
            rest = after;
        }
        Ok(())
    }

    fn read_bytes(&self, _: u64, _: &mut [u8]) -> nc3z_reader::Result<()> {
        Err(FormatError::invalid("an aggregation has no bytes of its own; read its arrays").into())
    }

    fn as_any(&self) -> Option<&dyn std::any::Any> {
        Some(self)
    }
}

/// Splits a run of the flattened array into hyperslabs, in order.
fn flat(shape: &[u64], mut first: u64, mut count: u64) -> Vec<Hyperslab> {
    let mut out = Vec::new();
    while count > 0 {
        // The largest box that begins here and is at most as long as the remaining run: whole inner
        // dimensions, and a part of the next.
        let (mut rest, mut index) = (first, vec![0; shape.len()]);
        for d in (0..shape.len()).rev() {
            index[d] = rest % shape[d];
            rest /= shape[d];
        }
        let (mut d, mut row) = (shape.len(), 1);
        while d > 0 && index[d - 1] == 0 && row * shape[d - 1] <= count {
            row *= shape[d - 1];
            d -= 1;
        }
        let mut counts = vec![1; shape.len()];
        counts[d..].copy_from_slice(&shape[d..]);
        if d > 0 {
            counts[d - 1] = (count / row).min(shape[d - 1] - index[d - 1]);
            row *= counts[d - 1];
        }
        out.push(Hyperslab { start: index, count: counts, stride: vec![1; shape.len()] });
        first += row;
        count -= row;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::flat;

    #[test]
    fn runs_are_cut_into_boxes() {
        for shape in [&[][..], &[7], &[3, 4], &[2, 3, 4], &[1, 5, 1, 3]] {
            let total: u64 = shape.iter().product();
            for first in 0..total {
                for count in 0..=total - first {
                    let mut at = first;
                    for slab in flat(shape, first, count) {
                        let begin = slab.start.iter().zip(shape).fold(0, |n, (i, len)| n * len + i);
                        assert_eq!(begin, at);
                        let elements: u64 = slab.count.iter().product();
                        assert!(slab.resolve(shape).is_ok() && elements > 0);
                        // The box is contiguous, since its last element is as far from the first as its
                        // length says: it is one run.
                        let last = slab.start.iter().zip(&slab.count).map(|(s, n)| s + n - 1);
                        assert_eq!(last.zip(shape).fold(0, |n, (i, len)| n * len + i), at + elements - 1);
                        at += elements;
                    }
                    assert_eq!(at, first + count);
                }
            }
        }
    }
}
