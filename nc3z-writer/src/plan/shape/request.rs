//! Matches layout requests, which use names, with the file's variables and dimensions. No request is ignored
//! silently.

use crate::error::{ErrorKind, Result};
use crate::layout::{ChunkRequest, LayoutOptions, TileChoice};
use crate::options::MAX_TILE_LEN;
use nc3z_format::classic::{DimId, Header, Layout, VarLayout, Variable};
use nc3z_format::tile::Edge;
use std::borrow::Cow;

/// The largest number of names that an error lists.
const NAMES: usize = 20;

/// The request for one variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wish {
    /// A kind of layout.
    Choice(TileChoice),
    /// Chunks of this shape; the shape is empty if the variable cannot have chunks.
    Chunks(Vec<u64>),
}

impl Wish {
    /// True for chunks that were requested by their lengths.
    pub(super) fn is_explicit(&self) -> bool {
        matches!(self, Wish::Chunks(_))
    }
}

/// Returns the request for every variable, in id order. A request that names the variable takes precedence
/// over one that does not. Chunk lengths take precedence over a kind of layout, and later requests over
/// earlier ones. Also returns whether the file has nothing that any of the chunk lengths are for, where that is not an error.
pub(super) fn resolve(
    header: &Header,
    layout: &Layout,
    options: &LayoutOptions,
) -> Result<(Vec<Wish>, bool)> {
    for (name, choice) in &options.by_variable {
        check_variable(header, name, &format!("layout {name}={}", choice.name()))?;
    }
    let mut chunks = Vec::new();
    for request in &options.chunks {
        check_lengths(header, layout, request)?;
        match check_names(header, request) {
            Err(_) if options.optional_chunks => {}
            fits => chunks.push(fits.map(|()| request)?),
        }
    }
    let is_unmet = chunks.is_empty() && !options.chunks.is_empty();
    let wishes = header.variables.iter().zip(&layout.variables).map(|(variable, place)| {
        let named = |name: &str| name.as_bytes() == variable.name;
        let chunks_here = |own: bool| {
            chunks.iter().copied().rev().find(|r| match &r.variable {
                Some(name) => own && named(name),
                None => !own && dims_of(header, variable, r).is_some(),
            })
        };
        let choice = options.by_variable.iter().rev().find(|(name, _)| named(name)).map(|(_, c)| *c);
        let request = match (chunks_here(true), choice) {
            (Some(own), None | Some(TileChoice::Chunked)) => Some(own),
            (Some(own), Some(other)) => {
                let (name, other) = (variable.name_lossy(), other.name());
                return Err(refuse(format!(
                    "variable \"{name}\" has two requests: the chunks `{own}` and the layout {other}; give one of them"
                )));
            }
            (None, None) => chunks_here(false),
            (None, Some(_)) => None,
        };
        match request {
            // The header's shape of the variable is not all in the file and may be arbitrarily large.
            Some(_) if !super::is_whole(place) => Ok(Wish::Chunks(Vec::new())),
            Some(request) => chunk_shape(header, variable, place, request, options.edge).map(Wish::Chunks),
            None => Ok(Wish::Choice(choice.or(options.general).unwrap_or_default())),
        }
    });
    Ok((wishes.collect::<Result<_>>()?, is_unmet))
}

fn check_lengths(header: &Header, layout: &Layout, request: &ChunkRequest) -> Result<()> {
    if request.lengths.is_empty() {
        return Err(refuse(format!("chunks `{request}` name no dimension")));
    }
    for (i, (name, len)) in request.lengths.iter().enumerate() {
        if *len == 0 {
            let has = header.dimension(name.as_bytes()).map(|(id, _)| dim_len(header, layout, id));
            let has = has.map_or_else(String::new, |len| format!(" has length {len},"));
            return Err(refuse(format!(
                "chunks `{request}`: dimension \"{name}\"{has} asked for chunks of 0; the least is 1"
            )));
        }
        if request.lengths[..i].iter().any(|(earlier, _)| earlier == name) {
            return Err(refuse(format!("chunks `{request}` name dimension \"{name}\" twice")));
        }
    }
    Ok(())
}

