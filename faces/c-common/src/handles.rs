//! Open things by numbers that C programs keep.

use arc_swap::ArcSwapOption;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

/// A table of open things. It is replaced as a whole by each change, so that readers take no lock: a forked child may find a lock held by
/// a thread that it does not have.
pub struct Handles<K, T>(ArcSwapOption<HashMap<K, Arc<T>>>);

impl<K: Copy + Eq + Hash, T> Handles<K, T> {
    /// None yet.
    pub const fn empty() -> Self {
        Handles(ArcSwapOption::const_empty())
    }

    /// The thing of a number.
    pub fn get(&self, key: K) -> Option<Arc<T>> {
        self.0.load().as_ref().and_then(|all| all.get(&key)).cloned()
    }

    /// Puts one there, in the place of another of the same number.
    pub fn insert(&self, key: K, value: T) {
        let value = Arc::new(value);
        self.change(|all| {
            all.insert(key, Arc::clone(&value));
        });
    }

    /// Takes one away; calls that use it now end as they would.
    pub fn remove(&self, key: K) -> Option<Arc<T>> {
        let value = self.get(key)?;
        let mut removed = false;
        self.change(|all| removed = all.remove(&key).is_some());
        // Another thread may have been first.
        removed.then_some(value)
    }

    fn change(&self, mut change: impl FnMut(&mut HashMap<K, Arc<T>>)) {
        self.0.rcu(|all| {
            let mut all = all.as_deref().cloned().unwrap_or_default();
            change(&mut all);
            Some(Arc::new(all))
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_removed_once() {
        static TABLE: Handles<u32, u32> = Handles::empty();
        std::thread::scope(|scope| {
            let removed: Vec<_> = (0..8_u32)
                .map(|thread| {
                    scope.spawn(move || {
                        (0..100).for_each(|n| TABLE.insert(thread * 100 + n, n));
                        (0..100).filter(|n| TABLE.remove((thread ^ 1) * 100 + n).is_some()).count()
                    })
                })
                .collect();
            let removed: usize = removed.into_iter().map(|thread| thread.join().unwrap()).sum();
            let left = (0..800).filter(|n| TABLE.remove(*n).is_some()).count();
            assert_eq!(removed + left, 800);
        });
        assert!(TABLE.get(0).is_none());
    }
}
