//! The places of the arrays of a group's members, and the three variables of the group that have them. See `spec/catalogue.md`,
//! "Groups".

use std::collections::HashMap;

/// The maximal number of members of a group.
pub(super) const MAX_MEMBERS: usize = 65_536;

/// The place of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// Number of the column's variable in the group.
    pub(super) column: u32,
    /// Its first element there.
    pub(super) first: u32,
}

/// The places of the arrays of all members.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Listing {
    places: Vec<Place>,
    /// The end of each member's places.
    ends: Vec<usize>,
}

/// The values of the variables of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Stored {
    /// The number of arrays of each member.
    pub(super) counts: Vec<i32>,
    /// The column of each array.
    pub(super) columns: Vec<i32>,
    /// First element of each array, less that of the last array before it in this column. For consecutive files of one kind these
    /// are equal.
    pub(super) steps: Vec<i32>,
}

impl Listing {
    /// Adds a member with the places of its arrays.
    pub(super) fn push(&mut self, places: impl IntoIterator<Item = Place>) {
        self.places.extend(places);
        self.ends.push(self.places.len());
    }

    /// The number of members.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The number of arrays of all members.
    pub(super) fn arrays(&self) -> usize {
        self.places.len()
    }

    /// The places of a member's arrays, in their order.
    pub(super) fn places(&self, member: usize) -> Option<&[Place]> {
        let end = *self.ends.get(member)?;
        let begin = member.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.places.get(begin..end)
    }

    /// Returns the values to store. None if one is beyond 2^31 - 1.
    pub(super) fn encode(&self) -> Option<Stored> {
        let mut out = Stored::default();
        let mut last: HashMap<u32, i32> = HashMap::new();
        for place in &self.places {
            let first = i32::try_from(place.first).ok()?;
            out.columns.push(i32::try_from(place.column).ok()?);
            // Both are from 0 to 2^31 - 1.
            out.steps.push(first - last.insert(place.column, first).unwrap_or(0));
        }
        let mut begin = 0;
        for &end in &self.ends {
            out.counts.push(i32::try_from(end - begin).ok()?);
            begin = end;
        }
        Some(out)
    }

    /// Reads the values of a group. The error describes the defect.
    pub(super) fn decode(stored: &Stored) -> Result<Self, String> {
        let mut list = Listing::default();
        let mut last: HashMap<u32, i32> = HashMap::new();
        for (&column, &step) in stored.columns.iter().zip(&stored.steps) {
            let number = u32::try_from(column).map_err(|_| format!("an array is in column {column}"))?;
            let last = last.entry(number).or_insert(0);
            let first = last.checked_add(step).filter(|first| *first >= 0);
            *last = first.ok_or_else(|| format!("an array begins {step} elements behind element {last}"))?;
            list.places.push(Place { column: number, first: last.cast_unsigned() });
        }
        let mut end = 0_usize;
        for &count in &stored.counts {
            let next = usize::try_from(count).ok().and_then(|count| end.checked_add(count));
            end = next.ok_or_else(|| format!("a member has {count} arrays"))?;
            list.ends.push(end);
        }
        if end != list.places.len() {
            return Err(format!("its members have {end} arrays, and it has places of {}", list.places.len()));
        }
        Ok(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_list_is_read_as_it_was_written(
            members in prop::collection::vec(prop::collection::vec((0_u32..9, 0_u32..1 << 31), 0..9), 0..20),
        ) {
            let mut list = Listing::default();
            for member in &members {
                list.push(member.iter().map(|&(column, first)| Place { column, first }));
            }
            let stored = list.encode().unwrap();
            prop_assert_eq!(Listing::decode(&stored), Ok(list.clone()));
            for (number, member) in members.iter().enumerate() {
                let found = list.places(number).unwrap().iter().map(|place| (place.column, place.first));
                prop_assert!(found.eq(member.iter().copied()));
            }
            prop_assert_eq!(list.places(members.len()), None);
        }

        #[test]
        fn any_values_are_a_list_or_an_error(
            counts in prop::collection::vec(any::<i32>(), 0..4), arrays in prop::collection::vec(any::<(i32, i32)>(), 0..9),
        ) {
            let (columns, steps) = arrays.into_iter().unzip();
            if let Ok(list) = Listing::decode(&Stored { counts, columns, steps }) {
                prop_assert_eq!((0..list.len()).map(|n| list.places(n).unwrap().len()).sum::<usize>(), list.arrays());
            }
        }
    }

    #[test]
    fn values_that_contradict_each_other_are_errors() {
        let right = Stored { counts: vec![2, 1], columns: vec![3, 4, 3], steps: vec![5, 0, -5] };
        let list = Listing::decode(&right).unwrap();
        assert_eq!(list.places(1), Some(&[Place { column: 3, first: 0 }][..]));
        for (change, words) in [
            (Box::new(|s: &mut Stored| s.counts[0] = 3) as Box<dyn Fn(&mut Stored)>, "4 arrays"),
            (Box::new(|s| s.counts[0] = -1), "-1 arrays"),
            (Box::new(|s| s.columns[0] = -1), "column -1"),
            (Box::new(|s| s.steps[2] = -6), "begins -6"),
            (Box::new(|s| s.steps[2] = i32::MAX), "begins 2147483647"),
        ] {
            let mut wrong = right.clone();
            change(&mut wrong);
            let e = Listing::decode(&wrong).unwrap_err();
            assert!(e.contains(words), "{words}: {e}");
        }
    }
}
