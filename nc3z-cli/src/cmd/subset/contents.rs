//! The content of a subset: its variables, dimensions and attributes, and the values of the original that
//! they contain.

use crate::args::SubsetArgs;
use crate::output::text;
use crate::selection::noted;
use anyhow::{Result, bail};
use nc3z_format::classic::{DimId, Dimension, Header, VarId, with_related};
use nc3z_look::selection::{Region, Request, Segment, Selection, regions};
use nc3z_reader::{Dataset, Variable};
use std::collections::{BTreeSet, HashMap};

/// A subset before its layout in a file is known.
pub(in crate::cmd) struct Contents {
    /// The new header, without the fields that `arrange` sets.
    pub(in crate::cmd) header: Header,
    /// The number of records of the new file.
    pub(in crate::cmd) records: u64,
    /// For each variable of the new file, the original's variable, and its selected part.
    pub(in crate::cmd) variables: Vec<(Variable, Selection)>,
}

impl Contents {
    /// Finds the variables and their selections. Reads only coordinate variables.
    pub(in crate::cmd) fn of(dataset: &Dataset, args: &SubsetArgs) -> Result<Self> {
        let old = dataset.header();
        let chosen = chosen_variables(old, args)?;
        check_names(old, args, &chosen)?;
        let regions = regions_of(dataset, args, &chosen)?;
        let request = Request { dims: args.dims.clone(), region: args.region };
        let ranges = noted(|notes| request.ranges(dataset, &regions, notes))?;
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
            let variable = dataset.variable_at(id).expect("the id is one of the header's");
            let selection = selection.with_mask(regions.iter().find_map(|region| region.mask(&variable)));
            new.dimensions.iter_mut().for_each(|d| *d = new_ids[d]);
            header.variables.push(new);
            variables.push((variable, selection));
        }
        Ok(Contents { header, records, variables })
    }

    /// Returns true for a record variable.
    pub(in crate::cmd) fn is_record(&self, id: VarId) -> bool {
        self.header.is_record(&self.header.variables[id.index()])
    }

    /// Checks, before anything is written, that the file contains the whole selection.
    pub(in crate::cmd) fn check_present(&self) -> Result<()> {
        for (variable, selection) in &self.variables {
            for (slab, _) in selection.slabs() {
                variable.plan(&slab)?;
            }
        }
        Ok(())
    }
}

/// Returns the named variables and related ones; all if none is named.
fn chosen_variables(header: &Header, args: &SubsetArgs) -> Result<BTreeSet<VarId>> {
    let named = super::super::dump::named_variables(&args.variables, header)?;
    let Some(named) = named else { return Ok(header.variables().map(|(id, _)| id).collect()) };
    Ok(if args.no_coordinates { named } else { with_related(header, named) })
}

/// Returns the dimensions of the new file: those of its variables, or, if no variable is named, all.
fn kept_dimensions(header: &Header, args: &SubsetArgs, chosen: &BTreeSet<VarId>) -> Vec<DimId> {
    let all = (0_u32..).map(DimId).take(header.dimensions.len());
    let used = used_dimensions(header, chosen);
    all.filter(|id| args.variables.is_empty() || used.contains(id)).collect()
}

fn used_dimensions(header: &Header, chosen: &BTreeSet<VarId>) -> BTreeSet<DimId> {
    chosen.iter().flat_map(|id| header.variables[id.index()].dimensions.iter().copied()).collect()
}

/// Returns the regions that `--box` selects on the grids of the variables.
fn regions_of(dataset: &Dataset, args: &SubsetArgs, chosen: &BTreeSet<VarId>) -> Result<Vec<Region>> {
    let Some(area) = &args.region else { return Ok(Vec::new()) };
    let variables: Vec<Variable> = chosen.iter().filter_map(|id| dataset.variable_at(*id)).collect();
    noted(|_| regions(dataset, &variables, area))
}

/// Checks that each dimension in `-d` belongs to one of the selected variables.
fn check_names(header: &Header, args: &SubsetArgs, chosen: &BTreeSet<VarId>) -> Result<()> {
    let used = used_dimensions(header, chosen);
    for arg in args.dims.iter().filter(|_| !args.variables.is_empty()) {
        if header.dimension(arg.name.as_bytes()).is_some_and(|(id, _)| !used.contains(&id)) {
            bail!("no selected variable has the dimension `{}`", text::safe(&arg.name));
        }
    }
    Ok(())
}
