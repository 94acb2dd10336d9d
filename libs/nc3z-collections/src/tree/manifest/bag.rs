//! BagIt 1.0 (RFC 8493): a directory with its payload in `data/`, a manifest of the payload, and tag files
//! about both.

use super::{Entry, push_line};
use crate::tree::Result;
use crate::tree::error::Context as _;
use crate::tree::hash::unhex;
use crate::tree::refusal::ManifestFault;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Where the payload is.
pub const PAYLOAD: &str = "data";
/// The declaration, which marks a directory as a bag.
pub const DECLARATION: &str = "bagit.txt";
/// The manifest of the payload.
pub const MANIFEST: &str = "manifest-sha256.txt";
/// The directory of the specification, if the bag has it.
pub const SPECIFICATION: &str = "nc3z-specification";

/// Returns whether a member of a collection belongs to the specification, and not to the data.
pub fn is_specification(member: &str) -> bool {
    member.strip_prefix(SPECIFICATION).is_some_and(|rest| rest.starts_with('/'))
}
const INFO: &str = "bag-info.txt";
/// The key for the number of bytes and files of the payload.
const OXUM: &str = "Payload-Oxum";
/// The manifest of the tag files.
pub const TAG_MANIFEST: &str = "tagmanifest-sha256.txt";

/// Checks the directory of a new bag before anything is written: it must be empty or must not exist. With
/// `force`, it may be a bag, or an unfinished one.
pub fn check_root(root: &Path, force: bool) -> Result<()> {
    let entries = match std::fs::read_dir(root) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(e).with_context(|| format!("read the directory `{}`", root.display())),
    };
    let ours = [PAYLOAD, DECLARATION, MANIFEST, INFO, TAG_MANIFEST, SPECIFICATION];
    for entry in entries {
        let name = entry.with_context(|| format!("read the directory `{}`", root.display()))?.file_name();
        let log = name.as_encoded_bytes().ends_with(super::fixity::LOG_SUFFIX.as_bytes());
        if !log && !ours.iter().any(|o| name == *o) {
            return Err(ManifestFault::NoBag { root: root.to_owned(), name: name.into() }.into());
        }
        if !force {
            return Err(ManifestFault::FullBag(root.to_owned()).into());
        }
    }
    Ok(())
}

/// Returns the name in the encoding of manifests.
fn encode_name(path: &Path) -> Result<String> {
    let Some(name) = path.to_str() else {
        return Err(ManifestFault::BagName(path.to_owned()).into());
    };
    Ok(name.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A"))
}

/// Decodes only what must be encoded: other percent signs were written by programs that do not know the rule.
fn decode_name(name: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some((&b, after)) = rest.split_first() {
        let code = rest.get(..3).map(<[u8]>::to_ascii_uppercase);
        let (byte, taken) = match code.as_deref() {
            Some(b"%25") => (b'%', 3),
            Some(b"%0D") => (b'\r', 3),
            Some(b"%0A") => (b'\n', 3),
            _ => (b, 1),
        };
        out.push(byte);
        rest = &after[taken - 1..];
    }
    out
}

fn manifest(mut entries: Vec<Entry>) -> Result<Vec<u8>> {
    entries.sort_unstable();
    let mut out = Vec::new();
    for e in entries {
        push_line(&mut out, false, &e.sha256, encode_name(&e.path)?.as_bytes());
    }
    Ok(out)
}

/// The entries of a manifest of the payload or of the tag files.
pub fn decode(bytes: &[u8], name: &Path) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    // Lines may end with LF, CR or both (RFC 8493, 2.1.3).
    let lines = bytes.split(|&b| b == b'\n' || b == b'\r').filter(|l| !l.is_empty());
    for (number, line) in (1..).zip(lines) {
        let entry = line.split_at_checked(64).and_then(|(digits, rest)| {
            let path = rest.trim_ascii_start();
            let path = path.strip_prefix(b"*").unwrap_or(path);
            let path = path.strip_prefix(b"./").unwrap_or(path);
            let named = path.len() < rest.len() && !path.is_empty();
            Some(Entry::new(&decode_name(path), unhex(digits).filter(|_| named)?))
        });
        let Some(entry) = entry else {
            return Err(ManifestFault::Entry { path: name.to_owned(), entry: number }.into());
        };
        entries.push(entry);
    }
    Ok(entries)
}

/// Returns the entries of the manifest of a bag that exists; none if it has no manifest yet.
pub fn existing(root: &Path) -> Result<BTreeMap<PathBuf, [u8; 32]>> {
    let path = root.join(MANIFEST);
    if path.symlink_metadata().is_err() {
        return Ok(BTreeMap::new());
    }
    Ok(decode(&super::read(&path)?, &path)?.into_iter().map(|e| (e.path, e.sha256)).collect())
}

/// Payload files, by their names in the bag (`data/...`).
pub fn payload(root: &Path) -> Result<Vec<PathBuf>> {
    let files = super::files_below(&root.join(PAYLOAD))?;
    Ok(files.into_iter().map(|f| Path::new(PAYLOAD).join(f)).collect())
}

