//! The pieces of a variable on which plans are compared.

use super::crop::Crop;
use crate::geometry::Geometry;
use crate::scale_offset::Segments;
use crate::word::Word;

/// A piece, by its number among its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Piece {
    /// For estimates.
    Crop(usize),
    /// For the first real encodes.
    Trial(usize),
    /// The unchanged part of a sample that the last plans encode.
    Part(usize),
    /// A whole sample, unchanged.
    Sample(usize),
}

/// The samples of one variable, and pieces of them.
pub(crate) struct Pieces<'a, W> {
    pub(crate) geom: &'a Geometry,
    pub(crate) samples: Vec<&'a [W]>,
    pub(crate) parts: Vec<&'a [W]>,
    pub(crate) crops: Vec<Crop<W>>,
    pub(crate) trials: Vec<Crop<W>>,
    /// True if the trials are the unchanged samples.
    pub(crate) covered: bool,
}

/// A piece in the form for an encoder.
pub(crate) struct View<'p, W> {
    pub(crate) words: &'p [W],
    pub(crate) geom: &'p Geometry,
    /// The scale-offsets of its planes, where they are known.
    pub(crate) planes: Option<&'p Segments>,
    /// True if it is encoded like a tile. The masks of crops have no meaningful size.
    pub(crate) as_it_is: bool,
    pub(crate) crop: Option<&'p Crop<W>>,
}

impl<W: Word> Pieces<'_, W> {
    pub(crate) fn view(&self, piece: Piece) -> View<'_, W> {
        let (list, at) = match piece {
            Piece::Crop(at) => return View::of_crop(&self.crops[at], false),
            Piece::Trial(at) => return View::of_crop(&self.trials[at], self.covered),
            Piece::Part(at) => (&self.parts, at),
            Piece::Sample(at) => (&self.samples, at),
        };
        View { words: list[at], geom: self.geom, planes: None, as_it_is: true, crop: None }
    }

    pub(crate) fn crops(&self) -> Vec<Piece> {
        (0..self.crops.len()).map(Piece::Crop).collect()
    }

    pub(crate) fn trials(&self) -> Vec<Piece> {
        (0..self.trials.len()).map(Piece::Trial).collect()
    }

    pub(crate) fn parts(&self) -> Vec<Piece> {
        (0..self.parts.len()).map(Piece::Part).collect()
    }

    pub(crate) fn samples(&self) -> Vec<Piece> {
        (0..self.samples.len()).map(Piece::Sample).collect()
    }

    /// The elements of some pieces.
    pub(crate) fn len(&self, pieces: &[Piece]) -> u64 {
        pieces.iter().map(|&piece| self.view(piece).words.len() as u64).sum()
    }
}

impl<'p, W: Word> View<'p, W> {
    fn of_crop(crop: &'p Crop<W>, as_it_is: bool) -> Self {
        let planes = crop.planes.as_ref();
        View { words: &crop.words, geom: &crop.geom, planes, as_it_is, crop: Some(crop) }
    }
}
