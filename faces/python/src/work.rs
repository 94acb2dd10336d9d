//! Runs long work in the pool, while the calling thread reports progress and reacts to Ctrl-C.

use crate::error::Failure;
use crate::process;
use nc3z_reader::Monitor;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel, sync_channel};
use std::time::Duration;

/// The interval at which the calling thread checks for progress and signals.
const LOOK_UP: Duration = Duration::from_millis(50);

/// A request to stop, which other threads can make.
#[pyclass(frozen, module = "nc3z", name = "Cancel")]
pub(crate) struct Cancel(Arc<AtomicBool>);

#[pymethods]
impl Cancel {
    #[new]
    fn new() -> Self {
        Cancel(Arc::default())
    }

    /// Asks all work with this object to stop.
    fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// True after the request.
    fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Reports the bytes done so far, and decides whether to continue.
pub(crate) struct Watch {
    done: AtomicU64,
    stop: AtomicBool,
    cancel: Option<Arc<AtomicBool>>,
}

impl Monitor for Watch {
    fn advance(&self, bytes: u64) {
        self.done.fetch_add(bytes, Ordering::Relaxed);
    }

    fn is_cancelled(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.cancel.as_ref().is_some_and(|c| c.load(Ordering::Relaxed))
    }
}

/// Does `work` in the pool. `progress` is called on the calling thread with the bytes done and `total`,
/// repeatedly and at the end. An exception that it raises, or that a signal's handler raises, ends the work.
/// No incomplete file remains.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    total: u64,
    progress: Option<&Bound<'_, PyAny>>,
    cancel: Option<&Cancel>,
    work: impl FnOnce(&Watch) -> Result<T, Failure> + Send,
) -> Result<T, Failure> {
    let pool = process::pool()?;
    let watch = Watch {
        done: AtomicU64::new(0),
        stop: AtomicBool::new(false),
        cancel: cancel.map(|c| Arc::clone(&c.0)),
    };
    let progress = progress.map(|p| p.clone().unbind());
    let (raised, worked) = py.detach(|| {
        std::thread::scope(|scope| {
            let (send, receive) = sync_channel(1);
            let (pool, watch) = (&*pool, &watch);
            scope.spawn(move || {
                // The receiver exists until the scope ends.
                let _ = send.send(pool.install(|| work(watch)));
            });
            let mut raised = None;
            let mut told = None;
            let mut tell = |py: Python<'_>| {
                let done = watch.done.load(Ordering::Relaxed).min(total);
                match &progress {
                    Some(progress) if told != Some(done) => {
                        told = Some(done);
                        progress.call1(py, (done, total)).map(drop)
                    }
                    _ => Ok(()),
                }
            };
            loop {
                match receive.recv_timeout(LOOK_UP) {
                    Err(RecvTimeoutError::Timeout) if raised.is_none() => {
                        let looked = Python::attach(|py| py.check_signals().and_then(|()| tell(py)));
                        if let Err(e) = looked {
                            watch.stop.store(true, Ordering::Relaxed);
                            raised = Some(e);
                        }
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return (raised, None),
                    Ok(done) => {
                        if raised.is_none()
                            && done.is_ok()
                            && let Err(e) = Python::attach(tell)
                        {
                            raised = Some(e);
                        }
                        return (raised, Some(done));
                    }
                }
            }
        })
    });
    match (raised, worked) {
        (Some(e), _) => Err(e.into()),
        (None, Some(done)) => done,
        (None, None) => Err(PyRuntimeError::new_err("the work ended without a result").into()),
    }
}

fn check_signals(py: Python<'_>) -> PyResult<()> {
    py.check_signals()
}

/// Does `work`, which has threads of its own. `tell` is called on the calling thread with each result that `work` sends. An exception
/// that it raises, or that a signal's handler raises, ends the work. No incomplete file remains.
pub(crate) fn run_telling<T: Send>(
    py: Python<'_>,
    cancel: &Cancel,
    tell: &(dyn Fn(T) -> PyResult<()> + Sync),
    work: impl FnOnce(&Watch, Sender<T>) -> Result<(), Failure> + Send,
) -> Result<(), Failure> {
    let watch =
        Watch { done: AtomicU64::new(0), stop: AtomicBool::new(false), cancel: Some(Arc::clone(&cancel.0)) };
    py.detach(|| {
        std::thread::scope(|scope| {
            let (send, receive) = channel();
            let watch = &watch;
            let worker = scope.spawn(move || work(watch, send));
            let mut raised = None;
            // The channel is closed when the work has ended.
            loop {
                let told = match receive.recv_timeout(LOOK_UP) {
                    Ok(result) if raised.is_none() => tell(result),
                    Err(RecvTimeoutError::Timeout) if raised.is_none() => Python::attach(check_signals),
                    Ok(_) | Err(RecvTimeoutError::Timeout) => Ok(()),
                    Err(RecvTimeoutError::Disconnected) => break,
                };
                if let Err(e) = told {
                    watch.stop.store(true, Ordering::Relaxed);
                    raised = Some(e);
                }
            }
            let done = worker
                .join()
                .unwrap_or_else(|_| Err(PyRuntimeError::new_err("the work ended without a result").into()));
            raised.map_or(done, |e| Err(e.into()))
        })
    })
}
