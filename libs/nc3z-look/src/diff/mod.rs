//! Shows the differences of two files, as text and as JSON.

mod parts;

pub use parts::Parts;

use crate::print::{json_number, number};
use crate::text::{self, count};
use nc3z_format::NcType;
use nc3z_format::classic::Attribute;
use nc3z_reader::Dataset;
use nc3z_reader::diff::{AttributeDiff, Extreme, Report, ValueDiff, VariableDiff, VariableShape};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::{Result, Write};

/// The number of values of an attribute that are shown.
const SHOWN: usize = 8;
/// The number of characters of a text attribute that are shown.
const SHOWN_TEXT: usize = 120;

/// Writes a line for each difference.
///
/// # Errors
/// Writing to the output fails.
pub fn write(report: &Report, exact: bool, a: &Dataset, b: &Dataset, out: &mut dyn Write) -> Result<()> {
    for d in &report.dimensions {
        let name = text::name(&d.name);
        let words =
            |(len, record): (u64, bool)| if record { format!("{len} records") } else { len.to_string() };
        match (&d.renamed, d.change.before, d.change.after) {
            (Some(new), ..) => writeln!(out, "dimension {name} renamed {}", text::name(new))?,
            (None, Some(before), Some(after)) if before.1 == after.1 => {
                writeln!(out, "dimension {name}: {} -> {}", before.0, after.0)?;
            }
            (None, Some(before), Some(after)) => {
                writeln!(out, "dimension {name}: {} -> {}", words(before), words(after))?;
            }
            (None, Some(before), None) => writeln!(out, "dimension {name} removed: {}", words(before))?,
            (None, None, after) => {
                writeln!(out, "dimension {name} added: {}", after.map_or_else(String::new, words))?;
            }
        }
    }
    report.attributes.iter().try_for_each(|d| attribute(out, "", d))?;
    for d in &report.variables {
        variable(out, d, a, b)?;
    }
    for words in &report.layout {
        writeln!(out, "layout: {words}{}", if exact { "" } else { " (does not count without --exact)" })?;
    }
    Ok(())
}

fn attribute(out: &mut dyn Write, variable: &str, d: &AttributeDiff) -> Result<()> {
    let of = if variable.is_empty() { String::new() } else { format!("variable {variable}: ") };
    let name = text::name(&d.name);
    match (&d.change.before, &d.change.after) {
        (Some(before), Some(after)) => {
            let types = if before.ty == after.ty {
                String::new()
            } else {
                format!(" ({} -> {})", before.ty, after.ty)
            };
            writeln!(out, "{of}attribute {name}: {} -> {}{types}", shown(before), shown(after))?;
        }
        (Some(before), None) => writeln!(out, "{of}attribute {name} removed: {}", shown(before))?,
        (None, Some(after)) => writeln!(out, "{of}attribute {name} added: {}", shown(after))?,
        (None, None) => {}
    }
    Ok(())
}

/// Returns a short form of an attribute's value.
fn shown(attribute: &Attribute) -> String {
    if attribute.ty == NcType::Char {
        let all = String::from_utf8_lossy(&attribute.values);
        let short: String = all.chars().take(SHOWN_TEXT).collect();
        let more = if short.len() < all.len() { "…" } else { "" };
        return format!("\"{}\"{more}", text::safe(&short));
    }
    let size = attribute.ty.size();
    let all = attribute.values.chunks_exact(size);
    let more = if all.len() > SHOWN { format!(", … ({} values)", all.len()) } else { String::new() };
    let words: Vec<String> = all.take(SHOWN).map(|bytes| element(attribute.ty, bytes)).collect();
    format!("{}{more}", words.join(", "))
}

/// Formats one element.
fn element(ty: NcType, bytes: &[u8]) -> String {
    if ty == NcType::Char {
        return format!("'{}'", bytes.escape_ascii());
    }
    let mut out = String::new();
    number(&mut out, ty, bytes);
    out
}

fn declared(shape: &VariableShape) -> String {
    let dims: Vec<String> = shape
        .dimensions
        .iter()
        .zip(&shape.shape)
        .map(|(name, len)| format!("{}={len}", text::name(name)))
        .collect();
    format!("{} ({})", shape.ty, dims.join(", "))
}

fn variable(out: &mut dyn Write, d: &VariableDiff, a: &Dataset, b: &Dataset) -> Result<()> {
    let name = text::name(&d.name);
    let (Some(before), Some(after)) = (&d.change.before, &d.change.after) else {
        let (word, shape) = match &d.change.before {
            Some(shape) => ("removed", Some(shape)),
            None => ("added", d.change.after.as_ref()),
        };
        return Ok(writeln!(out, "variable {name} {word}: {}", shape.map_or_else(String::new, declared))?);
    };
    if let Some(new) = &d.renamed {
        writeln!(out, "variable {name} renamed {}", text::name(new))?;
    }
    if before != after {
        writeln!(out, "variable {name}: {} -> {}", declared(before), declared(after))?;
    }
    d.attributes.iter().try_for_each(|x| attribute(out, &name, x))?;
    if let Some(values) = &d.values {
        write_values(
            out,
            &name,
            values,
            (types(a, &d.name), types(b, d.renamed.as_ref().unwrap_or(&d.name))),
            after,
        )?;
    }
    Ok(())
}

fn types(file: &Dataset, name: &[u8]) -> NcType {
    file.header().variable(name).map_or(NcType::Char, |(_, v)| v.ty)
}

