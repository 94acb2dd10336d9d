//! Values as text, and the form for browsers.

use super::names::name_of;
use super::structure::type_name;
use super::{Asked, variable};
use crate::failure::Answer;
use crate::pieces::{Pieces, pieces_of};
use crate::request::Request;
use bytes::Bytes;
use nc3z_format::{Hyperslab, NcType};
use nc3z_look::part::numbers;
use nc3z_look::text::escaped_html;
use std::collections::VecDeque;
use std::fmt::Write;

/// The number of elements of a piece of text.
const ELEMENTS: u64 = 64 << 10;

/// The values as text: a line for each row of the last dimension.
pub(crate) struct Ascii {
    asked: Asked,
    at: usize,
    left: VecDeque<Hyperslab>,
    begun: bool,
}

impl Ascii {
    pub(crate) fn new(asked: Asked) -> Self {
        Ascii { asked, at: 0, left: VecDeque::new(), begun: false }
    }
}

impl Pieces for Ascii {
    fn next(&mut self) -> Answer<Option<Bytes>> {
        let mut out = String::new();
        while out.is_empty() {
            let Some(projection) = self.asked.projections.get(self.at) else { return Ok(None) };
            let variable = variable(&self.asked, projection);
            if !self.begun {
                self.begun = true;
                self.left = rows_of(&projection.slab);
                let seen = super::constraint::seen_rank(&variable);
                let _ = write!(out, "{}", name_of(&variable.header().name));
                projection.slab.count.iter().take(seen).for_each(|n| {
                    let _ = write!(out, "[{n}]");
                });
                out.push('\n');
            }
            let Some(row) = self.left.pop_front() else {
                out.push('\n');
                self.begun = false;
                self.at += 1;
                continue;
            };
            let values = variable.read_bytes(&row)?;
            let width = row.count.last().copied().unwrap_or(1);
            let lines =
                usize::try_from(width).unwrap_or(usize::MAX).max(1).saturating_mul(variable.ty().size());
            let mut index: Vec<u64> = row
                .start
                .iter()
                .zip(&projection.slab.start)
                .zip(&row.stride)
                .map(|((at, first), step)| (at - first) / step.unsigned_abs().max(1))
                .collect();
            for line in values.chunks(lines) {
                let rank = index.len().saturating_sub(1);
                index.iter().take(rank).for_each(|n| {
                    let _ = write!(out, "[{n}]");
                });
                if rank > 0 {
                    out.push_str(", ");
                }
                if variable.ty() == NcType::Char {
                    let _ = writeln!(out, "\"{}\"", String::from_utf8_lossy(line).trim_end_matches('\0'));
                } else {
                    let _ = writeln!(out, "{}", numbers(variable.ty(), line).join(", "));
                }
                step(&mut index[..rank], &projection.slab.count);
            }
        }
        Ok(Some(out.into()))
    }
}

/// Moves to the next index, the last dimension first.
fn step(index: &mut [u64], counts: &[u64]) {
    for dim in (0..index.len()).rev() {
        index[dim] += 1;
        if index[dim] < counts[dim] {
            return;
        }
        index[dim] = 0;
    }
}

/// Splits a hyperslab into whole rows of the last dimension, unless one row is too long.
fn rows_of(slab: &Hyperslab) -> VecDeque<Hyperslab> {
    let row = slab.count.last().copied().unwrap_or(1);
    pieces_of(slab, ELEMENTS.max(row.min(ELEMENTS * 16)))
}

/// Returns the form: a description of the data set, and links to each variable.
pub(crate) fn page(asked: &Asked, request: &Request) -> String {
    let path = request.path();
    let last = path.rsplit('/').next().unwrap_or("").trim_end_matches(".html");
    // `./`, because a name such as `a:b.nc` would be an address with a scheme.
    let last = format!("./{}", escaped_html(last));
    let title = escaped_html(&asked.name);
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>{title}</title>\n<h1>{title}</h1>\n\
         <p><a href=\"{last}\">file</a> <a href=\"{last}.dds\">structure</a> <a href=\"{last}.das\">attributes</a> \
         <a href=\"{last}.json\">JSON</a></p>\n<table><tr><th>variable<th>type<th>shape<th>values</tr>\n"
    );
    for projection in &asked.projections {
        let variable = variable(asked, projection);
        let shape: Vec<String> = variable
            .dimensions()
            .zip(variable.shape())
            .map(|(d, len)| format!("{}={len}", d.name_lossy()))
            .collect();
        let name = name_of(&variable.header().name);
        let mut first = String::new();
        for len in &variable.shape()[..super::constraint::seen_rank(&variable)] {
            let _ = write!(first, "[0:{}]", len.saturating_sub(1));
        }
        let links = if type_name(variable.ty()).is_some() {
            format!(
                "<a href=\"{last}.ascii?{0}{first}\">text</a> <a href=\"{last}.dods?{0}{first}\">XDR</a>",
                escaped_html(&name)
            )
        } else {
            "no type of DAP2: read the file's bytes".to_owned()
        };
        let _ = writeln!(
            out,
            "<tr><td>{}<td>{}<td>{}<td>{links}</tr>",
            escaped_html(&variable.name()),
            variable.ty(),
            escaped_html(&shape.join(" "))
        );
    }
    out.push_str("</table>\n");
    out
}
