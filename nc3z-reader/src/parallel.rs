//! Shares work among threads, if the build has them (feature `parallel`). Otherwise works on this thread, in
//! order.

#[cfg(feature = "parallel")]
use rayon::prelude::*;

/// Runs the work it is given, once, in a pool of threads.
#[cfg(feature = "parallel")]
pub type PoolEntry = fn(&mut (dyn FnMut() + Send));

#[cfg(feature = "parallel")]
static ENTRY: std::sync::OnceLock<PoolEntry> = std::sync::OnceLock::new();

/// Sets the pool for large reads of threads outside any pool. The default is rayon's global pool, which does
/// not work in a forked child. Only the first call has an effect.
#[cfg(feature = "parallel")]
pub fn enter_pool_by(entry: PoolEntry) {
    // A second pool for one process would only add threads.
    let _ = ENTRY.set(entry);
}

/// Does large work in a pool of threads. Stays on this thread if it belongs to a pool already.
pub(crate) fn in_pool<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    #[cfg(feature = "parallel")]
    if let (None, Some(enter)) = (rayon::current_thread_index(), ENTRY.get()) {
        let (mut work, mut done) = (Some(work), None);
        enter(&mut || done = work.take().map(|work| work()));
        return done.expect("an entry runs what it is given");
    }
    work()
}

/// The number of threads of the current pool.
pub(crate) fn threads() -> usize {
    #[cfg(feature = "parallel")]
    return rayon::current_num_threads();
    #[cfg(not(feature = "parallel"))]
    1
}

/// Runs both, in parallel if there are threads.
pub(crate) fn join<A: Send, B: Send>(a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
    #[cfg(feature = "parallel")]
    return rayon::join(a, b);
    #[cfg(not(feature = "parallel"))]
    (a(), b())
}

/// Runs `a` here, and `b`, which mainly waits, on a separate thread, so that no thread of the pool sleeps in
/// it.
pub(crate) fn alongside<A, B: Send>(a: impl FnOnce() -> A, b: impl FnOnce() -> B + Send) -> (A, B) {
    #[cfg(feature = "parallel")]
    return std::thread::scope(|scope| {
        let waiting = scope.spawn(b);
        let done = a();
        (done, waiting.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    #[cfg(not(feature = "parallel"))]
    (a(), b())
}

/// The results of `work` for each item, in order.
pub(crate) fn map<T: Send, R: Send>(items: Vec<T>, work: impl Fn(T) -> R + Send + Sync) -> Vec<R> {
    #[cfg(feature = "parallel")]
    return items.into_par_iter().map(work).collect();
    #[cfg(not(feature = "parallel"))]
    items.into_iter().map(work).collect()
}

/// Works on each item, and stops at an error.
pub(crate) fn try_each<T: Send, E: Send>(
    items: Vec<T>,
    work: impl Fn(T) -> Result<(), E> + Send + Sync,
) -> Result<(), E> {
    #[cfg(feature = "parallel")]
    return items.into_par_iter().try_for_each(work);
    #[cfg(not(feature = "parallel"))]
    items.into_iter().try_for_each(work)
}

/// Work that runs in parallel with the caller's until the caller waits for it. Without threads it runs then.
pub(crate) struct Beside<T>(
    #[cfg(feature = "parallel")] std::thread::JoinHandle<T>,
    #[cfg(not(feature = "parallel"))] Box<dyn FnOnce() -> T + Send>,
);

impl<T: Send + 'static> Beside<T> {
    pub(crate) fn begin(work: impl FnOnce() -> T + Send + 'static) -> Self {
        #[cfg(feature = "parallel")]
        return Beside(std::thread::spawn(work));
        #[cfg(not(feature = "parallel"))]
        Beside(Box::new(work))
    }

    pub(crate) fn wait(self) -> T {
        #[cfg(feature = "parallel")]
        return self.0.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        #[cfg(not(feature = "parallel"))]
        (self.0)()
    }
}
