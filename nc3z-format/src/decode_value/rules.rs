//! Decides which stored values are missing.

use super::number::Number;
use crate::classic::{Attribute, Variable};
use crate::types::NcType;

/// Largest number of values of `missing_value` that are used.
const MOST: usize = 1024;

/// The conditions under which a value is missing.
#[derive(Debug, Clone)]
pub(super) struct Missing {
    /// Stored values that are declared missing.
    equal: Vec<Number>,
    /// Smallest and largest valid stored value.
    stored: (Option<Number>, Option<Number>),
    /// Smallest and largest valid unpacked value.
    unpacked: (Option<f64>, Option<f64>),
}

impl Missing {
    /// The conditions of a variable. `unpacked` is the type of its unpacked values, if it is packed.
    pub(super) fn new(v: &Variable, read_as: NcType, unpacked: Option<NcType>) -> Self {
        let mut found = Missing::declared(v, read_as);
        if v.ty == NcType::Char {
            return found;
        }
        found.add_others(v, read_as, unpacked);
        found
    }

    /// The conditions by `_FillValue` and `missing_value` alone.
    pub(super) fn declared(v: &Variable, read_as: NcType) -> Self {
        let mut found = Missing { equal: Vec::new(), stored: (None, None), unpacked: (None, None) };
        if v.ty == NcType::Char {
            return found;
        }
        let as_stored = |a: &Attribute| {
            let values = a.values.chunks_exact(a.ty.size()).take(MOST);
            let is_number = a.ty != NcType::Char;
            let values = values.filter(|_| is_number).filter_map(|item| stored(item, a.ty, v, read_as));
            values.collect::<Vec<Number>>()
        };
        for name in [&b"_FillValue"[..], b"missing_value"] {
            found.equal.extend(v.attribute(name).map(as_stored).unwrap_or_default());
        }
        found
    }

    /// Adds the default fill value and the limits of valid values.
    fn add_others(&mut self, v: &Variable, read_as: NcType, unpacked: Option<NcType>) {
        let range = v.attribute(b"valid_range").filter(|a| a.count() == 2 && a.ty != NcType::Char);
        let of = |name: &[u8]| v.attribute(name).filter(|a| a.count() == 1 && a.ty != NcType::Char);
        let ends = if let Some(a) = range {
            let (low, high) = a.values.split_at(a.ty.size());
            (Some((a.ty, low)), Some((a.ty, high)))
        } else {
            let end = |name| of(name).map(|a| (a.ty, &a.values[..]));
            (end(b"valid_min"), end(b"valid_max"))
        };
        // The User's Guide: of a wider type than packed data, and of the type of the factors, it is about unpacked values. So are
        // limits of any float type for packed integers.
        let is_wide = |ty: NcType| {
            let wide = |unpacked| is_real(ty) || ty == unpacked && ty.size() > v.ty.size();
            !is_real(v.ty) && unpacked.is_some_and(wide)
        };
        // Such limits of integers may include the default fill value.
        let has_limits = [ends.0, ends.1].into_iter().flatten().any(|(ty, _)| is_wide(ty) && !is_real(ty));
        if v.attribute(b"_FillValue").is_none() && v.ty.size() > 1 && !has_limits {
            self.equal.push(Number::for_type(read_as, v.ty.default_fill()));
        }
        let mut end = |end: Option<(NcType, &[u8])>, low: bool| {
            let Some((ty, item)) = end else { return };
            if is_wide(ty) {
                let x = Some(Number::for_type(ty, item).real());
                if low { self.unpacked.0 = x } else { self.unpacked.1 = x }
            } else {
                let x = Some(limit(item, ty, v, read_as));
                if low { self.stored.0 = x } else { self.stored.1 = x }
            }
        };
        end(ends.0, true);
        end(ends.1, false);
    }

    /// Returns true if a stored value is missing.
    pub(super) fn is(&self, stored: Number) -> bool {
        let below = self.stored.0.is_some_and(|low| is_less(stored, low));
        let above = self.stored.1.is_some_and(|high| is_less(high, stored));
        stored.is_nan() || below || above || self.equal.contains(&stored)
    }

    /// Returns true if NaN is one of the declared missing values.
    pub(super) fn names_nan(&self) -> bool {
        self.equal.iter().any(|n| n.is_nan())
    }

    /// Returns true if no other stored value is a declared missing value.
    pub(super) fn is_only(&self, stored: Number) -> bool {
        self.equal.iter().all(|n| *n == stored || (n.is_nan() && stored.is_nan()))
    }

    /// Returns true if an unpacked value is outside the valid range.
    pub(super) fn is_invalid(&self, unpacked: f64) -> bool {
        self.unpacked.0.is_some_and(|low| unpacked < low)
            || self.unpacked.1.is_some_and(|high| unpacked > high)
    }
}

fn is_less(a: Number, b: Number) -> bool {
    match (a, b) {
        (Number::Whole(a), Number::Whole(b)) => a < b,
        (a, b) => a.real() < b.real(),
    }
}

/// A value of an attribute as one of the variable's type. `None` if that type cannot represent it.
fn stored(item: &[u8], ty: NcType, v: &Variable, read_as: NcType) -> Option<Number> {
    // A double that is too large for a float is not the float's infinity.
    if is_real(read_as) && !Number::for_type(ty, item).fits(read_as) {
        return None;
    }
    match limit(item, ty, v, read_as) {
        Number::Real(x) if !is_real(read_as) =>
        {
            #[expect(clippy::cast_possible_truncation, reason = "whole numbers below 2^65")]
            (x.fract() == 0.0 && x.abs() < 2e19).then_some(Number::Whole(x as i128))
        }
        number => Some(number),
    }
}

/// Returns a number of an attribute, as exact as the variable's type. If `_Unsigned` changes the sign of the variable, it
/// also changes whole numbers of the attribute that have the sign before that change.
fn limit(item: &[u8], ty: NcType, v: &Variable, read_as: NcType) -> Number {
    let number = Number::for_type(ty, item);
    match (read_as, number) {
        // An attribute of doubles means the floats that the values are.
        #[expect(clippy::cast_possible_truncation, reason = "rounding is what it is for")]
        (NcType::Float, _) => Number::Real(f64::from(number.real() as f32)),
        (NcType::Double, _) => Number::Real(number.real()),
        (_, Number::Whole(n)) if v.ty != read_as => {
            let all = 1_i128 << (8 * read_as.size());
            let half = all / 2;
            match n {
                n if read_as.is_unsigned() && (-half..0).contains(&n) => Number::Whole(n + all),
                n if !read_as.is_unsigned() && (half..all).contains(&n) => Number::Whole(n - all),
                n => Number::Whole(n),
            }
        }
        _ => number,
    }
}

fn is_real(ty: NcType) -> bool {
    matches!(ty, NcType::Float | NcType::Double)
}
