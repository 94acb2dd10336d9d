//! The filter's parameters, as words and as NumCodecs' JSON.

use nc3z_num::ElementType;
use serde_json::{Value, json};

/// The filter's number, from the private range until one is registered.
pub const FILTER_ID: u32 = 51_303;
/// The codec's id in JSON, and the filter's name.
pub const NAME: &str = "nc3z.num";

/// Versions of the words: chunks without and with a checksum.
const VERSION: u32 = 1;
const VERSION_WITH_CHECKSUM: u32 = 2;
/// The maximal rank in HDF5.
const MOST_RANK: usize = 32;
const BIG_ENDIAN: u32 = 0x100;
const LEVELS: [&str; 3] = ["fast", "default", "max"];

/// The words that a user may set: effort, and whether chunks have a checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestedParameters {
    /// See [`Parameters::effort`].
    pub effort: u32,
    /// See [`Parameters::checksum`].
    pub checksum: bool,
}

/// The description of a chunk. As words: version, effort, type and byte order, rank, lengths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameters {
    /// The effort of finding a plan: 0 fast, 1 default, 2 for the smallest payload.
    pub effort: u32,
    /// True if a chunk ends with the CRC-32 of its payload.
    pub checksum: bool,
    /// Type of the elements.
    pub ty: ElementType,
    /// True if the elements are in big-endian order.
    pub big_endian: bool,
    /// Lengths of a chunk.
    pub shape: Vec<u64>,
}

/// Types by their numbers, those of classic netCDF.
const TYPES: [(u32, ElementType, &str); 10] = [
    (1, ElementType::I8, "i1"),
    (3, ElementType::I16, "i2"),
    (4, ElementType::I32, "i4"),
    (5, ElementType::F32, "f4"),
    (6, ElementType::F64, "f8"),
    (7, ElementType::U8, "u1"),
    (8, ElementType::U16, "u2"),
    (9, ElementType::U32, "u4"),
    (10, ElementType::I64, "i8"),
    (11, ElementType::U64, "u8"),
];

impl Parameters {
    /// Parses a user's words: none, the effort, the effort and 0 or 1 for the checksum, or all words of a
    /// dataset that is copied. `None` for all others.
    pub fn wanted(words: &[u32]) -> Option<RequestedParameters> {
        match *words {
            [] => Some(RequestedParameters { effort: 1, checksum: true }),
            [effort @ ..=2] => Some(RequestedParameters { effort, checksum: true }),
            [effort @ ..=2, checksum @ ..=1] => Some(RequestedParameters { effort, checksum: checksum == 1 }),
            _ => Self::from_words(words)
                .map(|all| RequestedParameters { effort: all.effort, checksum: all.checksum }),
        }
    }

    /// The element type by its number in classic netCDF.
    pub fn type_of(number: u32) -> Option<ElementType> {
        TYPES.into_iter().find(|(known, ..)| *known == number).map(|(_, ty, _)| ty)
    }

    /// Parses words; `None` if they are invalid.
    pub fn from_words(words: &[u32]) -> Option<Self> {
        let (&[version, effort, ty, rank], lengths) = words.split_first_chunk()?;
        let rank = usize::try_from(rank).ok().filter(|rank| *rank <= MOST_RANK)?;
        let checksum = match version {
            VERSION => false,
            VERSION_WITH_CHECKSUM => true,
            _ => return None,
        };
        if effort > 2 || lengths.len() != rank || ty & !(BIG_ENDIAN | 0xFF) != 0 {
            return None;
        }
        let kind = Self::type_of(ty & 0xFF)?;
        let shape = lengths.iter().map(|len| u64::from(*len)).collect();
        Some(Parameters { effort, checksum, ty: kind, big_endian: ty & BIG_ENDIAN != 0, shape })
    }

