//! What a read needs of many files, from their catalogue: objects and ranges of bytes, in the order of recalling them.

use super::{Asked, Catalog, HeadKind, Need, described, need};
use crate::error::{Error, Result};
use nc3z_format::Hyperslab;
use nc3z_reader::{Dataset, Variable};

/// A file that has the variable, and the ranges that the read takes from it.
#[derive(Debug)]
pub struct RecalledFile {
    /// The object that is recalled: the file, or its bundle.
    pub object: String,
    /// The name of the file.
    pub name: String,
    /// The tiles and ranges that the read needs.
    pub need: Need,
    /// True if the file is packed in a group with others.
    packed: bool,
}

/// The objects that a read needs.
#[derive(Debug)]
pub struct Recall<E> {
    /// The objects in the order of the catalogue, with their files by offset: a tape is read forwards.
    pub objects: Vec<(String, Vec<RecalledFile>)>,
    /// The files of which the read is not possible, with the reason.
    pub left_out: Vec<(String, E)>,
    /// True if any file has the variable.
    pub is_known: bool,
}

/// Plans the read of a variable for the files of a catalogue, or for the one named `member`. `select` returns the part to read of each.
///
/// # Errors
/// The catalogue cannot be read.
pub fn recall<E: From<Error> + From<nc3z_reader::Error>>(
    catalog: &Catalog,
    variable: &str,
    member: Option<&str>,
    select: &dyn Fn(&Dataset, &Variable) -> Result<Vec<Hyperslab>, E>,
) -> Result<Recall<E>> {
    let (mut files, mut left_out, mut is_known) = (Vec::new(), Vec::new(), false);
    let content = catalog.content()?;
    for block in catalog.blocks() {
        let Some(tiles) = block.tiles(variable)? else { continue };
        let (names, heads, headers) = (block.names()?, block.heads()?, block.headers()?);
        let (coordinates, places) = (block.coordinates()?, block.places(variable, &tiles)?);
        for (found, places) in tiles.found.iter().zip(&places) {
            let name = &names[found.member];
            if member.is_some_and(|wanted| wanted != name) {
                continue;
            }
            is_known = true;
            let (head, number) = &heads[found.member];
            let header = headers
                .get(*number)
                .ok_or_else(|| Error::refused("the catalogue does not have a header that it names"))?;
            let of = || -> Result<Need, E> {
                if head.kind == HeadKind::Other {
                    return Err(
                        Error::refused("it is an aggregation: ask for the files that it refers to").into()
                    );
                }
                let dataset = described(head, header, coordinates[found.member].clone())?;
                let variable = dataset.variable(variable)?;
                let slabs = select(&dataset, &variable)?;
                let (variable, layout) = (variable.id(), &found.layout);
                let mut need = need(Asked { head, dataset: &dataset, variable, layout, places }, &slabs)?;
                if let Some(content) = &content {
                    need.ranges = content.ranges(&need.ranges)?;
                }
                Ok(need)
            };
            match of() {
                Ok(need) => {
                    let object = name.split_once("!/").map_or(name.as_str(), |(bundle, _)| bundle).to_owned();
                    let packed = head.kind == HeadKind::Packed;
                    files.push(RecalledFile { object, name: name.clone(), need, packed });
                }
                Err(e) => left_out.push((name.clone(), e)),
            }
        }
    }
    Ok(Recall { objects: by_object(files), left_out, is_known })
}

/// Puts files of the same object together, and orders them by offset.
fn by_object(files: Vec<RecalledFile>) -> Vec<(String, Vec<RecalledFile>)> {
    let mut objects: Vec<(String, Vec<RecalledFile>)> = Vec::new();
    for file in files {
        match objects.last_mut() {
            Some((object, all)) if *object == file.object => all.push(file),
            _ => objects.push((file.object.clone(), vec![file])),
        }
    }
    for (_, files) in &mut objects {
        files.sort_by_key(|file| file.need.ranges.first().map(|range| range.offset));
        // Files of one group are read with it, once.
        for n in (1..files.len()).rev() {
            if files[n].packed && files[n].need.ranges == files[n - 1].need.ranges {
                files[n].need.ranges.clear();
            }
        }
    }
    objects
}
