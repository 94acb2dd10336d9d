//! Decides which arrays of different files are one variable: by `standard_name`, by name, and by `long_name`,
//! in this order.

use super::Report;
use super::join::own_text;
use super::scan::{Array, Scanned};
use crate::error::{Error, Result};
use nc3z_writer::Advice;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// The rule by which arrays of different files are one variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Identity {
    /// The `standard_name`; otherwise the name, whatever the `long_name` is; otherwise the `long_name`. Two
    /// standard names with the same variable name are an error.
    #[default]
    Auto,
    /// By the name alone.
    Name,
    /// The `standard_name`; otherwise the `long_name`; otherwise the name. If two variables have the same
    /// name, a number is added to the name of the second.
    Meaning,
}

/// Arrays that are joined to one variable.
struct Same<'a> {
    members: Vec<&'a Array>,
    names: BTreeSet<&'a str>,
    standard_names: BTreeSet<String>,
    files: HashSet<&'a str>,
}

impl<'a> Same<'a> {
    fn new(members: Vec<&'a Array>) -> Self {
        Same {
            names: members.iter().map(|m| m.name.as_str()).collect(),
            standard_names: members.iter().filter_map(|m| own_text(m, "standard_name")).collect(),
            files: members.iter().map(|m| m.id.file()).collect(),
            members,
        }
    }

    fn shares_a_file(&self, other: &Same<'_>) -> bool {
        self.files.iter().any(|file| other.files.contains(file))
    }

    fn take(&mut self, other: Same<'a>) {
        self.members.extend(other.members);
        self.names.extend(other.names);
        self.standard_names.extend(other.standard_names);
        self.files.extend(other.files);
    }

    /// The text of an attribute, if it is the same in all members.
    fn common_text(&self, attribute: &str) -> Option<String> {
        let first = own_text(self.members[0], attribute)?;
        let same = |m: &&Array| own_text(m, attribute).as_ref() == Some(&first);
        self.members.iter().all(same).then_some(first)
    }
}

/// Arrays by what makes them one variable, in the order of the files.
pub(super) fn variables<'a>(
    scanned: &'a [Scanned],
    identity: Identity,
    report: &mut Report,
) -> Result<Vec<Vec<&'a Array>>> {
    let keys = keys(scanned, identity);
    let mut found: Vec<Same<'a>> = keys.into_iter().map(Same::new).collect();
    if identity == Identity::Auto {
        by_name(&mut found);
        by_long_name(&mut found, scanned);
        two_of_one_name(&found)?;
        found.iter().for_each(|same| note_names(same, report));
    }
    Ok(found.into_iter().map(|same| same.members).collect())
}

/// Groups arrays by the first text that identifies them.
fn keys(scanned: &[Scanned], identity: Identity) -> Vec<Vec<&Array>> {
    let meaning = |a: &Array| match identity {
        _ if a.helper => None,
        Identity::Name => None,
        Identity::Auto => own_text(a, "standard_name"),
        Identity::Meaning => own_text(a, "standard_name").or_else(|| own_text(a, "long_name")),
    };
    let twice = twice(scanned, &meaning);
    let mut order: Vec<Vec<&Array>> = Vec::new();
    let mut place: BTreeMap<(Option<String>, Option<&str>), usize> = BTreeMap::new();
    for a in scanned.iter().flat_map(|s| &s.arrays) {
        let meaning = meaning(a);
        let name = meaning.as_ref().is_none_or(|m| twice.contains(m)).then_some(a.name.as_str());
        let n = *place.entry((meaning, name)).or_insert_with(|| {
            order.push(vec![]);
            order.len() - 1
        });
        order[n].push(a);
    }
    order
}

/// Texts that occur in two arrays of one file.
fn twice(scanned: &[Scanned], text: &dyn Fn(&Array) -> Option<String>) -> HashSet<String> {
    let mut twice = HashSet::new();
    for s in scanned {
        let mut seen = HashSet::new();
        twice.extend(s.arrays.iter().filter_map(text).filter(|t| !seen.insert(t.clone())));
    }
    twice
}

/// Joins groups with the same name, unless one file has both, or their standard names differ.
fn by_name(found: &mut Vec<Same<'_>>) {
    merge(found, |a, b| {
        let names = a.names.intersection(&b.names).next().is_some();
        let meanings = a.standard_names.union(&b.standard_names).count();
        names && meanings <= 1 && !a.shares_a_file(b)
    });
}

/// Joins groups with the same long name and no standard name.
fn by_long_name<'a>(found: &mut Vec<Same<'a>>, scanned: &'a [Scanned]) {
    let long_name = |a: &Array| own_text(a, "long_name").filter(|_| !a.helper);
    let twice = twice(scanned, &long_name);
    merge(found, |a, b| {
        let text = |same: &Same<'_>| same.common_text("long_name").filter(|t| !twice.contains(t));
        let plain =
            |same: &Same<'_>| same.standard_names.is_empty() && !same.members.iter().any(|m| m.helper);
        plain(a) && plain(b) && text(a).is_some() && text(a) == text(b) && !a.shares_a_file(b)
    });
}

/// Joins each group with the first earlier group for which `belong` returns true.
fn merge(found: &mut Vec<Same<'_>>, belong: impl Fn(&Same<'_>, &Same<'_>) -> bool) {
    let mut out: Vec<Same<'_>> = Vec::new();
    for same in found.drain(..) {
        match out.iter_mut().find(|known| belong(known, &same)) {
            Some(known) => known.take(same),
            None => out.push(same),
        }
    }
    *found = out;
}

/// Refuses two variables with the same name.
fn two_of_one_name(found: &[Same<'_>]) -> Result<()> {
    for (n, b) in found.iter().enumerate() {
        for a in &found[..n] {
            let Some(name) = a.names.intersection(&b.names).next() else { continue };
            let named = |m: &&&Array| m.name == *name;
            let (Some(x), Some(y)) = (a.members.iter().find(named), b.members.iter().find(named)) else {
                continue;
            };
            let say = |m: &Array| match own_text(m, "standard_name") {
                Some(text) => format!("the standard_name `{text}` in `{}`", m.id.file()),
                None => format!("no standard_name in `{}`", m.id.file()),
            };
            let odd = if a.files.len() < b.files.len() { x } else { y };
            return Err(Error::misfit(
                odd.id.file(),
                format!("variable `{name}` has {} and {}", say(x), say(y)),
            )
            .advised(Advice::JoinByNameOrMeaning));
        }
    }
    Ok(())
}

/// Adds a note where members of one variable have different names or attributes.
fn note_names(same: &Same<'_>, report: &mut Report) {
    let first = same.members[0];
    for attribute in ["standard_name", "long_name"] {
        let text = |m: &Array| own_text(m, attribute);
        let Some(other) = same.members.iter().find(|m| text(m) != text(first)) else { continue };
        let say = |m: &Array| text(m).map_or("none".to_owned(), |t| format!("`{t}`"));
        report.notes.push(format!(
            "variable `{}` is joined though its {attribute} is {} in `{}` and {} in `{}`",
            first.name,
            say(first),
            first.id.file(),
            say(other),
            other.id.file()
        ));
    }
}
