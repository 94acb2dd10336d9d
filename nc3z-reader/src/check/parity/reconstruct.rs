//! Computes the lost members of one group from the remaining ones, a stripe of the shards' bytes at a time.

use crate::error::Result;
use crate::parallel;
use nc3z_format::parity::{Erasures, Interleave};

/// Bytes of work space, for all threads together.
const WORK_LEN: usize = 128 << 20;
/// Bytes of work space where one thread computes.
const WORK_LEN_OF_ONE: usize = 32 << 20;

/// The threads that take part in a computation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Threads {
    /// All threads of the pool.
    All,
    /// Only the calling thread, which may hold a lock that other threads of the pool wait for.
    One,
}

impl Threads {
    /// Applies `each` to all items, in their order.
    ///
    /// # Errors
    /// The first error of `each`.
    pub(super) fn map<T: Send, R: Send>(
        self,
        items: Vec<T>,
        each: impl Fn(T) -> Result<R> + Send + Sync,
    ) -> Result<Vec<R>> {
        match self {
            Threads::All => parallel::map(items, each).into_iter().collect(),
            Threads::One => items.into_iter().map(each).collect(),
        }
    }
}

/// A member of a group, by its number among all data or parity items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Member {
    Data(u64),
    Parity(u64),
}

/// Fills a buffer with a member's bytes from a column on.
pub(super) type Read<'a> = &'a (dyn Fn(Member, usize, &mut [u8]) -> Result<()> + Sync);

/// A member and its bytes.
pub(super) type Recovered = (Member, Vec<u8>);

/// The lost members of a group; each has `len` bytes.
///
/// # Errors
/// More members are lost than the group's parity can replace; errors of `read`.
pub(super) fn recover(
    code: &Interleave,
    group: u64,
    lost: &[Member],
    len: usize,
    threads: Threads,
    read: Read<'_>,
) -> Result<Vec<Recovered>> {
    let small = |n: u64| usize::try_from(n).expect("Interleave: at most 65,536 positions");
    let span = small(code.span());
    let position = |member: &Member| match *member {
        Member::Data(item) => span + small(code.slot_of(item)),
        Member::Parity(item) => small(code.parity_place(item).1),
    };
    let slots = code.slots(group);
    let erasures = Erasures::new(small(slots), small(code.parity()), lost.iter().map(position).collect())?;
    let present: Vec<(usize, Member)> = (0..slots)
        .filter_map(|slot| Some(Member::Data(code.item_at(group, slot)?)))
        .chain((0..code.parity()).map(|row| Member::Parity(code.parity_item(group, row))))
        .map(|member| (position(&member), member))
        .filter(|(position, _)| erasures.lost().binary_search(position).is_err())
        .collect();
    let each = match threads {
        Threads::All => WORK_LEN / parallel::threads(),
        Threads::One => WORK_LEN_OF_ONE,
    };
    let width = (each / erasures.work_len() / 64 * 64).clamp(64, len);
    let columns: Vec<usize> = (0..len).step_by(width).collect();
    let stripe = |column: usize| {
        let lanes = width.min(len - column) / 64;
        let mut work = vec![[0; 64]; erasures.work_len() * lanes];
        for &(position, member) in &present {
            let shard = &mut work[position * lanes..(position + 1) * lanes];
            read(member, column, shard.as_flattened_mut())?;
        }
        erasures.reveal(&mut work);
        let found = erasures.lost().iter().map(|p| work[p * lanes..(p + 1) * lanes].as_flattened().to_vec());
        Ok(found.collect::<Vec<_>>())
    };
    let stripes = threads.map(columns, stripe)?;
    let bytes_of = |member: &Member| {
        let at = erasures.lost().binary_search(&position(member)).expect("it is one of the lost");
        stripes.iter().flat_map(|stripe| &stripe[at]).copied().collect()
    };
    Ok(lost.iter().map(|member| (*member, bytes_of(member))).collect())
}
