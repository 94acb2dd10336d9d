//! Parts that many files have alike are in memory once: headers, attributes, coordinates. Otherwise a file of CMIP takes some 10 KiB while it
//! is joined.

use super::scan::{Attributes, AxisForm, Coordinate, CoordinateForm, Form, Scanned};
use nc3z_format::classic::Attribute;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The number of different parts of one name that are shared. An attribute that differs from file to file, such as `history`, is not
/// compared with those of all files.
const KEPT: usize = 8;

/// Parts of one kind by name.
struct Known<T>(Mutex<HashMap<Vec<u8>, Vec<Arc<T>>>>);

impl<T> Default for Known<T> {
    fn default() -> Self {
        Known(Mutex::default())
    }
}

impl<T: PartialEq> Known<T> {
    /// Replaces a part by the equal part of an earlier file.
    fn share(&self, item: &mut Arc<T>, name: impl Fn(&T) -> &[u8]) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(known) = all.get_mut(name(item)) else {
            all.insert(name(item).to_owned(), vec![item.clone()]);
            return;
        };
        match known.iter().find(|other| Arc::ptr_eq(other, item) || ***other == **item) {
            Some(other) => *item = other.clone(),
            None if known.len() < KEPT => known.push(item.clone()),
            None => {}
        }
    }
}

/// The parts of the files that were scanned so far, each once.
#[derive(Default)]
pub(super) struct SharedParts {
    attributes: Known<Attribute>,
    lists: Known<Attributes>,
    arrays: Known<Form>,
    axes: Known<AxisForm>,
    coordinate_forms: Known<CoordinateForm>,
    coordinates: Known<Coordinate>,
}

impl SharedParts {
    /// Replaces each part that an earlier file has, too, by the part of the earlier file.
    pub(super) fn share(&self, scanned: &mut Scanned) {
        self.attributes_of(Arc::make_mut(&mut scanned.attributes));
        self.lists.share(&mut scanned.attributes, |_| b"");
        scanned.scalars.iter_mut().for_each(|scalar| self.attributes_of(&mut scalar.attributes));
        // Several arrays of a file have one coordinate.
        let mut own: Vec<[Arc<Coordinate>; 2]> = Vec::new();
        let mut replace = |coordinate: &mut Arc<Coordinate>| {
            let known = own.iter().find(|[old, _]| Arc::ptr_eq(old, coordinate)).map(|[_, new]| new.clone());
            let new = known.unwrap_or_else(|| self.coordinate(coordinate));
            own.push([std::mem::replace(coordinate, new.clone()), new]);
        };
        for array in scanned.arrays.iter_mut().chain(&mut scanned.points) {
            self.attributes_of(&mut Arc::make_mut(&mut array.form).attributes);
            self.arrays.share(&mut array.form, |form| form.name.as_bytes());
            for axis in array.axes.iter_mut().chain(&mut array.scalars) {
                self.axes.share(&mut axis.form, |form| form.name.as_bytes());
                axis.coordinate.iter_mut().for_each(&mut replace);
            }
        }
        scanned.loose.iter_mut().for_each(replace);
    }

    fn attributes_of(&self, attributes: &mut Attributes) {
        for attribute in attributes {
            self.attributes.share(attribute, |attribute| &attribute.name);
        }
    }

    fn coordinate(&self, coordinate: &Coordinate) -> Arc<Coordinate> {
        let mut new = coordinate.clone();
        self.attributes_of(&mut Arc::make_mut(&mut new.form).attributes);
        self.coordinate_forms.share(&mut new.form, |form| form.name.as_bytes());
        new.bounds.iter_mut().for_each(|bounds| self.attributes_of(&mut bounds.attributes));
        let mut new = Arc::new(new);
        self.coordinates.share(&mut new, |coordinate| coordinate.name.as_bytes());
        new
    }
}
