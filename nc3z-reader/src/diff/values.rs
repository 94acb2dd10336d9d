//! Two variables, element by element.

use super::DiffOptions;
use super::blocks::Blocks;
use crate::archive::Archive;
use crate::dataset::Variable;
use crate::error::{Error, Result};
use crate::monitor::Monitor;
use nc3z_format::NcType;
use nc3z_format::archive::{ArrayId, IndexEntry};
use nc3z_format::tile::TileLayout;

/// Elements that are compared at a time.
const WINDOW: u64 = 1 << 19;

/// The element where two variables differ most.
#[derive(Debug, Clone, PartialEq)]
pub struct Extreme {
    /// How much: the magnitude of the difference, or its share of the larger magnitude.
    pub difference: f64,
    /// Where.
    pub index: Vec<u64>,
    /// The element before, big-endian.
    pub before: Vec<u8>,
    /// The element after.
    pub after: Vec<u8>,
}

/// How the elements of two variables differ.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ValueDiff {
    /// Elements that both have.
    pub compared: u64,
    /// Those that differ.
    pub differing: u64,
    /// Of these, elements that are equal as numbers: zeros of two signs, and NaN of several kinds.
    pub equal_in_value: u64,
    /// The largest difference of two numbers; nothing for text, and where each difference has a NaN.
    pub largest: Option<Extreme>,
    /// The largest share.
    pub largest_relative: Option<Extreme>,
    /// For each dimension the first and the last index at which elements differ.
    pub bounds: Vec<(u64, u64)>,
    /// Values that became the fill value.
    pub became_missing: u64,
    /// Fill values that became values.
    pub became_present: u64,
    /// The first that differ: where, before, after.
    pub listed: Vec<(Vec<u64>, Vec<u8>, Vec<u8>)>,
}

/// Compares the elements that two variables of the same rank both have. With `shortly` it ends at the first that differs.
pub(super) fn compare(
    v: &Variable,
    w: &Variable,
    options: &DiffOptions,
    shortly: bool,
    monitor: &dyn Monitor,
) -> Result<ValueDiff> {
    let shape: Vec<u64> = v.shape().iter().zip(w.shape()).map(|(a, b)| *a.min(b)).collect();
    let mut found = ValueDiff::default();
    let known = Known::of(v, w, options);
    let judge = Judge { types: (v.ty(), w.ty()), fills: (fills(v), fills(w)), options };
    for block in Blocks::new(&shape, WINDOW) {
        if monitor.is_cancelled() {
            return Err(Error::interrupted());
        }
        let (start, slab) = block?;
        let elements: u64 = slab.count.iter().product();
        found.compared += elements;
        monitor.advance(elements * v.ty().size() as u64);
        if known.as_ref().is_some_and(|known| known.is_equal(&start, elements)) {
            continue;
        }
        let (a, b) = (v.read_bytes(&slab)?, w.read_bytes(&slab)?);
        if v.ty() == w.ty() && a == b {
            continue;
        }
        let (n, m) = (v.ty().size(), w.ty().size());
        for (i, (x, y)) in a.chunks_exact(n).zip(b.chunks_exact(m)).enumerate() {
            if (x != y || n != m || v.ty() != w.ty()) && judge.differ(x, y) {
                found.add(&judge, index_of(&start, &slab.count, i as u64), x, y);
                if shortly {
                    return Ok(found);
                }
            }
        }
    }
    Ok(found)
}

/// The index of element `i` of a box.
fn index_of(start: &[u64], count: &[u64], mut i: u64) -> Vec<u64> {
    let mut index = start.to_vec();
    for (at, &n) in index.iter_mut().zip(count).rev() {
        *at += i % n;
        i /= n;
    }
    index
}

