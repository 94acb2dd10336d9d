//! The arrays of a classic file that have their own bytes, in the order in which members list them:
//! variables, paddings, the gap.

use nc3z_format::NcType;
use nc3z_format::archive::ArrayId;
use nc3z_format::array_table::padded_variables;
use nc3z_format::classic::Layout;

/// An array of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Own {
    pub(super) id: ArrayId,
    /// Type of its column; bytes for padding and gap.
    pub(super) ty: NcType,
    /// The number of its bytes in the file; at least 1.
    pub(super) len: u64,
}

/// Returns the arrays with bytes of their own. Together with the header they are the whole file.
pub(super) fn of(layout: &Layout) -> Vec<Own> {
    let variables = (0..).zip(&layout.variables).filter(|(_, v)| v.owned).map(|(n, v)| Own {
        id: ArrayId::variable(n),
        ty: v.ty,
        len: v.present.saturating_mul(v.element_size()),
    });
    let bytes = |id, len| Own { id, ty: NcType::Byte, len };
    let paddings = padded_variables(layout).into_iter().map(|(v, len)| bytes(ArrayId::padding(v.0), len));
    let gap = bytes(ArrayId::GAP, layout.gaps.len());
    variables.chain(paddings).chain([gap]).filter(|own| own.len > 0).collect()
}
