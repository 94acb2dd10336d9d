//! `nc3z info --layout`: shows where each byte is stored, in the archive and in the original. Rows are printed as
//! they are found.

use super::Input;
use super::info::OneFile;
use super::read::printed;
use crate::exit::Exit;
use crate::output::streams::Stdout;
use crate::output::table::count;
use crate::output::text;
use anyhow::Result;
use nc3z_format::archive::{ArrayId, BlockKind, Role};
use nc3z_format::classic::SegmentKind;
use nc3z_format::codec::Chain;
use nc3z_look::cost::chain_words;
use nc3z_look::layout::{self, Original, Place, Walk, array_name, array_role, block_kind, encoding, kind};
use nc3z_reader::Archive;
use std::collections::BTreeMap;
use std::io::{BufWriter, Write};

/// The length of the output buffer in bytes.
const OUT_BUFFER: usize = 64 << 10;

pub(super) fn run(args: &OneFile) -> Result<Exit> {
    let dataset = super::info::open(args)?;
    let file = text::safe(&super::url::shown(&args.file));
    let mut out = BufWriter::with_capacity(OUT_BUFFER, Stdout::results());
    match super::named::input(&dataset) {
        Input::Archive(archive) if args.json => printed(layout::write_archive_json(&file, archive, out))?,
        Input::Classic(classic) if args.json => printed(layout::write_classic_json(&file, classic, out))?,
        Input::Archive(archive) => {
            archive_text(&file, archive, &Walk::new(archive, &**archive.source()), &mut out)?;
            writeln!(out, "\noriginal, {} bytes", archive.original_len())?;
            original_text(&Original::of_archive(archive), &mut out)?;
            out.flush()?;
        }
        Input::Classic(classic) => {
            let (version, original) = (classic.header().version, Original::of_classic(classic));
            writeln!(out, "{file}: classic netCDF, {version}, {} bytes", original.layout().file_len)?;
            original_text(&original, &mut out)?;
            out.flush()?;
        }
    }
    Ok(Exit::Done)
}

fn archive_text(file: &str, archive: &Archive, walk: &Walk<'_>, out: &mut dyn Write) -> Result<()> {
    let len = archive.stored_len();
    writeln!(out, "{file}: nc3z archive of {}, {len} bytes", archive.header().version)?;
    let len = archive.source().len();
    if archive.is_short() {
        let whole = if archive.is_whole() { ", the original packed as a whole," } else { "," };
        writeln!(out, "  in the short form{whole} which stands for these {len} bytes:")?;
    }
    let width = len.to_string().len().max(6);
    writeln!(out, "  {:>width$}  {:>width$}  what", "offset", "length")?;
    let mut totals: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    let mut align = 0;
    walk.run::<anyhow::Error>(&mut |region| {
        let words = region_words(archive, &region.place);
        writeln!(out, "  {:>width$}  {:>width$}  {words}", region.offset, region.len)?;
        for m in walk.members(region).unwrap_or_default() {
            let (whose, chain) = (whose(archive, m.array), archive.chains().get(usize::from(m.chain)));
            let words = format!(
                "tile {} of {whose}, {}, {} bytes at {} in it",
                m.tile,
                chain_words(chain.map(Chain::spec)),
                m.len,
                m.start
            );
            writeln!(out, "  {:>width$}  {:>width$}    {words}", "", "")?;
        }
        let kind = match &region.place {
            Place::Block(b) => block_kind(b.kind),
            place => kind(place),
        };
        let total = totals.entry(kind).or_default();
        *total = (total.0 + 1, total.1 + region.len);
        align += region.align;
        Ok(())
    })?;
    writeln!(out, "  in all")?;
    for (kind, (n, bytes)) in totals {
        writeln!(out, "  {bytes:>width$}  bytes in {}", count(n, kind))?;
    }
    Ok(writeln!(out, "  {align:>width$}  bytes of alignment")?)
}

/// Describes the owner of tiles.
fn whose(archive: &Archive, array: ArrayId) -> String {
    match (array.role(), array_name(archive, array)) {
        (Role::Variable(_), Some(name)) => name,
        (_, Some(name)) => format!("{} of {name}", array_role(array)),
        (_, None) => array.to_string(),
    }
}

fn region_words(archive: &Archive, place: &Place) -> String {
    match place {
        Place::Superblock => "superblock".to_owned(),
        Place::Head { decoded_len } => format!("head copy, {decoded_len} decoded"),
        Place::Block(b) => {
            let what = match b.kind {
                BlockKind::Tile => format!("tile {} of {}", b.tile, whose(archive, b.array)),
                BlockKind::Definition => {
                    format!("definition {} of {}", b.tile, array_name(archive, b.array).unwrap_or_default())
                }
                kind => format!("{} {}", block_kind(kind), b.tile),
            };
            let chain = chain_words(archive.chains().get(usize::from(b.chain)).map(Chain::spec));
            format!("{what}, {chain}, {} -> {}", b.decoded_len, b.stored_len)
        }
        Place::Page { array, level, first, count } => {
            format!("index page of {}, level {level}, {count} from tile {first}", whose(archive, *array))
        }
        Place::Section { name, encoding: e } => format!("section: {name}, {}", encoding(*e)),
        Place::SectionTable { generation } => format!("section table, generation {generation}"),
        Place::Trailer { generation } => format!("trailer, generation {generation}"),
        Place::Unknown => "unknown".to_owned(),
        Place::TornTail => "torn tail".to_owned(),
    }
}

/// Writes the places of the original.
fn original_text(original: &Original<'_>, out: &mut dyn Write) -> Result<()> {
    let layout = original.layout();
    let width = layout.file_len.to_string().len().max(6);
    writeln!(out, "  {:>width$}  {:>width$}  what", "offset", "length")?;
    for segment in layout.segments() {
        let words = match original.segment(segment) {
            (_, Some(name)) => name,
            (kind, None) => kind.to_owned(),
        };
        writeln!(out, "  {:>width$}  {:>width$}  {words}", segment.offset, segment.len)?;
        if let (SegmentKind::Records, Some(records)) = (segment.kind, &layout.records) {
            writeln!(
                out,
                "  {:>width$}  {:>width$}  in each of {} records:",
                "", records.stride, records.count
            )?;
            for slot in &records.slots {
                let padding = match slot.padded_len - slot.slot_len {
                    0 => String::new(),
                    n => format!(" and {n} of padding"),
                };
                let at = format!("+{}", slot.offset_in_record);
                let name = original.name(slot.variable);
                writeln!(out, "  {at:>width$}  {:>width$}    {name}{padding}", slot.slot_len)?;
            }
        }
    }
    for ((_, variable), place) in original.header().variables().zip(&layout.variables) {
        let name = text::name(&variable.name);
        if !place.owned {
            let bytes = place.present * place.element_size();
            writeln!(
                out,
                "  {:>width$}  {bytes:>width$}  {name}, aliased: these bytes are listed above",
                place.begin
            )?;
        }
        if place.elements != Some(place.present) {
            let claimed = place.elements.map_or_else(|| "more than 2^64".to_owned(), |n| n.to_string());
            writeln!(out, "  {name}: {} of {claimed} elements are in the file", place.present)?;
        }
    }
    Ok(())
}
