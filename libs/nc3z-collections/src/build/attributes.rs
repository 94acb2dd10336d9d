//! The attributes of an aggregation: those that are the same in all files.

use super::scan::Scanned;
use super::{Report, Rules};
use crate::file::Convention;
use crate::write::text_attribute;
use nc3z_format::classic::Attribute;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Global attributes that are the same in all files.
pub(super) fn globals(
    scanned: &[Scanned],
    rules: &Rules,
    convention: Convention,
    report: &mut Report,
) -> Vec<Attribute> {
    let lists: Vec<&[Arc<Attribute>]> = scanned.iter().map(|s| &s.attributes[..]).collect();
    let (mut out, mut dropped) = common(&lists);
    keep_own(scanned, &mut out, &mut dropped);
    let own = ["Conventions", "history"];
    out.retain(|a| !own.iter().any(|name| name.as_bytes() == a.name));
    let dropped: Vec<String> = dropped.into_iter().filter(|n| !own.contains(&n.as_str())).collect();
    if !dropped.is_empty() {
        report.notes.push(format!(
            "global attributes that differ between files are left out: {}",
            dropped.join(", ")
        ));
    }
    let convention = if convention == Convention::Cf { "CF-1.13" } else { "CF-1.5 NCA" };
    out.insert(0, text_attribute("Conventions", convention));
    out.extend(rules.history.iter().map(|line| text_attribute("history", line)));
    out
}

/// Keeps the attributes of an existing aggregation that no new file has: its user may have set them.
fn keep_own(scanned: &[Scanned], out: &mut Vec<Attribute>, dropped: &mut Vec<String>) {
    let Some(existing) = scanned.iter().find(|s| s.known) else { return };
    for own in existing.attributes.iter() {
        let in_new =
            scanned.iter().filter(|s| !s.known).flat_map(|s| s.attributes.iter()).any(|a| a.name == own.name);
        if !in_new && !out.contains(&**own) {
            dropped.retain(|name| *name != own.name_lossy());
            out.push((**own).clone());
        }
    }
}

/// Returns the attributes that are the same in all lists, in the order of the first list, and the names of all other
/// attributes.
pub(super) fn common(lists: &[&[Arc<Attribute>]]) -> (Vec<Attribute>, Vec<String>) {
    let (mut out, mut dropped) = (Vec::new(), BTreeSet::new());
    for a in lists.iter().flat_map(|list| list.iter()) {
        let name = a.name_lossy().into_owned();
        if dropped.contains(&name) || out.iter().any(|o: &Attribute| o.name == a.name) {
            continue;
        }
        if lists.iter().all(|list| list.iter().any(|b| b == a)) {
            out.push((**a).clone());
        } else {
            dropped.insert(name);
        }
    }
    (out, dropped.into_iter().collect())
}
