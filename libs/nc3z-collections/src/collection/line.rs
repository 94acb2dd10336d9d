//! The coordinates of files along one dimension.

use super::schema::Member;
use super::{Form, Head};
use nc3z_format::NcType;
use nc3z_format::decode_value::Number;
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::sync::Arc;

/// Medians of the distances of coordinates that differ by more belong to different series, such as daily and monthly means.
const SPACING: f64 = 1.5;

/// The coordinates of files along one dimension. Files with equal ones have one vector.
pub(super) struct Line {
    /// True if all files have coordinates.
    pub(super) has_values: bool,
    /// False if their order is not known, as of months since a date.
    is_comparable: bool,
    vectors: Vec<Vector>,
    /// For each file the number of its vector.
    pub(super) numbers: Vec<usize>,
    /// True if files are joined in the order given.
    in_order: bool,
}

/// The key that decides where coordinates are placed.
#[derive(Clone, Copy)]
struct Vector {
    len: usize,
    first: Number,
    last: Number,
    /// `Some(true)` where they ascend, `Some(false)` where they descend, `None` for one and for those that do neither.
    rising: Option<bool>,
    /// The median of their distances.
    median: f64,
    is_text: bool,
}

/// Coordinates that are equal have one key.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    /// The address of shared values.
    Stored(usize),
    Converted(NcType, Vec<u8>),
    /// Not comparable with others.
    Apart(Vec<u8>, usize),
    Length(u64),
}

pub(super) fn compare(a: Number, b: Number) -> Option<Ordering> {
    match (a, b) {
        (Number::Whole(a), Number::Whole(b)) => Some(a.cmp(&b)),
        (a, b) => a.real().partial_cmp(&b.real()),
    }
}

impl Vector {
    fn new(values: &[Number], is_text: bool) -> Self {
        let all = |order| values.windows(2).all(|pair| compare(pair[0], pair[1]) == Some(order));
        let rising = match values.len() {
            0 | 1 => None,
            _ if all(Ordering::Less) => Some(true),
            _ if all(Ordering::Greater) => Some(false),
            _ => None,
        };
        let mut steps: Vec<f64> = values.windows(2).map(|pair| pair[1].real() - pair[0].real()).collect();
        steps.sort_unstable_by(f64::total_cmp);
        let (low, high) = (steps.len().saturating_sub(1) / 2, steps.len() / 2);
        let median = steps.get(low).zip(steps.get(high)).map_or(0.0, |(a, b)| f64::midpoint(*a, *b));
        let end = |x: Option<&Number>| x.copied().unwrap_or(Number::Real(f64::NAN));
        Vector {
            len: values.len(),
            first: end(values.first()),
            last: end(values.last()),
            rising,
            median: median.abs(),
            is_text,
        }
    }
}

/// Numbers things by their first occurrence.
pub(super) fn numbered<T: Hash + Eq>(things: impl IntoIterator<Item = T>) -> Vec<usize> {
    let mut known = HashMap::new();
    things
        .into_iter()
        .map(|thing| {
            let next = known.len();
            *known.entry(thing).or_insert(next)
        })
        .collect()
}

/// Returns the coordinates of a file as numbers by which files are ordered.
///
/// # Errors
/// Times whose units have no fixed length, and missing ones.
pub(super) fn places(head: &Head, stored: &[u8]) -> Result<(NcType, Vec<u8>), String> {
    if head.is_text() {
        return Ok((NcType::Char, stored.to_vec()));
    }
    let form = Form::comparable(head)?;
    let values = form.conform(head, stored.to_vec())?;
    if form.time.is_some() && values.as_chunks::<8>().0.contains(&i64::MIN.to_be_bytes()) {
        return Err(format!("{}: a time is missing", head.name()));
    }
    Ok((form.ty, values))
}

