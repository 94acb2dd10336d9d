//! Names as C programs have them: up to the first zero. Files hold names with zeros at their end, where one was renamed to a shorter one.

use nc3z_format::classic::{Attribute, Header};

/// A stored name, as C sees it.
pub fn c_name(stored: &[u8]) -> &[u8] {
    stored.split(|b| *b == 0).next().unwrap_or_default()
}

/// The number of the first dimension of that name.
pub fn find_dimension(header: &Header, name: &[u8]) -> Option<usize> {
    header.dimensions.iter().position(|d| c_name(&d.name) == name)
}

/// The number of the first variable of that name.
pub fn find_variable(header: &Header, name: &[u8]) -> Option<usize> {
    header.variables.iter().position(|v| c_name(&v.name) == name)
}

/// The number of the first attribute of that name.
pub fn find_attribute(attributes: &[Attribute], name: &[u8]) -> Option<usize> {
    attributes.iter().position(|a| c_name(&a.name) == name)
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
}
