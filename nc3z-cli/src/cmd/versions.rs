//! `nc3z commit`, `revert`, `log` and `tag`: versions of an archive.

use super::named::{self, Opens as _};
use super::subset::history::moment;
use crate::args::{CommitArgs, EffortArgs, LogArgs, NoteArgs, OpenArgs, RevertArgs, TagArgs};
use crate::exit::Exit;
use crate::output::message::InFileExt;
use crate::output::progress::Progress;
use crate::output::streams::Stdout;
use crate::output::{set_quiet, text};
use anyhow::{Context, Result};
use nc3z::Name;
use nc3z_format::Limits;
use nc3z_format::archive::Digest;
use nc3z_look::versions::{tags_of, version_json};
use nc3z_reader::{Archive, ClassicFile, Version};
use nc3z_writer::{
    CommitNote, CommitReport, TagChange, WriterOptions, commit_file, revert_file, tag_version,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufWriter, Write};
use std::path::Path;

/// The environment variables with the date and the author for new versions. Empty ones mean none.
const DATE_VARIABLE: &str = "NC3Z_DATE";
const AUTHOR_VARIABLE: &str = "NC3Z_AUTHOR";
/// The environment variables with the user's name.
const USER_VARIABLES: [&str; 3] = ["USER", "LOGNAME", "USERNAME"];

pub(crate) fn commit(args: &CommitArgs) -> Result<Exit> {
    super::named::need_archive_file(&args.archive)?;
    super::named::refuse_bundle(&args.archive, &OpenArgs::default())?;
    set_quiet(args.note.quiet);
    let note = note_of(&args.note);
    let options = options(&args.effort).with_force(args.allow_unrelated);
    let len = std::fs::metadata(&args.edited).map_or(0, |m| m.len());
    if !args.effort.dry_run {
        super::outputs::warn_of_space(&args.archive, len);
    }
    let done = super::with_threads(*args.effort.threads, || {
        // The file is hashed, compared and rebuilt.
        let progress = Progress::new(len.saturating_mul(3), crate::cmd::shown(&args.edited));
        commit_file(&args.archive, &args.edited, &note, &options, &progress)
    })?;
    let what = || format!("commit `{}` to `{}`", args.edited.display(), args.archive.display());
    let done = done.with_context(what)?;
    warn_of(&args.edited);
    tell(&args.archive, &done, args.effort.dry_run);
    Ok(Exit::Done)
}

/// Warns of a file that was cut short, and of all else that `archive` warns of. Errors were reported before.
fn warn_of(edited: &Path) {
    let source = nc3z_reader::source::open(edited, false);
    let classic = source.and_then(|source| ClassicFile::from_source(source, &Limits::default()));
    let Ok(classic) = classic else { return };
    for warning in &classic.layout().warnings {
        let words = warning.words(classic.header());
        note!("nc3z: warning: {}: {}", crate::cmd::shown(edited), text::safe(&words));
    }
}

/// Returns the options for making a version of a file.
fn options(effort: &EffortArgs) -> WriterOptions {
    WriterOptions::default()
        .with_registry(crate::registry::registry())
        .with_memory(effort.memory)
        .with_dry_run(effort.dry_run)
        .with_parity_renewed(!effort.no_parity)
}

/// Adds a version that repeats an older one.
pub(crate) fn revert(args: &RevertArgs) -> Result<Exit> {
    super::named::need_archive_file(&args.archive)?;
    let old = Name::whole(&args.archive).with_requested(Some(args.version.clone()));
    let archive = super::in_file(&args.archive, old.open_archive(&OpenArgs::as_it_is()))?;
    set_quiet(args.note.quiet);
    super::outputs::prepare(&args.archive)?;
    let done = super::with_threads(*args.effort.threads, || {
        let name = crate::cmd::shown(&args.archive);
        let progress = Progress::new(archive.original_len().saturating_mul(4), name);
        revert_file(&args.archive, &archive, note_of(&args.note), &options(&args.effort), &progress)
    })??;
    tell(&args.archive, &done, args.effort.dry_run);
    Ok(Exit::Done)
}

/// Returns the description of a version. Without options it has the user's name and the current time, as git has
/// them (docs/design/0017-versions.md).
pub(super) fn note_of(args: &NoteArgs) -> CommitNote {
    let setting = |name: &str| std::env::var(name).ok();
    let date = || Some(setting(DATE_VARIABLE).unwrap_or_else(|| "now".to_owned()));
    let author = || setting(AUTHOR_VARIABLE).or_else(|| USER_VARIABLES.into_iter().find_map(setting));
    let or = |given: &Option<String>, default: &dyn Fn() -> Option<String>| {
        given.clone().or_else(|| default().filter(|text| !args.no_author && !text.is_empty()))
    };
    let time = or(&args.date, &date).map(|date| if date == "now" { moment() } else { date });
    CommitNote { message: args.message.clone(), author: or(&args.author, &author), time }
}

/// Reports what a commit did, or for a dry run, what it would do.
pub(super) fn tell(path: &Path, done: &CommitReport, dry_run: bool) {
    let name = crate::cmd::shown(path);
    if dry_run && !done.is_unchanged() {
        let added = text::size(done.stored_len.1 - done.stored_len.0);
        tell!(
            "{name}: would become version {}, {added} added ({} tiles new, {} kept); nothing was changed",
            done.version,
            done.new_tiles,
            done.kept_tiles
        );
        if let Some(parity) = done.parity {
            tell!("  its parity of {} would be made anew", parity.share);
        }
        return;
    }
    if done.is_unchanged() {
        tell!("{name}: the file is version {} already; nothing was added", done.version);
        return;
    }
    let added = text::size(done.stored_len.1 - done.stored_len.0);
    tell!(
        "{name}: version {}, {added} added ({} tiles new, {} kept)",
        done.version,
        done.new_tiles,
        done.kept_tiles
    );
    if let Some(parity) = done.parity {
        tell!("  parity of {} made anew, {}", parity.share, text::size(parity.len));
    }
}

