//! What a catalogue answers: statistics of variables, and files whose values meet conditions.

use super::condition::Condition;
use super::member::Head;
use super::read::{Block, Catalog};
use super::summary::Summary;
use super::table::wrong;
use super::within::{Area, Fit, within};
use crate::error::Result;
use nc3z_format::Limits;
use nc3z_format::classic::{Header, NumRecs, Parse, Version, parse_prefix};
use nc3z_format::decode_value;
use nc3z_format::units::Period;
use rayon::prelude::*;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};

/// Statistics of a variable.
#[derive(Debug, Clone, Default)]
pub struct Row {
    /// The file, if each is asked for.
    pub file: Option<String>,
    /// The name of the variable.
    pub variable: String,
    /// Its units; None where files have several.
    pub units: Option<String>,
    /// The values of the row.
    pub summary: Summary,
}

/// A file that has what is asked for, or may have it.
#[derive(Debug, Clone, Default)]
pub struct Hit {
    /// The name of the file.
    pub file: String,
    /// For each condition the numbers of the tiles with such values, and the number of all tiles. No tiles where only values that
    /// the file lacks may meet the condition. Empty for a file that changed.
    pub tiles: Vec<(Vec<usize>, usize)>,
    /// What the catalogue does not know of the file. Empty if the answer is known.
    pub unknown: Vec<Unknown>,
}

/// Why a catalogue does not know whether a file has what is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unknown {
    /// It has no longitudes and latitudes that are known.
    Place,
    /// It has no times that are known.
    Time,
    /// It lacks values of a variable that a condition is about: it was cut short.
    Values,
    /// It changed after it was indexed.
    Changed,
}

impl Unknown {
    /// A word for programs.
    pub fn word(self) -> &'static str {
        match self {
            Unknown::Place => "place",
            Unknown::Time => "time",
            Unknown::Values => "values",
            Unknown::Changed => "changed",
        }
    }

    /// Words for people.
    pub fn words(self) -> &'static str {
        match self {
            Unknown::Place => "its place is unknown",
            Unknown::Time => "its time is unknown",
            Unknown::Values => "some of its values are missing",
            Unknown::Changed => "it changed after it was indexed",
        }
    }
}

pub(super) fn parsed(block: &Block<'_>) -> Result<Vec<Header>> {
    let empty = || Header {
        version: Version::Cdf1,
        numrecs: NumRecs::Count(0),
        dimensions: Vec::new(),
        attributes: Vec::new(),
        variables: Vec::new(),
    };
    let parse = |bytes: bytes::Bytes| match parse_prefix(&bytes, u64::MAX, &Limits::default())? {
        Parse::Done(header, _) => Ok(*header),
        Parse::Incomplete { .. } => Err(wrong("a header is not complete")),
    };
    // A file that is not netCDF has an empty header.
    block
        .headers()?
        .into_iter()
        .map(|bytes| if bytes.is_empty() { Ok(empty()) } else { parse(bytes) })
        .collect()
}

/// Rows by file, if each is asked for, and by the name of the variable.
type Rows = BTreeMap<(Option<String>, String), Row>;

/// The statistics of the named variables, or of all, by name; for each file, or for all of them.
///
/// # Errors
/// Damage.
pub fn statistics(catalog: &Catalog, names: &[String], each: bool) -> Result<Vec<Row>> {
    let blocks: Vec<_> = catalog.blocks().collect();
    let rows = blocks.par_iter().map(|block| of_block(block, names, each));
    let mut all = Rows::new();
    // Blocks in their order: the bound of the error is a sum with roundings.
    for rows in rows.collect::<Result<Vec<Rows>>>()? {
        for (key, row) in rows {
            match all.entry(key) {
                Entry::Vacant(vacant) => drop(vacant.insert(row)),
                Entry::Occupied(mut known) => {
                    let known = known.get_mut();
                    known.units.take_if(|units| Some(&*units) != row.units.as_ref());
                    known.summary.add_all(&row.summary);
                }
            }
        }
    }
    Ok(all.into_values().collect())
}

