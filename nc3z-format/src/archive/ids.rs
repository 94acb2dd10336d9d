//! Array ids: one number space for everything that has tiles.

use std::fmt;

/// Id of an array in block headers and in the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ArrayId(pub u32);

/// The role of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The array of a variable. In the first generation, and whenever the head is the head copy, this is the
    /// variable's number in the header. A later head lists the array of each variable.
    Variable(u32),
    /// The definitions of a variable.
    Definitions(u32),
    /// The padding of a record variable.
    Padding(u32),
    /// Bytes of no other array.
    Gap,
    /// Packed containers.
    Containers,
    /// Constants lists.
    Constants,
    /// Chain definitions.
    Chains,
    /// The heads of later generations.
    Heads,
    /// The starts of later generations.
    Commits,
    /// A role unknown to this version.
    Unknown(u32),
}

const INDEX: u32 = (1 << 30) - 1;

impl ArrayId {
    /// The gap pseudo-variable.
    pub const GAP: ArrayId = ArrayId(0xC000_0000);
    /// Packed containers.
    pub const CONTAINERS: ArrayId = ArrayId(0xC000_0001);
    /// Constants lists.
    pub const CONSTANTS: ArrayId = ArrayId(0xC000_0002);
    /// Chain definitions.
    pub const CHAINS: ArrayId = ArrayId(0xC000_0003);
    /// The heads of later generations.
    pub const HEADS: ArrayId = ArrayId(0xC000_0004);
    /// The starts of later generations.
    pub const COMMITS: ArrayId = ArrayId(0xC000_0005);

    /// The array with this number. Without a later head it is the array of variable `v` of the header.
    pub const fn variable(v: u32) -> Self {
        ArrayId(v & INDEX)
    }

    /// Definitions of variable `v`.
    pub const fn definitions(v: u32) -> Self {
        ArrayId(0x4000_0000 | (v & INDEX))
    }

    /// Padding of record variable `v`.
    pub const fn padding(v: u32) -> Self {
        ArrayId(0x8000_0000 | (v & INDEX))
    }

    /// The role of this array.
    pub const fn role(self) -> Role {
        match (self.0 >> 30, self.0 & INDEX) {
            (0, v) => Role::Variable(v),
            (1, v) => Role::Definitions(v),
            (2, v) => Role::Padding(v),
            (_, 0) => Role::Gap,
            (_, 1) => Role::Containers,
            (_, 2) => Role::Constants,
            (_, 3) => Role::Chains,
            (_, 4) => Role::Heads,
            (_, 5) => Role::Commits,
            _ => Role::Unknown(self.0),
        }
    }
}

impl fmt::Display for ArrayId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.role() {
            Role::Variable(v) => write!(f, "variable {v}"),
            Role::Definitions(v) => write!(f, "definitions of variable {v}"),
            Role::Padding(v) => write!(f, "padding of variable {v}"),
            Role::Gap => f.write_str("gap"),
            Role::Containers => f.write_str("packed containers"),
            Role::Constants => f.write_str("constants lists"),
            Role::Chains => f.write_str("chain definitions"),
            Role::Heads => f.write_str("later heads"),
            Role::Commits => f.write_str("commits"),
            Role::Unknown(n) => write!(f, "unknown array {n:#x}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_and_ids_agree() {
        for v in [0, 7, INDEX] {
            assert_eq!(ArrayId::variable(v).role(), Role::Variable(v));
            assert_eq!(ArrayId::definitions(v).role(), Role::Definitions(v));
            assert_eq!(ArrayId::padding(v).role(), Role::Padding(v));
        }
        assert_eq!(ArrayId::CHAINS.role(), Role::Chains);
        assert_eq!((ArrayId::HEADS.role(), ArrayId::COMMITS.role()), (Role::Heads, Role::Commits));
        assert_eq!(ArrayId(0xC000_0006).role(), Role::Unknown(0xC000_0006));
    }
}
