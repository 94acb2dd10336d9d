//! Shows archives and classic files to people: used by the tool and by the Python package.
//!
//! [`cost`] computes the stored bytes of each variable. [`text`] makes text from a file safe to show.
//! [`selection`] is a part of a variable that may wrap around, as longitudes do. [`coordinate`] and
//! [`geography`] find dates, latitudes and longitudes. [`values`] reads numbers as they are shown. [`part`]
//! makes files of parts. [`mod@print`] prints values, [`diff`] differences, and [`tile_location`] the places of tiles.
//! [`dump`] reads what a dump shows, and [`find`] searches names and attributes. [`info`] describes a file, [`versions`] its
//! versions, [`layout`] the place of each byte, and [`explain`] the plan of a read.

pub mod coordinate;
pub mod cost;
pub mod defects;
pub mod diff;
pub mod dump;
pub mod explain;
pub mod find;
pub mod geography;
pub mod info;
pub mod json;
pub mod layout;
pub mod part;
pub mod print;
pub mod selection;
pub mod text;
pub mod tile_location;
pub mod values;
pub mod verify;
pub mod versions;
