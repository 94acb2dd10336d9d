//! Writes the header of the quantized file: the original's with CF's attributes (section 8.4) and container
//! variables, laid out as the netCDF library does.

use super::select::Chosen;
use super::select::refused;
use crate::error::Result;
use nc3z_format::NcType;
use nc3z_format::classic::{Attribute, Header, NumRecs, Variable, Version, encode};
use nc3z_format::quantize::Quantize;
use nc3z_reader::ClassicFile;
use std::collections::BTreeMap;

/// The name of the container variable, if no other variable has it and one algorithm is used.
const CONTAINER: &str = "quantization_info";
/// The highest offset that all readers of CDF-1 understand.
const MAX_CDF1_BEGIN: u64 = i32::MAX as u64;

/// Returns the new header with its `begin`s. Variables keep their ids, and containers follow them.
pub(super) fn rewritten(classic: &ClassicFile, chosen: &[Chosen]) -> Result<Header> {
    let mut header = classic.header().clone();
    let containers = containers(&header, chosen);
    for Chosen { variable, quantizer } in chosen {
        let mode = quantizer.mode();
        let attributes = &mut header.variables[variable.index()].attributes;
        attributes.push(text("quantization", &containers[mode.algorithm()]));
        attributes.push(parameter(mode));
    }
    for (algorithm, name) in &containers {
        header.variables.push(Variable {
            name: name.clone().into_bytes(),
            dimensions: Vec::new(),
            attributes: vec![
                text("algorithm", algorithm),
                text("implementation", &format!("nc3z version {}", nc3z_format::VERSION)),
            ],
            ty: NcType::Char,
            vsize: 0,
            begin: 0,
        });
    }
    header.numrecs = NumRecs::Count(classic.layout().numrecs);
    lay_out(&mut header)?;
    Ok(header)
}

/// Maps each algorithm to the name of its container variable.
fn containers(header: &Header, chosen: &[Chosen]) -> BTreeMap<&'static str, String> {
    let mut names: BTreeMap<&'static str, String> = BTreeMap::new();
    for Chosen { quantizer, .. } in chosen {
        names.entry(quantizer.mode().algorithm()).or_default();
    }
    let single = names.len() == 1;
    for (algorithm, name) in &mut names {
        let base = if single { CONTAINER.to_owned() } else { format!("{CONTAINER}_{algorithm}") };
        let numbered = (2..).map(|n| format!("{base}_{n}"));
        let free = |n: &String| header.variable(n.as_bytes()).is_none();
        *name =
            std::iter::once(base.clone()).chain(numbered).find(free).expect("variables are finitely many");
    }
    names
}

fn text(name: &str, value: &str) -> Attribute {
    Attribute { name: name.into(), ty: NcType::Char, values: value.into() }
}

fn parameter(mode: &Quantize) -> Attribute {
    let integer = |name: &str, n: u32| Attribute {
        name: name.into(),
        ty: NcType::Int,
        values: n.to_be_bytes().to_vec(),
    };
    match *mode {
        Quantize::BitRound { keepbits } => integer("quantization_nsb", keepbits),
        Quantize::GranularBitRound { nsd } | Quantize::BitGroom { nsd } => integer("quantization_nsd", nsd),
        Quantize::Absolute { bound } => Attribute {
            name: b"quantization_maximum_absolute_error".to_vec(),
            ty: NcType::Double,
            values: bound.to_be_bytes().to_vec(),
        },
    }
}

/// Places fixed variables, then records, in id order, each at a multiple of 4.
fn lay_out(header: &mut Header) -> Result<()> {
    let too_long = || refused("the quantized file would have 2^63 bytes or more".to_owned());
    let numrecs = match header.numrecs {
        NumRecs::Count(n) => n,
        NumRecs::Streaming => 0,
    };
    let mut at = (encode(header)?.len() as u64).next_multiple_of(4);
    for records in [false, true] {
        for v in 0..header.variables.len() {
            if header.is_record(&header.variables[v]) != records {
                continue;
            }
            let slot =
                u64::try_from(header.slot_len(&header.variables[v], numrecs)).map_err(|_| too_long())?;
            let vsize = header.canonical_vsize(&header.variables[v]);
            let variable = &mut header.variables[v];
            (variable.begin, variable.vsize) = (at, vsize);
            if header.version == Version::Cdf1 && at > MAX_CDF1_BEGIN {
                return Err(refused(
                    "with its longer header the file would need 64-bit offsets; turn it into CDF-2 first (nccopy -k 64-bit-offset)".to_owned(),
                ));
            }
            // A lone record variable is the only one in its record, so its padding does not matter here.
            at = slot.checked_next_multiple_of(4).and_then(|s| at.checked_add(s)).ok_or_else(too_long)?;
        }
    }
    Ok(())
}
