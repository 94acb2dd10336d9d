//! What a defect means for the whole file, in the cases that have their own message.

use crate::error::{Error, ErrorKind, Location};

/// The text that errors have in place of tiles which a repair could not save.
pub const LOST: &str = "lost to damage before";

/// The structures of a classic file's header, by the beginnings of their names.
const HEADER: [&str; 4] = ["header", "dimension list", "variable list", "global attributes"];

/// The meaning of a defect for the whole file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Damage {
    /// The file has no bytes.
    Empty,
    /// The file begins like another format, or like a version of the format that this build does not know.
    OtherFormat,
    /// The file begins neither like a classic file nor like another known format.
    NotClassic,
    /// A classic file ends inside its header.
    HeaderCut,
    /// A list in the header of a classic file is damaged.
    Header,
    /// The beginning of an archive is damaged.
    Beginning,
    /// The end of an archive is missing.
    EndMissing,
    /// The end of an archive is missing or overwritten.
    EndOverwritten,
    /// The list of members of a bundle is damaged.
    Bundle,
    /// Tiles were lost before the archive was repaired. No further repair saves them.
    Lost,
    /// Anything else.
    Other,
}

impl Error {
    /// Returns what the defect means for the whole file.
    pub fn damage(&self) -> Damage {
        match self.kind() {
            ErrorKind::Unsupported { location, .. } if is_at_the_front(location) => Damage::OtherFormat,
            ErrorKind::Truncated { location, what, available, .. } => match &*location.section {
                "header" if *what == "magic" && *available == 0 => Damage::Empty,
                section if is_header(section) => Damage::HeaderCut,
                "archive" => Damage::EndMissing,
                _ => Damage::Other,
            },
            ErrorKind::Corrupt { found, .. } if found.contains(LOST) => Damage::Lost,
            ErrorKind::Corrupt { location, what, .. } => match &*location.section {
                "header" if *what == "magic" => Damage::NotClassic,
                "header" => Damage::Other,
                section if is_header(section) => Damage::Header,
                "trailer" if what.starts_with("marker") => Damage::EndOverwritten,
                "superblock" => Damage::Beginning,
                "bundle" => Damage::Bundle,
                _ => Damage::Other,
            },
            _ => Damage::Other,
        }
    }

    /// Returns whether the defect is in the header of a classic file, which is not an archive.
    pub fn is_of_header(&self) -> bool {
        self.location().is_some_and(|location| is_header(&location.section))
    }
}

fn is_at_the_front(location: &Location) -> bool {
    location.offset == Some(0) && matches!(&*location.section, "header" | "superblock")
}

fn is_header(section: &str) -> bool {
    HEADER.iter().any(|list| section.starts_with(list))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classic::parse;
    use crate::limits::Limits;

    #[test]
    fn defects_of_real_bytes_have_their_meaning() {
        let of = |bytes: &[u8]| parse(bytes, bytes.len() as u64, &Limits::default()).unwrap_err().damage();
        assert_eq!(of(b""), Damage::Empty);
        assert_eq!(of(b"\xfe\xed\0\x01\x02\x03\xff\0"), Damage::NotClassic);
        assert_eq!(of(b"meow meow meow meow"), Damage::OtherFormat);
        assert_eq!(of(b"CDF\x01\0\0"), Damage::HeaderCut);
        assert_eq!(of(b"\x89HDF\r\n\x1a\n"), Damage::OtherFormat);
        assert_eq!(of(b"CDF\x01\0\0\0\0\0\0\0\x07\0\0\0\0"), Damage::Header);
        let lost = Error::corrupt("tile", None, "tile", "whole", format!("{LOST} it was repaired"));
        assert_eq!((lost.damage(), lost.is_of_header()), (Damage::Lost, false));
    }
}
