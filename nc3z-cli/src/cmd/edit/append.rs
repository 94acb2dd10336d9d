//! `nc3z append`.

use super::{commit, open, progress_of};
use crate::args::{AppendArgs, OpenArgs};
use crate::cmd::named::{self, Opens as _};
use crate::cmd::{in_file, with_threads};
use crate::exit::Exit;
use crate::output::table::count;
use crate::output::text;
use anyhow::{Result, bail};
use nc3z_reader::Dataset;
use nc3z_writer::edit::{AppendPolicy, Appended, Overlap};

pub(crate) fn append(args: &AppendArgs) -> Result<Exit> {
    let mut edit = open(&args.archive, &args.edit)?;
    let overlap = match (args.replace_overlap, args.allow_overlap) {
        (true, _) => Overlap::Replace,
        (_, true) => Overlap::Allow,
        _ => Overlap::Refuse,
    };
    let policy = AppendPolicy { keep_fixed: args.keep_fixed, any_units: args.any_units, overlap };
    // The variables of an aggregation have no records.
    let dataset = Dataset::from(edit.archive().clone());
    if nc3z_collections::is_aggregation(&dataset) {
        bail!(
            "`{}` is an aggregation, which has no records of its own: `nc3z aggregate --append FILE -o {}` adds a file to it",
            crate::cmd::shown(&args.archive),
            crate::cmd::shown(&args.archive)
        );
    }
    let mut all = Appended::default();
    for file in &args.files {
        let more = || -> Result<Appended> {
            let opened = named::of(file).and_then(|name| name.open_dataset(&OpenArgs::default()));
            let dataset = in_file(file, opened)?;
            let progress = progress_of(dataset.original_len(), file);
            let done = edit.append_records(&dataset, policy, &progress);
            // Refusals concern the new file, and so does its damage.
            let concerned = match &done {
                Err(e) if matches!(e.kind(), nc3z_writer::ErrorKind::Read(_)) => &args.archive,
                _ => file,
            };
            in_file(concerned, done.map_err(Into::into))
        };
        let more = with_threads(*args.edit.effort.threads, more)??;
        if more.known > 0 {
            let known = count(more.known, "record");
            tell!("{}: the archive has its {known} already", text::safe(&file.to_string_lossy()));
        }
        if more.unordered {
            note!(
                "nc3z: warning: {}: no coordinate orders the records, so they could not be compared with the archive's; `--allow-overlap` appends without this warning",
                crate::cmd::shown(file)
            );
        }
        all.appended += more.appended;
        all.replaced += more.replaced;
    }
    let replaced = if all.replaced > 0 {
        format!("{} replaced, ", count(all.replaced, "record"))
    } else {
        String::new()
    };
    let dry = if args.edit.effort.dry_run { " (dry run)" } else { "" };
    tell!(
        "{}: {replaced}{} appended, {} now{dry}",
        text::safe(&args.archive.to_string_lossy()),
        count(all.appended, "record"),
        edit.records()
    );
    commit(edit, &args.archive, &args.edit)
}
