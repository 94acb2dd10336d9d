//! The addresses of the server: which file, and the form in which it is answered.

use crate::dap::{self, Asked};
use crate::failure::{Answer, Failure};
use crate::file_bytes;
use crate::files::{Files, OpenFile};
use crate::listing;
use crate::meta;
use crate::metrics::Metrics;
use crate::options::Options;
use crate::page;
use crate::pieces::Pieces;
use crate::reply::Reply;
use crate::request::Request;
use crate::target::{Face, OWN, face_of, names};
use crate::zarr;
use hyper::StatusCode;
use hyper::header::{CONTENT_TYPE, HeaderValue, LOCATION};
use nc3z_look::part::{Csv, Doubles, Projection, Subset};
use nc3z_mount::View;
use nc3z_mount::view::Found;
use nc3z_reader::platform::path_of;
use std::ffi::OsString;
use std::io;
use std::sync::Arc;

/// The maximal number of files whose sizes are added up for one request.
const SIZED: usize = 100_000;

/// The served files, and counts of requests.
pub(crate) struct Site {
    pub(crate) files: Arc<Files>,
    pub(crate) metrics: Metrics,
}

impl Site {
    pub(crate) fn new(view: Arc<View>, options: Options) -> Self {
        Site { files: Arc::new(Files::new(view, options)), metrics: Metrics::new() }
    }

    /// The options of the server.
    pub(crate) fn options(&self) -> &Options {
        &self.files.options
    }

    /// Answers a request. It reads, and may block.
    pub(crate) fn answer(&self, request: &Request) -> Answer<Reply> {
        let (names, is_directory) = names(request.path())?;
        if names.first().is_some_and(|first| first == OWN) {
            return page::file(&names[1..]);
        }
        if !is_directory && names.len() == 1 && names[0] == "metrics" {
            let text = self.metrics.text();
            let kind = "text/plain; version=0.0.4; charset=utf-8";
            return Ok(Reply::whole(StatusCode::OK, kind, text.into()).of("metrics"));
        }
        let found = match self.files.view.find(&names) {
            Err(e) if is_absent(&e) => {
                return match zarr_of(&names) {
                    Some((directory, name, key)) => {
                        let file = self.data_set(directory, &name, true)?;
                        Ok(zarr::answer(&file, key, request)?.of("zarr"))
                    }
                    None if is_directory => Err(Failure::absent()),
                    None => self.face(&names, request),
                };
            }
            found => found?,
        };
        match found {
            Found::Directory(_) if !is_directory => {
                // A relative address, so that it holds behind a proxy, too.
                let last = request.path().rsplit('/').next().unwrap_or("");
                let reply = Reply::text(StatusCode::MOVED_PERMANENTLY, "a directory ends with /\n");
                // `./`, because a name such as `a:b` would be an address with a scheme.
                Ok(reply.with(LOCATION, header_of(&format!("./{last}/"))?).of("listing"))
            }
            Found::Directory(_) if request.query() == "sizes" => {
                Ok(listing::sizes(&self.files.view.sizes(&names, SIZED)?).of("listing"))
            }
            Found::Directory(entries) => Ok(listing::reply(&names, &entries, request)),
            Found::File(..) if is_directory => Err(Failure::absent()),
            Found::File(attr, handle) => {
                let name = names.last().expect("the root is a directory");
                let file = OpenFile::new(&self.files, attr, handle, name)?;
                let face = if file.archive().is_some() { "original" } else { "file" };
                Ok(file_bytes::answer(file, request)?.of(face))
            }
        }
    }

    /// Answers with a form of a data set, which the end of the name selects.
    fn face(&self, names: &[OsString], request: &Request) -> Answer<Reply> {
        let (last, directory) = names.split_last().ok_or_else(Failure::absent)?;
        let (name, face) = face_of(last).ok_or_else(Failure::absent)?;
        let answered = self.data_set(directory, &name, face == Face::Json).and_then(|file| match face {
            Face::Json => meta::answer(&file, request),
            Face::Csv | Face::Netcdf | Face::Values => part(&file, face, request),
            _ => dap::answer(&file, face, request),
        });
        let answered = answered.map(|reply| reply.of(face.name()));
        match answered {
            // A client of DAP2 expects errors in the form of DAP2.
            Err(failure) if face.is_dap() => Ok(dap::failure(&failure).of(face.name()).because(failure)),
            answered => answered,
        }
    }

    /// Returns the file of a name. `by_stem` also finds it without the usual suffixes.
    fn data_set(&self, directory: &[OsString], name: &OsString, by_stem: bool) -> Answer<OpenFile> {
        let ends: &[&str] = if by_stem { &["", ".nc", ".cdf", ".nc3"] } else { &[""] };
        for end in ends {
            let mut name = name.clone();
            name.push(end);
            let names = [directory, &[name.clone()]].concat();
            match self.files.view.find(&names) {
                Ok(Found::File(attr, handle)) => return OpenFile::new(&self.files, attr, handle, &name),
                Ok(Found::Directory(_)) => {}
                Err(e) if is_absent(&e) => {}
                Err(e) => return Err(e.into()),
            }
        }
        Err(Failure::absent())
    }
}

/// Returns a part of a data set as a file, as CSV or as numbers.
fn part(file: &OpenFile, face: Face, request: &Request) -> Answer<Reply> {
    let derived = file.derived()?;
    if let Some(reply) = derived.judged(request) {
        return Ok(reply);
    }
    let asked = Asked::new(file, derived.dataset.clone(), request)?;
    let limit = file.reply_len();
    let (pieces, len, kind): (Box<dyn Pieces>, _, _) = match face {
        Face::Csv => {
            (Box::new(Csv::new(&asked.dataset, only(&asked)?, limit)?), None, "text/csv; charset=utf-8")
        }
        Face::Values => {
            let doubles = Doubles::new(&asked.dataset, only(&asked)?, limit)?;
            let len = doubles.byte_len();
            (Box::new(doubles), Some(len), "application/octet-stream")
        }
        _ => {
            let subset = Subset::new(&asked.dataset, &asked.projections, limit)?;
            let len = subset.byte_len();
            (Box::new(subset), Some(len), "application/x-netcdf")
        }
    };
    let reply = Reply::pieces(StatusCode::OK, pieces, len, request.is_head())?.with_text(CONTENT_TYPE, kind);
    Ok(derived.validated(reply).with_ranges(false))
}

/// Returns the only requested part.
fn only(asked: &Asked) -> Answer<&Projection> {
    match &asked.projections[..] {
        [one] => Ok(one),
        _ => Err(Failure::bad("name one variable: ?NAME or ?NAME[first:stride:last]…")),
    }
}

/// Splits a path that contains a name with Zarr's suffix into the data set and the key in it.
fn zarr_of(names: &[OsString]) -> Option<(&[OsString], OsString, &[OsString])> {
    names.iter().enumerate().find_map(|(n, name)| {
        let stem = name.as_encoded_bytes().strip_suffix(b".zarr").filter(|stem| !stem.is_empty())?;
        Some((&names[..n], path_of(stem).into_os_string(), &names[n + 1..]))
    })
}

fn is_absent(e: &io::Error) -> bool {
    matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn header_of(text: &str) -> Answer<HeaderValue> {
    HeaderValue::from_str(text).map_err(|_| Failure::absent())
}
