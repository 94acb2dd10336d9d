//! Parses layouts of the command line.

use crate::names::unescape;
use nc3z_writer::TileChoice;

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
    match TileChoice::from_name(name) {
        Some(choice) => Ok(LayoutArg { variable, choice }),
        None => Err(format!("unknown layout `{name}`; expected linear, chunked, auto, series or map")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_are_read() {
        let all = LayoutArg { variable: None, choice: TileChoice::Auto };
        assert_eq!(parse_layout("auto").unwrap(), all);
        let one = LayoutArg { variable: Some("a=b".to_owned()), choice: TileChoice::Series };
        assert_eq!(parse_layout("a=b=series").unwrap(), one);
        assert!(parse_layout("tas=").is_err() && parse_layout("cubes").is_err());
    }
}
