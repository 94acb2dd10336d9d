//! Checks bundles: each member by its name; a bundle of nc3z as an archive, too.

use super::Outcome;
use crate::args::{Access, OpenArgs, VerifyArgs};
use crate::cmd::member::{self, Damaged};
use crate::cmd::{named, stdin, unbundle, url};
use crate::exit::Exit;
use crate::output::message::InFileExt;
use crate::output::progress::Progress;
use crate::output::text;
use anyhow::Result;
use nc3z_collections::bundle::MemberCheck;
use nc3z_reader::source::SharedSource;
use serde_json::json;
use std::path::{Path, PathBuf};

/// The files and members to check by name, and the findings about the bundles themselves.
#[derive(Default)]
pub(super) struct Expanded {
    pub(super) paths: Vec<PathBuf>,
    pub(super) bundles: Vec<Outcome>,
    /// The total number of bytes.
    pub(super) total: u64,
}

/// Replaces each bundle by its members.
pub(super) fn expand(paths: Vec<PathBuf>, args: &VerifyArgs) -> Expanded {
    let mut out = Expanded::default();
    for path in paths {
        out.total += member::on_disk(&path).metadata().map_or(0, |m| m.len());
        match members(&path, args) {
            Ok(None) => out.paths.push(path),
            Ok(Some(Members { parts, count, is_archive, damage })) => {
                out.bundles.push(of_bundle(&path, count, parts.len(), damage.as_deref()));
                out.paths.extend(is_archive.then_some(path));
                out.paths.extend(parts);
            }
            Err(e) => out.bundles.push(Outcome::failed(&path, e, None)),
        }
    }
    out
}

/// The members of a bundle.
struct Members {
    /// Groups of packed members, and other members, by name.
    parts: Vec<PathBuf>,
    count: usize,
    /// True if the bundle itself is an archive.
    is_archive: bool,
    /// The damage in spite of which the members are known.
    damage: Option<String>,
}

/// Returns the members of a bundle. None for a file that is not a bundle.
fn members(path: &Path, args: &VerifyArgs) -> Result<Option<Members>> {
    // A file that cannot be opened is reported when it is checked.
    if stdin::is(path) || !unbundle::is_bundle(path) {
        return Ok(None);
    }
    // All of it is read: members that follow one another take few requests.
    let mut all = open_args(args);
    all.access = Access::Forward;
    let bundle = member::open_as(path, &all, Damaged::Checked)?;
    let inside = |name: &String| member::inside(path, name);
    // Of packed members, their groups are checked, and named if they are damaged.
    let parts = bundle.parts_to_check().in_file(path)?.iter().map(inside).collect();
    let damage = bundle.damage().map(|e| format!("it is damaged: {e}"));
    Ok(Some(Members { parts, count: bundle.len(), is_archive: bundle.archive().is_some(), damage }))
}

/// Adds to the result of a damaged group the members that do not come back. With `--deep`, members of sound groups are checked, too.
pub(super) fn add_hurt(path: &Path, args: &VerifyArgs, outcome: &mut Outcome) {
    let Some((file, name)) = member::of(path) else { return };
    if outcome.exit != Exit::Corrupt && !args.deep {
        return;
    }
    let Ok(bundle) = member::open_as(&file, &open_args(args), Damaged::Checked) else { return };
    let Ok(Some((members, hurt))) = bundle.hurt_members(&name) else { return };
    let hurt: Vec<String> = hurt.iter().map(|name| text::safe(name)).collect();
    let shown = text::safe(&url::shown(path));
    outcome.json["members"] = members.into();
    outcome.json["damaged_members"] = json!(hurt);
    if hurt.is_empty() {
        outcome.lines.push(format!("{shown}: its {members} members come back as they were"));
        return;
    }
    outcome.exit = outcome.exit.max(Exit::Corrupt);
    outcome.lines.push(format!("{shown}: {} of its {members} members do not come back:", hurt.len()));
    outcome.lines.extend(hurt.iter().map(|name| format!("  {name}")));
}

fn open_args(args: &VerifyArgs) -> OpenArgs {
    OpenArgs { remote: args.remote.clone(), ..OpenArgs::default() }
}

fn of_bundle(path: &Path, count: usize, parts: usize, damage: Option<&str>) -> Outcome {
    let name = text::safe(&url::shown(path));
    let sound = damage.is_none();
    let mut lines: Vec<String> = damage.iter().map(|d| format!("{name}: {}", text::safe(d))).collect();
    if sound {
        let packed = if parts == count { String::new() } else { format!(" in {parts} parts") };
        lines.push(format!("{name}: bundle of {count} members{packed}"));
    }
    let findings: Vec<String> = damage.iter().map(|d| text::safe(d)).collect();
    let json =
        json!({"archive": name, "kind": "bundle", "sound": sound, "members": count, "findings": findings});
    let exit = if sound { Exit::Done } else { Exit::Corrupt };
    Outcome::new(path, exit, lines, json)
}

/// Returns the bytes of a member as stored in the bundle. None for a file that is not a member.
pub(super) fn source(path: &Path, args: &VerifyArgs) -> Result<Option<SharedSource>> {
    let Some((file, name)) = member::of(path) else { return Ok(None) };
    let open = open_args(args);
    match member::open_as(&file, &open, Damaged::Checked)?.member(&name)? {
        Some(source) => Ok(Some(source)),
        // The error lists the existing members.
        None => member::source(&file, &name, &open).map(Some),
    }
}

/// Checks a member that is not an archive by its recorded checksum. None for archives and for files that are not members.
pub(super) fn plain_member(path: &Path, args: &VerifyArgs, progress: &Progress) -> Option<Outcome> {
    let named = named::of(path).ok()?;
    let (file, name) = (named.file(), named.member()?);
    let checked = member::open_as(file, &open_args(args), Damaged::Checked)
        .and_then(|bundle| bundle.check_member(name, progress).map_err(unbundle::of_aggregate));
    let checked = match checked {
        Ok(Some(checked)) => checked,
        // The error lists the existing members.
        Ok(None) => return Some(Outcome::failed(path, source(path, args).err()?, None)),
        Err(e) => return Some(Outcome::failed(path, e, None)),
    };
    let shown = text::safe(&url::shown(path));
    let json = checked.to_json(&shown)?;
    let words = match checked {
        MemberCheck::Packed { len } => format!("packed, {}, SHA-256 as recorded", text::size(len)),
        MemberCheck::Plain { recorded: Some(recorded), found, .. } if !checked.is_sound() => {
            format!("its CRC-32 is {found:08x}, the bundle has {recorded:08x} on record")
        }
        MemberCheck::Plain { len, recorded: Some(_), found } => {
            format!("not an archive, {}, CRC-32 {found:08x} as recorded", text::size(len))
        }
        MemberCheck::Plain { len, .. } => {
            format!(
                "not an archive, {}, and a tar records no checksum: nothing was compared",
                text::size(len)
            )
        }
        _ => return None,
    };
    let exit = if checked.is_sound() { Exit::Done } else { Exit::Corrupt };
    Some(Outcome::new(path, exit, vec![format!("{shown}: {words}")], json))
}
