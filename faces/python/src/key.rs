//! NumPy's keys as selections: integers, slices, an ellipsis, lists, masks and points.

use nc3z_format::Hyperslab;
use nc3z_format::selection::{AnySelection, Segment, Selection, widths};
use numpy::{
    PyArray1, PyArrayDescrMethods, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArray,
    PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyEllipsis, PyInt, PyList, PyRange, PySlice, PyTuple};
use std::collections::BTreeMap;

/// The dimensions that a key refers to.
#[derive(Clone, Copy)]
pub(crate) struct Axes<'a> {
    pub(crate) names: &'a [String],
    pub(crate) shape: &'a [u64],
    /// True if indices of the first dimension may exceed its length.
    pub(crate) grows: bool,
}

/// The selection of a key.
pub(crate) struct Key<'py> {
    chosen: Chosen<'py>,
    /// The shape of the result. Dimensions with an integer are dropped; those of points and of a mask come first.
    pub(crate) shape: Vec<u64>,
    /// True where a single element is returned as a scalar. With an ellipsis NumPy returns an array without dimensions.
    pub(crate) scalar: bool,
}

enum Chosen<'py> {
    Slab(Hyperslab),
    Grid(Selection),
    Points {
        starts: Vec<u64>,
        count: Vec<u64>,
        stride: Vec<i64>,
    },
    /// A mask of the variable's shape, which is borrowed from NumPy.
    Mask(PyReadonlyArrayDyn<'py, bool>),
}

impl<'py> Key<'py> {
    /// Parses a key: lists and masks select along their own dimension, or, with `points`, are broadcast against each other.
    pub(crate) fn new(key: &Bound<'py, PyAny>, points: bool, axes: Axes<'_>) -> PyResult<Self> {
        if points { at_points(key, axes) } else { grid(key, axes) }
    }

    /// The key of all elements.
    pub(crate) fn all(shape: &[u64]) -> Self {
        Key { chosen: Chosen::Slab(Hyperslab::all(shape)), shape: shape.to_vec(), scalar: false }
    }

    /// Returns the number of elements.
    pub(crate) fn elements(&self) -> u128 {
        self.shape.iter().fold(1, |n, len| n.saturating_mul(u128::from(*len)))
    }

    /// Returns the hyperslab of a key without lists.
    pub(crate) fn slab(&self) -> Option<&Hyperslab> {
        if let Chosen::Slab(slab) = &self.chosen { Some(slab) } else { None }
    }

    /// Returns the selection.
    pub(crate) fn any(&self) -> PyResult<AnySelection<'_>> {
        Ok(match &self.chosen {
            Chosen::Slab(slab) => slab.into(),
            Chosen::Grid(selection) => selection.into(),
            Chosen::Points { starts, count, stride } => {
                AnySelection::Points { starts, count: count.clone(), stride: stride.clone() }
            }
            Chosen::Mask(mask) => AnySelection::Mask(mask.as_slice()?),
        })
    }

    /// Returns the selection of a key that selects along each dimension independently.
    pub(crate) fn selection(&self) -> PyResult<Selection> {
        match self.any()? {
            AnySelection::Grid(selection) => Ok(selection),
            _ => Err(PyIndexError::new_err("a mask of several dimensions cannot be used here")),
        }
    }

    /// Returns the lengths that the dimensions must have, for a key that was parsed with `grows`.
    pub(crate) fn least_len(&self) -> u64 {
        let end = |s: &Segment| s.count.checked_sub(1).map_or(0, |last| s.index(last).max(s.start) + 1);
        match &self.chosen {
            Chosen::Slab(slab) if slab.rank() > 0 => {
                end(&Segment { start: slab.start[0], count: slab.count[0], stride: slab.stride[0] })
            }
            Chosen::Grid(selection) => selection.segments(0).iter().map(end).max().unwrap_or(0),
            Chosen::Points { starts, count, stride } if !count.is_empty() => {
                let lines = starts.iter().step_by(count.len());
                let line = |start: &u64| Segment { start: *start, count: count[0], stride: stride[0] };
                lines.map(|start| end(&line(start))).max().unwrap_or(0)
            }
            _ => 0,
        }
    }

    /// Divides a selection of more than `most` elements along its first dimension. Returns the parts with their rows of the values.
    pub(crate) fn parts(&self, most: u64) -> PyResult<Vec<(Selection, u64, u64)>> {
        let selection = self.selection()?;
        let counts = selection.counts();
        let rows = counts.first().copied().unwrap_or(1);
        let row = nc3z_format::selection::elements(counts.get(1..).unwrap_or_default());
        let each = (most / row.max(1)).max(1);
        if rows <= each {
            return Ok(vec![(selection, 0, rows)]);
        }
        let starts = (0..rows).step_by(usize::try_from(each)?);
        Ok(starts
            .map(|at| (at, rows.min(at + each)))
            .map(|(at, end)| (selection.part(0, at, end), at, end))
            .collect())
    }
}

