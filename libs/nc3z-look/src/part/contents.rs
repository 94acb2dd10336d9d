//! The content of a subset: its variables, dimensions and attributes, and the values of the original that
//! they contain.

use super::header::{dimensions_of, header_of};
use crate::selection::{Error, Request, Result, Segment, Selection, named_variables, regions};
use crate::text;
use nc3z_format::classic::{DimId, Header, VarId, with_related};
use nc3z_reader::{Dataset, Variable};
use std::collections::BTreeSet;
use std::ffi::OsString;

/// The request for a subset.
#[derive(Debug, Clone, Default)]
pub struct SubsetRequest {
    /// Names of variables, in lists with commas. All, if none is given.
    pub variables: Vec<OsString>,
    /// Leaves out coordinates and other variables that named ones refer to.
    pub no_coordinates: bool,
    /// Ranges of dimensions, and a region.
    pub part: Request,
}

/// A subset before its layout in a file is known.
pub struct Contents {
    /// The new header, without the fields that `arrange` sets.
    pub header: Header,
    /// The number of records of the new file.
    pub records: u64,
    /// For each variable of the new file, the original's variable, and its selected part.
    pub variables: Vec<(Variable, Selection)>,
}

impl Contents {
    /// Finds the variables and their selections. Reads only coordinate variables. Notes for the user are added to `notes`.
    ///
    /// # Errors
    /// A variable that does not exist; those of [`Request::ranges`].
    pub fn new(dataset: &Dataset, request: &SubsetRequest, notes: &mut Vec<String>) -> Result<Self> {
        let old = dataset.header();
        let chosen = match named_variables(&request.variables, old)? {
            None => old.variables().map(|(id, _)| id).collect(),
            Some(named) if request.no_coordinates => named,
            Some(named) => with_related(old, named),
        };
        check_names(old, request, &chosen)?;
        let regions = match &request.part.region {
            Some(area) => {
                let variables: Vec<Variable> =
                    chosen.iter().filter_map(|id| dataset.variable_at(*id)).collect();
                regions(dataset, &variables, area)?
            }
            None => Vec::new(),
        };
        let ranges = request.part.ranges(dataset, &regions, notes)?;
        // All dimensions, if no variable is named.
        let used = dimensions_of(old, &chosen);
        let all = (0_u32..).map(DimId).take(old.dimensions.len());
        let dims: BTreeSet<DimId> =
            all.filter(|id| request.variables.is_empty() || used.contains(id)).collect();
        let len = |id| ranges.get(&id).map(|segments| segments.iter().map(|s| s.count).sum());
        let (header, records) = header_of(dataset, &chosen, &dims, &len);
        let mut variables = Vec::with_capacity(chosen.len());
        for id in chosen {
            let each = old.variables[id.index()]
                .dimensions
                .iter()
                .zip(&dataset.layout().variables[id.index()].shape);
            let whole = |len| vec![Segment::new(0, len)];
            let selected = each.map(|(dim, &len)| ranges.get(dim).cloned().unwrap_or_else(|| whole(len)));
            let selection = Selection::new(selected.collect());
            let variable = dataset.variable_at(id).expect("the id is one of the header's");
            let selection = selection.with_mask(regions.iter().find_map(|region| region.mask(&variable)));
            variables.push((variable, selection));
        }
        Ok(Contents { header, records, variables })
    }

    /// Returns true for a record variable.
    pub fn is_record(&self, id: VarId) -> bool {
        self.header.is_record(&self.header.variables[id.index()])
    }

    /// Checks, before anything is written, that the file contains the whole selection.
    ///
    /// # Errors
    /// A part is beyond the end of the file, or its index cannot be read.
    pub fn check_present(&self) -> nc3z_reader::Result<()> {
        for (variable, selection) in &self.variables {
            for (slab, _) in selection.slabs() {
                variable.plan(&slab)?;
            }
        }
        Ok(())
    }
}

/// Checks that each dimension of the request belongs to one of the selected variables.
fn check_names(header: &Header, request: &SubsetRequest, chosen: &BTreeSet<VarId>) -> Result<()> {
    let used = dimensions_of(header, chosen);
    for arg in request.part.dims.iter().filter(|_| !request.variables.is_empty()) {
        if header.dimension(arg.name.as_bytes()).is_some_and(|(id, _)| !used.contains(&id)) {
            let name = text::safe(&arg.name);
            return Err(Error::Wrong(format!("no selected variable has the dimension `{name}`")));
        }
    }
    Ok(())
}
