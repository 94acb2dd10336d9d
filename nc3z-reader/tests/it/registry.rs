//! A codec that no crate of nc3z knows: a caller registers it, writes with it, reads it back.

use crate::classic::{Model, Var};
use crate::support::archive_bytes;
use nc3z_format::archive::ArrayId;
use nc3z_format::classic::Version;
use nc3z_format::codec::{ChainRequest, Contexts, Registry, Stage, StageKind, StageSpec};
use nc3z_format::{Error, NcType, Result};
use nc3z_reader::source::{MemorySource, SharedSource};
use nc3z_reader::{Archive, OpenOptions, verify};
use nc3z_writer::{PerVariable, WriterOptions};
use std::sync::Arc;

/// Runs of equal bytes: a count from 1 to `most`, then the byte.
struct RunLength {
    most: u8,
}

struct RunLengthKind;

const ID: &str = "org.example.runs";

impl StageKind for RunLengthKind {
    fn id(&self) -> &'static str {
        ID
    }

    fn example(&self) -> &'static str {
        r#"{"id":"org.example.runs","most":255}"#
    }

    fn bind(&self, spec: &StageSpec) -> Result<Box<dyn Stage>, String> {
        let [most] = spec.integers(["most"]).ok_or("it takes `most`")?;
        let most = u8::try_from(most).ok().filter(|most| *most > 0).ok_or("`most` is from 1 to 255")?;
        Ok(Box::new(RunLength { most }))
    }

    fn complete(&self, spec: StageSpec, _: NcType) -> Result<StageSpec, String> {
        Ok(spec.or_default("most", 255))
    }
}

/// How often this thread's decoder was called: codecs may keep what they like between calls.
#[derive(Default)]
struct Calls(u64);

impl Stage for RunLength {
    fn decode_into(&self, input: &[u8], contexts: &mut Contexts, out: &mut [u8]) -> Result<()> {
        contexts.get::<Calls>().0 += 1;
        let wrong = |found: usize| Error::corrupt(ID, None, "length", "that of the tile", found);
        let mut at = 0;
        for &[count, byte] in input.as_chunks().0 {
            let run = out.get_mut(at..at + usize::from(count)).ok_or_else(|| wrong(at))?;
            run.fill(byte);
            at += usize::from(count);
        }
        if at == out.len() && input.len().is_multiple_of(2) { Ok(()) } else { Err(wrong(at)) }
    }

    fn encode(&self, input: &[u8], _: &mut Contexts, out: &mut Vec<u8>) -> Result<()> {
        for run in input.chunk_by(|a, b| a == b) {
            for part in run.chunks(usize::from(self.most)) {
                out.extend([u8::try_from(part.len()).unwrap(), part[0]]);
            }
        }
        Ok(())
    }
}

/// A file with a variable of long runs and one of other numbers, and its archive: the first by the codec of this test.
fn archived(registry: &Registry) -> (Vec<u8>, Vec<u8>) {
    let vars = vec![Var::fixed(NcType::Int, &[20_000]), Var::fixed(NcType::Short, &[9_000])];
    let mut original = Model { fill: 3, ..Model::new(Version::Cdf2, 0, vars) }.build().bytes;
    let begin = original.len() - 20_000 * 4 - 9_000 * 2;
    for (i, byte) in original[begin..begin + 20_000 * 4].iter_mut().enumerate() {
        *byte = u8::try_from(i / 1000 % 7).unwrap();
    }
    let mut chains = PerVariable::default();
    let text = r#"[{"id":"shuffle"},{"id":"org.example.runs"}]"#;
    assert!(ChainRequest::parse(text).unwrap_err().to_string().contains("unknown filter or codec"));
    chains.push("v0", ChainRequest::parse_with(text, registry).unwrap());
    let options = WriterOptions::default().with_chains(chains).with_registry(registry.clone());
    let archive = archive_bytes(&original, &options);
    (original, archive)
}

fn open(archive: &[u8], options: &OpenOptions) -> Archive {
    Archive::from_source(Arc::new(MemorySource::new(archive.to_vec())), options).unwrap()
}

#[test]
fn a_codec_of_the_caller_is_written_and_read_back() {
    let registry = Registry::default().with(RunLengthKind);
    let (original, bytes) = archived(&registry);
    let archive = open(&bytes, &OpenOptions::default().with_registry(registry));
    let used = archive.chains().iter().any(|chain| {
        chain.to_string() == r#"[{"elementsize":4,"id":"shuffle"},{"id":"org.example.runs","most":255}]"#
    });
    assert!(used, "{:?}", archive.chains());
    let mut back = Vec::new();
    archive.restore_to_stream(&mut back, &()).unwrap();
    assert_eq!(back, original);
}

#[test]
fn without_it_only_its_tiles_are_unreadable() {
    let (_, bytes) = archived(&Registry::default().with(RunLengthKind));
    let options = OpenOptions::default();
    let archive = open(&bytes, &options);
    assert_eq!(archive.header().variables.len(), 2);
    archive.read_tile(ArrayId::variable(1), 0).unwrap();
    let error = archive.read_tile(ArrayId::variable(0), 0).unwrap_err().to_string();
    assert!(error.contains(ID) && error.contains(r#""most":255"#), "{error}");
    let source: SharedSource = Arc::new(MemorySource::new(bytes));
    assert!(verify::quick(&source, &options, &()).unwrap().is_sound());
}
