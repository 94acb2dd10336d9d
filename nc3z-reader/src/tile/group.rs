//! Shares work on tiles among threads, so that each container is decoded once.

use super::Worker;
use crate::parallel;
use bytes::Bytes;
use std::sync::{Arc, OnceLock};

/// Largest number of members of a container that one thread decodes one after another. Usually these are all
/// members in a window, and few enough to share the work among threads.
const MEMBERS: usize = 16;

/// Work on members of one container.
struct Members<W> {
    container: u64,
    /// The decoded container, shared by all work on its members. `None` if it is damaged.
    shared: Arc<OnceLock<Option<Bytes>>>,
    /// Each piece of work has its position among all work.
    work: Vec<(usize, W)>,
}

/// Works on tiles, grouped by container whatever their order. Each container is decoded once, however many
/// threads take part, so that the number of decoded bytes depends on the archive alone. A damaged container is
/// left to those who need it, so that each reports an error. Results are in the order of `work`.
///
/// `container` returns the offset of the container that the tile of some work is a member of, or 0 if it is
/// none.
pub(super) fn by_container<W: Send, R: Send>(
    work: Vec<W>,
    container: impl Fn(&W) -> u64,
    open: impl Fn(u64, &mut Worker) -> Option<Bytes> + Sync,
    in_parallel: bool,
    decode: impl Fn(W, &mut Worker) -> R + Send + Sync,
) -> Vec<R> {
    let (mut alone, mut members) = (Vec::with_capacity(work.len()), Vec::new());
    for (at, work) in work.into_iter().enumerate() {
        match container(&work) {
            0 => alone.push((at, work)),
            offset => members.push((offset, at, work)),
        }
    }
    let groups = groups(members);
    let one = |(at, work): (usize, W), worker: &mut Worker| (at, decode(work, worker));
    let group = |Members { container, shared, work }: Members<W>, worker: &mut Worker| -> Vec<_> {
        if let Some(bytes) = shared.get_or_init(|| open(container, worker))
            && worker.container(container).is_none()
        {
            worker.hold(container, bytes.clone());
        }
        work.into_iter().map(|work| one(work, worker)).collect()
    };
    let is_in_order = groups.is_empty();
    let (mut done, rest): (Vec<(usize, R)>, Vec<Vec<_>>) = if in_parallel {
        parallel::join(
            || parallel::map(alone, |work| one(work, &mut Worker::default())),
            || parallel::map(groups, |members| group(members, &mut Worker::default())),
        )
    } else {
        let worker = &mut Worker::default();
        let done = alone.into_iter().map(|work| one(work, worker)).collect();
        (done, groups.into_iter().map(|members| group(members, worker)).collect())
    };
    if !is_in_order {
        done.extend(rest.into_iter().flatten());
        done.sort_unstable_by_key(|(at, _)| *at);
    }
    done.into_iter().map(|(_, result)| result).collect()
}

/// Work on the same container, at most [`MEMBERS`] pieces at a time.
fn groups<W>(mut members: Vec<(u64, usize, W)>) -> Vec<Members<W>> {
    members.sort_unstable_by_key(|(container, at, _)| (*container, *at));
    let mut groups: Vec<Members<W>> = Vec::new();
    for (container, at, work) in members {
        let shared = match groups.last_mut().filter(|last| last.container == container) {
            Some(last) if last.work.len() < MEMBERS => {
                last.work.push((at, work));
                continue;
            }
            Some(last) => Arc::clone(&last.shared),
            None => Arc::default(),
        };
        groups.push(Members { container, shared, work: vec![(at, work)] });
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn containers_are_opened_once_and_results_are_in_order() {
        for in_parallel in [false, true] {
            let opened = AtomicU64::new(0);
            // Container 3 is damaged: its members have to open it themselves.
            let open = |offset: u64, _: &mut Worker| {
                opened.fetch_add(1 << (8 * offset), Ordering::Relaxed);
                (offset != 3).then(|| Bytes::from(vec![u8::try_from(offset).unwrap(); 5]))
            };
            let decode = |work: u64, worker: &mut Worker| {
                (work, work % 4, worker.container(work % 4).map(|bytes| u64::from(bytes[0])))
            };
            let done = by_container((0..100).collect(), |work| work % 4, open, in_parallel, decode);
            let expected = (0..100).map(|work| {
                let container = work % 4;
                (work, container, [1, 2].contains(&container).then_some(container))
            });
            assert_eq!(done, expected.collect::<Vec<_>>());
            assert_eq!(opened.load(Ordering::Relaxed), 0x0101_0100, "each once, however many groups");
        }
    }
}