/// The bits that stand for missing values: the attributes' and the type's own.
fn fills(v: &Variable) -> Vec<Vec<u8>> {
    let named = |name| v.attribute(name).filter(|a| a.ty == v.ty() && a.values.len() == v.ty().size());
    let mut all: Vec<Vec<u8>> =
        ["_FillValue", "missing_value"].into_iter().filter_map(|n| Some(named(n)?.values.clone())).collect();
    if all.is_empty() && v.ty().size() > 1 {
        all.push(v.ty().default_fill().to_vec());
    }
    all
}

/// Decides what counts.
struct Judge<'a> {
    types: (NcType, NcType),
    fills: (Vec<Vec<u8>>, Vec<Vec<u8>>),
    options: &'a DiffOptions,
}

/// An element as a number.
#[derive(Debug, Clone, Copy)]
enum Number {
    Whole(i128),
    Real(f64),
}

impl Number {
    #[expect(
        clippy::cast_precision_loss,
        reason = "differences are told as doubles; equality is decided before"
    )]
    fn real(self) -> f64 {
        match self {
            Number::Whole(n) => n as f64,
            Number::Real(x) => x,
        }
    }

    #[expect(clippy::float_cmp, reason = "equal is what is asked")]
    fn equals(self, other: Number) -> bool {
        match (self, other) {
            (Number::Whole(a), Number::Whole(b)) => a == b,
            (a, b) => {
                let (a, b) = (a.real(), b.real());
                a == b || (a.is_nan() && b.is_nan())
            }
        }
    }

    /// The magnitude of the difference; nothing where one is no number.
    #[expect(clippy::cast_precision_loss, reason = "differences are told as doubles")]
    fn distance(self, other: Number) -> Option<f64> {
        let distance = match (self, other) {
            (Number::Whole(a), Number::Whole(b)) => a.abs_diff(b) as f64,
            (a, b) => (a.real() - b.real()).abs(),
        };
        (!distance.is_nan()).then_some(distance)
    }
}

fn number(ty: NcType, bytes: &[u8]) -> Option<Number> {
    fn be<const N: usize>(bytes: &[u8]) -> [u8; N] {
        bytes.first_chunk().copied().unwrap_or([0; N])
    }
    Some(match ty {
        NcType::Char => return None,
        NcType::Byte => Number::Whole(i8::from_be_bytes(be(bytes)).into()),
        NcType::UByte => Number::Whole(u8::from_be_bytes(be(bytes)).into()),
        NcType::Short => Number::Whole(i16::from_be_bytes(be(bytes)).into()),
        NcType::UShort => Number::Whole(u16::from_be_bytes(be(bytes)).into()),
        NcType::Int => Number::Whole(i32::from_be_bytes(be(bytes)).into()),
        NcType::UInt => Number::Whole(u32::from_be_bytes(be(bytes)).into()),
        NcType::Int64 => Number::Whole(i64::from_be_bytes(be(bytes)).into()),
        NcType::UInt64 => Number::Whole(u64::from_be_bytes(be(bytes)).into()),
        NcType::Float => Number::Real(f32::from_be_bytes(be(bytes)).into()),
        NcType::Double => Number::Real(f64::from_be_bytes(be(bytes))),
    })
}

impl Judge<'_> {
    fn numbers(&self, x: &[u8], y: &[u8]) -> Option<(Number, Number)> {
        Some((number(self.types.0, x)?, number(self.types.1, y)?))
    }

    /// Whether two elements differ. They have the same type or their bits differ.
    fn differ(&self, x: &[u8], y: &[u8]) -> bool {
        let tolerant = self.options.abs.is_some() || self.options.rel.is_some();
        let Some((a, b)) = self.numbers(x, y) else { return x != y };
        if self.types.0 == self.types.1 && !tolerant {
            return x != y;
        }
        if a.equals(b) {
            return false;
        }
        let (is_near, is_alike) = match a.distance(b) {
            None => (false, false),
            Some(distance) => {
                let largest = a.real().abs().max(b.real().abs());
                let near = self.options.abs.is_some_and(|most| distance <= most);
                (near, self.options.rel.is_some_and(|most| distance <= most * largest))
            }
        };
        !(is_near || is_alike)
    }
}