/// One dimension.
struct Axis<'a> {
    name: &'a str,
    len: u64,
    grows: bool,
}

impl<'a> Axes<'a> {
    fn axis(&self, dim: usize) -> Axis<'a> {
        Axis { name: &self.names[dim], len: self.shape[dim], grows: self.grows && dim == 0 }
    }

    /// Calls `each` with every dimension and its item; without an item, the key selects all of the dimension. Returns whether the key
    /// has an ellipsis.
    fn each_item<'py>(
        &self,
        key: &Bound<'py, PyAny>,
        mut each: impl FnMut(usize, Option<&Bound<'py, PyAny>>) -> PyResult<()>,
    ) -> PyResult<bool> {
        let rank = self.shape.len();
        let (mut dim, mut ellipsis) = (0, false);
        let mut add = |item: &Bound<'py, PyAny>, after: usize| {
            if item.is_instance_of::<PyEllipsis>() {
                if ellipsis {
                    return Err(PyIndexError::new_err("an index can have one ellipsis ('...')"));
                }
                ellipsis = true;
                while dim + after < rank {
                    each(dim, None)?;
                    dim += 1;
                }
                return Ok(());
            }
            if dim == rank {
                let words = format!("too many indices: the variable has {rank} dimensions");
                return Err(PyIndexError::new_err(words));
            }
            each(dim, Some(item))?;
            dim += 1;
            Ok(())
        };
        match key.cast::<PyTuple>() {
            Ok(items) => {
                for (n, item) in items.iter().enumerate() {
                    add(&item, items.len() - n - 1)?;
                }
            }
            Err(_) => add(key, 0)?,
        }
        (dim..rank).try_for_each(|dim| each(dim, None))?;
        Ok(ellipsis)
    }
}

impl Axis<'_> {
    /// Returns the indices of a slice, which Python clips.
    fn line(&self, slice: &Bound<'_, PySlice>) -> PyResult<Segment> {
        let mut len = self.len;
        if self.grows {
            let (stop, step) = (slice.getattr("stop")?, slice.getattr("step")?);
            if !stop.is_none() && (step.is_none() || step.extract::<i64>()? > 0) {
                len = len.max(u64::try_from(stop.extract::<i64>()?).unwrap_or(0));
            }
        }
        let indices = slice.indices(isize::try_from(len)?)?;
        let count = u64::try_from(indices.slicelength)?;
        let start = if count == 0 { 0 } else { u64::try_from(indices.start)? };
        Ok(Segment { start, count, stride: i64::try_from(indices.step)? })
    }

    /// Returns the index of an integer, and None for a list or an array. Other numbers are not rounded.
    fn integer(&self, item: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
        let name = self.name;
        if !item.is_instance_of::<PyBool>()
            && let Ok(index) = item.extract::<i64>()
        {
            return self.resolve(index).map(Some);
        }
        if is_list(item) {
            return Ok(None);
        }
        if item.is_instance_of::<PyInt>() && !item.is_instance_of::<PyBool>() {
            return Err(self.outside(item));
        }
        let kind = item.get_type().name()?.to_string();
        let words = |kind: &str| {
            format!("dimension {name}: an index is an integer, a slice, '...', a list or a mask, not {kind}")
        };
        // NumPy's own truth values are called bool or bool_.
        Err(match &*kind {
            "bool" | "bool_" => PyIndexError::new_err(words("a single truth value")),
            "NoneType" => PyIndexError::new_err(words("None")),
            kind => PyTypeError::new_err(words(kind)),
        })
    }

    fn resolve(&self, index: i64) -> PyResult<u64> {
        let size = index.unsigned_abs();
        let found = if index < 0 { self.len.checked_sub(size) } else { Some(size) };
        found.filter(|i| *i < self.len || self.grows).ok_or_else(|| self.outside(index))
    }

    fn outside(&self, index: impl std::fmt::Display) -> PyErr {
        let Axis { name, len, .. } = self;
        PyIndexError::new_err(format!("index {index} is outside dimension {name} of length {len}"))
    }

    /// Returns the indices of a list or a mask, and the shape of the list.
    fn list(&self, array: &Bound<'_, PyUntypedArray>) -> PyResult<(Vec<u64>, Vec<usize>)> {
        let (name, shape) = (self.name, array.shape());
        if let Ok(mask) = array.cast::<PyArrayDyn<bool>>() {
            if !shape.iter().map(|n| *n as u64).eq([self.len]) {
                let words = format!("dimension {name}: a mask of shape {shape:?} for {} indices", self.len);
                return Err(PyIndexError::new_err(words));
            }
            let mask = borrowed(mask)?;
            let all = (0..).zip(mask.as_array().iter().copied().collect::<Vec<bool>>());
            let indices: Vec<u64> = all.filter(|(_, selected)| *selected).map(|(index, _)| index).collect();
            let len = indices.len();
            return Ok((indices, vec![len]));
        }
        let kind = array.dtype().kind();
        if array.len() > 0 && !matches!(kind, b'i' | b'u') {
            let dtype = array.dtype().to_string();
            let words = format!("dimension {name}: an index of type {dtype}, not integers or a mask");
            return Err(PyIndexError::new_err(words));
        }
        let indices = if let Ok(unsigned) = array.cast::<PyArrayDyn<u64>>() {
            let signed = |n: &u64| i64::try_from(*n).map_err(|_| self.outside(n));
            borrowed(unsigned)?
                .as_array()
                .iter()
                .map(|n| self.resolve(signed(n)?))
                .collect::<PyResult<_>>()?
        } else {
            let signed = array.call_method1("astype", ("int64",))?;
            let signed = borrowed(signed.cast::<PyArrayDyn<i64>>()?)?;
            signed.as_array().iter().map(|n| self.resolve(*n)).collect::<PyResult<_>>()?
        };
        Ok((indices, shape.to_vec()))
    }
}

