//! Names the format of a file that is not classic netCDF, so that error messages say more than "bad magic".

/// A format recognised by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Foreign {
    /// The name of the format, for messages.
    pub name: &'static str,
    /// Advice for the user.
    pub hint: &'static str,
}

const NETCDF4: &str = "`nccopy -k cdf5 in.nc4 out.nc` makes a classic file of it with the same values and attributes, without compression and chunks; \
groups, strings, types of its own and a second unlimited dimension have no place in a classic file, and nccopy refuses them";
const UNPACK: &str = "decompress it first";
const BUNDLE: &str = "if it is a bundle, `nc3z list` lists its files, and BUNDLE!/FILE names one; otherwise decompress it first";
const NOT_NETCDF: &str = "it is not a netCDF file";

/// First bytes of formats that turn up under the name `.nc`.
const MAGICS: &[(&[u8], &str, &str)] = &[
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file (netCDF-4)", NETCDF4),
    (b"\x89NC3Z\r\n\x1a", "an nc3z archive", "it is archived already"),
    (b"\x1f\x8b", "a gzip file", UNPACK),
    (b"\x28\xb5\x2f\xfd", "a zstd file", UNPACK),
    (b"BZh", "a bzip2 file", UNPACK),
    (b"\xfd7zXZ\0", "an xz file", UNPACK),
    (b"\x1f\x9d", "a compress (.Z) file", UNPACK),
    (b"\x04\x22\x4d\x18", "an LZ4 file", UNPACK),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", UNPACK),
    (b"PK\x03\x04", "a zip archive", BUNDLE),
    (b"PK\x05\x06", "an empty zip archive", UNPACK),
    (b"\x0e\x03\x13\x01", "an HDF4 file", "convert it with `h4tonccf`"),
    (b"GRIB", "a GRIB message", "convert it to netCDF first"),
    (b"BUFR", "a BUFR message", "convert it to netCDF first"),
    (b"\xcd\xf3\x00\x01", "a NASA CDF file", "CDF and netCDF are different formats"),
    (b"\xcd\xf2\x60\x02", "a NASA CDF file", "CDF and netCDF are different formats"),
    (b"\x00\x00\xff\xff", "a NASA CDF file", "CDF and netCDF are different formats"),
    (b"version https://git-lfs", "a Git LFS pointer", "fetch the file with `git lfs pull`"),
    (b"netcdf ", "CDL text", "make a file of it with `ncgen`"),
    (b"cdf", "text, or a damaged magic (the magic is upper case)", NOT_NETCDF),
    (b"\x7fELF", "a program or library (ELF file)", NOT_NETCDF),
    (b"\x89PNG", "a PNG image", NOT_NETCDF),
    (b"\xff\xd8\xff", "a JPEG image", NOT_NETCDF),
    (b"\x93NUMPY", "a NumPy array", NOT_NETCDF),
    (b"SQLite format 3", "an SQLite database", NOT_NETCDF),
    (b"%PDF", "a PDF document", NOT_NETCDF),
    (b"II*\0", "a TIFF image", NOT_NETCDF),
    (b"MM\0*", "a TIFF image", NOT_NETCDF),
    (b"SIMPLE  =", "a FITS file", NOT_NETCDF),
    (b"\xef\xbb\xbfCDF", "a netCDF file behind a UTF-8 byte order mark", "a text tool damaged it"),
];

/// Recognizes a known format other than classic netCDF from `head`, the first bytes of a file. Pass 4 KiB if
/// possible: HDF5 may begin after a user block.
pub fn sniff(head: &[u8]) -> Option<Foreign> {
    if let Some(&(_, name, hint)) = MAGICS.iter().find(|(magic, ..)| head.starts_with(magic)) {
        return Some(Foreign { name, hint });
    }
    if let [b'C', b'D', b'F', version, ..] = head {
        return unknown_version(*version);
    }
    if head.starts_with(b"\x01FDC") || head.starts_with(b"\x02FDC") || head.starts_with(b"\x05FDC") {
        return Some(Foreign { name: "a byte-swapped netCDF file", hint: "swap it back" });
    }
    if b"CDF".starts_with(head) {
        // Truncated inside the magic, or empty.
        return None;
    }
    let at = |offset: usize, magic: &[u8]| head.get(offset..).is_some_and(|rest| rest.starts_with(magic));
    // HDF5's signature is at 0, 512, or a doubling of 512.
    for power in 9..20 {
        if at(1 << power, MAGICS[0].0) {
            return Some(Foreign { name: "an HDF5 file with a user block", hint: MAGICS[0].2 });
        }
    }
    if let Some(name) = text_or_zero(head) {
        return Some(Foreign { name, hint: NOT_NETCDF });
    }
    let shifted = [1, 2, 3, 4, 128, 512]
        .iter()
        .any(|&o| at(o, b"CDF\x01\0") || at(o, b"CDF\x02\0") || at(o, b"CDF\x05\0"));
    shifted.then_some(Foreign {
        name: "a netCDF file after bytes that do not belong to it",
        hint: "remove the bytes before `CDF`",
    })
}

fn unknown_version(version: u8) -> Option<Foreign> {
    match version {
        1 | 2 | 5 => None,
        3 | 4 => Some(Foreign {
            name: "a file with the magic of CDF-3 or CDF-4, which were never defined",
            hint: "netCDF-4 files are HDF5 files; classic files are CDF-1, -2 or -5",
        }),
        b'1' | b'2' | b'5' => Some(Foreign {
            name: "a file whose magic holds a digit as text in place of the version byte",
            hint: "a text tool may have damaged it",
        }),
        _ => Some(Foreign {
            name: "a file with the magic `CDF` and an unknown version byte",
            hint: "classic files are CDF-1, -2 or -5",
        }),
    }
}

fn text_or_zero(head: &[u8]) -> Option<&'static str> {
    if head.len() >= 4 && head.iter().all(|&b| b == 0) {
        return Some("a file that begins with zero bytes");
    }
    let start = head.trim_ascii_start();
    let lower: Vec<u8> = start.iter().take(14).map(u8::to_ascii_lowercase).collect();
    if lower.starts_with(b"<!doctype html") || lower.starts_with(b"<html") {
        return Some("an HTML page");
    }
    if start.starts_with(b"<") {
        return Some("XML text");
    }
    let plain = |b: &u8| b.is_ascii_graphic() || b.is_ascii_whitespace();
    (!head.is_empty() && head.iter().take(512).all(plain)).then_some("text")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_impostors_are_named() {
        for (head, word) in [
            (&b"\x89HDF\r\n\x1a\n\0\0"[..], "HDF5"),
            (b"\x89NC3Z\r\n\x1a", "nc3z"),
            (b"\x1f\x8b\x08", "gzip"),
            (b"<!DOCTYPE HTML><html>", "HTML"),
            (b"CDF\x03", "CDF-3"),
            (b"CDF\x06", "unknown version"),
            (b"404 not found\n", "text"),
            (b"\x7fELF\x02\x01\x01\0", "program"),
            (b"\x01FDC", "swapped"),
        ] {
            assert!(sniff(head).is_some_and(|f| f.name.contains(word)), "{word}");
        }
        assert_eq!(sniff(b"CDF\x01\0\0\0\0"), None);
        assert_eq!(sniff(b"\x80\x81\x82\x83"), None);
    }

    #[test]
    fn hdf5_behind_a_user_block_is_named() {
        let mut head = vec![0_u8; 512];
        head.extend_from_slice(b"\x89HDF\r\n\x1a\n");
        assert!(sniff(&head).unwrap().name.contains("user block"));
    }
}