/// Makes the directory a bag: writes all tag files, the manifest of the tag files last. `entries` are all
/// files of the payload, `bytes` their total length.
pub fn write(root: &Path, entries: Vec<Entry>, bytes: u64) -> Result<()> {
    let oxum = format!("{OXUM}: {bytes}.{}\n", entries.len());
    let tags = [
        (MANIFEST, manifest(entries)?),
        (INFO, format!("Bag-Software-Agent: {}\n{oxum}", nc3z_format::SOFTWARE).into_bytes()),
        (DECLARATION, b"BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n".to_vec()),
    ];
    for (name, bytes) in &tags {
        super::replace(&root.join(name), bytes)?;
    }
    let mut signed: Vec<_> = tags.iter().map(|(name, _)| PathBuf::from(name)).collect();
    let directory = Path::new(SPECIFICATION);
    if root.join(directory).is_dir() {
        let files = super::files_below(&root.join(directory))?;
        signed.extend(files.into_iter().map(|file| directory.join(file)));
    }
    sign(root, signed)
}

/// Updates the entries of payload files. Other content of the tag files is kept.
pub fn update(root: &Path, new: &[Entry]) -> Result<()> {
    let path = root.join(MANIFEST);
    let mut entries = existing(root)?;
    entries.extend(new.iter().map(|e| (e.path.clone(), e.sha256)));
    let files = payload(root)?;
    let bytes: u64 = files.iter().map(|f| root.join(f).metadata().map_or(0, |m| m.len())).sum();
    super::replace(
        &path,
        &manifest(entries.into_iter().map(|(path, sha256)| Entry { path, sha256 }).collect())?,
    )?;
    let info = root.join(INFO);
    if info.exists() {
        let text = String::from_utf8_lossy(&super::read(&info)?).into_owned();
        let line = |line: &str| match line.split_once(':') {
            Some((label, _)) if label.eq_ignore_ascii_case(OXUM) => {
                format!("{OXUM}: {bytes}.{}\n", files.len())
            }
            _ => line.to_owned(),
        };
        super::replace(&info, text.split_inclusive('\n').map(line).collect::<String>().as_bytes())?;
    }
    let tags = root.join(TAG_MANIFEST);
    if !tags.exists() {
        return Ok(());
    }
    sign(root, decode(&super::read(&tags)?, &tags)?.into_iter().map(|e| e.path).collect())
}

/// Writes the manifest of the tag files.
fn sign(root: &Path, tags: Vec<PathBuf>) -> Result<()> {
    use sha2::Digest as _;
    let entry = |path: PathBuf| {
        let bytes = super::read(&super::inside(root, &path).map_err(ManifestFault::NotThere)?)?;
        Ok(Entry { path, sha256: sha2::Sha256::digest(bytes).into() })
    };
    let entries = tags.into_iter().map(entry).collect::<Result<Vec<_>>>()?;
    super::replace(&root.join(TAG_MANIFEST), &manifest(entries)?)
}

/// Returns the defects of a bag's declaration, and of its recorded size. `payload` is the number of bytes and
/// files found.
pub fn check_tags(root: &Path, payload: (u64, u64)) -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    let text = |name: &str| {
        Ok::<_, crate::tree::Error>(String::from_utf8_lossy(&super::read(&root.join(name))?).into_owned())
    };
    let declaration = text(DECLARATION)?;
    let field = |text: &str, label: &str| {
        let values =
            text.lines().filter_map(|l| l.split_once(':').filter(|(l, _)| l.eq_ignore_ascii_case(label)));
        values.map(|(_, v)| v.trim().to_owned()).next()
    };
    if field(&declaration, "BagIt-Version").is_none() {
        wrong.push(format!("{DECLARATION}: no BagIt-Version"));
    }
    match field(&declaration, "Tag-File-Character-Encoding") {
        Some(encoding) if encoding.eq_ignore_ascii_case("UTF-8") => {}
        other => wrong.push(format!("{DECLARATION}: encoding {}, expected UTF-8", other.unwrap_or_default())),
    }
    if root.join(INFO).exists()
        && let Some(oxum) = field(&text(INFO)?, OXUM)
        && oxum != format!("{}.{}", payload.0, payload.1)
    {
        wrong.push(format!("{INFO}: {OXUM} is {oxum}, found {}.{}", payload.0, payload.1));
    }
    Ok(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nc3z_reader::platform::path_of;

    #[test]
    fn names_are_encoded_as_the_rfc_says() {
        for name in ["data/a b.nc3z", "data/100%.nc3z", "data/new\nline\r", "data/%0A", "data/température"] {
            let encoded = encode_name(Path::new(name)).unwrap();
            assert!(!encoded.contains(['\n', '\r']));
            assert_eq!(decode_name(encoded.as_bytes()), name.as_bytes());
        }
        assert_eq!(decode_name(b"data/50% of it %0a%2"), b"data/50% of it \n%2");
        assert!(encode_name(&path_of(b"\xff")).is_err());
    }

    #[test]
    fn manifests_of_others_are_read() {
        let hex = "ab".repeat(32);
        let bytes = format!("{hex} data/a\r\n{hex}\tdata/b\r{hex}  *data/c\n{hex}  ./data/d\n");
        let names: Vec<_> =
            decode(bytes.as_bytes(), Path::new("m")).unwrap().into_iter().map(|e| e.path).collect();
        assert_eq!(names, ["data/a", "data/b", "data/c", "data/d"].map(PathBuf::from));
        for bad in ["x", &format!("{hex}data/a"), &format!("{hex}  "), &hex[1..]] {
            assert!(decode(bad.as_bytes(), Path::new("m")).is_err(), "{bad}");
        }
    }
}
