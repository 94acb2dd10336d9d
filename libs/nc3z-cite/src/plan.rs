//! Plans the slice of a proof: which values it has, and its file.

use crate::error::{Error, Result};
use crate::{Part, render_csv, widen};
use nc3z_format::classic::Dimension;
use nc3z_format::selection::Hyperslab;
use nc3z_look::part::{Contents, SubsetRequest};
use nc3z_look::print::{Binary, Sink, for_each_block};
use nc3z_look::selection::{Bound, DimArg, RangeArg, Selection};
use nc3z_reader::{Dataset, Monitor, Variable};
use std::io::Write;
use std::path::Path;

/// The format of a slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SliceForm {
    /// A classic netCDF file, with the attributes of the dataset's file.
    Classic,
    /// A NumPy file of one variable.
    Npy,
    /// A text file of one variable.
    Csv,
}

impl SliceForm {
    /// Returns the format for the ending of a file's name: `.npy`, `.csv`, or any other for a classic file.
    pub fn of_name(path: &Path) -> Self {
        match path.extension().and_then(|e| e.to_str()) {
            Some("npy") => SliceForm::Npy,
            Some("csv") => SliceForm::Csv,
            _ => SliceForm::Classic,
        }
    }
}

/// A slice before it is written.
pub struct PlannedSlice {
    form: SliceForm,
    contents: Contents,
    parts: Vec<Part>,
}

impl PlannedSlice {
    /// Finds the values of a slice. With `widened`, the ranges of dimensions grow until the proof of the first variable has no values
    /// beside those of the slice. `note` receives notes for the user.
    ///
    /// # Errors
    /// The request selects nothing that can be proven: no such variable, two parts of a variable, or several variables in a format for
    /// one. The dataset cannot be read.
    pub fn new(
        dataset: &Dataset,
        mut request: SubsetRequest,
        form: SliceForm,
        widened: bool,
        note: &mut dyn FnMut(String),
    ) -> Result<Self> {
        request.no_coordinates |= form != SliceForm::Classic;
        let mut find = |request: &SubsetRequest| -> Result<Contents> {
            let mut notes = Vec::new();
            let found = Contents::new(dataset, request, &mut notes)?;
            notes.into_iter().for_each(&mut *note);
            Ok(found)
        };
        let mut contents = find(&request)?;
        if widened {
            request.no_coordinates = true;
            request.part.dims = wide_ranges(&find(&request)?)?;
            request.no_coordinates = contents.variables.len() == 1;
            contents = find(&request)?;
        }
        contents.check_present()?;
        let part = |(variable, selection): &(Variable, Selection)| {
            Ok(Part { variable: variable.id(), slab: one_slab(variable, selection)? })
        };
        let parts = contents.variables.iter().map(part).collect::<Result<Vec<_>>>()?;
        if form != SliceForm::Classic && parts.len() != 1 {
            return Err(Error::SeveralVariables(parts.len()));
        }
        Ok(PlannedSlice { form, contents, parts })
    }

    /// Returns the format.
    pub fn form(&self) -> SliceForm {
        self.form
    }

    /// Returns the variables and their parts, for [`make`](crate::make).
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Returns the content of a classic file.
    pub fn contents(&self) -> &Contents {
        &self.contents
    }

    /// Writes the first variable in the format NumPy or CSV.
    ///
    /// # Errors
    /// The values cannot be read or not be written; the monitor cancelled.
    pub fn write_values(&self, out: &mut dyn Write, monitor: &dyn Monitor) -> Result<()> {
        let (variable, selection) = &self.contents.variables[0];
        let counts = selection.counts();
        if self.form == SliceForm::Csv {
            let values = variable.read_bytes(&self.parts[0].slab)?;
            let names: Vec<&[u8]> = variable.dimensions().map(|d| &d.name[..]).collect();
            let dimensions: Vec<(&[u8], u64)> = names.into_iter().zip(counts).collect();
            let text = render_csv(&variable.header().name, variable.ty(), &dimensions, &values)?;
            return Ok(out.write_all(text.as_bytes()).map_err(nc3z_look::print::Error::from)?);
        }
        let mut npy = Binary::npy(out, variable.ty(), None, &counts)?;
        for_each_block(variable, selection, &mut |bytes| {
            if monitor.is_cancelled() {
                return Err(nc3z_reader::Error::interrupted().into());
            }
            npy.block(bytes)
        })?;
        Ok(())
    }
}

