//! Work shared among threads, where the build has them (feature `parallel`); else done here, in order.

#[cfg(feature = "parallel")]
use rayon::prelude::*;

/// Threads of the pool that the caller works in.
pub(crate) fn threads() -> usize {
    #[cfg(feature = "parallel")]
    return rayon::current_num_threads();
    #[cfg(not(feature = "parallel"))]
    1
}

/// Both, at once where there are threads.
pub(crate) fn join<A: Send, B: Send>(a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
    #[cfg(feature = "parallel")]
    return rayon::join(a, b);
    #[cfg(not(feature = "parallel"))]
    (a(), b())
}

/// Work here, and waiting (`b`) on a thread of its own, so that no thread of the pool sleeps in it.
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

/// What `work` makes of each item, in order.
pub(crate) fn map<T: Send, R: Send>(items: Vec<T>, work: impl Fn(T) -> R + Send + Sync) -> Vec<R> {
    #[cfg(feature = "parallel")]
    return items.into_par_iter().map(work).collect();
    #[cfg(not(feature = "parallel"))]
    items.into_iter().map(work).collect()
}

/// Works on each item; an error of one ends it.
pub(crate) fn try_each<T: Send, E: Send>(
    items: Vec<T>,
    work: impl Fn(T) -> Result<(), E> + Send + Sync,
) -> Result<(), E> {
    #[cfg(feature = "parallel")]
    return items.into_par_iter().try_for_each(work);
    #[cfg(not(feature = "parallel"))]
    items.into_iter().try_for_each(work)
}

/// Work that goes on beside the caller's until it is waited for; without threads it is done then.
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
