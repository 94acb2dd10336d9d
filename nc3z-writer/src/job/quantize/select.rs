//! Selects the variables to quantize: floats that are data, as the CF conventions (section 8.4) require.

use crate::error::{ErrorKind, Result};
use crate::options::WriterOptions;
use nc3z_format::NcType;
use nc3z_format::classic::{Header, VarId, Variable};
use nc3z_format::quantize::{Quantize, Quantizer};
use nc3z_reader::ClassicFile;

const OPTION: &str = "quantize";

/// Returns the error that something cannot be quantized.
pub(super) fn refused(why: String) -> crate::Error {
    ErrorKind::Option { option: OPTION, why, advice: None }.into()
}

/// Attributes that name variables which must keep their precision.
const METADATA: [&[u8]; 5] = [b"coordinates", b"formula_terms", b"cell_measures", b"bounds", b"climatology"];

/// One variable and its rounding.
pub(super) struct Chosen {
    pub(super) variable: VarId,
    pub(super) quantizer: Quantizer,
}

/// The variables to quantize, in id order, and those that `*` left out.
pub(super) struct Choice {
    pub(super) variables: Vec<Chosen>,
    pub(super) skipped: Vec<String>,
}

/// Returns the rounding requested for a variable, by a rule or by its chain, and whether that names the
/// variable.
fn asked(variable: &Variable, options: &WriterOptions) -> Result<Option<(Quantize, bool)>> {
    let name = &variable.name;
    let rule = options.quantize.of(name).map(|mode| (*mode, options.quantize.named(name).is_some()));
    let Some(chain) = options.chains.of(name).filter(|chain| chain.rounds(&options.registry)) else {
        return Ok(rule);
    };
    let is_named = options.chains.named(name).is_some();
    if rule.is_some() {
        let why = format!(
            "variable `{}` is rounded by its chain, {chain}, and by another rule",
            variable.name_lossy()
        );
        return Err(refused(why));
    }
    match chain.rounding(variable.ty, &options.registry) {
        Ok(mode) => Ok(mode.map(|mode| (mode, is_named))),
        Err(e) if is_named => Err(refused(format!("variable `{}`: {e}", variable.name_lossy()))),
        // This type is not rounded. It is reported like other variables that a rule for all does not fit.
        Err(_) if !variable.ty.is_float() => Ok(Some((Quantize::BitRound { keepbits: 1 }, false))),
        Err(e) => Err(refused(format!("variable `{}`: {e}", variable.name_lossy()))),
    }
}

pub(super) fn selected(classic: &ClassicFile, options: &WriterOptions) -> Result<Choice> {
    let header = classic.header();
    options.quantize.check_names(header, OPTION)?;
    for variable in &classic.layout().variables {
        if variable.elements != Some(variable.present) {
            return Err(refused(
                "the file is cut short: some of its values are missing; a quantized file is written anew, which would hide that"
                    .to_owned(),
            ));
        }
    }
    let mut choice = Choice { variables: Vec::new(), skipped: Vec::new() };
    for (id, variable) in header.variables() {
        let name = variable.name_lossy();
        let Some((mode, is_named)) = asked(variable, options)? else { continue };
        if let Some(why) = reason_against(header, variable) {
            if is_named {
                return Err(refused(format!("variable `{name}` {why}")));
            }
            choice.skipped.push(format!("`{name}` {why}"));
            continue;
        }
        let quantizer = Quantizer::new(mode, variable.ty, &fills(variable))
            .map_err(|e| refused(format!("variable `{name}`: {e}")))?;
        choice.variables.push(Chosen { variable: id, quantizer });
    }
    if choice.variables.is_empty() {
        let why = choice.skipped.join("; ");
        let why = if why.is_empty() { "there are no variables".to_owned() } else { why };
        return Err(refused(format!("nothing can be quantized: {why}")));
    }
    Ok(choice)
}

/// Returns the reason why a variable should not be quantized.
fn reason_against(header: &Header, variable: &Variable) -> Option<String> {
    if !matches!(variable.ty, NcType::Float | NcType::Double) {
        return Some(format!("is of type {}; only float and double can be quantized", variable.ty));
    }
    if let Some(attribute) = variable.attributes.iter().find(|a| is_quantization(&a.name)) {
        return Some(format!("is quantized already (attribute {})", attribute.name_lossy()));
    }
    if variable.dimensions.len() == 1 && header.dimension(&variable.name).is_some() {
        return Some("is a coordinate variable, which must keep its precision".to_owned());
    }
    for other in &header.variables {
        let named = other
            .attributes
            .iter()
            .find(|a| METADATA.contains(&&a.name[..]) && names(&a.values, &variable.name));
        if let Some(attribute) = named {
            return Some(format!(
                "is named by attribute {} of `{}` and must keep its precision",
                attribute.name_lossy(),
                other.name_lossy()
            ));
        }
    }
    None
}

fn is_quantization(name: &[u8]) -> bool {
    name == b"quantization" || name.starts_with(b"_Quantize")
}

/// True if a blank-separated list of words contains this one.
fn names(list: &[u8], word: &[u8]) -> bool {
    list.split(|b| b.is_ascii_whitespace() || *b == 0).any(|w| w == word)
}

/// Returns the values that are not rounded: the fill value (netCDF's default if the variable has none) and the values of
/// `missing_value`.
fn fills(variable: &Variable) -> Vec<Vec<u8>> {
    std::iter::once(variable.fill_value()).chain(variable.missing_values()).map(<[u8]>::to_vec).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_whole() {
        assert!(names(b"lat lon\0", b"lon") && names(b"area: cell_area", b"cell_area"));
        assert!(!names(b"latitude", b"lat") && !names(b"", b"x"));
    }
}