fn one_slab(variable: &Variable, selection: &Selection) -> Result<Hyperslab> {
    let mut slabs = selection.slabs();
    match (slabs.pop(), slabs.is_empty()) {
        (Some((slab, _)), true) => Ok(slab),
        _ => Err(Error::TwoParts(nc3z_look::text::safe(&variable.name()))),
    }
}

/// Returns the ranges of dimensions for which the proof of the first variable contains no values.
fn wide_ranges(named: &Contents) -> Result<Vec<DimArg>> {
    let Some((variable, selection)) = named.variables.first() else {
        return Err(Error::Request("a variable is named".to_owned()));
    };
    let wide = widen(variable.ty(), variable.shape(), &one_slab(variable, selection)?);
    let index = |at: u64| i64::try_from(at).map(Bound::Index).ok();
    let range = |(n, dimension): (usize, &Dimension)| {
        let (first, last) = (wide.start[n], wide.start[n] + wide.count[n].saturating_sub(1));
        let range = RangeArg::Between(index(first), index(last));
        DimArg { name: dimension.name_lossy().into_owned(), range, step: 1 }
    };
    Ok(variable.dimensions().enumerate().map(range).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use nc3z_look::selection::Request;

    fn dataset() -> Dataset {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/classic/coads_climatology.cdf");
        Dataset::open(&path, &nc3z_reader::OpenOptions::default()).unwrap()
    }

    fn request(variables: &str, dims: &[&str]) -> SubsetRequest {
        let part = Request { dims: dims.iter().map(|d| d.parse().unwrap()).collect(), region: None };
        SubsetRequest { variables: vec![variables.into()], no_coordinates: false, part }
    }

    #[test]
    fn a_slice_of_one_variable_is_written_as_text_or_for_numpy() {
        let dataset = dataset();
        for (name, begins) in [("s.csv", &b"SST:float,TIME:1,"[..]), ("s.npy", b"\x93NUMPY")] {
            let form = SliceForm::of_name(Path::new(name));
            let asked = request("SST", &["TIME,0", "COADSY,3", "COADSX,0,4"]);
            let planned = PlannedSlice::new(&dataset, asked, form, false, &mut |_| {}).unwrap();
            assert_eq!(planned.parts().len(), 1);
            let mut out = Vec::new();
            planned.write_values(&mut out, &()).unwrap();
            assert!(out.starts_with(begins), "{name}: {out:?}");
        }
    }

    #[test]
    fn a_slice_that_is_widened_has_whole_leaves_and_no_more_dimensions() {
        let dataset = dataset();
        let plan = |widened| {
            let asked = request("SST", &["TIME,0", "COADSY,3", "COADSX,0,4"]);
            PlannedSlice::new(&dataset, asked, SliceForm::Csv, widened, &mut |_| {}).unwrap()
        };
        let elements = |planned: &PlannedSlice| planned.parts()[0].slab.count.iter().product::<u64>();
        let (narrow, wide) = (plan(false), plan(true));
        assert!(elements(&wide) > elements(&narrow));
        assert_eq!(wide.parts()[0].slab.count.len(), 3);
    }

    #[test]
    fn what_has_no_proof_is_refused() {
        let dataset = dataset();
        let refused = |asked, form| {
            PlannedSlice::new(&dataset, asked, form, false, &mut |_| {}).err().unwrap().to_string()
        };
        assert!(refused(request("SST,AIRT", &[]), SliceForm::Npy).contains("2 are named"));
        let around = request("SST", &["COADSX,350.0,40.0"]);
        assert!(refused(around, SliceForm::Csv).contains("wraps around"));
    }
}
