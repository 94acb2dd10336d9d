//! Suggests known names that are similar to an unknown one, for spelling mistakes.

use std::borrow::Cow;

/// Names that are listed at most.
const LISTED: usize = 20;

/// Returns the known name that was probably meant: a name that differs only in upper and lower case, begins with `wanted`,
/// contains `wanted`, is contained in `wanted`, or differs by a few letters.
pub fn nearest<'n>(wanted: &str, known: &'n [Cow<'_, str>]) -> Option<&'n str> {
    let lower = wanted.to_lowercase();
    let letters = lower.chars().count();
    let most = (letters / 3).max(1);
    let distance = |name: &str| -> Option<(usize, usize)> {
        let name = name.to_lowercase();
        let edits = edits(&lower, &name);
        match () {
            () if edits == 0 => Some((0, 0)),
            () if letters > 2 && name.starts_with(&lower) => Some((1, name.len())),
            () if edits <= most && edits < letters => Some((2, edits)),
            () if letters > 2 && (name.contains(&lower) || (name.len() > 2 && lower.contains(&name))) => {
                Some((3, name.len().abs_diff(lower.len())))
            }
            () => None,
        }
    };
    let near = known.iter().filter(|name| ***name != *wanted);
    let near = near.filter_map(|name| Some((distance(name)?, name)));
    near.min_by_key(|(distance, _)| *distance).map(|(_, name)| &**name)
}

/// The text of an error after "no variable `x`": the name that was probably meant, and the existing names.
pub fn suggest<'n>(wanted: &str, known: impl IntoIterator<Item = Cow<'n, str>>) -> String {
    let known: Vec<Cow<'_, str>> = known.into_iter().collect();
    let meant = nearest(wanted, &known).map_or_else(String::new, |name| format!(" (did you mean `{name}`?)"));
    let more = known.len().saturating_sub(LISTED);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    let all = known.iter().take(LISTED).map(|name| &**name).collect::<Vec<_>>().join(", ");
    let all = if all.is_empty() { "none".to_owned() } else { all };
    format!("{meant}; there are {all}{rest}")
}

/// The number of letters to insert, delete, replace or swap to turn one text into the other.
fn edits(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(64).collect(), b.chars().take(64).collect());
    // Three rows of the table of distances between beginnings: two above, one above, this one.
    let mut rows = [vec![0; b.len() + 1], (0..=b.len()).collect::<Vec<usize>>(), vec![0; b.len() + 1]];
    for i in 1..=a.len() {
        rows[2][0] = i;
        for j in 1..=b.len() {
            let replaced = rows[1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(rows[1][j] + 1).min(rows[2][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[0][j - 2] + 1);
            }
            rows[2][j] = best;
        }
        rows.rotate_left(1);
    }
    rows[1][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted() {
        for (a, b, n) in
            [("", "", 0), ("abc", "", 3), ("abc", "abd", 1), ("abc", "acb", 1), ("kitten", "sitting", 3)]
        {
            assert_eq!((edits(a, b), edits(b, a)), (n, n), "{a} {b}");
        }
    }

    #[test]
    fn the_name_that_was_meant_comes_first() {
        let names = ["TIME", "SST", "AIRT", "tas_mean", "x"].map(Cow::Borrowed);
        for (wanted, meant) in [
            ("sst", Some("SST")),
            ("SSS", Some("SST")),
            ("tiem", Some("TIME")),
            ("tas", Some("tas_mean")),
            ("mean", Some("tas_mean")),
            ("pr", None),
            ("y", None),
            ("", None),
        ] {
            assert_eq!(nearest(wanted, &names), meant, "{wanted}");
        }
        assert_eq!(suggest("sst", names[..2].to_vec()), " (did you mean `SST`?); there are TIME, SST");
        assert_eq!(suggest("sst", []), "; there are none");
        let many: Vec<_> = (0..25).map(|n| Cow::Owned(format!("v{n:02}"))).collect();
        assert!(suggest("q", many).ends_with("v19 and 5 more"));
    }
}
