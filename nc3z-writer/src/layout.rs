//! Requests for the tiles of variables: a kind of layout, or chunk lengths by dimension.

use nc3z_format::tile::Edge;
use std::fmt;

/// The way to cut variables into tiles if no chunk lengths are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TileChoice {
    /// Runs of the flattened array; whole rows or planes if they fit.
    #[default]
    Linear,
    /// Chunks in the shape that [`TileChoice::Auto`] computes, even if linear tiles are as good.
    Chunked,
    /// Chunks for variables whose maps or series would be costly to read from linear tiles; linear tiles for
    /// the others.
    Auto,
    /// Chunks as long as possible along the first dimension.
    Series,
    /// Tiles of one index along all dimensions but the last two; of several indices if maps are small.
    Map,
}

impl TileChoice {
    /// The name on the command line and in the metadata.
    pub const fn name(self) -> &'static str {
        match self {
            TileChoice::Linear => "linear",
            TileChoice::Chunked => "chunked",
            TileChoice::Auto => "auto",
            TileChoice::Series => "series",
            TileChoice::Map => "map",
        }
    }
}

/// Chunk lengths by dimension name. Dimensions that are not named have their whole length.
///
/// ```
/// use nc3z_writer::ChunkRequest;
/// let all = ChunkRequest::new([("time", 1), ("lat", 90)]);
/// assert_eq!(all.to_string(), "time=1,lat=90");
/// assert_eq!(ChunkRequest::new([("time", 12)]).only("tas").to_string(), "tas:time=12");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkRequest {
    pub(crate) variable: Option<String>,
    pub(crate) lengths: Vec<(String, u64)>,
}

impl ChunkRequest {
    /// Creates a request for every variable that has all the named dimensions.
    pub fn new<N: Into<String>>(lengths: impl IntoIterator<Item = (N, u64)>) -> Self {
        let lengths = lengths.into_iter().map(|(name, len)| (name.into(), len)).collect();
        ChunkRequest { variable: None, lengths }
    }

    /// Limits the request to one variable.
    #[must_use]
    pub fn only(mut self, variable: impl Into<String>) -> Self {
        self.variable = Some(variable.into());
        self
    }
}

impl fmt::Display for ChunkRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(variable) = &self.variable {
            write!(f, "{variable}:")?;
        }
        for (i, (name, len)) in self.lengths.iter().enumerate() {
            write!(f, "{}{name}={len}", if i == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

/// All requests for tile layouts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LayoutOptions {
    /// The layout of variables that no other request names; linear by default.
    pub(crate) general: Option<TileChoice>,
    /// Layouts by variable; the last one for a name applies.
    pub(crate) by_variable: Vec<(String, TileChoice)>,
    /// The last request that applies to a variable is used.
    pub(crate) chunks: Vec<ChunkRequest>,
    pub(crate) edge: Edge,
}

impl LayoutOptions {
    /// True if a layout is requested for a variable of this name, or for all variables.
    pub(crate) fn asks_for(&self, name: &[u8]) -> bool {
        let named = |variable: &str| variable.as_bytes() == name;
        self.general.is_some()
            || self.by_variable.iter().any(|(variable, _)| named(variable))
            || self.chunks.iter().any(|request| request.variable.as_deref().is_none_or(named))
    }

    /// Returns the settings that differ from the defaults, in the form recorded in the metadata.
    pub(crate) fn describe(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        let mut add = |key: &str, words: Vec<String>| {
            if !words.is_empty() {
                found.push((key.to_owned(), words.join(" ")));
            }
        };
        add("chunk", self.chunks.iter().map(ToString::to_string).collect());
        add("edge", if self.edge == Edge::Padded { vec!["pad".to_owned()] } else { vec![] });
        let general = self.general.filter(|&choice| choice != TileChoice::Linear);
        let general = general.map(|choice| choice.name().to_owned());
        let named = self.by_variable.iter().map(|(name, choice)| format!("{name}={}", choice.name()));
        add("layout", general.into_iter().chain(named).collect());
        found
    }
}