fn write_values(
    out: &mut dyn Write,
    name: &str,
    d: &ValueDiff,
    (old, new): (NcType, NcType),
    shape: &VariableShape,
) -> Result<()> {
    // Elements that only one file holds count as differing.
    let all = count(d.compared + d.only_one, "value");
    let mut line = format!("variable {name}: {} of {all} differ", d.differing);
    let places: Vec<String> = d
        .bounds
        .iter()
        .zip(shape.dimensions.iter().zip(&shape.shape))
        .filter(|((first, last), (_, len))| last - first + 1 < **len)
        .map(|((first, last), (dim, _))| {
            let dim = text::name(dim);
            if first == last { format!("{dim} {first}") } else { format!("{dim} {first}..{last}") }
        })
        .collect();
    if !places.is_empty() {
        let _ = write!(line, " ({})", places.join(", "));
    }
    let at = |x: &Extreme| {
        let index: Vec<String> = x.index.iter().map(ToString::to_string).collect();
        format!("at [{}]: {} -> {}", index.join(","), element(old, &x.before), element(new, &x.after))
    };
    if let Some(x) = &d.largest {
        let _ = write!(line, ", largest {} {}", short(x.difference), at(x));
    }
    if let Some(x) =
        d.largest_relative.as_ref().filter(|x| d.largest.as_ref().is_none_or(|l| l.index != x.index))
    {
        let _ = write!(line, ", largest share {} {}", short(x.difference), at(x));
    }
    if d.equal_in_value > 0 {
        let _ = write!(line, "; {} of these are equal in value", d.equal_in_value);
    }
    if d.only_one > 0 {
        let _ = write!(line, "; {} of these are missing in one file, which is incomplete", d.only_one);
    }
    if d.became_missing > 0 {
        let _ = write!(line, "; {} became missing", d.became_missing);
    }
    if d.became_present > 0 {
        let _ = write!(line, "; {} were missing", d.became_present);
    }
    writeln!(out, "{line}")?;
    for (index, before, after) in &d.listed {
        let index: Vec<String> = index.iter().map(ToString::to_string).collect();
        writeln!(out, "  [{}]: {} -> {}", index.join(","), element(old, before), element(new, after))?;
    }
    Ok(())
}

fn short(x: f64) -> String {
    let words = format!("{x:.5e}");
    let exact: f64 = words.parse().unwrap_or(x);
    format!("{exact:?}")
}

/// Returns the differences as JSON.
pub fn json(report: &Report, names: &[String; 2], equal: bool) -> Value {
    let dimensions: Vec<Value> = report
        .dimensions
        .iter()
        .map(|d| {
            let part = |x: Option<(u64, bool)>| {
                x.map(|(length, record)| json!({"length": length, "record": record}))
            };
            json!({
                "name": text::name(&d.name), "renamed": d.renamed.as_deref().map(text::name),
                "before": part(d.change.before), "after": part(d.change.after),
            })
        })
        .collect();
    json!({
        "before": names[0], "after": names[1], "equal": equal, "compared": report.compared,
        "dimensions": dimensions, "attributes": attributes_json(&report.attributes),
        "variables": report.variables.iter().map(variable_json).collect::<Vec<_>>(),
        "layout": report.layout,
    })
}

fn attributes_json(all: &[AttributeDiff]) -> Vec<Value> {
    let part = |x: &Option<Attribute>| {
        x.as_ref().map(|x| {
            let value: Value = if x.ty == NcType::Char {
                text::safe(&String::from_utf8_lossy(&x.values)).into()
            } else {
                x.values.chunks_exact(x.ty.size()).map(|b| value_json(x.ty, b)).collect()
            };
            json!({"type": x.ty.name(), "value": value})
        })
    };
    let row = |d: &AttributeDiff| json!({"name": text::name(&d.name), "before": part(&d.change.before), "after": part(&d.change.after)});
    all.iter().map(row).collect()
}

fn value_json(ty: NcType, bytes: &[u8]) -> Value {
    if ty == NcType::Char {
        return bytes.escape_ascii().to_string().into();
    }
    let mut out = String::new();
    json_number(&mut out, ty, bytes);
    serde_json::from_str(&out).unwrap_or(Value::String(out))
}

fn variable_json(d: &VariableDiff) -> Value {
    let part = |x: &Option<VariableShape>| {
        x.as_ref().map(|x| {
            let dims: Vec<String> = x.dimensions.iter().map(|n| text::name(n)).collect();
            json!({"type": x.ty.name(), "dimensions": dims, "shape": x.shape})
        })
    };
    let types = (
        d.change.before.as_ref().map_or(NcType::Char, |x| x.ty),
        d.change.after.as_ref().map_or(NcType::Char, |x| x.ty),
    );
    let extreme = |x: &Option<Extreme>| {
        x.as_ref().map(|x| {
            json!({"difference": x.difference, "index": x.index,
                   "before": value_json(types.0, &x.before), "after": value_json(types.1, &x.after)})
        })
    };
    let values = d.values.as_ref().map(|v| {
        let listed: Vec<Value> = v
            .listed
            .iter()
            .map(|(index, x, y)| json!({"index": index, "before": value_json(types.0, x), "after": value_json(types.1, y)}))
            .collect();
        json!({
            "compared": v.compared, "differing": v.differing, "equal_in_value": v.equal_in_value,
            "largest": extreme(&v.largest), "largest_relative": extreme(&v.largest_relative), "bounds": v.bounds,
            "only_one": v.only_one, "became_missing": v.became_missing, "became_present": v.became_present, "listed": listed,
        })
    });
    json!({
        "name": text::name(&d.name), "renamed": d.renamed.as_deref().map(text::name),
        "before": part(&d.change.before), "after": part(&d.change.after),
        "attributes": attributes_json(&d.attributes), "values": values,
    })
}
