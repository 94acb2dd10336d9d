//! Decides whether arrays may be one variable: type, units, cell methods. Finds the axes of each of them.

use super::join::own_text;
use super::scan::{Array, Axis};
use crate::error::{Error, Result};
use nc3z_format::NcType;
use nc3z_format::units::conversion;

/// Of two arrays, returns the one that agrees with fewer of the others. Where both agree with equally many, returns the
/// second.
pub(super) fn odd<'a, T: PartialEq>(
    members: &[&'a Array],
    of: impl Fn(&Array) -> T,
    a: &'a Array,
    b: &'a Array,
) -> &'a Array {
    let count = |x: &Array| members.iter().filter(|m| of(m) == of(x)).count();
    if count(a) < count(b) { a } else { b }
}

/// Checks that arrays have the same kind of type, units and cell methods.
pub(super) fn alike(members: &[&Array]) -> Result<()> {
    let first = members[0];
    for m in &members[1..] {
        let differ = |what: &str, of: &dyn Fn(&Array) -> Option<String>| {
            let say = |a: &Array| of(a).map_or("none".to_owned(), |t| format!("`{t}`"));
            Err(Error::misfit(
                odd(members, of, first, m).id.file(),
                format!(
                    "variable `{}`: {what} {} in `{}` and {} in `{}`",
                    first.name,
                    say(first),
                    first.id.file(),
                    say(m),
                    m.id.file()
                ),
            ))
        };
        let methods = |a: &Array| own_text(a, "cell_methods");
        let words = |a: &Array| methods(a).map(|t| t.split_whitespace().collect::<Vec<_>>().join(" "));
        if words(first) != words(m) {
            return differ("cell_methods", &methods);
        }
        let kind = |a: &Array| Some(a.ty.to_string());
        if (first.ty == NcType::Char) != (m.ty == NcType::Char) {
            return differ("type", &kind);
        }
        let units = |a: &Array| own_text(a, "units");
        match (units(first), units(m)) {
            (Some(to), Some(from)) => {
                let (ca, cb) = (own_text(first, "calendar"), own_text(m, "calendar"));
                conversion(&from, cb.as_deref(), &to, ca.as_deref()).map_err(|e| {
                    let both = |a: &Array| (units(a), own_text(a, "calendar"));
                    let what = format!(
                        "variable `{}` of `{}` and `{}`: {e}",
                        first.name,
                        m.id.file(),
                        first.id.file()
                    );
                    Error::misfit(odd(members, both, first, m).id.file(), what)
                })?;
            }
            (None, None) => {}
            _ => return differ("units", &units),
        }
    }
    Ok(())
}

/// Returns one axis of each member: its own, or its scalar coordinate. A member that lacks a dimension of
/// length 1 gets that of the others.
pub(super) fn axis_of_each<'a>(
    members: &[&'a Array],
    key: &str,
    notes: &mut Vec<String>,
) -> Result<Vec<&'a Axis>> {
    let find = |m: &&'a Array| -> Option<&'a Axis> {
        let m: &'a Array = m;
        m.axes.iter().chain(&m.scalars).find(|a| a.key == key)
    };
    let found: Vec<Option<&Axis>> = members.iter().map(find).collect();
    let Some(without) = found.iter().position(Option::is_none) else {
        return Ok(found.into_iter().flatten().collect());
    };
    let with = found.iter().position(Option::is_some).unwrap_or(0);
    let first = found[with].ok_or_else(|| Error::refused(format!("no file has the axis `{key}`")))?;
    let values = |a: &Axis| a.coordinate.as_ref().map(|c| c.values.clone());
    let one = |a: &&Axis| a.len == 1 && values(a) == values(first);
    if found.iter().flatten().all(one) {
        notes.push(format!(
            "`{}` has no dimension `{}` for `{}`; its coordinate is assumed to be that of `{}`, where its length is 1",
            members[without].id.file(), first.name, members[without].name, members[with].id.file()
        ));
        return Ok(found.into_iter().map(|a| a.unwrap_or(first)).collect());
    }
    let has = |a: &Array| a.axes.iter().chain(&a.scalars).any(|a| a.key == key);
    let odd = odd(members, has, members[with], members[without]);
    Err(Error::misfit(
        odd.id.file(),
        format!(
            "variable `{}`: `{}` has no axis `{key}` and no scalar coordinate with its position there; `{}` has the axis",
            members[without].name,
            members[without].id.file(),
            members[with].id.file()
        ),
    ))
}
