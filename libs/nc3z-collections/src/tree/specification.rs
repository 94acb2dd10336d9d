//! The specification of the format, which this crate contains if it has the feature `specification`: text, dictionaries, vectors
//! and reference decoder, as in `spec/`. A collection that carries it can be read without any other source.

mod html;

use crate::tree::error::Context as _;
use crate::tree::manifest::{bag, replace};
use crate::tree::{Refusal, Result};
use nc3z_format::archive::dictionaries;
use nc3z_format::bytes::hex;
use nc3z_format::codec::{ChainSpec, CodecScratch, Lzma, Registry, StageSpec};
use sha2::{Digest as _, Sha256};
use std::path::Path;

/// The directory in collections.
pub const DIRECTORY: &str = bag::SPECIFICATION;
/// The first file: contents, version, how to cite.
pub const INDEX: &str = "README.md";
/// The SHA-256 of each of the other files.
pub const SUMS: &str = "SHA256SUMS";
/// The chapters in the order of the index; the other files are machine-readable.
const CHAPTERS: &str = "## Chapters";

/// Names and lengths of the packed files, by name.
const TABLE: &[(&str, usize)] = include!(concat!(env!("OUT_DIR"), "/specification.rs"));
/// Their contents, one after another, as a raw LZMA2 stream (`build.rs`).
const PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/specification.lzma2"));

/// A file of the specification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Its name in the directory, with `/`.
    pub name: String,
    /// The content of the file.
    pub bytes: Vec<u8>,
}

/// Returns all files, sorted by name.
///
/// # Errors
/// The packed files cannot be unpacked.
pub fn files() -> Result<Vec<File>> {
    let mut content = vec![0; TABLE.iter().map(|(_, len)| len).sum()];
    let stage = StageSpec::from(Lzma::for_elements(1, 1 << 20));
    let chain = Registry::default().bind(ChainSpec(vec![stage]));
    chain
        .decode_bytes(PACKED, &mut CodecScratch::default(), &mut content)
        .map_err(nc3z_reader::Error::from)
        .with_context(|| "unpack the specification in the program".to_owned())?;
    let mut rest = &content[..];
    let mut files = Vec::with_capacity(TABLE.len() + 2);
    for (name, len) in TABLE {
        let (bytes, behind) = rest.split_at(*len);
        files.push(File { name: (*name).to_owned(), bytes: bytes.to_vec() });
        rest = behind;
    }
    let dictionary =
        |(name, bytes): (&str, &[u8])| File { name: format!("dictionary/{name}"), bytes: bytes.to_vec() };
    files.extend(dictionaries().map(dictionary));
    files.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(files)
}

/// Returns the content of one file, such as [`INDEX`].
///
/// # Errors
/// No file has this name.
pub fn file(name: &str) -> Result<Vec<u8>> {
    let found = files()?.into_iter().find(|file| file.name == name);
    Ok(found.ok_or_else(|| Refusal::NoChapter(name.to_owned()))?.bytes)
}

/// Returns the text as one document: the index, followed by each chapter that it lists.
///
/// # Errors
/// The packed files cannot be unpacked.
pub fn document() -> Result<Vec<u8>> {
    let files = files()?;
    Ok(chapters(&files).iter().map(|chapter| &chapter.bytes[..]).collect::<Vec<_>>().join(&b'\n'))
}

/// Returns the same as one page of HTML.
///
/// # Errors
/// The packed files cannot be unpacked.
pub fn page() -> Result<Vec<u8>> {
    let files = files()?;
    Ok(html::page(&chapters(&files)).into_bytes())
}

/// The index, followed by each chapter that it lists.
fn chapters(files: &[File]) -> Vec<&File> {
    let index = files.iter().find(|f| f.name == INDEX);
    let text = String::from_utf8_lossy(index.map_or(&[], |f| &f.bytes[..]));
    let listed = text.split_once(CHAPTERS).map_or("", |(_, list)| list);
    let place = |f: &File| listed.find(&format!("]({})", f.name));
    let mut chapters: Vec<_> =
        files.iter().filter(|f| f.name != INDEX).filter_map(|f| Some((place(f)?, f))).collect();
    chapters.sort_by_key(|(place, _)| *place);
    index.into_iter().chain(chapters.into_iter().map(|(_, chapter)| chapter)).collect()
}

/// Returns a line for each file, in the format of `sha256sum -c`.
pub fn sums(files: &[File]) -> Vec<u8> {
    let lines = files.iter().map(|file| format!("{}  {}\n", hex(&Sha256::digest(&file.bytes)), file.name));
    lines.collect::<String>().into_bytes()
}

/// Returns all files and their sums, for a collection.
///
/// # Errors
/// The packed files cannot be unpacked.
pub fn collection() -> Result<Vec<File>> {
    let mut files = files()?;
    files.push(File { name: SUMS.to_owned(), bytes: sums(&files) });
    Ok(files)
}

/// Writes all files into a directory, which is created if needed. Returns their number. Existing files must
/// be identical, unless `force` replaces them.
///
/// # Errors
/// A file has other content, or the system refuses to write.
pub fn write(directory: &Path, force: bool) -> Result<usize> {
    let files = collection()?;
    let path = |file: &File| directory.join(&file.name);
    let differs = |file: &&File| std::fs::read(path(file)).is_ok_and(|found| found != file.bytes);
    if let Some(other) = files.iter().find(differs).filter(|_| !force) {
        return Err(Refusal::OtherSpecification(path(other)).into());
    }
    for file in &files {
        let path = path(file);
        let parent = path.parent().unwrap_or(directory);
        std::fs::create_dir_all(parent).with_context(|| format!("create `{}`", parent.display()))?;
        replace(&path, &file.bytes)?;
    }
    Ok(files.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collection_gets_all_files_once_and_none_that_differs_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let all = collection().unwrap();
        assert_eq!(write(dir.path(), false).unwrap(), all.len());
        assert_eq!(write(dir.path(), false).unwrap(), all.len());
        for file in &all {
            assert_eq!(std::fs::read(dir.path().join(&file.name)).unwrap(), file.bytes, "{}", file.name);
        }
        std::fs::write(dir.path().join(INDEX), "changed").unwrap();
        assert!(write(dir.path(), false).unwrap_err().advice().is_some());
        assert_eq!(write(dir.path(), true).unwrap(), all.len());
        assert_eq!(std::fs::read(dir.path().join(INDEX)).unwrap(), file(INDEX).unwrap());
    }

    #[test]
    fn the_document_begins_with_the_index_and_has_each_chapter() {
        let (document, index) = (document().unwrap(), file(INDEX).unwrap());
        assert!(document.starts_with(&index));
        for name in ["archive.md", "num.md"] {
            let chapter = file(name).unwrap();
            assert!(document.windows(chapter.len()).any(|part| part == chapter), "{name}");
        }
        assert!(file("nothing.md").unwrap_err().to_string().contains("nothing.md"));
    }
}
