//! `nc3z spec`: prints or writes the specification of the format, which the program contains.

use crate::args::SpecArgs;
use crate::exit::Exit;
use crate::output::streams::Stdout;
use crate::output::table::count;
use crate::output::text;
use anyhow::Result;
use nc3z_collections::tree::specification;
use std::io::Write;

/// Prints or writes the specification.
pub(crate) fn run(args: &SpecArgs) -> Result<Exit> {
    if let Some(directory) = &args.output {
        super::outputs::check(Some(directory), true)?;
        let written = specification::write(directory, args.force)?;
        let name = text::safe(&directory.to_string_lossy());
        note!("{} -> {name}; begin with {name}/{}", count(written as u64, "file"), specification::INDEX);
        return Ok(Exit::Done);
    }
    let bytes = if args.document {
        specification::document()?
    } else if args.html {
        specification::page()?
    } else if args.list {
        specification::sums(&specification::files()?)
    } else {
        specification::file(args.file.as_deref().unwrap_or(specification::INDEX))?
    };
    let mut out = Stdout::results();
    out.write_all(&bytes)?;
    out.flush()?;
    Ok(Exit::Done)
}
