//! Parses chunk lengths and layouts of the command line.

use crate::names::{split, split_once, unescape};
use nc3z_writer::{ChunkRequest, TileChoice};

/// A layout, for one variable or for all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LayoutArg {
    pub(crate) variable: Option<String>,
    pub(crate) choice: TileChoice,
}

/// Parses `auto` and `tas=series`.
pub(super) fn parse_layout(text: &str) -> Result<LayoutArg, String> {
    let (variable, name) = match text.rsplit_once('=') {
        Some((variable, name)) => (Some(unescape(variable)), name),
        None => (None, text),
    };
    let kinds =
        [TileChoice::Linear, TileChoice::Chunked, TileChoice::Auto, TileChoice::Series, TileChoice::Map];
    match kinds.into_iter().find(|kind| kind.name() == name) {
        Some(choice) => Ok(LayoutArg { variable, choice }),
        None => Err(format!("`{name}` is no layout; there are linear, chunked, auto, series and map")),
    }
}

/// Parses `time=1,lat=90` and `tas:time=1,lat=90`.
pub(super) fn parse_chunks(text: &str) -> Result<ChunkRequest, String> {
    let mut variable = None;
    let mut lengths = text;
    if let Some((name, rest)) = split_once(text, ':') {
        // Names of dimensions with a colon need a backslash; those of variables as well.
        if split_once(rest, ':').is_some() {
            return Err(format!("`{text}` has more than one `:`; a backslash takes one into a name"));
        }
        (variable, lengths) = (Some(unescape(name)), rest);
    }
    let items = split(lengths.as_bytes(), b',');
    let lengths = items.iter().map(|item| {
        let item = String::from_utf8_lossy(item);
        let parts = split(item.as_bytes(), b'=');
        let [name, length] = parts[..] else {
            return Err(format!("`{item}` is no DIM=LENGTH, such as time=12"));
        };
        let name = unescape(&String::from_utf8_lossy(name));
        let length = String::from_utf8_lossy(length);
        match length.parse::<u64>() {
            Ok(length) => Ok((name, length)),
            Err(_) => Err(format!(
                "dimension `{name}`: chunk length `{length}` is no whole number from 1 to 2^64 - 1"
            )),
        }
    });
    let request = ChunkRequest::new(lengths.collect::<Result<Vec<_>, String>>()?);
    Ok(match variable {
        Some(name) => request.only(name),
        None => request,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_read() {
        let request = |lengths: &[(&str, u64)]| ChunkRequest::new(lengths.iter().copied());
        assert_eq!(parse_chunks("time=1,lat=90").unwrap(), request(&[("time", 1), ("lat", 90)]));
        assert_eq!(parse_chunks("tas:time=1").unwrap(), request(&[("time", 1)]).only("tas"));
        assert_eq!(parse_chunks(r"a\:b:x\=\,\\y=3").unwrap(), request(&[(r"x=,\y", 3)]).only("a:b"));
        for bad in ["", "time", "time=", "time=x", "time=1.5", "time=-1", "=1,", "a:b:time=1", "time=1=2"] {
            assert!(parse_chunks(bad).is_err(), "{bad}");
        }
        assert!(parse_chunks("lat=ninety").unwrap_err().contains("`lat`"));
    }

    #[test]
    fn layouts_are_read() {
        let all = LayoutArg { variable: None, choice: TileChoice::Auto };
        assert_eq!(parse_layout("auto").unwrap(), all);
        let one = LayoutArg { variable: Some("a=b".to_owned()), choice: TileChoice::Series };
        assert_eq!(parse_layout("a=b=series").unwrap(), one);
        assert!(parse_layout("tas=").is_err() && parse_layout("cubes").is_err());
    }
}
