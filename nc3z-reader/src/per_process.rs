//! Values that belong to one process.

use arc_swap::ArcSwapOption;
use std::sync::Arc;

/// A value of this process: threads, connections, locks that threads hold. A forked child has the memory of these, not the threads,
/// and a lock may be held for ever; so the value is tagged with its process, and made anew in a child. Reading it takes no lock.
///
/// ```
/// use nc3z_reader::PerProcess;
/// static NUMBERS: PerProcess<Vec<u8>> = PerProcess::empty();
/// let made = NUMBERS.get(|parents| parents.map(|_| vec![]).or(Some(vec![1])).ok_or(())).unwrap();
/// assert_eq!(*made, [1]);
/// ```
pub struct PerProcess<T>(ArcSwapOption<Tagged<T>>);

struct Tagged<T> {
    process: u32,
    value: Arc<T>,
}

impl<T> PerProcess<T> {
    /// None yet.
    pub const fn empty() -> Self {
        PerProcess(ArcSwapOption::const_empty())
    }

    /// This process's.
    pub fn of(value: T) -> Self {
        PerProcess(ArcSwapOption::from_pointee(Tagged {
            process: std::process::id(),
            value: Arc::new(value),
        }))
    }

    /// The value; made by `make` where there is none, or one of the process that this one was forked from, which `make` is given.
    ///
    /// # Errors
    /// What `make` says.
    pub fn get<E>(&self, make: impl FnOnce(Option<&T>) -> Result<T, E>) -> Result<Arc<T>, E> {
        let process = std::process::id();
        let held = self.0.load();
        if let Some(tagged) = &*held
            && tagged.process == process
        {
            return Ok(Arc::clone(&tagged.value));
        }
        let value = Arc::new(make(held.as_ref().map(|tagged| &*tagged.value))?);
        let tagged = Arc::new(Tagged { process, value: Arc::clone(&value) });
        let before = self.0.compare_and_swap(&*held, Some(tagged));
        if let Some(before) = &*before {
            if before.process == process {
                // Another thread of this process was first.
                return Ok(Arc::clone(&before.value));
            }
            // Dropping it would wait for threads that are not here.
            std::mem::forget(Arc::clone(before));
        }
        Ok(value)
    }

    /// True where there is none.
    pub fn is_empty(&self) -> bool {
        self.0.load().is_none()
    }

    /// Drops the value, once whoever uses it now is done.
    pub fn clear(&self) {
        if let Some(tagged) = self.0.swap(None)
            && tagged.process != std::process::id()
        {
            std::mem::forget(tagged);
        }
    }
}
