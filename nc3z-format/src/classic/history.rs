//! The attribute `history`: a line for each program that made the file.

use super::{Attribute, Header};
use crate::NcType;

impl Header {
    /// Appends a line to the attribute `history`, which is made if it does not exist.
    ///
    /// # Errors
    /// The attribute is not text; its type.
    pub fn append_history(&mut self, line: &str) -> Result<(), NcType> {
        let Some(history) = self.attributes.iter_mut().find(|a| a.name == b"history") else {
            let (name, values) = (b"history".to_vec(), line.as_bytes().to_vec());
            self.attributes.push(Attribute { name, ty: NcType::Char, values });
            return Ok(());
        };
        if history.ty != NcType::Char {
            return Err(history.ty);
        }
        // NULs at the end are not text.
        let len = history.values.iter().rposition(|&b| b != 0).map_or(0, |last| last + 1);
        history.values.truncate(len);
        if history.values.last().is_some_and(|&b| b != b'\n') {
            history.values.push(b'\n');
        }
        history.values.extend_from_slice(line.as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classic::{NumRecs, Version};

    #[test]
    fn lines_come_after_those_before() {
        let mut header = Header {
            version: Version::Cdf1,
            numrecs: NumRecs::Count(0),
            dimensions: vec![],
            attributes: vec![],
            variables: vec![],
        };
        header.append_history("one").unwrap();
        header.attributes[0].values.extend_from_slice(b"\0\0");
        header.append_history("two").unwrap();
        assert_eq!(header.attributes[0].values, b"one\ntwo");
        header.attributes[0].ty = NcType::Byte;
        assert_eq!(header.append_history("three"), Err(NcType::Byte));
    }
}