impl ValueDiff {
    fn add(&mut self, judge: &Judge<'_>, index: Vec<u64>, x: &[u8], y: &[u8]) {
        self.differing += 1;
        if self.bounds.is_empty() {
            self.bounds = index.iter().map(|&i| (i, i)).collect();
        }
        for ((first, last), &i) in self.bounds.iter_mut().zip(&index) {
            (*first, *last) = ((*first).min(i), (*last).max(i));
        }
        let was_missing = judge.fills.0.iter().any(|fill| fill == x);
        let is_missing = judge.fills.1.iter().any(|fill| fill == y);
        self.became_missing += u64::from(!was_missing && is_missing);
        self.became_present += u64::from(was_missing && !is_missing);
        if let Some((a, b)) = judge.numbers(x, y) {
            if a.equals(b) {
                self.equal_in_value += 1;
            }
            // What came from a fill value or became one says nothing of magnitudes.
            if let Some(difference) = a.distance(b).filter(|_| !was_missing && !is_missing) {
                let extreme = |difference| Extreme {
                    difference,
                    index: index.clone(),
                    before: x.to_vec(),
                    after: y.to_vec(),
                };
                if self.largest.as_ref().is_none_or(|l| difference > l.difference) {
                    self.largest = Some(extreme(difference));
                }
                let share = difference / a.real().abs().max(b.real().abs());
                if !share.is_nan() && self.largest_relative.as_ref().is_none_or(|l| share > l.difference) {
                    self.largest_relative = Some(extreme(share));
                }
            }
        }
        if self.listed.len() < judge.options.listed {
            self.listed.push((index, x.to_vec(), y.to_vec()));
        }
    }
}

/// Two versions of one array in one archive: what has the same index entry is equal, and is not read.
struct Known<'a> {
    archives: (&'a Archive, &'a Archive),
    arrays: (ArrayId, ArrayId),
    /// Elements of a tile.
    len: u64,
    /// Lengths behind the first dimension.
    inner: Vec<u64>,
}

impl<'a> Known<'a> {
    fn of(v: &'a Variable, w: &'a Variable, options: &DiffOptions) -> Option<Self> {
        let archives = (v.source().as_archive()?, w.source().as_archive()?);
        // Flat positions are the same in both.
        let alike = v.ty() == w.ty() && v.shape().get(1..) == w.shape().get(1..);
        let owned = v.layout().owned && w.layout().owned;
        if !options.same_archive || !alike || !owned || v.shape().is_empty() {
            return None;
        }
        let infos = (archives.0.arrays().variable(v.id()), archives.1.arrays().variable(w.id()));
        let lens = (infos.0.tiling.layout(), infos.1.tiling.layout());
        let (TileLayout::Linear { len }, TileLayout::Linear { len: other }) = lens else { return None };
        let inner = v.shape()[1..].to_vec();
        (len == other).then_some(Known { archives, arrays: (infos.0.id, infos.1.id), len: *len, inner })
    }

    /// Whether `elements` from this index on are known to be equal: a run of the flattened array.
    fn is_equal(&self, start: &[u64], elements: u64) -> bool {
        let mut at = start[0];
        for (&i, &n) in start[1..].iter().zip(&self.inner) {
            let Some(next) = at.checked_mul(n).and_then(|at| at.checked_add(i)) else { return false };
            at = next;
        }
        let Some(last) = at.checked_add(elements - 1) else { return false };
        (at / self.len..=last / self.len).all(|tile| {
            let entry = |archive: &Archive, array| archive.entry(array, tile).ok();
            match (entry(self.archives.0, self.arrays.0), entry(self.archives.1, self.arrays.1)) {
                // The last tile of one may be shorter than that of the other: constants are then of another length, and blocks are others.
                (Some(a), Some(b)) => a == b && !matches!(a, IndexEntry::Absent | IndexEntry::Lost),
                _ => false,
            }
        })
    }
}