/// Returns whether an item selects several indices one by one.
fn is_list(item: &Bound<'_, PyAny>) -> bool {
    item.is_instance_of::<PyList>()
        || item.is_instance_of::<PyTuple>()
        || item.is_instance_of::<PyRange>()
        || item.hasattr("__array__").unwrap_or(false) && item.len().is_ok()
}

fn as_array<'py>(item: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyUntypedArray>> {
    Ok(item.py().import("numpy")?.call_method1("asarray", (item,))?.cast_into()?)
}

fn borrowed<'py, T: numpy::Element>(
    array: &Bound<'py, PyArrayDyn<T>>,
) -> PyResult<PyReadonlyArrayDyn<'py, T>> {
    array.try_readonly().map_err(|e| PyValueError::new_err(e.to_string()))
}

/// Parses a key with lists and masks along their own dimension, as in netCDF4-python. A mask of several dimensions selects the
/// elements where it is true.
fn grid<'py>(key: &Bound<'py, PyAny>, axes: Axes<'_>) -> PyResult<Key<'py>> {
    let rank = axes.shape.len();
    let (start, count, stride) =
        (Vec::with_capacity(rank), Vec::with_capacity(rank), Vec::with_capacity(rank));
    let mut slab = Hyperslab { start, count, stride };
    let mut shape = Vec::with_capacity(rank);
    let mut lists = BTreeMap::new();
    let mut mask = None;
    let ellipsis = axes.each_item(key, |dim, item| {
        let axis = axes.axis(dim);
        let mut segment = Segment::new(0, axis.len);
        let mut is_kept = true;
        if let Some(item) = item {
            if let Ok(slice) = item.cast::<PySlice>() {
                segment = axis.line(slice)?;
            } else if let Some(index) = axis.integer(item)? {
                (segment, is_kept) = (Segment::at(index), false);
            } else {
                let array = as_array(item)?;
                if array.ndim() > 1
                    && !key.is_instance_of::<PyTuple>()
                    && let Ok(found) = array.cast::<PyArrayDyn<bool>>()
                {
                    mask = Some(found.clone());
                    return Ok(());
                }
                let (indices, lens) = axis.list(&array)?;
                let [len] = lens[..] else {
                    let (name, n) = (axis.name, lens.len());
                    let words = format!("dimension {name}: a list of {n} dimensions; .vindex takes those");
                    return Err(PyIndexError::new_err(words));
                };
                lists.insert(dim, Segment::of_list(indices));
                segment = Segment::new(0, len as u64);
            }
        }
        slab.start.push(segment.start);
        slab.count.push(segment.count);
        slab.stride.push(segment.stride);
        shape.extend(is_kept.then_some(segment.count));
        Ok(())
    })?;
    if let Some(mask) = mask {
        return by_mask(&mask, axes);
    }
    let scalar = !ellipsis && shape.is_empty();
    if lists.is_empty() {
        return Ok(Key { chosen: Chosen::Slab(slab), shape, scalar });
    }
    let line =
        |dim: usize| Segment { start: slab.start[dim], count: slab.count[dim], stride: slab.stride[dim] };
    let dims = (0..rank).map(|dim| lists.remove(&dim).unwrap_or_else(|| vec![line(dim)])).collect();
    Ok(Key { chosen: Chosen::Grid(Selection::new(dims)), shape, scalar })
}

