//! Archives a classic netCDF file, reads, restores and edits it: `cargo run --example tour -- FILE VARIABLE DIRECTORY`.

use nc3z::{Edit, Index, OpenOptions};
use std::path::Path;

fn main() -> nc3z::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [file, name, directory] = &args[..] else { panic!("usage: tour FILE VARIABLE DIRECTORY") };
    tour(Path::new(file), name, Path::new(directory))
}

pub(crate) fn tour(file: &Path, name: &str, directory: &Path) -> nc3z::Result<()> {
    let path = directory.join("tour.nc3z");
    let archived = nc3z::archive(file, &path)?;
    println!("archived {} bytes in {} bytes", archived.original_len, archived.stored_len);

    let variable = nc3z::open(&path)?.variable(name)?;
    let mut indices = vec![Index::from(..); variable.shape().len()];
    indices[0] = (..2).into();
    let rows = variable.select(indices)?;
    println!("{name}: {:?} elements: {:?}", rows.counts(), variable.read::<f64>(&rows)?);
    println!("restored {} bytes", nc3z::restore(&path, directory.join("tour.nc"))?.len);

    let mut edit = Edit::open(&path)?;
    edit.set(name, &rows, &[7])?;
    edit.set_attribute(name, "units", "K")?;
    println!("committed version {}", edit.commit("two rows corrected")?.version);

    let first = nc3z::open_with(&path, &OpenOptions::default().with_version(1))?;
    println!("units in version 1: {:?}", first.variable(name)?.attribute("units"));
    println!("sound: {}", nc3z::verify(&path)?.is_sound());
    Ok(())
}