    /// Returns the words; `None` if a length does not fit into one.
    pub fn to_words(&self) -> Option<Vec<u32>> {
        let (number, ..) = TYPES.into_iter().find(|(_, ty, _)| *ty == self.ty)?;
        let order = if self.big_endian { BIG_ENDIAN } else { 0 };
        let rank = u32::try_from(self.shape.len()).ok().filter(|_| self.shape.len() <= MOST_RANK)?;
        let version = if self.checksum { VERSION_WITH_CHECKSUM } else { VERSION };
        let mut words = vec![version, self.effort, number | order, rank];
        for len in &self.shape {
            words.push(u32::try_from(*len).ok()?);
        }
        Some(words)
    }

    /// Parses `{"id":"nc3z.num","dtype":"<f4","shape":[…],"level":"default","checksum":true}`, as written by
    /// the Python package's codec for NumCodecs. `level` and `checksum` may be missing: chunks have no
    /// checksum then.
    pub fn from_json(text: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(text).ok()?;
        let dtype = value["dtype"].as_str().filter(|_| value["id"] == NAME)?;
        let (order, name) = dtype.split_at_checked(1)?;
        let (_, ty, _) = TYPES.into_iter().find(|(.., known)| *known == name)?;
        let shape = value["shape"].as_array()?.iter().map(Value::as_u64).collect::<Option<Vec<_>>>()?;
        let level = value.get("level").map_or(Some("default"), Value::as_str)?;
        let checksum = value.get("checksum").map_or(Some(false), Value::as_bool)?;
        let effort = (0..).zip(LEVELS).find(|(_, name)| *name == level)?.0;
        Some(Parameters { effort, checksum, ty, big_endian: order == ">", shape })
    }

    /// Returns the JSON object.
    pub fn to_json(&self) -> String {
        let (.., name) =
            TYPES.into_iter().find(|(_, ty, _)| *ty == self.ty).expect("every type is in the table");
        let order = if self.big_endian { '>' } else { '<' };
        let level = LEVELS.get(self.effort as usize).unwrap_or(&LEVELS[1]);
        let mut object =
            json!({"id": NAME, "dtype": format!("{order}{name}"), "shape": self.shape, "level": level});
        if self.checksum {
            object["checksum"] = true.into();
        }
        object.to_string()
    }

    /// The length of a chunk in bytes.
    pub fn chunk_len(&self) -> Option<usize> {
        let elements = self.shape.iter().try_fold(1_u64, |product, len| product.checked_mul(*len))?;
        usize::try_from(elements).ok()?.checked_mul(self.ty.size())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_json_say_the_same() {
        for (_, ty, _) in TYPES {
            for (big_endian, checksum) in [(false, false), (false, true), (true, false), (true, true)] {
                let parameters =
                    Parameters { effort: 2, checksum, ty, big_endian, shape: vec![3, 1, 70_000] };
                let words = parameters.to_words().unwrap();
                assert_eq!(Parameters::from_words(&words), Some(parameters.clone()));
                assert_eq!(Parameters::from_json(&parameters.to_json()), Some(parameters));
            }
        }
        for bad in [
            &[][..],
            &[1],
            &[3, 1, 5, 0],
            &[1, 3, 5, 0],
            &[1, 1, 2, 0],
            &[1, 1, 5, 1],
            &[1, 1, 5, 33],
            &[1, 1, 0x205, 0],
        ] {
            assert_eq!(Parameters::from_words(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn words_of_a_user_are_taken_or_refused_never_changed() {
        let wanted = |effort, checksum| Some(RequestedParameters { effort, checksum });
        for (words, expected) in [
            (&[][..], wanted(1, true)),
            (&[0], wanted(0, true)),
            (&[2], wanted(2, true)),
            (&[2, 0], wanted(2, false)),
            (&[0, 1], wanted(0, true)),
            (&[1, 2, 5, 1, 100], wanted(2, false)),
            (&[2, 0, 5, 1, 100], wanted(0, true)),
            (&[3], None),
            (&[99], None),
            (&[1, 2], None),
            (&[3, 0], None),
            (&[1, 0, 0], None),
            (&[1, 1, 1, 1], None),
            (&[1, 3, 5, 1, 100], None),
            (&[1, 2, 5, 1, 100, 7], None),
        ] {
            assert_eq!(Parameters::wanted(words), expected, "{words:?}");
        }
    }
}
