//! Arrays that are the same in all files: their values are stored in the aggregation.

use super::Rules;
use super::join::{Group, Making};
use super::scan::{Array, MAX_STATIC, unshared};
use super::stored::STORED;
use crate::error::{Error, Result};
use crate::write::{NewVariable, attribute};
use nc3z_format::NcType;

/// Stores an array in the aggregation if it is the same in all files and has no joined dimension.
pub(super) fn constant(group: &Group<'_>, making: &mut Making<'_>) -> Result<()> {
    let first = group.members[0];
    let too_long = first.shape.iter().product::<u64>().saturating_mul(8) > MAX_STATIC;
    let values = read_whole(first, making.rules)?;
    if !too_long {
        for m in &group.members[1..] {
            if read_whole(m, making.rules)? != values {
                return Err(differ(group, &values, m, making.rules)?);
            }
        }
    }
    let name = making.out.free_name(&first.name);
    let dimensions =
        group.axes.iter().map(|a| making.masters.dimension(a, &mut making.out)).collect::<Result<_>>()?;
    let ty = first.raw.unwrap_or(NcType::Double);
    let mut attributes = unshared(&first.attributes);
    if first.raw.is_none() {
        attributes.retain(|a| !STORED.iter().any(|n| n.as_bytes() == a.name));
        // Missing values are written as the default fill value, which not every reader knows.
        attributes.push(attribute("_FillValue", ty, ty.default_fill().to_vec()));
    }
    making.out.own.variables.push(NewVariable { name, ty, dimensions, attributes, values });
    Ok(())
}

/// Returns the error for values that are not the same in all files. The misfit is the first file where most
/// others differ from it.
fn differ(group: &Group<'_>, values: &[u8], other: &Array, rules: &Rules) -> Result<Error> {
    let first = group.members[0];
    let mut agree = 0;
    for m in group.members.iter().filter(|_| rules.skip_misfits) {
        agree += usize::from(read_whole(m, rules)? == values);
    }
    let odd = if agree == 1 && group.members.len() > 2 { first } else { other };
    let what = format!(
        "`{}` and `{}` have different values of `{}`, and no coordinate says where each belongs",
        first.id.file(),
        other.id.file(),
        first.name
    );
    Ok(Error::misfit(odd.id.file(), what))
}

/// All values of an array: as stored, or unpacked to doubles.
fn read_whole(m: &Array, rules: &Rules) -> Result<Vec<u8>> {
    let dataset = super::open(std::path::Path::new(m.id.file()), &rules.options)?;
    let v = dataset.variable(&m.name)?;
    let bytes = v.read_bytes(&v.all())?;
    if m.raw.is_some() {
        return Ok(bytes);
    }
    let fill = NcType::Double.default_fill();
    let conform = crate::master::conform::Conform::new(
        v.header(),
        NcType::Double,
        fill,
        nc3z_format::units::Conversion::IDENTITY,
        &[],
    )
    .map_err(|what| Error::fragment(m.id.file(), what))?;
    conform.apply(bytes).map_err(|(_, what)| Error::fragment(m.id.file(), what))
}
