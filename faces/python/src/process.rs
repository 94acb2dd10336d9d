//! The state of a process: the pool of threads, and the cache, whose locks threads hold. A forked child makes
//! both anew.

use nc3z_reader::cache::{TileCache, budget_from_env, default_budget};
use nc3z_remote::PerProcess;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::ThreadPool;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

static POOL: PerProcess<ThreadPool> = PerProcess::empty();
static CACHE: PerProcess<TileCache> = PerProcess::empty();
/// The requested number of threads; 0 means one for each core.
static THREADS: AtomicUsize = AtomicUsize::new(0);

/// Returns the number of threads: as requested by a call, by `NC3Z_THREADS`, or one for each core.
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

/// The pool that all large work of this process uses.
pub(crate) fn pool() -> PyResult<Arc<ThreadPool>> {
    POOL.get(|_| {
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads())
            .thread_name(|n| format!("nc3z-{n}"))
            .build()
            .map_err(|e| PyRuntimeError::new_err(format!("cannot start threads: {e}")))
    })
}

/// Runs the reader's large reads in the pool.
pub(crate) fn enter_pool(work: &mut (dyn FnMut() + Send)) {
    match pool() {
        Ok(pool) => pool.install(work),
        // Without a pool, the calling thread does all the work.
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

/// Sets the number of threads that decode at once, for all datasets of this process; 0 means one for each
/// core.
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

/// Sets the size of the cache of decoded tiles in bytes; 0 disables it.
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

/// A name without user, password, query and fragment if it is a URL.
#[pyfunction]
#[pyo3(signature = (name, /))]
pub(crate) fn shown(name: &str) -> String {
    nc3z_format::url::shown(name)
}
