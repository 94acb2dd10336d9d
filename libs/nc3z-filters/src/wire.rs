//! The messages between the two processes: numbers of eight bytes, and bytes preceded by their length.

use std::io::{self, Read, Write};

/// The maximal length of a part of a message: a tile, and the output that a filter may produce for it.
pub(crate) const MOST: u64 = 5 << 30;

/// The second word of an answer, after the number of the request.
pub(crate) mod status {
    pub(crate) const DONE: u64 = 0;
    /// The reason follows, as text.
    pub(crate) const REFUSED: u64 = 1;
    /// The result follows, and the worker ends, because it keeps too much memory.
    pub(crate) const LAST: u64 = 2;
}

/// The operation that the worker is to execute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    Interrogate = 1,
    Encode = 2,
    Decode = 3,
    ToHdf5 = 4,
    ToCodec = 5,
}

impl Op {
    pub(crate) fn from_number(number: u64) -> Option<Self> {
        [Op::Interrogate, Op::Encode, Op::Decode, Op::ToHdf5, Op::ToCodec]
            .into_iter()
            .find(|op| *op as u64 == number)
    }
}

/// A message to the worker.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) op: Op,
    pub(crate) library: &'a [u8],
    pub(crate) codec: &'a str,
    pub(crate) cd_values: &'a [u32],
    pub(crate) input: &'a [u8],
    /// The maximal number of bytes of the result.
    pub(crate) most: u64,
}

impl Request<'_> {
    /// Writes the request with a number that its answer repeats.
    pub(crate) fn write(&self, number: u64, out: &mut impl Write) -> io::Result<()> {
        put_number(number, out)?;
        put_number(self.op as u64, out)?;
        put_bytes(self.library, out)?;
        put_bytes(self.codec.as_bytes(), out)?;
        let words: Vec<u8> = self.cd_values.iter().flat_map(|word| word.to_le_bytes()).collect();
        put_bytes(&words, out)?;
        put_number(self.most, out)?;
        put_bytes(self.input, out)?;
        out.flush()
    }
}

pub(crate) fn put_number(number: u64, out: &mut impl Write) -> io::Result<()> {
    out.write_all(&number.to_le_bytes())
}

pub(crate) fn put_bytes(bytes: &[u8], out: &mut impl Write) -> io::Result<()> {
    put_number(bytes.len() as u64, out)?;
    out.write_all(bytes)
}

pub(crate) fn number(from: &mut impl Read) -> io::Result<u64> {
    let mut bytes = [0; 8];
    from.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

/// Reads bytes that are preceded by their length, at most `most` of them. Memory is allocated as the bytes
/// arrive, so that a large length alone costs no memory.
pub(crate) fn bytes(from: &mut impl Read, most: u64) -> io::Result<Vec<u8>> {
    let len = number(from)?;
    if len > most {
        return Err(io::Error::other(format!("a message of {len} bytes, at most {most} are expected")));
    }
    let mut all = Vec::new();
    from.take(len).read_to_end(&mut all)?;
    if all.len() as u64 == len { Ok(all) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}
