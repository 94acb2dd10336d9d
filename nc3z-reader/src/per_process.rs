//! Values that belong to one process.

use arc_swap::ArcSwapOption;
use std::sync::Arc;

/// A value of this process: threads, connections, or locks that threads hold. A forked child has their
/// memory, but not the threads, and a lock may be held for ever. The value is therefore tagged with its
/// process, and made anew in a child. Reading it takes no lock.
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
    /// Makes an empty value.
    pub const fn empty() -> Self {
        PerProcess(ArcSwapOption::const_empty())
    }

    /// Makes a value of this process.
    pub fn new(value: T) -> Self {
        PerProcess(ArcSwapOption::from_pointee(Tagged {
            process: std::process::id(),
            value: Arc::new(value),
        }))
    }

    /// The value. Calls `make` if there is none, or if it belongs to the parent of a forked process. `make`
    /// receives the parent's value.
    ///
    /// # Errors
    /// The error of `make`.
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
            // Dropping it would wait for threads that do not exist here.
            std::mem::forget(Arc::clone(before));
        }
        Ok(value)
    }

    /// True where there is none.
    pub fn is_empty(&self) -> bool {
        self.0.load().is_none()
    }

    /// Drops the value, after its present users are done.
    pub fn clear(&self) {
        if let Some(tagged) = self.0.swap(None)
            && tagged.process != std::process::id()
        {
            std::mem::forget(tagged);
        }
    }
}
