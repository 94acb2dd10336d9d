//! Names as C programs have them: up to the first zero. Files hold names with zeros at their end, where one was renamed to a shorter one.

use nc3z_format::classic::{Attribute, Header};
use unicode_normalization::UnicodeNormalization;

/// A stored name, as C sees it.
pub fn c_name(stored: &[u8]) -> &[u8] {
    stored.split(|b| *b == 0).next().unwrap_or_default()
}

/// The number of the first dimension of that name.
pub fn find_dimension(header: &Header, name: &[u8]) -> Option<usize> {
    find(header.dimensions.iter().map(|d| &d.name[..]), name)
}

/// The number of the first variable of that name.
pub fn find_variable(header: &Header, name: &[u8]) -> Option<usize> {
    find(header.variables.iter().map(|v| &v.name[..]), name)
}

/// The number of the first attribute of that name.
pub fn find_attribute(attributes: &[Attribute], name: &[u8]) -> Option<usize> {
    find(attributes.iter().map(|a| &a.name[..]), name)
}

/// The first stored name that is the one given; else the first that is its normal form C. The library stores names in this form, and brings
/// those that it looks up into it, so that `e` and an accent find `é`. Names that other programs stored in another form are found as they are,
/// which the library does not do.
fn find<'n>(mut stored: impl Iterator<Item = &'n [u8]> + Clone, name: &[u8]) -> Option<usize> {
    stored.clone().position(|stored| c_name(stored) == name).or_else(|| {
        let text = std::str::from_utf8(name).ok().filter(|text| !text.is_ascii())?;
        let normal: String = text.nfc().collect();
        stored.position(|stored| c_name(stored) == normal.as_bytes())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use nc3z_format::NcType;

    #[test]
    fn zeros_end_a_name() {
        let attribute = |name: &[u8]| Attribute { name: name.into(), ty: NcType::Byte, values: vec![1] };
        let all = [attribute(b"longer"), attribute(b"x\0\0"), attribute(b"x")];
        assert_eq!(find_attribute(&all, b"x"), Some(1));
        assert_eq!(find_attribute(&all, b"long"), None);
        assert_eq!(c_name(b"\0a"), b"");
    }

    #[test]
    fn composed_names_are_found_by_their_parts() {
        let attribute = |name: &str| Attribute { name: name.into(), ty: NcType::Byte, values: vec![1] };
        let all = [attribute("e\u{301}"), attribute("\u{e9}"), attribute("H\u{e9}\0"), attribute("ﬁ")];
        assert_eq!(find_attribute(&all, "\u{e9}".as_bytes()), Some(1));
        assert_eq!(find_attribute(&all, "e\u{301}".as_bytes()), Some(0), "as it is stored goes first");
        assert_eq!(find_attribute(&all, "He\u{301}".as_bytes()), Some(2));
        assert_eq!(find_attribute(&all, b"fi"), None, "compatible forms are other names");
        assert_eq!(find_attribute(&all, b"H\xe9"), None, "no UTF-8");
    }
}