impl Line {
    pub(super) fn new(files: &[Arc<Member>], dimension: &str) -> Self {
        let coordinates: Vec<Option<(&Head, &Arc<[u8]>)>> =
            files.iter().map(|file| file.coordinate(dimension)).collect();
        let has_values = coordinates.iter().all(Option::is_some);
        let mut line = Line {
            has_values,
            is_comparable: has_values,
            vectors: Vec::new(),
            numbers: Vec::new(),
            in_order: false,
        };
        // Files with equal headers share them: a million files may have one.
        let heads: HashMap<*const Head, &Head> =
            coordinates.iter().flatten().map(|(h, _)| (&raw const **h, *h)).collect();
        let is_mixed = heads.values().map(|head| head.storage()).collect::<HashSet<_>>().len() > 1;
        let mut known: HashMap<Key, usize> = HashMap::new();
        let mut converted: HashMap<(*const Head, usize), usize> = HashMap::new();
        for (file, found) in files.iter().zip(&coordinates) {
            let Some((head, values)) = found.filter(|_| has_values) else {
                let size = file.size(dimension).unwrap_or(1);
                let number = line.number(&mut known, Key::Length(size), || Vector::new(&[], false));
                line.numbers.push(number);
                continue;
            };
            let address = values.as_ptr().addr();
            let number = if is_mixed {
                let from = (&raw const *head, address);
                if let Some(number) = converted.get(&from) {
                    *number
                } else {
                    let number = line.converted(&mut known, head, values);
                    converted.insert(from, number);
                    number
                }
            } else {
                line.number(&mut known, Key::Stored(address), || stored(head, values))
            };
            line.numbers.push(number);
        }
        line
    }

    /// The number of coordinates that files store in different ways.
    fn converted(&mut self, known: &mut HashMap<Key, usize>, head: &Head, values: &Arc<[u8]>) -> usize {
        let Ok((ty, values)) = places(head, values) else {
            self.is_comparable = false;
            let key = Key::Apart(head.storage().to_vec(), values.as_ptr().addr());
            return self.number(known, key, || Vector::new(&[], false));
        };
        let numbers: Vec<Number> =
            values.chunks_exact(ty.size()).map(|item| Number::for_type(ty, item)).collect();
        let vector = Vector::new(&numbers, ty == NcType::Char);
        self.number(known, Key::Converted(ty, values), || vector)
    }

    fn number(
        &mut self,
        known: &mut HashMap<Key, usize>,
        key: Key,
        vector: impl FnOnce() -> Vector,
    ) -> usize {
        let next = self.vectors.len();
        let number = *known.entry(key).or_insert(next);
        if number == next {
            self.vectors.push(vector());
        }
        number
    }

    /// Joins files in the order given, whatever their lengths.
    pub(super) fn join_in_order(&mut self) {
        self.in_order = true;
        self.numbers = (0..self.numbers.len()).collect();
    }

    /// The number of different vectors.
    pub(super) fn distinct(&self) -> usize {
        if self.in_order { self.numbers.len() } else { self.vectors.len() }
    }

    /// Returns the place of each vector if they follow one another without overlap, otherwise `None`.
    pub(super) fn order(&self) -> Option<Vec<usize>> {
        if self.in_order {
            return Some(self.numbers.clone());
        }
        if !self.is_comparable || self.vectors.iter().any(|v| v.is_text || v.len == 0) {
            return None;
        }
        let mut direction = None;
        for v in self.vectors.iter().filter(|v| v.len > 1) {
            if direction.is_some_and(|known| Some(known) != v.rising) {
                return None;
            }
            direction = Some(v.rising?);
        }
        let forward = if direction == Some(false) { Ordering::Greater } else { Ordering::Less };
        let mut order: Vec<usize> = (0..self.vectors.len()).collect();
        order.sort_by(|a, b| {
            let found = compare(self.vectors[*a].first, self.vectors[*b].first).unwrap_or(Ordering::Equal);
            if forward == Ordering::Less { found } else { found.reverse() }
        });
        let follows = |pair: &[usize]| {
            compare(self.vectors[pair[0]].last, self.vectors[pair[1]].first) == Some(forward)
        };
        if !order.windows(2).all(follows) {
            return None;
        }
        let mut places = vec![0; order.len()];
        for (place, number) in order.into_iter().enumerate() {
            places[number] = place;
        }
        Some(places)
    }

    /// Returns a number for each file; files of one number have similar distances between coordinates.
    pub(super) fn spacings(&self) -> Vec<usize> {
        let median = |v: &Vector| if self.is_comparable && v.len > 1 && !v.is_text { v.median } else { -1.0 };
        let mut sorted: Vec<f64> = self.vectors.iter().map(median).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        sorted.dedup();
        let (mut rank, mut last) = (0, -1.0_f64);
        let ranks: HashMap<u64, usize> = sorted
            .into_iter()
            .map(|median| {
                rank += usize::from(median > SPACING * last.max(0.0));
                last = median;
                (median.to_bits(), rank)
            })
            .collect();
        self.numbers.iter().map(|n| ranks[&median(&self.vectors[*n]).to_bits()]).collect()
    }
}

/// The vector of stored values, which all files store in the same way.
fn stored(head: &Head, values: &[u8]) -> Vector {
    let items = values.chunks_exact(head.variable().ty.size());
    Vector::new(&items.map(|item| head.decoding().stored(item)).collect::<Vec<_>>(), head.is_text())
}
