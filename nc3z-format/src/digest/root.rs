//! Roots in their published form: `nc3z1:` and 64 hexadecimal digits.

use super::Hash;
use crate::bytes::hex;
use crate::error::Error;
use std::fmt;
use std::str::FromStr;

/// The prefix of a root in text.
const PREFIX: &str = "nc3z1:";

/// The root of a file's content or of a collection's members: one digest from which everything in it can be checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Root(pub Hash);

impl fmt::Display for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", hex(&self.0))
    }
}

impl FromStr for Root {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let root = text.strip_prefix(PREFIX).and_then(|digits| super::record::hash_of(digits.as_bytes()));
        root.map(Root).ok_or_else(|| {
            Error::invalid(format!(
                "invalid root `{}`; expected {PREFIX} and 64 digits 0-9 a-f, as `nc3z hash --root` prints it",
                text.escape_debug()
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_back_and_nothing_else_is() {
        let root = Root([0xA5; 32]);
        let text = root.to_string();
        assert_eq!(text, format!("nc3z1:{}", "a5".repeat(32)));
        assert_eq!(text.parse::<Root>().unwrap(), root);
        for bad in
            ["", "nc3z1:", &text[6..], &text[..text.len() - 1], &text.to_uppercase(), &format!("{text} ")]
        {
            assert!(bad.parse::<Root>().is_err(), "{bad}");
        }
    }
}
