//! Paths of requests: the file, and the requested form.

use crate::failure::{Answer, Failure};
use nc3z_reader::platform::path_of;
use percent_encoding::percent_decode_str;
use std::ffi::OsString;

/// The directory of the server's own files. It hides a directory of this name in the tree.
pub(crate) const OWN: &str = ".nc3z";

/// Returns the decoded names of a path, and whether it ends with a slash.
pub(crate) fn names(path: &str) -> Answer<(Vec<OsString>, bool)> {
    let path = path.strip_prefix('/').ok_or_else(|| Failure::bad("a path must begin with /"))?;
    let is_directory = path.is_empty() || path.ends_with('/');
    let path = path.strip_suffix('/').unwrap_or(path);
    let mut names = Vec::new();
    for part in path.split('/').filter(|_| !path.is_empty()) {
        let name: Vec<u8> = percent_decode_str(part).collect();
        let is_none = name.is_empty() || name == b"." || name == b"..";
        if is_none || name.iter().any(|b| matches!(b, b'/' | b'\\' | 0)) {
            return Err(Failure::bad("the path has a part that is not a file name"));
        }
        names.push(path_of(&name).into_os_string());
    }
    Ok((names, is_directory))
}

/// The form of a data set, by the end of the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Face {
    Dds,
    Das,
    Dods,
    Ascii,
    Html,
    Json,
    Csv,
    Netcdf,
    Values,
}

impl Face {
    const ALL: [(&'static str, Face); 9] = [
        (".dds", Face::Dds),
        (".das", Face::Das),
        (".dods", Face::Dods),
        (".ascii", Face::Ascii),
        (".html", Face::Html),
        (".json", Face::Json),
        (".csv", Face::Csv),
        (".nc", Face::Netcdf),
        (".f64", Face::Values),
    ];

    /// Its name in the metrics.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Face::Dds | Face::Das | Face::Dods | Face::Ascii | Face::Html => "dap2",
            Face::Json => "json",
            Face::Csv | Face::Netcdf => "subset",
            Face::Values => "values",
        }
    }

    /// True if failures have the form of DAP2.
    pub(crate) fn is_dap(self) -> bool {
        self.name() == "dap2"
    }
}

/// Returns the name of the data set and the form, if the name has the suffix of one.
pub(crate) fn face_of(name: &OsString) -> Option<(OsString, Face)> {
    let bytes = name.as_encoded_bytes();
    Face::ALL.iter().find_map(|(end, face)| {
        let rest = bytes.strip_suffix(end.as_bytes()).filter(|rest| !rest.is_empty())?;
        Some((path_of(rest).into_os_string(), *face))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_names_or_refused() {
        let of = |path: &str| {
            names(path)
                .map(|(names, d)| (names.iter().map(|n| n.display().to_string()).collect::<Vec<_>>(), d))
        };
        assert_eq!(of("/").unwrap(), (vec![], true));
        assert_eq!(of("/a%20b/x.nc").unwrap(), (vec!["a b".to_owned(), "x.nc".to_owned()], false));
        assert_eq!(of("/a/").unwrap(), (vec!["a".to_owned()], true));
        for bad in [
            "",
            "a",
            "/..",
            "/a/../b",
            "/%2e%2e/x",
            "/a%2fb",
            "/a%5cb",
            "/a\\b",
            "/a%00",
            "//a",
            "/a//b",
            "/./a",
            "/..%2f",
        ] {
            assert!(of(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn faces_are_ends_of_names() {
        assert_eq!(face_of(&"x.nc.dds".into()), Some(("x.nc".into(), Face::Dds)));
        assert_eq!(face_of(&".dds".into()), None);
        assert_eq!(face_of(&"x".into()), None);
    }
}
