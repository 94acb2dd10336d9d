//! One module for each library.

pub mod blosc;
pub mod nc3z;
pub mod netcdf_c;
pub mod netcdf_rust;
pub mod zarr;

use crate::pattern::Slab;
use anyhow::Result;

/// The name of the variable in every file.
pub const VARIABLE: &str = "t";

/// A strided hyperslab by a library that has none: each index of the first dimension as one box, thinned out in memory.
pub fn thinned(slab: &Slab, out: &mut [f32], mut read: impl FnMut(&Slab, &mut Vec<f32>) -> Result<()>) -> Result<()> {
    let span: Vec<u64> = (1..3).map(|d| (slab.count[d] - 1) * slab.stride[d] + 1).collect();
    let plane = Slab { start: vec![0, 0, 0], count: vec![1, slab.count[1], slab.count[2]], stride: vec![1, slab.stride[1], slab.stride[2]] };
    let mut buffer = Vec::new();
    let per_plane = (slab.count[1] * slab.count[2]) as usize;
    for (i, out) in (0..).zip(out.chunks_exact_mut(per_plane)) {
        let solid = Slab {
            start: vec![slab.start[0] + i * slab.stride[0], slab.start[1], slab.start[2]],
            count: vec![1, span[0], span[1]],
            stride: vec![1, 1, 1],
        };
        read(&solid, &mut buffer)?;
        out.copy_from_slice(&plane.pick(&solid.count, &buffer));
    }
    Ok(())
}
