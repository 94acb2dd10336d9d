//! CDL, the text form of netCDF, as `ncdump` 4.9.0 writes it: byte for byte, for the classic formats.
//!
//! Pure formatting: a [`Header`] and the big-endian bytes of values go in, text comes out. Values are pushed in pieces of
//! any length, so nothing here ever holds a variable, or even a row of it.
//!
//! ```
//! use nc3z_format::cdl::{Cdl, Style};
//! use nc3z_format::classic::{DimId, Dimension, Header, NumRecs, VarId, Variable, Version};
//! use nc3z_format::NcType;
//! # let variable = |name: &[u8], ty| Variable {
//! #     name: name.to_vec(), dimensions: vec![DimId(0)], attributes: vec![], ty, vsize: 0, begin: 0 };
//! let header = Header {
//!     version: Version::Cdf1,
//!     numrecs: NumRecs::Count(2),
//!     dimensions: vec![Dimension { name: b"time".to_vec(), len: 0 }],
//!     attributes: vec![],
//!     variables: vec![variable(b"t", NcType::Short)],
//! };
//! let style = Style::default();
//! let cdl = Cdl::new(&header, 2, &style);
//! let mut out = Vec::new();
//! cdl.begin(b"example", &mut out);
//! cdl.begin_data(&mut out);
//! let mut values = cdl.values(VarId(0), &mut out).expect("there are records");
//! for piece in [[0, 7], [0, 8]] {
//!     let mut rest = &piece[..];
//!     while !rest.is_empty() {
//!         rest = values.push(rest, &mut out);
//!         // `out` may be written and cleared here.
//!     }
//! }
//! values.finish()?;
//! cdl.end(&mut out);
//! assert_eq!(
//!     String::from_utf8(out).unwrap(),
//!     "netcdf example {\ndimensions:\n\ttime = UNLIMITED ; // (2 currently)\nvariables:\n\tshort t(time) ;\n\
//!      data:\n\n t = 7, 8 ;\n}\n"
//! );
//! # Ok::<(), nc3z_format::Error>(())
//! ```
//!
//! [`Header`]: crate::classic::Header

mod cformat;
mod dates;
mod element;
mod header;
mod name;
mod notes;
mod number;
mod special;
mod style;
mod values;

pub use header::{Cdl, kind};
pub use name::escape_name;
pub use special::Special;
pub use style::{Dates, Indices, Style};
pub use values::Values;