/// Checks the names of one request: they exist, and some variable has all the dimensions.
fn check_names(header: &Header, request: &ChunkRequest) -> Result<()> {
    let absent = |(name, _): &&(String, u64)| header.dimension(name.as_bytes()).is_none();
    if let Some((name, _)) = request.lengths.iter().find(absent) {
        let known = names(header.dimensions.iter().map(|d| d.name_lossy()));
        return Err(refuse(format!("chunks `{request}`: no dimension \"{name}\"; there are {known}")));
    }
    match &request.variable {
        None if !header.variables.iter().any(|v| dims_of(header, v, request).is_some()) => {
            Err(refuse(format!(
                "chunks `{request}`: no variable has all of these dimensions; name fewer, or a variable with `VAR:DIM=LENGTH`"
            )))
        }
        None => Ok(()),
        Some(name) => {
            let variable = check_variable(header, name, &format!("chunks `{request}`"))?;
            let has = |d: &str| variable.dimensions.iter().any(|&id| name_of(header, id) == d.as_bytes());
            let Some((missing, _)) = request.lengths.iter().find(|(d, _)| !has(d)) else { return Ok(()) };
            let dims = names(variable.dimensions.iter().map(|d| header.dimensions[d.index()].name_lossy()));
            Err(refuse(format!(
                "chunks `{request}`: variable \"{name}\" has no dimension \"{missing}\"; it has {dims}"
            )))
        }
    }
}

fn check_variable<'h>(header: &'h Header, name: &str, asked: &str) -> Result<&'h Variable> {
    header.variable(name.as_bytes()).map(|(_, v)| v).ok_or_else(|| {
        let known = nc3z_format::spelling::suggest(name, header.variables.iter().map(Variable::name_lossy));
        refuse(format!("{asked}: no variable \"{name}\"{known}"))
    })
}

/// Returns the requested length for each of a variable's dimensions, if it has all the requested dimensions.
fn dims_of(header: &Header, variable: &Variable, request: &ChunkRequest) -> Option<Vec<Option<u64>>> {
    let asked = |id: &DimId| {
        let found = request.lengths.iter().find(|(n, _)| n.as_bytes() == name_of(header, *id));
        found.map(|(_, len)| *len)
    };
    let lengths: Vec<_> = variable.dimensions.iter().map(asked).collect();
    let named = |name: &str| variable.dimensions.iter().any(|&id| name_of(header, id) == name.as_bytes());
    request.lengths.iter().all(|(name, _)| named(name)).then_some(lengths)
}

/// Returns the chunk shape of one variable: the requested lengths, and the whole length of the other
/// dimensions. Clipped chunks never reach beyond a dimension of fixed length, because that would change
/// nothing.
fn chunk_shape(
    header: &Header,
    variable: &Variable,
    place: &VarLayout,
    request: &ChunkRequest,
    edge: Edge,
) -> Result<Vec<u64>> {
    let asked = dims_of(header, variable, request).expect("check_names: the variable has these dimensions");
    let lens = asked.iter().zip(&place.shape).enumerate();
    let shape: Vec<u64> = lens
        .map(|(d, (asked, len))| match (asked, edge) {
            (Some(n), Edge::Padded) => *n,
            (Some(n), Edge::Clipped) if d == 0 && place.is_record => *n,
            (Some(n), Edge::Clipped) => (*n).min(*len),
            (None, _) => *len,
        })
        .map(|n| n.max(1))
        .collect();
    let largest = shape.iter().zip(&place.shape).map(|(c, n)| match edge {
        Edge::Padded => *c,
        Edge::Clipped => (*c).min((*n).max(1)),
    });
    let bytes = largest.fold(u128::from(place.element_size()), |b, n| b.saturating_mul(u128::from(n)));
    // The product of the stored lengths must be a valid number of elements, even if tiles are clipped.
    let stored = shape.iter().try_fold(1_u64, |b, n| b.checked_mul(*n));
    if bytes <= u128::from(MAX_TILE_LEN) && stored.is_some_and(|n| n <= nc3z_format::tile::MAX_ELEMENTS) {
        return Ok(shape);
    }
    let dims = variable
        .dimensions
        .iter()
        .zip(&shape)
        .zip(&place.shape)
        .map(|((id, c), n)| format!("{} {c} of {n}", header.dimensions[id.index()].name_lossy()));
    Err(refuse(format!(
        "chunks `{request}`: a tile of variable \"{}\" ({}) would have {bytes} bytes, at most {MAX_TILE_LEN} are allowed",
        variable.name_lossy(),
        dims.collect::<Vec<_>>().join(", ")
    )))
}

fn name_of(header: &Header, id: DimId) -> &[u8] {
    &header.dimensions[id.index()].name
}

fn dim_len(header: &Header, layout: &Layout, id: DimId) -> u64 {
    match header.dim_len(id) {
        0 => layout.numrecs,
        len => len,
    }
}

/// Names for a message, at most `NAMES`.
fn names<'a>(all: impl Iterator<Item = Cow<'a, str>>) -> String {
    let all: Vec<_> = all.collect();
    let more = all.len().saturating_sub(NAMES);
    let listed = all[..all.len() - more].join(", ");
    match (all.is_empty(), more) {
        (true, _) => "none".to_owned(),
        (_, 0) => listed,
        _ => format!("{listed} and {more} more"),
    }
}

fn refuse(message: String) -> crate::Error {
    ErrorKind::Layout(message).into()
}
