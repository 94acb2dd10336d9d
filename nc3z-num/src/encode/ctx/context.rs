//! Classes and averages of the previous row, for the statistics of the encoder.

use crate::ctx::context::{Thresholds, averages, classes};
use multiversion::multiversion;

/// The averages of [`Model::north`], for the encoder's statistics.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
pub(crate) fn averages_of(grid: &[u8], from: usize, stride: usize, out: &mut [u8]) {
    averages(grid, from, stride, out);
}

/// Does the work of [`north_classes`], but returns the classes themselves.
#[multiversion(targets("x86_64+avx+avx2+bmi1+bmi2+lzcnt+popcnt"))]
pub(crate) fn north_bytes(grid: &[u8], from: usize, stride: usize, north: &[u8], out: &mut [u8]) {
    let thresholds = Thresholds::new(north);
    let mut at = from;
    for part in out.chunks_mut(256) {
        classes(grid, at, stride, &thresholds, part);
        at += part.len();
    }
}
