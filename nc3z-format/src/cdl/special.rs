//! Attributes that are not in the file: they describe a variable's storage.

use super::header::text;
use super::number::unsigned;

/// A special attribute of a variable, with its value as CDL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Special {
    pub(super) name: &'static str,
    pub(super) value: Vec<u8>,
}

impl Special {
    /// With text as its value.
    pub fn text(name: &'static str, words: &str) -> Self {
        let mut value = Vec::new();
        text(words.as_bytes(), &mut value);
        Special { name, value }
    }

    /// With integers as its value.
    pub fn integers(name: &'static str, numbers: &[u64]) -> Self {
        let mut value = Vec::new();
        for (n, number) in numbers.iter().enumerate() {
            if n > 0 {
                value.extend_from_slice(b", ");
            }
            unsigned(*number, &mut value);
        }
        Special { name, value }
    }
}
