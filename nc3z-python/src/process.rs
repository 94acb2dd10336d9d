//! What belongs to one process: threads, locks that threads hold. A forked child has the memory of these, not the threads, and a
//! lock may be held for ever; so each is tagged with its process, and made anew in a child.

use arc_swap::ArcSwapOption;
use nc3z_reader::cache::{TileCache, budget_from_env, default_budget};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::ThreadPool;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A value of this process. Reading it takes no lock.
pub(crate) struct PerProcess<T>(ArcSwapOption<Tagged<T>>);

struct Tagged<T> {
    process: u32,
    value: Arc<T>,
}

impl<T> PerProcess<T> {
    pub(crate) const fn empty() -> Self {
        PerProcess(ArcSwapOption::const_empty())
    }

    pub(crate) fn of(value: T) -> Self {
        PerProcess(ArcSwapOption::from_pointee(Tagged {
            process: std::process::id(),
            value: Arc::new(value),
        }))
    }

    /// The value, made by `make` where there is none, or one of the process that this one was forked from.
    pub(crate) fn get<E>(&self, make: impl FnOnce(Option<&T>) -> Result<T, E>) -> Result<Arc<T>, E> {
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

    /// True once it was cleared.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.load().is_none()
    }

    /// Drops the value, once whoever uses it now is done.
    pub(crate) fn clear(&self) {
        if let Some(tagged) = self.0.swap(None)
            && tagged.process != std::process::id()
        {
            std::mem::forget(tagged);
        }
    }
}

static POOL: PerProcess<ThreadPool> = PerProcess::empty();
static CACHE: PerProcess<TileCache> = PerProcess::empty();
/// Threads asked for; 0 for one a core.
static THREADS: AtomicUsize = AtomicUsize::new(0);

/// Threads asked for by a call, by `NC3Z_THREADS`, or one a core.
pub(crate) fn threads() -> usize {
    let set = THREADS.load(Ordering::Relaxed);
    if set > 0 {
        return set;
    }
    let from_env = std::env::var("NC3Z_THREADS").ok().and_then(|words| words.trim().parse().ok());
    from_env
        .filter(|n| *n > 0)
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get))
}

/// The pool that all large work of this process is done in.
pub(crate) fn pool() -> PyResult<Arc<ThreadPool>> {
    POOL.get(|_| {
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads())
            .thread_name(|n| format!("nc3z-{n}"))
            .build()
            .map_err(|e| PyRuntimeError::new_err(format!("cannot start threads: {e}")))
    })
}

/// How the reader's large reads get there.
pub(crate) fn enter_pool(work: &mut (dyn FnMut() + Send)) {
    match pool() {
        Ok(pool) => pool.install(work),
        // Without threads, the one that is there does it all.
        Err(_) => work(),
    }
}

/// The cache of decoded tiles that all datasets of this process share.
pub(crate) fn cache() -> TileCache {
    let made: Result<_, std::convert::Infallible> = CACHE.get(|parent| {
        let budget = parent.map(TileCache::budget).or_else(|| budget_from_env().ok().flatten());
        Ok(TileCache::new(budget.unwrap_or_else(default_budget)))
    });
    match made {
        Ok(cache) => (*cache).clone(),
        Err(never) => match never {},
    }
}

/// Sets the number of threads that decode at once, for all datasets of this process; 0 is one a core.
#[pyfunction]
#[pyo3(signature = (threads, /))]
pub(crate) fn set_threads(threads: usize) {
    THREADS.store(threads, Ordering::Relaxed);
    POOL.clear();
}

/// The number of threads that decode at once.
#[pyfunction]
pub(crate) fn get_threads() -> usize {
    threads()
}

/// Sets how many bytes of decoded tiles are kept; 0 keeps none.
#[pyfunction]
#[pyo3(signature = (nbytes, /))]
pub(crate) fn set_cache(nbytes: u64) {
    cache().set_budget(nbytes);
}

/// Hits, misses and bytes of the cache of decoded tiles.
#[pyfunction]
pub(crate) fn cache_stats(py: Python<'_>) -> PyResult<Bound<'_, pyo3::types::PyDict>> {
    let stats = cache().stats();
    let dict = pyo3::types::PyDict::new(py);
    for (key, value) in [
        ("hits", stats.hits),
        ("misses", stats.misses),
        ("evictions", stats.evictions),
        ("entries", stats.entries),
        ("nbytes", stats.used_bytes),
        ("budget", stats.budget),
    ] {
        dict.set_item(key, value)?;
    }
    Ok(dict)
}
