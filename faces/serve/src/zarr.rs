//! A data set as a group of Zarr 3: documents, and chunks that are encoded when they are requested.

use crate::failure::{Answer, Failure};
use crate::files::OpenFile;
use crate::reply::Reply;
use crate::request::Request;
use hyper::StatusCode;
use nc3z_format::tile::TileLayout;
use nc3z_format::{Hyperslab, NcType};
use nc3z_look::text::escaped_html;
use nc3z_reader::{Dataset, Variable};
use nc3z_zarr::{array_document, group_document};
use serde_json::{Map, Value, json};
use std::ffi::OsString;

/// The maximal decoded length of a chunk in bytes. If the archive's chunks are not longer, they are used.
const CHUNK_LEN: u64 = 8 << 20;
/// The length of chunks in bytes if the file is not divided into boxes.
const LINEAR_LEN: u64 = 1 << 20;
/// The level of zstd: the fastest, since each chunk is encoded for one reader.
const LEVEL: i32 = 1;

/// Answers a request for a key of the group.
pub(crate) fn answer(file: &OpenFile, key: &[OsString], request: &Request) -> Answer<Reply> {
    let derived = file.derived()?;
    if let Some(reply) = derived.judged(request) {
        return Ok(reply);
    }
    let dataset = &derived.dataset;
    let key: Option<Vec<&str>> = key.iter().map(|part| part.to_str()).collect();
    let key = key.ok_or_else(Failure::absent)?;
    let reply = match key[..] {
        [] => Reply::whole(StatusCode::OK, "text/html; charset=utf-8", names(&file.name, dataset).into()),
        ["zarr.json"] => document(&group(dataset)),
        [name, "zarr.json"] => document(&array(dataset, &variable(dataset, name)?)),
        [name, "c", ref index @ ..] => {
            let bytes = chunk(&variable(dataset, name)?, index)?;
            Reply::whole(StatusCode::OK, "application/octet-stream", bytes.into())
        }
        _ => return Err(Failure::absent()),
    };
    Ok(derived.validated(reply).with_ranges(false))
}

fn document(value: &Value) -> Reply {
    Reply::whole(StatusCode::OK, "application/json", value.to_string().into())
}

/// Links to the arrays, for people.
fn names(title: &str, dataset: &Dataset) -> String {
    let item = |list: String, variable: Variable| {
        let name = escaped_html(&variable.name());
        list + "<li>" + &name + "</li>\n"
    };
    let list = dataset.variables().fold(String::new(), item);
    format!(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>{0}</title>\n<h1>{0}</h1>\n\
         <p>A <a href=\"zarr.json\">group of Zarr 3</a> with these arrays:</p>\n<ul>\n{list}</ul>\n",
        escaped_html(title)
    )
}

/// Returns the first variable with this name.
fn variable(dataset: &Dataset, name: &str) -> Answer<Variable> {
    let found = dataset.header().variables().find(|(_, v)| v.name_lossy() == name);
    found.and_then(|(id, _)| dataset.variable_at(id)).ok_or_else(Failure::absent)
}

/// The group, with the documents of all arrays.
fn group(dataset: &Dataset) -> Value {
    let mut arrays = Map::new();
    for variable in dataset.variables() {
        let name = variable.name().into_owned();
        if !arrays.contains_key(&name) {
            arrays.insert(name, array(dataset, &variable));
        }
    }
    let mut group = group_document(dataset.header());
    group["consolidated_metadata"] = json!({"kind": "inline", "must_understand": false, "metadata": arrays});
    group
}

fn array(dataset: &Dataset, variable: &Variable) -> Value {
    let bytes = if variable.ty().size() == 1 {
        json!({"name": "bytes"})
    } else {
        json!({"name": "bytes", "configuration": {"endian": "little"}})
    };
    let zstd = json!({"name": "zstd", "configuration": {"level": LEVEL, "checksum": false}});
    array_document(
        dataset.header(),
        variable.header(),
        variable.shape(),
        &chunk_shape(variable),
        &[bytes, zstd],
    )
}

