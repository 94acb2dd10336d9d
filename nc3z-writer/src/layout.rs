//! Requests for the tiles of variables: a kind of layout, or chunk lengths by dimension.

use nc3z_format::names::{split, split_once, unescape};
use nc3z_format::tile::Edge;
use std::fmt;
use std::str::FromStr;

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
    /// Returns the choice of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        let kinds =
            [TileChoice::Linear, TileChoice::Chunked, TileChoice::Auto, TileChoice::Series, TileChoice::Map];
        kinds.into_iter().find(|kind| kind.name() == name)
    }

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

/// The reason why a text is no [`ChunkRequest`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ChunkError(String);

impl FromStr for ChunkRequest {
    type Err = ChunkError;

    /// Parses `time=1,lat=90` and `tas:time=1,lat=90`. A backslash makes `:`, `,` or `=` part of a name.
    fn from_str(text: &str) -> Result<Self, ChunkError> {
        let mut variable = None;
        let mut lengths = text;
        if let Some((name, rest)) = split_once(text, ':') {
            // Names of dimensions with a colon need a backslash; those of variables as well.
            if split_once(rest, ':').is_some() {
                return Err(ChunkError(format!(
                    "`{text}` has more than one `:`; a backslash takes one into a name"
                )));
            }
            (variable, lengths) = (Some(unescape(name)), rest);
        }
        let items = split(lengths.as_bytes(), b',');
        let lengths = items.iter().map(|item| {
            let item = String::from_utf8_lossy(item);
            let parts = split(item.as_bytes(), b'=');
            let [name, length] = parts[..] else {
                return Err(ChunkError(format!("expected DIM=LENGTH, such as time=12, found `{item}`")));
            };
            let name = unescape(&String::from_utf8_lossy(name));
            let length = String::from_utf8_lossy(length);
            match length.parse::<u64>() {
                Ok(length) => Ok((name, length)),
                Err(_) => Err(ChunkError(format!(
                    "dimension `{name}`: chunk length `{length}` is not an integer from 1 to 2^64 - 1"
                ))),
            }
        });
        let request = ChunkRequest::new(lengths.collect::<Result<Vec<_>, ChunkError>>()?);
        Ok(match variable {
            Some(name) => request.only(name),
            None => request,
        })
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
    /// True if chunk lengths that fit no variable are not an error.
    pub(crate) optional_chunks: bool,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_read() {
        let request = |lengths: &[(&str, u64)]| ChunkRequest::new(lengths.iter().copied());
        assert_eq!(ChunkRequest::from_str("time=1,lat=90").unwrap(), request(&[("time", 1), ("lat", 90)]));
        assert_eq!(ChunkRequest::from_str("tas:time=1").unwrap(), request(&[("time", 1)]).only("tas"));
        assert_eq!(
            ChunkRequest::from_str(r"a\:b:x\=\,\\y=3").unwrap(),
            request(&[(r"x=,\y", 3)]).only("a:b")
        );
        for bad in ["", "time", "time=", "time=x", "time=1.5", "time=-1", "=1,", "a:b:time=1", "time=1=2"] {
            assert!(ChunkRequest::from_str(bad).is_err(), "{bad}");
        }
        assert!(ChunkRequest::from_str("lat=ninety").unwrap_err().to_string().contains("`lat`"));
    }
}
