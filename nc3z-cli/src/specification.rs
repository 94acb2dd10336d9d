//! The specification of the format inside the program: text, dictionaries, vectors and reference decoder, as
//! in `spec/`.

use anyhow::{Context, Result, bail};
use nc3z_format::archive::dictionaries;
use nc3z_format::bytes::hex;
use nc3z_format::codec::{ChainSpec, CodecScratch, Lzma, Registry, StageSpec};
use sha2::{Digest as _, Sha256};
use std::path::Path;

pub(crate) use nc3z_tree::manifest::bag::is_specification as is_part;

/// The directory in collections.
pub(crate) const DIRECTORY: &str = nc3z_tree::manifest::bag::SPECIFICATION;
/// The first file: contents, version, how to cite.
pub(crate) const INDEX: &str = "README.md";
/// The SHA-256 of each of the other files.
pub(crate) const SUMS: &str = "SHA256SUMS";
/// The chapters in the order of the index; the other files are machine-readable.
const CHAPTERS: &str = "## Chapters";

/// Names and lengths of the packed files, by name.
const TABLE: &[(&str, usize)] = include!(concat!(env!("OUT_DIR"), "/specification.rs"));
/// Their contents, one after another, as a raw LZMA2 stream (`build.rs`).
const PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/specification.lzma2"));

/// A file of the specification.
pub(crate) struct File {
    /// Its name in the directory, with `/`.
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

/// All files, by name.
pub(crate) fn files() -> Result<Vec<File>> {
    let mut content = vec![0; TABLE.iter().map(|(_, len)| len).sum()];
    let stage = StageSpec::from(Lzma::for_elements(1, 1 << 20));
    let chain = Registry::default().bind(ChainSpec(vec![stage]));
    chain
        .decode_bytes(PACKED, &mut CodecScratch::default(), &mut content)
        .context("unpack the specification in the program")?;
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

/// Returns the text as one document: the index, followed by each chapter that it lists.
pub(crate) fn document() -> Result<Vec<u8>> {
    let files = files()?;
    let index = &files.iter().find(|f| f.name == INDEX).context("the specification has no index")?.bytes;
    let text = std::str::from_utf8(index).context("read the index of the specification")?;
    let listed = text.split_once(CHAPTERS).map_or("", |(_, list)| list);
    let mut chapters: Vec<_> = files
        .iter()
        .filter(|f| f.name != INDEX)
        .filter_map(|f| Some((listed.find(&format!("]({})", f.name))?, f)))
        .collect();
    chapters.sort_by_key(|(place, _)| *place);
    let mut out = index.clone();
    for (_, chapter) in chapters {
        out.push(b'\n');
        out.extend_from_slice(&chapter.bytes);
    }
    Ok(out)
}

/// Returns a line for each file, in the format of `sha256sum -c`.
pub(crate) fn sums(files: &[File]) -> Vec<u8> {
    let lines = files.iter().map(|file| format!("{}  {}\n", hex(&Sha256::digest(&file.bytes)), file.name));
    lines.collect::<String>().into_bytes()
}

/// Returns all files and their sums, for a collection.
pub(crate) fn collection() -> Result<Vec<File>> {
    let mut files = files()?;
    files.push(File { name: SUMS.to_owned(), bytes: sums(&files) });
    Ok(files)
}

/// Writes all files into a directory, which is created if needed. Returns their number. Existing files must
/// be identical, unless `force` replaces them.
pub(crate) fn write(directory: &Path, force: bool) -> Result<usize> {
    let files = collection()?;
    let path = |file: &File| directory.join(&file.name);
    let differs = |file: &&File| std::fs::read(path(file)).is_ok_and(|found| found != file.bytes);
    if let Some(other) = files.iter().find(differs).filter(|_| !force) {
        bail!(
            "`{}` differs from the file of this version; choose another directory, or replace it with --force",
            path(other).display()
        );
    }
    for file in &files {
        let path = path(file);
        let parent = path.parent().unwrap_or(directory);
        std::fs::create_dir_all(parent).with_context(|| format!("create `{}`", parent.display()))?;
        nc3z_tree::manifest::replace(&path, &file.bytes)?;
    }
    Ok(files.len())
}
