//! What goes into a subset: its variables, dimensions and attributes, and which values of the original they hold.

use crate::args::SubsetArgs;
use crate::output::text;
use crate::selection::select;
use anyhow::{Result, bail};
use nc3z_format::classic::{DimId, Dimension, Header, VarId, with_related};
use nc3z_look::selection::{Segment, Selection};
use nc3z_reader::{Dataset, Variable};
use std::collections::{BTreeSet, HashMap};

/// A subset before it has a place in a file.
pub(super) struct Contents {
    /// The new header; what `arrange` sets is not set yet.
    pub(super) header: Header,
    /// Records of the new file.
    pub(super) records: u64,
    /// For each variable of the new file, the original's, and what of it is selected.
    pub(super) variables: Vec<(Variable, Selection)>,
}

impl Contents {
    /// Finds the variables and what of them is selected. Reads nothing but coordinate variables.
    pub(super) fn of(dataset: &Dataset, args: &SubsetArgs) -> Result<Self> {
        let old = dataset.header();
        let chosen = chosen_variables(old, args)?;
        let ranges = ranges(dataset, args, &chosen)?;
        let dims = kept_dimensions(old, args, &chosen);
        let new_ids: HashMap<DimId, DimId> = dims.iter().copied().zip((0_u32..).map(DimId)).collect();
        let mut header = Header {
            version: old.version,
            numrecs: old.numrecs,
            dimensions: Vec::with_capacity(dims.len()),
            attributes: old.attributes.clone(),
            variables: Vec::with_capacity(chosen.len()),
        };
        let mut records = 0;
        for id in &dims {
            let Dimension { name, len } = &old.dimensions[id.index()];
            let selected = match ranges.get(id) {
                Some(segments) => segments.iter().map(|s| s.count).sum(),
                None if *len == 0 => dataset.records(),
                None => *len,
            };
            if *len == 0 {
                records = selected;
            }
            header
                .dimensions
                .push(Dimension { name: name.clone(), len: if *len == 0 { 0 } else { selected } });
        }
        let mut variables = Vec::with_capacity(chosen.len());
        for id in chosen {
            let mut new = old.variables[id.index()].clone();
            let each = new.dimensions.iter().zip(&dataset.layout().variables[id.index()].shape);
            let whole = |len| vec![Segment { start: 0, count: len, stride: 1 }];
            let selected = each.map(|(dim, &len)| ranges.get(dim).cloned().unwrap_or_else(|| whole(len)));
            let selection = Selection::new(selected.collect());
            new.dimensions.iter_mut().for_each(|d| *d = new_ids[d]);
            header.variables.push(new);
            let variable = dataset.variable_at(id).expect("the id is one of the header's");
            variables.push((variable, selection));
        }
        Ok(Contents { header, records, variables })
    }

    /// True for a record variable.
    pub(super) fn is_record(&self, id: VarId) -> bool {
        self.header.is_record(&self.header.variables[id.index()])
    }

    /// Makes sure, before anything is written, that the file holds all that is selected.
    pub(super) fn check_present(&self) -> Result<()> {
        for (variable, selection) in &self.variables {
            for (slab, _) in selection.slabs() {
                variable.plan(&slab)?;
            }
        }
        Ok(())
    }
}

/// The variables named, with what belongs to them; all if none is named.
fn chosen_variables(header: &Header, args: &SubsetArgs) -> Result<BTreeSet<VarId>> {
    let named = super::super::dump::named_variables(&args.variables, header)?;
    let Some(named) = named else { return Ok(header.variables().map(|(id, _)| id).collect()) };
    Ok(if args.no_coordinates { named } else { with_related(header, named) })
}

/// The dimensions of the new file: those of its variables, or, where no variable is named, all.
fn kept_dimensions(header: &Header, args: &SubsetArgs, chosen: &BTreeSet<VarId>) -> Vec<DimId> {
    let all = (0_u32..).map(DimId).take(header.dimensions.len());
    let used = used_dimensions(header, chosen);
    all.filter(|id| args.variables.is_empty() || used.contains(id)).collect()
}

fn used_dimensions(header: &Header, chosen: &BTreeSet<VarId>) -> BTreeSet<DimId> {
    chosen.iter().flat_map(|id| header.variables[id.index()].dimensions.iter().copied()).collect()
}

/// What `-d` selects of each dimension it names.
fn ranges(
    dataset: &Dataset,
    args: &SubsetArgs,
    chosen: &BTreeSet<VarId>,
) -> Result<HashMap<DimId, Vec<Segment>>> {
    let header = dataset.header();
    let used = used_dimensions(header, chosen);
    let mut ranges = HashMap::new();
    for arg in &args.dims {
        let name = text::safe(&arg.name);
        let Some((id, dimension)) = header.dimension(arg.name.as_bytes()) else {
            let names: Vec<_> = header.dimensions.iter().map(|d| text::name(&d.name)).collect();
            bail!("no such dimension `{name}`; there are {}", names.join(", "));
        };
        if !args.variables.is_empty() && !used.contains(&id) {
            bail!("no selected variable has the dimension `{name}`");
        }
        let len = if dimension.is_record() { dataset.records() } else { dimension.len };
        if ranges.insert(id, select(dataset, id, len, arg)?).is_some() {
            bail!("dimension `{name}` is given twice");
        }
    }
    Ok(ranges)
}