/// Returns the shape of all chunks of a variable: that of its tiles, reduced to the maximal length.
fn chunk_shape(variable: &Variable) -> Vec<u64> {
    let shape = variable.shape();
    let size = variable.ty().size() as u64;
    let (mut chunk, limit) = match variable.tiling().map(|tiling| tiling.layout().clone()) {
        Ok(TileLayout::Chunked { shape, .. }) => (shape, CHUNK_LEN),
        _ => (shape.to_vec(), LINEAR_LEN),
    };
    for (length, all) in chunk.iter_mut().zip(shape) {
        *length = (*length).min(*all).max(1);
    }
    let elements = (limit / size).max(1);
    for dim in 0..chunk.len() {
        let inner = chunk[dim + 1..].iter().fold(1_u64, |n, length| n.saturating_mul(*length));
        chunk[dim] = chunk[dim].min((elements / inner).max(1));
        if inner <= elements {
            break;
        }
    }
    chunk
}

/// Returns one encoded chunk. Chunks at the edges are padded.
fn chunk(variable: &Variable, index: &[&str]) -> Answer<Vec<u8>> {
    let shape = variable.shape();
    let lengths = chunk_shape(variable);
    if index.len() != shape.len() {
        return Err(Failure::absent());
    }
    let mut slab = Hyperslab { start: Vec::new(), count: Vec::new(), stride: vec![1; shape.len()] };
    for ((index, length), all) in index.iter().zip(&lengths).zip(shape) {
        let number: Option<u64> = index.parse().ok().filter(|n: &u64| n.to_string() == **index);
        let start = number.and_then(|n| n.checked_mul(*length)).filter(|start| start < all);
        let start = start.ok_or_else(Failure::absent)?;
        slab.start.push(start);
        slab.count.push((all - start).min(*length));
    }
    let mut values = variable.read_bytes(&slab)?;
    if slab.count != lengths {
        values = filled(&values, &slab.count, &lengths, variable);
    }
    let size = variable.ty().size();
    if size > 1 {
        values.chunks_exact_mut(size).for_each(<[u8]>::reverse);
    }
    let encoded = zstd::bulk::compress(&values, LEVEL);
    encoded.map_err(|e| Failure::new(StatusCode::INTERNAL_SERVER_ERROR, e.to_string()))
}

/// Extends a box at an edge to a whole chunk, padded with the fill value.
fn filled(values: &[u8], counts: &[u64], lengths: &[u64], variable: &Variable) -> Vec<u8> {
    let ty = variable.ty();
    let in_memory = |n: u64| usize::try_from(n).expect("a chunk fits in memory");
    let own = variable.attribute("_FillValue").filter(|a| a.ty == ty && a.values.len() == ty.size());
    let zero = [0; 8];
    let fill = own.filter(|_| ty != NcType::Char).map_or(&zero[..ty.size()], |a| &a.values[..]);
    let mut out = fill.repeat(in_memory(lengths.iter().product()));
    let row = in_memory(*counts.last().unwrap_or(&1)) * ty.size();
    let mut at = vec![0_u64; counts.len().saturating_sub(1)];
    for bytes in values.chunks_exact(row.max(1)) {
        let place = at.iter().zip(lengths).fold(0, |place, (n, length)| place * length + n);
        let place = in_memory(place * lengths.last().unwrap_or(&1)) * ty.size();
        out[place..place + row].copy_from_slice(bytes);
        for dim in (0..at.len()).rev() {
            at[dim] += 1;
            if at[dim] < counts[dim] {
                break;
            }
            at[dim] = 0;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use nc3z_reader::OpenOptions;

    #[test]
    fn a_box_at_an_edge_is_filled_up() {
        let dataset =
            Dataset::open("../../testdata/classic/record_padding.nc", &OpenOptions::default()).unwrap();
        let a = dataset.variable("a").unwrap();
        let values: Vec<u8> = (1..=12).collect();
        let out = filled(&values, &[3, 2], &[4, 3], &a);
        let (rows, fill) = (out.chunks_exact(6).collect::<Vec<_>>(), &out[4..6]);
        assert_eq!(rows[0][..4], [1, 2, 3, 4]);
        assert_eq!(rows[2][..4], [9, 10, 11, 12]);
        assert_eq!(rows[3], fill.repeat(3));
        assert_eq!(out.len(), 24);
    }
}
