//! Puts groups with different variables and equal coordinates together, and names the results.

use super::group::directory;
use super::schema::data_variables;
use super::{Group, Head};
use nc3z_format::NcType;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The coordinates of a whole group along a dimension: their type and digest. `None` if they cannot be compared.
type Whole = Option<(Option<NcType>, [u8; 32])>;

/// A group with what its comparison with others needs.
struct Compared<'g> {
    group: &'g Group,
    /// The number of its set of variables.
    key: usize,
    dimensions: BTreeSet<&'g str>,
    wholes: BTreeMap<&'g str, Whole>,
    data: BTreeSet<&'g str>,
}

impl<'g> Compared<'g> {
    fn new(group: &'g Group, key: usize) -> Self {
        let dimensions = group.dimensions();
        let whole = |d: &&'g str| {
            let found: Whole = group.whole(d).map(|(ty, values)| (ty, Sha256::digest(&values).into()));
            (*d, found)
        };
        let wholes = dimensions.iter().map(whole).collect();
        Compared { group, key, wholes, dimensions, data: group.data().into_iter().collect() }
    }

    /// The coordinates of which groups that become one dataset have one in common: its times, if it has some.
    fn coordinates(&self) -> Vec<(&'g str, Whole)> {
        let own = || self.wholes.iter().filter(|(d, whole)| self.group.head(d).is_some() && whole.is_some());
        let times = self.group.schema().times();
        let of_times: Vec<_> =
            own().filter(|(d, _)| times.contains(**d)).map(|(d, whole)| (*d, *whole)).collect();
        if of_times.is_empty() { own().map(|(d, whole)| (*d, *whole)).collect() } else { of_times }
    }

    /// Returns true if two groups with different data can be one dataset: all shared dimensions have equal coordinates.
    fn fits(&self, other: &Compared<'_>) -> bool {
        let (a, b) = (self.group, other.group);
        if self.data.iter().any(|name| b.head(name).is_some())
            || other.data.iter().any(|name| a.head(name).is_some())
        {
            return false;
        }
        let differs =
            |head: &Head| b.head(head.name()).is_some_and(|theirs| theirs.meaning() != head.meaning());
        if a.heads().iter().any(differs) || a.schema().times() != b.schema().times() {
            return false;
        }
        // One has all dimensions of the other: files that share no more than the time are not parts of one dataset.
        let shared: BTreeSet<&str> = self.dimensions.intersection(&other.dimensions).copied().collect();
        let is_known = |d: &&str| a.head(d).is_some() && b.head(d).is_some();
        let equal = |d: &&str| {
            self.wholes.get(*d).is_some_and(|whole| whole.is_some() && other.wholes.get(*d) == Some(whole))
        };
        (shared.len() == self.dimensions.len() || shared.len() == other.dimensions.len())
            && shared.iter().any(is_known)
            && shared.iter().all(equal)
    }
}

/// Puts groups together that have different variables and equal coordinates.
pub fn merged(groups: Vec<Group>) -> Vec<Vec<Group>> {
    let keys = super::line::numbered(groups.iter().map(|group| &group.schema().key));
    if keys.iter().all(|key| *key == 0) {
        return groups.into_iter().map(|group| vec![group]).collect();
    }
    let compared: Vec<Compared<'_>> =
        groups.iter().zip(keys).map(|(group, key)| Compared::new(group, key)).collect();
    // The order of names decides which groups are merged, not the order in which files were found.
    let mut order: Vec<usize> = (0..groups.len()).collect();
    order.sort_by(|a, b| groups[*a].files[0].name.cmp(&groups[*b].files[0].name));
    let mut merged: Vec<Vec<usize>> = Vec::new();
    // For each coordinate, the merged groups that have it: sets of variables, and the positions in `merged` of the groups with these
    // variables. Groups with equal variables cannot be merged; many of them are files without a known position.
    let mut known: HashMap<(&str, Whole), BTreeMap<BTreeSet<usize>, Vec<usize>>> = HashMap::new();
    for n in order {
        let own = &compared[n];
        let mut coordinates: BTreeSet<(&str, Whole)> = own.coordinates().into_iter().collect();
        let lists = coordinates.iter().filter_map(|c| known.get(c)).flatten();
        let candidates: BTreeSet<usize> = lists
            .filter(|(keys, _)| !keys.contains(&own.key))
            .flat_map(|(_, places)| places)
            .copied()
            .collect();
        let fits = |place: &usize| merged[*place].iter().all(|other| compared[*other].fits(own));
        let mut before = BTreeSet::new();
        let place = candidates.into_iter().find(fits).unwrap_or(merged.len());
        if place == merged.len() {
            merged.push(vec![n]);
        } else {
            before = merged[place].iter().map(|other| compared[*other].key).collect();
            let theirs: BTreeSet<_> =
                merged[place].iter().flat_map(|other| compared[*other].coordinates()).collect();
            for c in &theirs {
                if let Some(places) = known.get_mut(c).and_then(|lists| lists.get_mut(&before)) {
                    places.retain(|other| *other != place);
                }
            }
            coordinates.extend(theirs);
            merged[place].push(n);
        }
        before.insert(own.key);
        for c in coordinates {
            known.entry(c).or_default().entry(before.clone()).or_default().push(place);
        }
    }
    merged.sort_by_key(|together| together.iter().min().copied());
    merged.iter().map(|together| together.iter().map(|n| groups[*n].clone()).collect()).collect()
}

