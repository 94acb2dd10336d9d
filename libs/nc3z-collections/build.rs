//! Packs the specification for the module `specification`: all files of `spec/` in one LZMA2 stream. The dictionaries are not
//! included, since `nc3z-format` already contains them. Without the feature of that name, nothing is packed.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "specification")]
    specification::pack()?;
    Ok(())
}

#[cfg(feature = "specification")]
mod specification {
    use liblzma::stream::{Action, Filters, LzmaOptions, Status, Stream};
    use std::error::Error;
    use std::fmt::Write as _;
    use std::path::{Path, PathBuf};
    use std::{env, fs};

    /// Level 9 with the extreme flag: the size of the program is limited.
    const PRESET: u32 = 9 | 1 << 31;

    pub(super) fn pack() -> Result<(), Box<dyn Error>> {
        let root = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("spec");
        let mut files = Vec::new();
        collect(&root, &mut files)?;
        files.sort();
        let (mut content, mut table) = (Vec::new(), String::from("&[\n"));
        for path in &files {
            println!("cargo::rerun-if-changed={}", path.display());
            let bytes = fs::read(path)?;
            let name = path.strip_prefix(&root)?.to_str().ok_or("a name that is not UTF-8")?;
            writeln!(table, "    ({:?}, {}),", name.replace('\\', "/"), grouped(bytes.len()))?;
            content.extend_from_slice(&bytes);
        }
        table.push(']');
        let out = PathBuf::from(env::var("OUT_DIR")?);
        fs::write(out.join("specification.rs"), table)?;
        fs::write(out.join("specification.lzma2"), packed(&content)?)?;
        Ok(())
    }

    /// Formats a number with groups of three digits, as a Rust literal.
    fn grouped(n: usize) -> String {
        if n < 1000 { n.to_string() } else { format!("{}_{:03}", grouped(n / 1000), n % 1000) }
    }

    /// Lists the files below a directory, without dictionaries and Python's temporary files.
    fn collect(directory: &Path, files: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            if path.is_dir() {
                if path.file_name().is_none_or(|name| name != "__pycache__") {
                    collect(&path, files)?;
                }
            } else if path.extension().is_none_or(|extension| extension != "dict" && extension != "pyc") {
                files.push(path);
            }
        }
        Ok(())
    }

    /// One raw LZMA2 stream, as the codec `lzma` decodes it.
    fn packed(content: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
        let mut options = LzmaOptions::new_preset(PRESET)?;
        options.dict_size(1 << 20).literal_context_bits(3).literal_position_bits(0).position_bits(0);
        let mut filters = Filters::new();
        filters.lzma2(&options);
        let mut stream = Stream::new_raw_encoder(&filters)?;
        let mut out = Vec::with_capacity(content.len() + 4096);
        match stream.process_vec(content, &mut out, Action::Finish)? {
            Status::StreamEnd => Ok(out),
            other => Err(format!("LZMA2 stream of the specification: {other:?}").into()),
        }
    }
}
