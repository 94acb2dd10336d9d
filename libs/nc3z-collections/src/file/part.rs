//! `part`: for each dimension of a sub-array a range `(start, stop, step)` or a list `[i, j, …]`, in one text.

use crate::master::Indices;

/// The maximal number of indices in all lists.
const MAX_INDICES: usize = 10_000_000;

pub(super) fn parse(text: &str) -> Result<Vec<Indices>, String> {
    let wrong = || format!("the part `{}` is not understood", text.chars().take(80).collect::<String>());
    let inner = text.trim().strip_prefix('[').and_then(|t| t.strip_suffix(']')).ok_or_else(wrong)?;
    let mut rest = inner.trim();
    let mut out = Vec::new();
    while !rest.is_empty() {
        let (is_range, close) = match rest.as_bytes()[0] {
            b'(' => (true, ')'),
            b'[' => (false, ']'),
            _ => return Err(wrong()),
        };
        let end = rest.find(close).ok_or_else(wrong)?;
        let numbers = rest[1..end].split(',').map(str::trim).filter(|n| !n.is_empty());
        let numbers: Vec<i64> = numbers.map(str::parse).collect::<Result<_, _>>().map_err(|_| wrong())?;
        out.push(
            if is_range { range(&numbers) } else { list(&numbers) }
                .map_err(|what| format!("{}: {what}", wrong()))?,
        );
        rest = rest[end + 1..].trim_start();
        if let Some(after) = rest.strip_prefix(',') {
            rest = after.trim_start();
        } else if !rest.is_empty() {
            return Err(wrong());
        }
    }
    Ok(out)
}

/// Makes a half-open range. If it runs backwards, its stop may be -1: the index before the first, not counted
/// from the end.
pub(super) fn range(numbers: &[i64]) -> Result<Indices, String> {
    let (start, stop, step) = match *numbers {
        [start, stop, step] => (start, stop, step),
        [start, stop] => (start, stop, 1),
        _ => return Err("a range has a start, a stop and a step".into()),
    };
    let first = u64::try_from(start).map_err(|_| "a range starts below 0")?;
    if step == 0 || stop < -1 || (step > 0 && stop < start) || (step < 0 && stop > start) {
        return Err(format!("({start}, {stop}, {step}) is not a valid range"));
    }
    let count = stop.abs_diff(start).div_ceil(step.unsigned_abs());
    if count == 0 {
        return Err("a range is empty".into());
    }
    Ok(Indices::Range { start: first, count, step })
}

/// Makes a list of indices.
pub(super) fn list(numbers: &[i64]) -> Result<Indices, String> {
    if numbers.is_empty() {
        return Err("a list is empty".into());
    }
    if numbers.len() > MAX_INDICES {
        return Err("a list is too long".into());
    }
    let list: Result<Vec<u64>, _> = numbers.iter().map(|n| u64::try_from(*n)).collect();
    list.map(Indices::List).map_err(|_| "an index is below 0".into())
}

/// Formats a part as text.
pub(crate) fn write(part: &[Indices]) -> String {
    let each = part.iter().map(|indices| match indices {
        Indices::Range { start, count, step } => {
            let last = i128::from(*start) + i128::from(*step) * i128::from(count.saturating_sub(1));
            format!("({start}, {}, {step})", last + i128::from(step.signum()))
        }
        Indices::List(list) => {
            format!("[{}]", list.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
        }
    });
    format!("[{}]", each.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_lists() {
        let range = |start, count, step| Indices::Range { start, count, step };
        let found = parse("[(2, 6, 1), [1,3,4,7], (0, 12, 2)]").unwrap();
        assert_eq!(found, [range(2, 4, 1), Indices::List(vec![1, 3, 4, 7]), range(0, 6, 2)]);
        assert_eq!(parse("[(4, 1, -2)]").unwrap(), [range(4, 2, -2)]);
        assert_eq!(parse("[(4, -1, -2), [7,0],]").unwrap(), [range(4, 3, -2), Indices::List(vec![7, 0])]);
        assert_eq!(parse("[]").unwrap(), []);
        for text in ["[(0, 2, 1), [1, 3], (4, -1, -2)]", "[]", "[(5, 6, 1)]"] {
            assert_eq!(write(&parse(text).unwrap()).replace(' ', ""), text.replace(' ', ""));
        }
        for wrong in [
            "",
            "(0,1,1)",
            "[(0,1,0)]",
            "[(1,0,1)]",
            "[(-1,2,1)]",
            "[[]]",
            "[[-1]]",
            "[(0,2,1)",
            "[0]",
            "[(0,1,1) (0,1,1)]",
            "[(0,-3,-1)]",
            "[(1,1,1)]",
            "[(a,b)]",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
