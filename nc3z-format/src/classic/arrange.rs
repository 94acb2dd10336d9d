//! The canonical arrangement of a new file: computes the place of every part from a header.
//!
//! Fixed variables come in order of id, then the records. Every variable begins on a multiple of 4, with no
//! other bytes between.

use super::encode::encode;
use super::header::{DimId, Header, NumRecs, Variable, Version, round_up_4};
use super::layout::Layout;
use crate::error::{Error, Result};

/// Largest length of a dimension and largest size of a variable in CDF-1 and CDF-2, beyond which only the last may go.
const MAX_CDF1: u64 = i32::MAX as u64 - 3;
const MAX_CDF2: u64 = u32::MAX as u64 - 3;

/// A new file: its header, with all fields set, and the places of its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrangement {
    /// The header, `begin`, `vsize` and record count set.
    pub header: Header,
    /// The header's bytes.
    pub header_bytes: Vec<u8>,
    /// The layout. The file ends with its last value.
    pub layout: Layout,
}

/// Arranges a new file of `numrecs` records. `vsize` and `begin` of the given header are ignored.
///
/// # Errors
/// *InvalidArgument*: a header that does not fit its version (the message names the dimension or variable,
/// and the reason), an unknown dimension, a record dimension that is not the first of its variable, more than
/// one record dimension.
pub fn arrange(mut header: Header, numrecs: u64) -> Result<Arrangement> {
    check_dimensions(&header)?;
    header.numrecs = NumRecs::Count(numrecs);
    if header.version != Version::Cdf5 && numrecs > i32::MAX as u64 {
        return Err(Error::invalid(format!("{numrecs} records are too many for {}", header.version)));
    }
    check_sizes(&header)?;
    for n in 0..header.variables.len() {
        (header.variables[n].vsize, header.variables[n].begin) =
            (header.canonical_vsize(&header.variables[n]), 0);
    }
    // The length of a header does not depend on the offsets in it.
    let header_len = encode(&header)?.len() as u64;
    let end = set_begins(&mut header, header_len)?;
    let header_bytes = encode(&header)?;
    let records = Layout::new(&header, header_len, u64::MAX)?;
    let record_bytes = records.record_len.checked_mul(numrecs).and_then(|n| n.checked_add(end));
    let file_len = record_bytes
        .filter(|&n| i64::try_from(n).is_ok())
        .ok_or_else(|| Error::invalid("the file would have 2^63 bytes or more"))?;
    let layout = Layout::new(&header, header_len, file_len)?;
    Ok(Arrangement { header, header_bytes, layout })
}

/// Checks dimensions: at most one record dimension, and in first place; no unknown dimension; none too long.
fn check_dimensions(header: &Header) -> Result<()> {
    let records: Vec<_> = header.dimensions.iter().filter(|d| d.is_record()).collect();
    if let [first, second, ..] = records[..] {
        let (a, b) = (first.name_lossy(), second.name_lossy());
        return Err(Error::invalid(format!(
            "a classic file has one record dimension, not both `{a}` and `{b}`"
        )));
    }
    for variable in &header.variables {
        for (n, &DimId(id)) in variable.dimensions.iter().enumerate() {
            let name = variable.name_lossy();
            let dimension = header.dimensions.get(id as usize).ok_or_else(|| {
                Error::invalid(format!("variable `{name}` names dimension {id}, which does not exist"))
            })?;
            if n > 0 && dimension.is_record() {
                let record = dimension.name_lossy();
                return Err(Error::invalid(format!(
                    "variable `{name}` has the record dimension `{record}` in place {n}; it can only be the first"
                )));
            }
        }
    }
    let longest = match header.version {
        Version::Cdf1 => MAX_CDF1,
        Version::Cdf2 => MAX_CDF2,
        Version::Cdf5 => i64::MAX as u64 - 3,
    };
    match header.dimensions.iter().find(|d| d.len > longest) {
        None => Ok(()),
        Some(d) => {
            let (name, version) = (d.name_lossy(), header.version);
            Err(Error::invalid(format!("dimension `{name}` of length {} is too long for {version}", d.len)))
        }
    }
}

/// Checks sizes. Before CDF-5 only the last variable of the file, or of a record, may be larger than a 32-bit
/// `vsize`.
fn check_sizes(header: &Header) -> Result<()> {
    let largest = match header.version {
        Version::Cdf1 => MAX_CDF1,
        Version::Cdf2 => MAX_CDF2,
        Version::Cdf5 => return Ok(()),
    };
    let (records, fixed): (Vec<_>, Vec<_>) = header.variables.iter().partition(|v| header.is_record(v));
    let too_large = |v: &&&Variable| header.slot_len(v, 0) > largest.into();
    let may_not = |group: &[&Variable], last_may: bool| {
        let checked = group.len() - usize::from(last_may && !group.is_empty());
        group[..checked].iter().find(too_large).map(|v| v.name_lossy().into_owned())
    };
    match may_not(&fixed, records.is_empty()).or_else(|| may_not(&records, true)) {
        None => Ok(()),
        Some(name) => Err(Error::invalid(format!(
            "variable `{name}` is larger than {} allows of any but the last",
            header.version
        ))),
    }
}