fn of_block(block: &Block<'_>, names: &[String], each: bool) -> Result<Rows> {
    let wanted = |name: &&str| names.is_empty() || names.iter().any(|n| n == name);
    let variables: Vec<&str> = block.variables().filter(wanted).collect();
    let mut rows = Rows::new();
    if variables.is_empty() {
        return Ok(rows);
    }
    let files = if each { block.names()? } else { Vec::new() };
    let (headers, heads) = (parsed(block)?, block.heads()?);
    for name in variables {
        let Some(tiles) = block.tiles(name)? else { continue };
        let sums = block.sums(name)?;
        // Files share headers, and many have the same units.
        let unit = |header: &Header, id| {
            header.variables.get(id).and_then(|v| decode_value::text(v, b"units")).unwrap_or_default()
        };
        let mut known: HashMap<(usize, usize), String> = HashMap::new();
        for found in &tiles.found {
            let Some(own) = found.rows.clone().filter(|rows| !rows.is_empty()) else { continue };
            let (number, id) = (heads[found.member].1, found.variable);
            let header = headers.get(number).ok_or_else(|| wrong("a header is not there"))?;
            let units = known.entry((number, id)).or_insert_with(|| unit(header, id));
            let file = each.then(|| files[found.member].clone());
            let row = rows.entry((file.clone(), name.to_owned())).or_insert_with(|| Row {
                file,
                variable: name.to_owned(),
                units: Some(units.clone()),
                summary: Summary::default(),
            });
            row.units.take_if(|known| known != units);
            row.summary.add(own.map(|n| tiles.tile(&sums, n)));
        }
    }
    Ok(rows)
}

/// The conditions that wanted files meet.
#[derive(Debug, Clone, Default)]
pub struct Question {
    /// Conditions on values. All must be met.
    pub conditions: Vec<Condition>,
    /// The region in which the file has coordinates.
    pub area: Option<Area>,
    /// The first and the last period in which the file has times, or between which.
    pub periods: Option<(Period, Period)>,
}

/// The files that have values that meet all conditions, as far as their tiles tell, and those of which the catalogue does not know it.
/// `changed` returns true for a file that was changed after it was indexed.
///
/// # Errors
/// Damage.
pub fn find(
    catalog: &Catalog,
    question: &Question,
    changed: &(dyn Fn(&str, &Head) -> bool + Sync),
) -> Result<Vec<Hit>> {
    let blocks: Vec<_> = catalog.blocks().collect();
    let hits = blocks.par_iter().map(|block| hits(block, question, changed)).collect::<Result<Vec<_>>>()?;
    Ok(hits.into_iter().flatten().collect())
}

fn hits(
    block: &Block<'_>,
    question: &Question,
    changed: &(dyn Fn(&str, &Head) -> bool + Sync),
) -> Result<Vec<Hit>> {
    let Question { conditions, area, periods } = question;
    let mut each: Vec<Vec<(Vec<usize>, usize)>> = vec![Vec::new(); block.len()];
    for (number, condition) in conditions.iter().enumerate() {
        let Some(tiles) = block.tiles(condition.variable())? else { break };
        let mut whole = None;
        for (n, found) in tiles.found.iter().enumerate() {
            // A file that does not meet one of the conditions has none for the next ones.
            if each[found.member].len() != number {
                continue;
            }
            let Some(rows) = found.rows.clone() else { continue };
            let own: Vec<usize> = condition.rows(&tiles, rows.clone()).map(|row| row - rows.start).collect();
            if own.is_empty() {
                // Values that the file lacks may meet the condition.
                if whole.is_none() {
                    whole = Some(block.are_whole(&tiles.found)?);
                }
                if whole.as_ref().is_some_and(|whole: &Vec<bool>| whole[n]) {
                    continue;
                }
            }
            each[found.member].push((own, found.tiles));
        }
    }
    let is_met = |tiles: &Vec<_>| tiles.len() == conditions.len();
    let mut fits = vec![[Fit::Yes; 2]; block.len()];
    if (area.is_some() || periods.is_some()) && each.iter().any(is_met) {
        fits = within(block, area.as_ref(), *periods)?;
    }
    let mut hits = Vec::new();
    let files = block.names()?.into_iter().zip(block.heads()?);
    for ((file, (head, _)), (tiles, fits)) in files.zip(each.into_iter().zip(fits)) {
        if changed(&file, &head) {
            hits.push(Hit { file, tiles: Vec::new(), unknown: vec![Unknown::Changed] });
        } else if is_met(&tiles) && !fits.contains(&Fit::No) {
            let reasons = fits.into_iter().zip([Unknown::Place, Unknown::Time]);
            let lacks = tiles.iter().any(|(own, _)| own.is_empty()).then_some(Unknown::Values);
            let unknown =
                reasons.filter(|(fit, _)| *fit == Fit::Unknown).map(|(_, why)| why).chain(lacks).collect();
            hits.push(Hit { file, tiles, unknown });
        }
    }
    Ok(hits)
}
