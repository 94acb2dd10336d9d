//! An open file, and attempts at operations on it.

use crate::describe::describe;
use crate::provided::{MOST_LEN, ProvidedBytes};
use bytes::Bytes;
use nc3z_format::Hyperslab;
use nc3z_look::part::{Csv, Doubles, PartError, Projection, Subset, pieces_of};
use nc3z_reader::cache::TileCache;
use nc3z_reader::source::{ByteSource, SharedSource};
use nc3z_reader::{Dataset, OpenOptions, Variable};
use serde_json::Value;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// The size of the cache of decoded tiles in bytes.
const CACHE_LEN: u64 = 128 << 20;
/// The number of elements of a piece of values, for example a map of 720 rows and columns.
const ELEMENTS: u64 = 1 << 20;
/// The maximal number of decoded bytes of the tiles for one piece of values.
const TILES_LEN: u64 = 64 << 20;
/// The maximal length of a part that the page writes, since it keeps the part in memory.
const MOST_MADE: u64 = 1 << 30;

/// The end of an attempt.
#[derive(Debug, PartialEq)]
pub enum Outcome<T> {
    /// With a result.
    Done(T),
    /// These bytes are missing: give them, and repeat the call.
    Fetch(Vec<Range<u64>>),
    /// With an error.
    Failed(String),
}

/// The form of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Little-endian doubles.
    Values,
    /// The classic file's elements: big-endian.
    Bytes,
    /// Text, a line for each element.
    Csv,
    /// A classic file with the variables, dimensions and attributes of the part.
    Netcdf,
}

enum Making {
    Values(Doubles),
    Bytes(Variable, VecDeque<Hyperslab>),
    Csv(Box<Csv>),
    Netcdf(Box<Subset>),
}

/// A file that is read by ranges, which the caller fetches.
pub struct File {
    held: Arc<ProvidedBytes>,
    options: OpenOptions,
    dataset: Option<Dataset>,
    making: Option<Making>,
    /// True if the last attempt lacked bytes: the next one belongs to the same operation.
    lacking: bool,
}

impl File {
    /// Makes a file of this length, without any bytes yet.
    pub fn new(len: u64) -> Self {
        let options = OpenOptions::default().with_cache(TileCache::new(CACHE_LEN));
        File { held: Arc::new(ProvidedBytes::new(len)), options, dataset: None, making: None, lacking: false }
    }

    /// Takes bytes of the file from `offset` on.
    pub fn provide(&self, offset: u64, bytes: &Bytes) {
        self.held.provide(offset, bytes);
    }

    /// Returns the description of the file.
    pub fn describe(&mut self) -> Outcome<Value> {
        let len = self.held.len();
        self.attempt(|file| describe(file.opened()?, len).map_err(PartError::Refused))
    }

    /// Starts to make a part, given by numbers of variables and hyperslabs. [`File::next_piece`] returns its
    /// pieces.
    pub fn make(&mut self, form: Form, parts: &[Projection]) -> Outcome<()> {
        self.making = None;
        self.attempt(|file| {
            let dataset = file.opened()?;
            let made = match (form, parts) {
                (Form::Netcdf, parts) if !parts.is_empty() => {
                    Making::Netcdf(Box::new(Subset::new(dataset, parts, MOST_MADE)?))
                }
                (Form::Csv, [part]) => Making::Csv(Box::new(Csv::new(dataset, part, MOST_MADE)?)),
                (Form::Values, [part]) => {
                    let doubles = Doubles::new(dataset, part, MOST_MADE)?;
                    let variable = dataset.variable_at(part.variable).expect("it was just found");
                    Making::Values(doubles.in_pieces(bounded(&variable, &part.slab)?))
                }
                (Form::Bytes, [part]) => {
                    Doubles::new(dataset, part, MOST_MADE)?;
                    let variable = dataset.variable_at(part.variable).expect("it was just found");
                    let pieces = bounded(&variable, &part.slab)?;
                    Making::Bytes(variable, pieces)
                }
                _ => return Err(PartError::Refused("name one variable".to_owned())),
            };
            file.making = Some(made);
            Ok(())
        })
    }

    /// Returns the next piece of the part. None at the end.
    pub fn next_piece(&mut self) -> Outcome<Option<Vec<u8>>> {
        self.attempt(|file| match &mut file.making {
            None => Err(PartError::Refused("nothing is being made".to_owned())),
            Some(Making::Values(values)) => values.next_piece(),
            Some(Making::Netcdf(subset)) => subset.next_piece(),
            Some(Making::Csv(csv)) => csv.next_piece(),
            Some(Making::Bytes(variable, left)) => {
                let Some(slab) = left.front() else { return Ok(None) };
                let bytes = variable.read_bytes(slab)?;
                left.pop_front();
                Ok(Some(bytes))
            }
        })
    }

    fn opened(&mut self) -> Result<&Dataset, PartError> {
        if self.dataset.is_none() {
            let source: SharedSource = self.held.clone();
            self.dataset = Some(Dataset::from_source(source, &self.options)?);
        }
        Ok(self.dataset.as_ref().expect("it was just opened"))
    }

    fn attempt<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T, PartError>) -> Outcome<T> {
        if !self.lacking {
            self.held.begin_operation();
        }
        self.held.begin_attempt();
        let was_open = self.dataset.is_some();
        let found = work(self);
        let wanted = self.held.wanted();
        // Values are checked by checksums, so that they are right even if optional bytes were missing.
        // Opening is different: it needs all requested bytes, since without its end a file may look like an
        // older state of it.
        self.lacking = !wanted.is_empty() && (!was_open || found.is_err());
        if !self.lacking {
            return found.map_or_else(|e| Outcome::Failed(words(&e)), Outcome::Done);
        }
        if !was_open {
            self.dataset = None;
        }
        let more: u64 = wanted.iter().map(|range| range.end - range.start).sum();
        if self.held.operation_len().saturating_add(more) > MOST_LEN {
            self.lacking = false;
            let most = MOST_LEN >> 20;
            return Outcome::Failed(format!(
                "this needs more than {most} MiB of the file at once, which a page cannot hold; ask for a part, or use the nc3z program"
            ));
        }
        Outcome::Fetch(wanted)
    }
}

/// Joins an error and its causes.
fn words(e: &PartError) -> String {
    match e {
        PartError::Read(e) => e.with_causes(),
        e => e.to_string(),
    }
}

/// Splits a hyperslab so that each piece has a bounded number of elements, and needs a bounded number of tiles.
fn bounded(variable: &Variable, slab: &Hyperslab) -> Result<VecDeque<Hyperslab>, PartError> {
    let whole = variable.shape().iter().fold(variable.ty().size() as u64, |n, len| n.saturating_mul(*len));
    let tile_len = whole / variable.tiling()?.tile_count().max(1);
    let mut pieces = VecDeque::new();
    for piece in pieces_of(slab, ELEMENTS) {
        let elements = piece.count.iter().product::<u64>();
        let tiles = variable.plan(&piece)?.tile_count();
        let parts = tiles.saturating_mul(tile_len).div_ceil(TILES_LEN).clamp(1, elements.max(1));
        pieces.extend(pieces_of(&piece, elements.div_ceil(parts)));
    }
    Ok(pieces)
}
