//! Reads many selections in one process: what the acceptance tests compare with other people's readers.
//!
//! Each line of standard input is `FILE <tab> VARIABLE <tab> START <tab> COUNT <tab> STRIDE <tab> TYPE`, lists joined by
//! commas, `TYPE` one of `raw`, `i8` to `u64`, `f32`, `f64`. The answer is a status byte (0: fine, 1: refused), the length
//! of what follows as 8 bytes little-endian, then the elements (big-endian for `raw`, else little-endian) or the message.

use nc3z_format::Hyperslab;
use nc3z_reader::{Dataset, Element, Error, OpenOptions, Variable};
use std::collections::HashMap;
use std::error::Error as StdError;
use std::io::{BufRead, BufWriter, Write};

fn main() -> Result<(), Box<dyn StdError>> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    let mut files: HashMap<String, Dataset> = HashMap::new();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let fields: Vec<&str> = line.split('\t').collect();
        let [file, variable, start, count, stride, ty] = fields[..] else {
            return Err(format!("expected six fields: {line}").into());
        };
        let dataset = match files.get(file) {
            Some(dataset) => dataset,
            None => files.entry(file.to_owned()).or_insert(Dataset::open(file, &OpenOptions::default())?),
        };
        let slab = Hyperslab { start: list(start)?, count: list(count)?, stride: list(stride)? };
        let (status, bytes) = match dataset.variable(variable).and_then(|v| read(&v, &slab, ty)) {
            Ok(bytes) => (0, bytes),
            Err(e) => (1, e.to_string().into_bytes()),
        };
        out.write_all(&[status])?;
        out.write_all(&(bytes.len() as u64).to_le_bytes())?;
        out.write_all(&bytes)?;
    }
    out.flush()?;
    Ok(())
}

fn list<T: std::str::FromStr>(text: &str) -> Result<Vec<T>, T::Err> {
    text.split(',').filter(|n| !n.is_empty()).map(str::parse).collect()
}

fn read(variable: &Variable, slab: &Hyperslab, ty: &str) -> Result<Vec<u8>, Error> {
    fn typed<T: Element, const N: usize>(
        variable: &Variable,
        slab: &Hyperslab,
        bytes: fn(T) -> [u8; N],
    ) -> Result<Vec<u8>, Error> {
        Ok(variable.read::<T>(slab)?.into_iter().flat_map(bytes).collect())
    }
    match ty {
        "i8" => typed(variable, slab, i8::to_le_bytes),
        "u8" => typed(variable, slab, u8::to_le_bytes),
        "i16" => typed(variable, slab, i16::to_le_bytes),
        "u16" => typed(variable, slab, u16::to_le_bytes),
        "i32" => typed(variable, slab, i32::to_le_bytes),
        "u32" => typed(variable, slab, u32::to_le_bytes),
        "i64" => typed(variable, slab, i64::to_le_bytes),
        "u64" => typed(variable, slab, u64::to_le_bytes),
        "f32" => typed(variable, slab, f32::to_le_bytes),
        "f64" => typed(variable, slab, f64::to_le_bytes),
        _ => variable.read_bytes(slab),
    }
}
