//! Constraint expressions: the requested variables, and the part of each.

use super::names::name_of;
use crate::failure::{Answer, Failure};
use nc3z_format::NcType;
use nc3z_look::part::Projection;
use nc3z_reader::{Dataset, Variable};
use percent_encoding::percent_decode_str;

/// The number of dimensions that a client sees: for text, all but the last.
pub(crate) fn seen_rank(variable: &Variable) -> usize {
    let rank = variable.shape().len();
    if variable.ty() == NcType::Char { rank.saturating_sub(1) } else { rank }
}

/// Returns the projections of a query; those of all variables if it is empty.
pub(crate) fn projections(dataset: &Dataset, query: &str) -> Answer<Vec<Projection>> {
    let decoded: Vec<u8> = percent_decode_str(query).collect();
    let decoded = String::from_utf8(decoded)
        .map_err(|_| Failure::bad("the constraint expression is not valid UTF-8"))?;
    let expression = decoded.trim();
    if let Some((_, selection)) = expression.split_once('&') {
        return Err(Failure::bad(format!(
            "selections (`&{}`) are for sequences, which no classic file has; select by index: name[start:stride:stop]",
            selection.chars().take(40).collect::<String>()
        )));
    }
    if expression.is_empty() {
        let all = |variable: Variable| Projection { variable: variable.id(), slab: variable.all() };
        return Ok(dataset.variables().map(all).collect());
    }
    // Names in expressions may be percent-encoded a second time.
    let parts: Vec<&str> = expression.split(',').collect();
    if parts.len() > dataset.header().variables.len() {
        return Err(Failure::bad("the constraint expression names more variables than there are"));
    }
    let mut found = Vec::new();
    for part in parts {
        let projection = projection(dataset, part.trim())?;
        if found.iter().any(|other: &Projection| other.variable == projection.variable) {
            return Err(Failure::bad("the constraint expression names a variable twice"));
        }
        found.push(projection);
    }
    Ok(found)
}

fn projection(dataset: &Dataset, part: &str) -> Answer<Projection> {
    let (name, brackets) = match part.find('[') {
        Some(at) => part.split_at(at),
        None => (part, ""),
    };
    let shown: String = name.chars().take(80).collect();
    if name.contains(['(', ')']) {
        return Err(Failure::bad(format!("functions are not supported: `{shown}`")));
    }
    let header = dataset.header();
    let same = |(_, v): &(nc3z_format::classic::VarId, &nc3z_format::classic::Variable)| {
        v.name == name.as_bytes() || name_of(&v.name) == name
    };
    let found = header.variables().find(same);
    let (id, _) = found.ok_or_else(|| Failure::bad(format!("no variable `{shown}`")))?;
    let variable = dataset.variable_at(id).expect("the id is one of the header's");
    let mut slab = variable.all();
    let rank = seen_rank(&variable);
    let ranges = brackets_of(brackets).ok_or_else(|| {
        Failure::bad(format!("expected [index], [first:last] or [first:stride:last] after `{shown}`"))
    })?;
    if !ranges.is_empty() && ranges.len() != rank {
        return Err(Failure::bad(format!("`{shown}` has {rank} dimensions, but {} are given", ranges.len())));
    }
    for (dim, (first, stride, last)) in ranges.into_iter().enumerate() {
        let len = variable.shape()[dim];
        if last >= len || first > last || stride == 0 {
            return Err(Failure::bad(format!(
                "[{first}:{stride}:{last}] is outside dimension {dim} of `{shown}`, which has length {len}"
            )));
        }
        slab.start[dim] = first;
        slab.count[dim] = (last - first) / stride + 1;
        // A stride beyond the end selects only the first index.
        slab.stride[dim] = if slab.count[dim] == 1 { 1 } else { i64::try_from(stride).unwrap_or(i64::MAX) };
    }
    Ok(Projection { variable: id, slab })
}

/// Returns first index, stride and last index of each bracket.
fn brackets_of(mut text: &str) -> Option<Vec<(u64, u64, u64)>> {
    let mut ranges = Vec::new();
    while !text.is_empty() {
        let (inside, rest) = text.strip_prefix('[')?.split_once(']')?;
        let numbers: Option<Vec<u64>> = inside.split(':').map(|n| number(n.trim())).collect();
        ranges.push(match numbers?[..] {
            [index] => (index, 1, index),
            [first, last] => (first, 1, last),
            [first, stride, last] => (first, stride, last),
            _ => return None,
        });
        text = rest;
    }
    Some(ranges)
}

fn number(digits: &str) -> Option<u64> {
    let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use nc3z_format::Hyperslab;
    use nc3z_reader::OpenOptions;
    use proptest::prelude::*;

    fn coads() -> Dataset {
        Dataset::open("../../testdata/classic/record_padding.nc", &OpenOptions::default()).unwrap()
    }

    #[test]
    fn expressions_are_projections_of_hyperslabs() {
        let dataset = coads(); // short a(time=40, x=5)
        let one = |query: &str| {
            let found = projections(&dataset, query).unwrap();
            assert_eq!(found.len(), 1, "{query}");
            found[0].slab.clone()
        };
        assert_eq!(one("a"), Hyperslab::all(&[40, 5]));
        assert_eq!(one("a%5B3%5D%5B0:2:4%5D"), Hyperslab::new([3, 0], [1, 3], [1, 2]).unwrap());
        assert_eq!(one("a[1:2][4]"), Hyperslab::new([1, 4], [2, 1], [1, 1]).unwrap());
        assert_eq!(one("a[0:99999:39][0]"), Hyperslab::new([0, 0], [1, 1], [1, 1]).unwrap());
        for bad in [
            "b2",
            "a[0]",
            "a[0][0][0]",
            "a[40][0]",
            "a[2:1][0]",
            "a[0:0:1][0]",
            "a[-1][0]",
            "a[][0]",
            "a[0][0]x",
            "a,a",
            "a&a>1",
            "f(a)",
            "a[0:1:2:3][0]",
            "a[99999999999999999999][0]",
            ",",
            "a[0",
            "%ff",
        ] {
            assert_eq!(projections(&dataset, bad).unwrap_err().status, 400, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn no_expression_leaves_the_variable(query in "[ab\\[\\]0-9:,% &]{0,40}") {
            let dataset = coads();
            for projection in projections(&dataset, &query).unwrap_or_default() {
                let variable = dataset.variable_at(projection.variable).unwrap();
                prop_assert!(projection.slab.resolve(variable.shape()).is_ok());
            }
        }
    }
}
