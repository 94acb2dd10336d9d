//! What belongs to one process: the threads that decode, and the cache. Both are made anew in a forked child.

use nc3z_reader::PerProcess;
use nc3z_reader::cache::{TileCache, budget_from_env, default_budget};
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};
use std::convert::Infallible;

static POOL: PerProcess<ThreadPool> = PerProcess::empty();
static CACHE: PerProcess<TileCache> = PerProcess::empty();

/// The number of threads: `NC3Z_THREADS`, or one for each core.
fn threads() -> usize {
    let from_env = std::env::var("NC3Z_THREADS").ok().and_then(|words| words.trim().parse().ok());
    // 0 is one for each core, as for rayon.
    from_env.filter(|n| *n <= 1024).unwrap_or(0)
}

/// Has large reads done in this process's pool. Rayon's global pool is never started: its threads do not exist in a forked child.
pub fn set_up() {
    nc3z_reader::enter_pool_by(enter_pool);
}

/// Runs `work` in this process's pool, or on the calling thread where no threads can be started.
pub fn enter_pool(work: &mut (dyn FnMut() + Send)) {
    let pool = POOL.get(|_| -> Result<_, ThreadPoolBuildError> {
        ThreadPoolBuilder::new().num_threads(threads()).thread_name(|n| format!("nc3z-{n}")).build()
    });
    match pool {
        Ok(pool) => pool.install(work),
        Err(_) => work(),
    }
}

/// The cache of decoded tiles that all files of this process share.
pub fn cache() -> TileCache {
    let made: Result<_, Infallible> = CACHE.get(|parent| {
        let budget = parent.map(TileCache::budget).or_else(|| budget_from_env().ok().flatten());
        Ok(TileCache::new(budget.unwrap_or_else(default_budget)))
    });
    match made {
        Ok(cache) => (*cache).clone(),
        Err(never) => match never {},
    }
}
