//! Attributes and coordinates that many files have alike are in memory once. Otherwise a file of CMIP takes some 10 KiB while it is joined.

use super::scan::{Attributes, Coordinate, Scanned};
use nc3z_format::classic::Attribute;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The number of different values of an attribute, or of a coordinate, that are shared. An attribute that differs from file to file, such
/// as `history`, is not compared with those of all files.
const KEPT: usize = 8;

/// The attributes and coordinates of the files that were scanned so far, each once.
#[derive(Default)]
pub(super) struct SharedParts {
    attributes: Mutex<HashMap<Vec<u8>, Vec<Arc<Attribute>>>>,
    coordinates: Mutex<HashMap<String, Vec<Arc<Coordinate>>>>,
}

impl SharedParts {
    /// Replaces each part that an earlier file has, too, by the part of the earlier file.
    pub(super) fn share(&self, scanned: &mut Scanned) {
        self.attributes_of(&mut scanned.attributes);
        scanned.scalars.iter_mut().for_each(|scalar| self.attributes_of(&mut scalar.attributes));
        // Several arrays of a file have one coordinate.
        let mut own: Vec<[Arc<Coordinate>; 2]> = Vec::new();
        let mut replace = |coordinate: &mut Arc<Coordinate>| {
            let known = own.iter().find(|[old, _]| Arc::ptr_eq(old, coordinate)).map(|[_, new]| new.clone());
            let new = known.unwrap_or_else(|| self.coordinate(coordinate));
            own.push([std::mem::replace(coordinate, new.clone()), new]);
        };
        for array in scanned.arrays.iter_mut().chain(&mut scanned.points) {
            self.attributes_of(&mut array.attributes);
            let axes = array.axes.iter_mut().chain(&mut array.scalars);
            axes.filter_map(|axis| axis.coordinate.as_mut()).for_each(&mut replace);
        }
        scanned.loose.iter_mut().for_each(replace);
    }

    fn attributes_of(&self, attributes: &mut Attributes) {
        let mut known = self.attributes.lock().unwrap_or_else(PoisonError::into_inner);
        for attribute in attributes {
            share(attribute, known.entry(attribute.name.clone()).or_default());
        }
    }

    fn coordinate(&self, coordinate: &Coordinate) -> Arc<Coordinate> {
        let mut new = coordinate.clone();
        self.attributes_of(&mut new.attributes);
        new.bounds.iter_mut().for_each(|bounds| self.attributes_of(&mut bounds.attributes));
        let mut new = Arc::new(new);
        let mut known = self.coordinates.lock().unwrap_or_else(PoisonError::into_inner);
        share(&mut new, known.entry(coordinate.name.clone()).or_default());
        new
    }
}

fn share<T: PartialEq>(item: &mut Arc<T>, known: &mut Vec<Arc<T>>) {
    match known.iter().find(|other| Arc::ptr_eq(other, item) || ***other == **item) {
        Some(other) => *item = other.clone(),
        None if known.len() < KEPT => known.push(item.clone()),
        None => {}
    }
}
