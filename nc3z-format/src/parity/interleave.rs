//! Assigns numbered items to groups, so that a burst of damage affects all groups alike.

use crate::error::{Error, Result};

/// Positions of one codeword: parity and data together.
pub(super) const MOST_POSITIONS: u64 = 65_536;

/// Items that are dealt to groups in runs. Each group has its own parity (`spec/parity.md`, "Groups").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interleave {
    items: u64,
    groups: u64,
    run: u64,
    parity: u64,
}

impl Interleave {
    /// Deals `items` to `groups` in runs of `run` items, with `parity` parity items for each group.
    ///
    /// # Errors
    /// A number is zero; there are more groups than items; a group has more than 65,536 positions.
    pub fn new(items: u64, groups: u64, run: u64, parity: u64) -> Result<Self> {
        if items == 0 || groups == 0 || run == 0 || parity == 0 || groups > items {
            let found = format!("{items} items, {groups} groups, runs of {run}, {parity} parity items");
            return Err(Error::corrupt(
                "parity",
                None,
                "interleaving",
                "at least 1 of each, items enough",
                found,
            ));
        }
        let code = Interleave { items, groups, run, parity };
        let fits = code
            .groups
            .checked_mul(run)
            .and_then(|_| parity.checked_next_power_of_two())
            .and_then(|span| span.checked_add(code.slots(0)))
            .is_some_and(|n| n <= MOST_POSITIONS);
        if !fits {
            let found = format!("{parity} parity items for {items} items in {groups} groups");
            return Err(Error::corrupt("parity", None, "group", "at most 65,536 positions", found));
        }
        Ok(code)
    }

    /// Data items.
    pub fn items(&self) -> u64 {
        self.items
    }

    /// Groups.
    pub fn groups(&self) -> u64 {
        self.groups
    }

    /// Parity items of one group.
    pub fn parity(&self) -> u64 {
        self.parity
    }

    /// Parity items of all groups.
    pub fn parity_items(&self) -> u64 {
        self.groups.saturating_mul(self.parity)
    }

    /// The code's positions for parity: `parity`, rounded up to a power of two. Data follow.
    pub fn span(&self) -> u64 {
        self.parity.next_power_of_two()
    }

    /// Group of a data item.
    pub fn group_of(&self, item: u64) -> u64 {
        item / self.run % self.groups
    }

    /// Position of a data item among the data of its group.
    pub fn slot_of(&self, item: u64) -> u64 {
        item / (self.run * self.groups) * self.run + item % self.run
    }

    /// The data item at a slot of a group, if there is one.
    pub fn item_at(&self, group: u64, slot: u64) -> Option<u64> {
        let row = slot / self.run * self.run;
        let item =
            row.checked_mul(self.groups)?.checked_add(group * self.run)?.checked_add(slot % self.run)?;
        (item < self.items).then_some(item)
    }

    /// Data items of a group; group 0 has the most.
    pub fn slots(&self, group: u64) -> u64 {
        let round = self.run.saturating_mul(self.groups);
        let rest = self.items % round;
        let mine = rest.saturating_sub(group.saturating_mul(self.run)).min(self.run);
        (self.items / round).saturating_mul(self.run).saturating_add(mine)
    }

    /// Items in a row that one group has.
    pub fn run(&self) -> u64 {
        self.run
    }

    /// Number, among all parity items, of the `row`-th of a group.
    pub fn parity_item(&self, group: u64, row: u64) -> u64 {
        row * self.groups + group
    }

    /// Group and row of a parity item.
    pub fn parity_place(&self, item: u64) -> (u64, u64) {
        (item % self.groups, item / self.groups)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_has_one_place() {
        for (items, groups, run) in
            [(1, 1, 1), (17, 1, 16), (1000, 7, 16), (1000, 3, 1), (97, 97, 4), (33, 2, 16)]
        {
            let code = Interleave::new(items, groups, run, 5).unwrap();
            let mut seen = 0;
            for group in 0..groups {
                let slots = code.slots(group);
                assert!(slots <= code.slots(0));
                for slot in 0..slots {
                    let item = code.item_at(group, slot).unwrap();
                    assert_eq!((code.group_of(item), code.slot_of(item)), (group, slot));
                    seen += 1;
                }
                assert_eq!(code.item_at(group, slots), None, "{items} {groups} {run}: group {group}");
            }
            assert_eq!(seen, items);
        }
    }

    #[test]
    fn bursts_are_spread() {
        let code = Interleave::new(10_000, 9, 16, 5).unwrap();
        for begin in 0..500 {
            let mut hit = [0; 9];
            (begin..begin + 720).for_each(|i| hit[usize::try_from(code.group_of(i)).unwrap()] += 1);
            assert!(hit.iter().all(|&h| h <= 80 + 16), "{hit:?}");
        }
    }

    #[test]
    fn impossible_groups_are_refused() {
        for (items, groups, run, parity) in
            [(0, 1, 1, 1), (1, 0, 1, 1), (1, 2, 1, 1), (1, 1, 0, 1), (1, 1, 1, 0), (65_536, 1, 1, 1)]
        {
            assert!(Interleave::new(items, groups, run, parity).is_err());
        }
        assert!(Interleave::new(65_535, 1, 1, 1).is_ok());
        assert!(Interleave::new(u64::MAX, u64::MAX, u64::MAX, u64::MAX).is_err());
        assert!(Interleave::new(u64::MAX, 1 << 50, 1, 3).is_ok());
    }
}