/// Names datasets: by the directory that their files share, then by their variables, then by numbers.
pub fn names(merged: &[Vec<Group>]) -> Vec<String> {
    let folders: Vec<String> = merged.iter().map(folder).collect();
    let everything = folder(merged.iter().flatten());
    let inside = |folder: String| match folder.strip_prefix(&everything) {
        Some(rest) => rest.trim_start_matches('/').to_owned(),
        None => folder,
    };
    let folders: Vec<String> = folders.into_iter().map(inside).collect();
    let mut number: BTreeMap<&str, usize> = BTreeMap::new();
    folders.iter().for_each(|folder| *number.entry(folder).or_default() += 1);
    let inner: BTreeSet<&str> = number.keys().flat_map(|folder| above(folder)).collect();
    let mut counts: HashMap<String, usize> = HashMap::new();
    let name = |(groups, folder): (&Vec<Group>, &String)| {
        let folder = folder.as_str();
        // No name is the beginning of another one, so that the names can be paths of a tree.
        let alone = !folder.is_empty()
            && number.get(folder) == Some(&1)
            && !inner.contains(folder)
            && !above(folder).any(|above| number.contains_key(above));
        let name = match (alone, folder) {
            (true, _) => folder.to_owned(),
            (false, "") => variables(groups),
            (false, _) => format!("{folder}/{}", variables(groups)),
        };
        let count = counts.entry(name.clone()).or_default();
        *count += 1;
        if *count > 1 { format!("{name}_{count}") } else { name }
    };
    merged.iter().zip(&folders).map(name).collect()
}

/// The directories that a directory is in.
fn above(folder: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(folder.rsplit_once('/'), |(above, _)| above.rsplit_once('/'))
        .map(|(above, _)| above)
}

/// The directory that files share.
fn folder<'g>(groups: impl IntoIterator<Item = &'g Group>) -> String {
    let mut shared: Option<Vec<&str>> = None;
    for file in groups.into_iter().flat_map(|group| &group.files) {
        let own = directory(&file.name).split('/');
        match &mut shared {
            None => shared = Some(own.collect()),
            Some(shared) => {
                let same = shared.iter().zip(own).take_while(|(a, b)| *a == b).count();
                shared.truncate(same);
            }
        }
    }
    shared.unwrap_or_default().join("/")
}

/// The variables of a dataset, for its name.
fn variables(groups: &[Group]) -> String {
    let mut heads: BTreeMap<&str, &Head> = BTreeMap::new();
    for head in groups.iter().flat_map(Group::heads) {
        heads.insert(head.name(), head);
    }
    let all: Vec<&Head> = heads.into_values().collect();
    let mut found = data_variables(&all);
    if found.is_empty() {
        found = all.iter().map(|head| head.name()).collect();
    }
    let mut found: Vec<String> = found.into_iter().map(|name| name.replace('/', "_")).collect();
    found.sort();
    let more = found.len().saturating_sub(3);
    let first = found.into_iter().take(3).collect::<Vec<_>>().join("+");
    match (first.is_empty(), more) {
        (true, _) => "empty".to_owned(),
        (false, 0) => first,
        (false, more) => format!("{first}+{more}"),
    }
}

/// Says why two groups are not one.
pub fn difference(a: &Group, b: &Group) -> String {
    let (first, second) = (&a.files[0].name, &b.files[0].name);
    for head in a.heads() {
        let Some(other) = b.head(head.name()).filter(|other| other.meaning() != head.meaning()) else {
            continue;
        };
        let name = head.name();
        if head.dimensions() != other.dimensions() {
            return format!(
                "{name} has the dimensions {} in {first} and {} in {second}",
                head.dimensions().join(", "),
                other.dimensions().join(", ")
            );
        }
        let both_times = head.since().is_some() && other.since().is_some();
        for ((attribute, mine), (_, theirs)) in head.said().into_iter().zip(other.said()) {
            if mine != theirs && !(both_times && attribute == "units") {
                let say =
                    |value: Option<String>| value.map_or("none".to_owned(), |value| format!("'{value}'"));
                return format!(
                    "the {attribute} of {name} is {} in {first} and {} in {second}",
                    say(mine),
                    say(theirs)
                );
            }
        }
        return format!("{name} is text in one of {first} and {second}");
    }
    for (mine, theirs, file) in [(a, b, first), (b, a, second)] {
        if let Some(more) = mine.heads().iter().find(|head| theirs.head(head.name()).is_none()) {
            return format!("{file} has the variable {}, and other files do not", more.name());
        }
    }
    format!("the coordinates of {first} and {second} differ, overlap or leave a hole")
}