/// The key of a mask of the first dimensions.
fn by_mask<'py>(mask: &Bound<'py, PyArrayDyn<bool>>, axes: Axes<'_>) -> PyResult<Key<'py>> {
    let given: Vec<u64> = mask.shape().iter().map(|n| *n as u64).collect();
    if axes.shape.get(..given.len()) != Some(&given[..]) {
        let words = format!("a mask of shape {given:?} for a variable of shape {:?}", axes.shape);
        return Err(PyIndexError::new_err(words));
    }
    let contiguous = mask.py().import("numpy")?.call_method1("ascontiguousarray", (mask,))?;
    let mask = borrowed(contiguous.cast::<PyArrayDyn<bool>>()?)?;
    let selected = mask.as_slice()?.iter().filter(|selected| **selected).count() as u64;
    let rest = &axes.shape[given.len()..];
    let shape = [&[selected], rest].concat();
    if rest.is_empty() {
        return Ok(Key { chosen: Chosen::Mask(mask), shape, scalar: false });
    }
    let widths = widths(&given);
    let mut starts = Vec::new();
    for (at, _) in (0_u64..).zip(mask.as_slice()?).filter(|(_, selected)| **selected) {
        starts.extend(given.iter().zip(&widths).map(|(len, width)| at / width % len));
        starts.extend(rest.iter().map(|_| 0));
    }
    let count = [&vec![1; given.len()], rest].concat();
    let stride = vec![1; count.len()];
    Ok(Key { chosen: Chosen::Points { starts, count, stride }, shape, scalar: false })
}

/// Parses a key of points: lists that are broadcast against each other. Their dimensions come first in the result, followed by those
/// of slices.
fn at_points<'py>(key: &Bound<'py, PyAny>, axes: Axes<'_>) -> PyResult<Key<'py>> {
    let py = key.py();
    let mut lines = Vec::new();
    let mut lists: Vec<Bound<'py, PyAny>> = Vec::new();
    axes.each_item(key, |dim, item| {
        let axis = axes.axis(dim);
        let Some(item) = item else {
            lines.push(Some(Segment::new(0, axis.len)));
            return Ok(());
        };
        if let Ok(slice) = item.cast::<PySlice>() {
            lines.push(Some(axis.line(slice)?));
            return Ok(());
        }
        let (indices, shape) = match axis.integer(item)? {
            Some(index) => (vec![index], Vec::new()),
            None => axis.list(&as_array(item)?)?,
        };
        lines.push(None);
        lists.push(PyArray1::from_vec(py, indices).call_method1("reshape", (PyTuple::new(py, shape)?,))?);
        Ok(())
    })?;
    if lists.is_empty() {
        return grid(key, axes);
    }
    let broadcast = py.import("numpy")?.call_method1("broadcast_arrays", PyTuple::new(py, lists)?)?;
    let broadcast: Vec<Bound<'py, PyArrayDyn<u64>>> = broadcast.extract()?;
    let mut shape: Vec<u64> = broadcast[0].shape().iter().map(|n| *n as u64).collect();
    let mut starts = vec![0; broadcast[0].len() * lines.len()];
    let mut lists = broadcast.iter();
    for (dim, line) in lines.iter().enumerate() {
        let each = starts.iter_mut().skip(dim).step_by(lines.len());
        if let Some(line) = line {
            each.for_each(|start| *start = line.start);
            shape.push(line.count);
        } else if let Some(list) = lists.next() {
            each.zip(borrowed(list)?.as_array()).for_each(|(start, index)| *start = *index);
        }
    }
    let (count, stride) =
        lines.iter().map(|line| line.map_or((1, 1), |line| (line.count, line.stride))).unzip();
    Ok(Key { chosen: Chosen::Points { starts, count, stride }, shape, scalar: false })
}
