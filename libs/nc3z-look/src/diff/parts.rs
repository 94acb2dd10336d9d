//! The part of two files that `-d` and `--box` select, in each file by its own coordinates.

use crate::selection::{BoxArg, DimArg, Error, Request, Result, Segment, Selection, regions};
use crate::text;
use nc3z_format::Hyperslab;
use nc3z_reader::diff::Part;
use nc3z_reader::{Dataset, Variable};
use std::collections::HashMap;

/// The selection along each dimension of each file, by the dimension's name.
#[derive(Debug)]
pub struct Parts {
    files: [HashMap<Vec<u8>, Vec<Segment>>; 2],
}

impl Parts {
    /// Resolves ranges and a region in both files. Notes for the user are added to `notes`.
    ///
    /// # Errors
    /// A dimension that neither file has; those of [`Request::ranges`].
    pub fn new(
        a: &Dataset,
        b: &Dataset,
        dims: &[DimArg],
        region: Option<BoxArg>,
        notes: &mut Vec<String>,
    ) -> Result<Self> {
        for arg in dims {
            if [a, b].iter().all(|file| file.header().dimension(arg.name.as_bytes()).is_none()) {
                let name = text::safe(&arg.name);
                return Err(Error::Wrong(format!("neither file has a dimension `{name}`")));
            }
        }
        let mut file = |dataset: &Dataset| -> Result<_> {
            let known = |arg: &&DimArg| dataset.header().dimension(arg.name.as_bytes()).is_some();
            let request = Request { dims: dims.iter().filter(known).cloned().collect(), region };
            let variables: Vec<Variable> = dataset.variables().collect();
            let found = match &region {
                Some(area) => regions(dataset, &variables, area)?,
                None => Vec::new(),
            };
            let ranges = request.ranges(dataset, &found, notes)?;
            let name = |id: nc3z_format::classic::DimId| dataset.dimensions()[id.index()].name.clone();
            Ok(ranges.into_iter().map(|(id, segments)| (name(id), segments)).collect())
        };
        let mut files: [HashMap<Vec<u8>, Vec<Segment>>; 2] = [file(a)?, file(b)?];
        let [before, after] = &mut files;
        for (name, segments) in before {
            if let Some(others) = after.get_mut(name) {
                (*segments, *others) = (cut(segments, others), cut(others, segments));
            }
        }
        Ok(Parts { files })
    }
}

/// Cuts segments where those of the other file end, so that both have the same number of segments with the
/// same lengths.
fn cut(segments: &[Segment], others: &[Segment]) -> Vec<Segment> {
    let mut ends = Vec::new();
    let mut end = 0;
    for other in others {
        end += other.count;
        ends.push(end);
    }
    let mut out = Vec::new();
    let mut begin = 0;
    for s in segments {
        let mut from = 0;
        let inner =
            ends.iter().filter_map(|end| end.checked_sub(begin)).filter(|at| (1..s.count).contains(at));
        for to in inner.chain([s.count]) {
            let start = s.index(from);
            out.push(Segment { start, count: to - from, stride: s.stride });
            from = to;
        }
        begin += s.count;
    }
    out
}

impl Part for Parts {
    fn slabs(&self, file: usize, variable: &Variable) -> nc3z_reader::Result<Option<Vec<Hyperslab>>> {
        let ranges = &self.files[file];
        if !variable.dimensions().any(|d| ranges.contains_key(&d.name)) {
            return Ok(None);
        }
        let each = variable.dimensions().zip(variable.shape());
        let segments = each
            .map(|(d, &count)| ranges.get(&d.name).cloned().unwrap_or_else(|| vec![Segment::new(0, count)]));
        let selection = Selection::new(segments.collect());
        Ok(Some(selection.slabs().into_iter().map(|(slab, _)| slab).collect()))
    }

    fn is_over(&self, dimension: &[u8]) -> bool {
        self.files.iter().any(|ranges| ranges.contains_key(dimension))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_of_two_files_are_cut_alike() {
        let s = |start, count| Segment::new(start, count);
        let (a, b) = ([s(9, 3), s(0, 1)], [s(3, 4)]);
        assert_eq!(cut(&a, &b), a);
        assert_eq!(cut(&b, &a), [s(3, 3), s(6, 1)]);
        let back = [Segment { start: 7, count: 4, stride: -2 }];
        assert_eq!(
            cut(&back, &[s(0, 1), s(5, 3)]).iter().map(|s| (s.start, s.count)).collect::<Vec<_>>(),
            [(7, 1), (5, 3)]
        );
        assert_eq!(cut(&a, &[s(0, 9)]), a);
    }
}