/// Lists the versions, newest first.
pub(crate) fn log(args: &LogArgs) -> Result<Exit> {
    let read = || -> Result<_> {
        let open = OpenArgs { remote: args.remote.clone(), ..OpenArgs::default() };
        let archive = named::of(&args.archive)?.open_archive(&open)?;
        let versions = archive.versions(args.number.unwrap_or(u64::MAX))?;
        let tags = archive.tags()?;
        Ok((versions, tags))
    };
    let (versions, tags) = super::in_file(&args.archive, read())?;
    let mut out = BufWriter::new(Stdout::results());
    if *args.json {
        let rows: Vec<Value> = versions.iter().map(|v| version_json(v, &tags)).collect();
        let file = crate::cmd::shown(&args.archive);
        writeln!(out, "{}", serde_json::to_string_pretty(&json!({"file": file, "versions": rows}))?)?;
    } else if args.oneline {
        versions.iter().try_for_each(|version| write_line(&mut out, version, &tags))?;
    } else {
        versions.iter().try_for_each(|version| write_version(&mut out, version, &tags))?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

/// Writes a version in one line: number, tags, date, author, and the first line of the message.
fn write_line(out: &mut dyn Write, version: &Version, tags: &BTreeMap<String, u64>) -> Result<()> {
    let record = &version.record;
    let tags = tags_of(tags, record.number);
    let tags = if tags.is_empty() { String::new() } else { format!("({})", tags.join(", ")) };
    let message = record.message.as_deref().and_then(|m| m.lines().next()).unwrap_or_default();
    let [date, author] = [&record.time, &record.author].map(|text| text.as_deref().unwrap_or_default());
    let words = [&tags, date, author, message];
    let words: Vec<String> = words.into_iter().filter(|w| !w.is_empty()).map(text::safe).collect();
    Ok(writeln!(out, "{}", [&[record.number.to_string()], &words[..]].concat().join(" "))?)
}

/// Returns the digest of an original as text.
pub(crate) fn recorded(digest: Digest) -> String {
    match digest {
        Digest::Sha256(digest) => text::hex(&digest),
        Digest::None => "not recorded".to_owned(),
        Digest::Stale => "stale".to_owned(),
    }
}

fn write_version(out: &mut dyn Write, version: &Version, tags: &BTreeMap<String, u64>) -> Result<()> {
    let (record, trailer) = (&version.record, &version.trailer);
    let names = tags_of(tags, record.number);
    let names =
        if names.is_empty() { String::new() } else { format!(" ({})", text::safe(&names.join(", "))) };
    writeln!(out, "version {}{names}", record.number)?;
    writeln!(out, "  SHA-256 {}", recorded(trailer.digest))?;
    writeln!(
        out,
        "  {} bytes, {} added to the archive",
        trailer.original_len,
        text::size(version.added_len)
    )?;
    for (what, words) in [("author", &record.author), ("date", &record.time)] {
        if let Some(words) = words {
            writeln!(out, "  {what} {}", text::safe(words))?;
        }
    }
    if let Some(message) = &record.message {
        writeln!(out)?;
        for line in message.lines() {
            writeln!(out, "    {}", text::safe(line))?;
        }
    }
    Ok(writeln!(out)?)
}

/// Writes the versions of an archive, a line for each.
pub(crate) fn write_versions(archive: &Archive, out: &mut dyn Write) -> Result<()> {
    use crate::output::table::{Side, Table, count};
    let (versions, tags) = (archive.versions(u64::MAX)?, archive.tags()?);
    writeln!(out, "{}", count(versions.len() as u64, "version"))?;
    let columns = [
        ("version", Side::Right),
        ("bytes", Side::Right),
        ("added", Side::Right),
        ("tags", Side::Left),
        ("message", Side::Left),
    ];
    let mut table = Table::new(&columns);
    for version in &versions {
        let record = &version.record;
        let message = record.message.as_deref().and_then(|m| m.lines().next()).unwrap_or_default();
        table.push(vec![
            record.number.to_string(),
            text::size(version.trailer.original_len),
            text::size(version.added_len),
            text::safe(&tags_of(&tags, record.number).join(",")),
            text::safe(message),
        ]);
    }
    Ok(table.print(out, "  ")?)
}

/// Changes a tag, or lists the tags.
pub(crate) fn tag(args: &TagArgs) -> Result<Exit> {
    let name = crate::cmd::shown(&args.archive);
    let Some(tag) = &args.tag else {
        let archive =
            super::in_file(&args.archive, super::open_archive(&args.archive, &OpenArgs::default()))?;
        let mut out = BufWriter::new(Stdout::results());
        for (tag, number) in archive.tags()? {
            writeln!(out, "{}\t{number}", text::safe(&tag))?;
        }
        out.flush()?;
        return Ok(Exit::Done);
    };
    super::named::need_archive_file(&args.archive)?;
    let change = if args.delete {
        TagChange::Delete
    } else {
        TagChange::Set { version: args.version.clone(), force: args.move_tag }
    };
    let options = WriterOptions::default().with_parity_renewed(!args.no_parity);
    let number = tag_version(&args.archive, tag, &change, &options).in_file(&args.archive)?;
    if args.delete {
        note!("{name}: {tag} does not name version {number} any more");
    } else {
        note!("{name}: {tag} names version {number}");
    }
    Ok(Exit::Done)
}