/// Sets the offsets of the variables, one after another. Returns the beginning of the records.
fn set_begins(header: &mut Header, header_len: u64) -> Result<u64> {
    let is_record: Vec<bool> = header.variables.iter().map(|v| header.is_record(v)).collect();
    let sizes: Vec<u128> = header.variables.iter().map(|v| round_up_4(header.slot_len(v, 0))).collect();
    let mut at = u128::from(header_len);
    let mut records = at;
    let limit = if header.version == Version::Cdf1 { i32::MAX as u128 } else { i64::MAX as u128 };
    for wanted in [false, true] {
        if wanted {
            records = at;
        }
        for n in (0..sizes.len()).filter(|&n| is_record[n] == wanted) {
            let variable = &mut header.variables[n];
            variable.begin = u64::try_from(at).ok().filter(|_| at <= limit).ok_or_else(|| {
                let (name, version) = (variable.name_lossy(), header.version);
                Error::invalid(format!(
                    "variable `{name}` would begin at byte {at}, too far out for {version}"
                ))
            })?;
            at = at.saturating_add(sizes[n]);
        }
    }
    u64::try_from(records).map_err(|_| Error::invalid("the fixed variables have 2^64 bytes or more"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classic::{Dimension, parse};
    use crate::{Limits, NcType};

    fn header(version: Version, lens: &[u64], variables: &[(NcType, &[u32])]) -> Header {
        let name = |n: usize| format!("n{n}").into_bytes();
        let variable = |(n, (ty, dims)): (usize, &(NcType, &[u32]))| Variable {
            name: name(n),
            dimensions: dims.iter().copied().map(DimId).collect(),
            attributes: vec![],
            ty: *ty,
            vsize: 77,
            begin: 77,
        };
        Header {
            version,
            numrecs: NumRecs::Streaming,
            dimensions: lens.iter().enumerate().map(|(n, &len)| Dimension { name: name(n), len }).collect(),
            attributes: vec![],
            variables: variables.iter().enumerate().map(variable).collect(),
        }
    }

    #[test]
    fn fixed_variables_come_first_and_nothing_is_odd() {
        for version in [Version::Cdf1, Version::Cdf2, Version::Cdf5] {
            let kinds: &[(NcType, &[u32])] = &[
                (NcType::Short, &[0, 1]),
                (NcType::Byte, &[1]),
                (NcType::Double, &[]),
                (NcType::Byte, &[0]),
            ];
            let new = arrange(header(version, &[0, 3], kinds), 5).unwrap();
            let begins: Vec<u64> = new.header.variables.iter().map(|v| v.begin).collect();
            let base = new.header_bytes.len() as u64;
            assert_eq!(begins, [base + 12, base, base + 4, base + 20]);
            assert_eq!(new.layout.file_len, base + 12 + 5 * 12);
            assert_eq!(new.layout.warnings, []);
            let read = parse(&new.header_bytes, new.layout.file_len, &Limits::default()).unwrap();
            assert_eq!((read.header, read.header_len), (new.header, base));
        }
    }

    #[test]
    fn lone_record_variable_has_no_padding() {
        let new = arrange(header(Version::Cdf1, &[0], &[(NcType::Byte, &[0])]), 5).unwrap();
        assert_eq!(new.layout.file_len, new.header_bytes.len() as u64 + 5);
        assert_eq!(new.layout.warnings, []);
    }

    #[test]
    fn what_does_not_fit_is_refused_by_name() {
        let message = |h, n| arrange(h, n).unwrap_err().to_string();
        let big = 3 << 30;
        let two = [(NcType::Byte, &[0][..]), (NcType::Byte, &[0][..])];
        assert!(
            message(header(Version::Cdf1, &[big], &[]), 0).contains("dimension `n0` of length 3221225472")
        );
        assert!(arrange(header(Version::Cdf2, &[big], &two), 0).is_ok());
        assert!(
            message(header(Version::Cdf1, &[1 << 30], &[two[0], two[1], two[1]]), 0)
                .contains("`n2` would begin")
        );
        let wide = [(NcType::Int, &[0][..]), (NcType::Byte, &[][..])];
        assert!(message(header(Version::Cdf2, &[big], &wide), 0).contains("`n0` is larger"));
        assert!(arrange(header(Version::Cdf2, &[big], &wide[..1]), 0).is_ok());
        assert!(arrange(header(Version::Cdf5, &[big], &wide), 0).is_ok());
        let inner = [(NcType::Byte, &[1, 0][..])];
        assert!(message(header(Version::Cdf5, &[0, 2], &inner), 1).contains("can only be the first"));
        assert!(message(header(Version::Cdf5, &[0, 0], &[]), 1).contains("not both `n0` and `n1`"));
        assert!(
            message(header(Version::Cdf5, &[0, u64::MAX >> 2], &[(NcType::Int, &[0, 1])]), 4).contains("2^6")
        );
        let unsigned = [(NcType::UInt, &[0][..])];
        assert!(message(header(Version::Cdf2, &[1], &unsigned), 0).contains("type uint"));
        assert!(message(header(Version::Cdf2, &[0], &[]), 1 << 31).contains("too many"));
    }
}
