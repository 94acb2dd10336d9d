//! DAP2: the data set's structure (`.dds`), its attributes (`.das`) and its values (`.dods`, `.ascii`), or a part of them.
//!
//! | classic | DAP2 |
//! |---|---|
//! | byte, ubyte | `Byte` |
//! | short, ushort, int, uint, float, double | `Int16`, `UInt16`, `Int32`, `UInt32`, `Float32`, `Float64` |
//! | char | `String`, without the last dimension, whose length and name are attributes |
//! | int64, uint64 | none: left out, with a note in the global attribute `nc3z_left_out`; an error if it is requested by name |

mod attributes;
mod constraint;
mod names;
mod opened;
mod structure;
mod text;
mod xdr;

use crate::failure::{Answer, Failure};
use crate::files::OpenFile;
use crate::pieces::Pieces;
use crate::reply::Reply;
use crate::request::Request;
use crate::target::Face;
use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use nc3z_format::{NcType, classic};
use nc3z_reader::{Dataset, Variable};

pub(crate) use constraint::projections;
pub(crate) use nc3z_look::part::Projection;

/// A data set and the requested part of it.
pub(crate) struct Asked {
    pub(crate) name: String,
    pub(crate) dataset: Dataset,
    pub(crate) projections: Vec<Projection>,
    /// The variables and attributes that DAP2 cannot express, with the reasons.
    pub(crate) left_out: Vec<String>,
}

impl Asked {
    pub(crate) fn new(file: &OpenFile, dataset: Dataset, request: &Request) -> Answer<Self> {
        let projections = projections(&dataset, request.query())?;
        Ok(Asked { name: file.name.clone(), dataset, projections, left_out: Vec::new() })
    }

    /// Orders the variables for clients of DAP2: those without elements come last, since netCDF-C fails to read the variable
    /// behind one. Of a whole data set, variables that DAP2 has no type for, or netCDF-C cannot name, are left out: a
    /// client that asks for the whole structure at first could otherwise read none.
    fn fit(&mut self, is_whole: bool) {
        let Asked { dataset, projections, left_out, .. } = self;
        projections.retain(|projection| {
            let variable = &dataset.header().variables[projection.variable.index()];
            let Some(why) = misfit(variable, &dataset.header().dimensions).filter(|_| is_whole) else {
                return true;
            };
            left_out.push(format!("variable {}: {why}", variable.name_lossy()));
            false
        });
        projections.sort_by_key(|projection| projection.slab.count.contains(&0));
    }
}

/// Answers a request for one of the forms.
pub(crate) fn answer(file: &OpenFile, face: Face, request: &Request) -> Answer<Reply> {
    let derived = file.derived()?;
    opened::check(file, &derived, face, request)?;
    if let Some(reply) = derived.judged(request) {
        return Ok(reply);
    }
    let mut asked = Asked::new(file, derived.dataset.clone(), request)?;
    if face != Face::Html {
        asked.fit(request.query().is_empty());
    }
    let (reply, kind, description) = match face {
        Face::Das => (whole(attributes::das(&asked)), "text/plain; charset=utf-8", "dods-das"),
        Face::Html => (whole(text::page(&asked, request)), "text/html; charset=utf-8", "dods-form"),
        Face::Dds => (whole(structure::dds(&asked)?), "text/plain; charset=utf-8", "dods-dds"),
        Face::Ascii => {
            // A value takes at least two characters.
            let len = elements(&asked).saturating_mul(2);
            if len > file.reply_len() {
                return Err(Failure::too_long(len, file.reply_len()));
            }
            let head = structure::dds(&asked)?;
            let pieces =
                Box::new(Framed::new(head + &"-".repeat(45) + "\n", Box::new(text::Ascii::new(asked))));
            (
                Reply::pieces(StatusCode::OK, pieces, None, request.is_head())?,
                "text/plain; charset=utf-8",
                "dods-ascii",
            )
        }
        _ => {
            let head = structure::dds(&asked)? + "Data:\n";
            let values = xdr::Values::new(asked)?;
            let len = head.len() as u64 + values.len();
            let limit = file.reply_len();
            if len > limit {
                return Err(Failure::too_long(len, limit));
            }
            let pieces = Box::new(Framed::new(head, Box::new(values)));
            (
                Reply::pieces(StatusCode::OK, pieces, Some(len), request.is_head())?,
                "application/octet-stream",
                "dods-data",
            )
        }
    };
    let reply = opened::mark(file, &derived, face, request, derived.validated(reply));
    Ok(described(reply.with_text(CONTENT_TYPE, kind), description))
}

/// The number of requested elements.
fn elements(asked: &Asked) -> u64 {
    let count = |p: &Projection| p.slab.count.iter().fold(1_u64, |n, count| n.saturating_mul(*count));
    asked.projections.iter().map(count).fold(0, u64::saturating_add)
}

/// Returns a failure in the form of DAP2.
pub(crate) fn failure(failure: &Failure) -> Reply {
    let message = failure.message.replace('\\', "\\\\").replace('"', "\\\"");
    let text =
        format!("Error {{\n    code = {};\n    message = \"{message}\";\n}};\n", failure.status.as_u16());
    described(Reply::text(failure.status, text), "dods-error")
}

fn described(reply: Reply, description: &'static str) -> Reply {
    reply
        .with(HeaderName::from_static("xdods-server"), HeaderValue::from_static("dods/3.7"))
        .with(HeaderName::from_static("content-description"), HeaderValue::from_static(description))
        .with_ranges(false)
}

fn whole(text: String) -> Reply {
    Reply::text(StatusCode::OK, text)
}

/// The reason why DAP2 cannot express something.
fn no_type(ty: NcType) -> String {
    format!("DAP2 has no type {ty}")
}

/// Returns the reason why a variable is left out of a whole data set.
fn misfit(variable: &classic::Variable, dimensions: &[classic::Dimension]) -> Option<String> {
    if structure::type_name(variable.ty).is_none() {
        return Some(no_type(variable.ty));
    }
    if !names::is_readable(&variable.name) {
        return Some("netCDF-C cannot read its name by DAP2".to_owned());
    }
    // The last dimension of text is not sent.
    let hidden = usize::from(variable.ty == NcType::Char);
    let mut seen = variable.dimensions.iter().rev().skip(hidden).map(|d| &dimensions[d.index()]);
    let unreadable = seen.find(|dimension| !names::is_readable(&dimension.name))?;
    Some(format!("netCDF-C cannot read the name of its dimension {} by DAP2", unreadable.name_lossy()))
}

struct Framed {
    head: Option<Bytes>,
    rest: Box<dyn Pieces>,
}

impl Framed {
    fn new(head: String, rest: Box<dyn Pieces>) -> Self {
        Framed { head: Some(head.into()), rest }
    }
}

impl Pieces for Framed {
    fn next(&mut self) -> Answer<Option<Bytes>> {
        let Some(head) = self.head.take() else { return self.rest.next() };
        // Sent with the first values, so that an immediate failure has its own status.
        match self.rest.next()? {
            Some(piece) => Ok(Some([head, piece].concat().into())),
            None => Ok(Some(head)),
        }
    }
}

pub(crate) fn variable(asked: &Asked, projection: &Projection) -> Variable {
    asked.dataset.variable_at(projection.variable).expect("projections are of the data set's variables")
}
