//! A connection whose client must take sent bytes within a time limit, and which is closed without losing its
//! answer.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

/// The time that a client has, after the last answer, to close its side. If a connection is closed with
/// unread bytes, it is reset (RFC 9112, section 9.6), and the client may lose the answer, for example that
/// its request was too long.
const LINGER: Duration = Duration::from_secs(1);
/// The maximal number of bytes that are read and ignored in that time.
const LINGER_LEN: usize = 1 << 20;

/// A connection that is closed if the client takes no bytes for some time.
pub(crate) struct Patient {
    stream: TcpStream,
    timeout: Duration,
    waiting: Option<Pin<Box<Sleep>>>,
    /// After this side was closed: the time when the connection ends, and the number of bytes ignored so far.
    lingering: Option<(Pin<Box<Sleep>>, usize)>,
}

impl Patient {
    pub(crate) fn new(stream: TcpStream, timeout: Duration) -> Self {
        Patient { stream, timeout, waiting: None, lingering: None }
    }

    fn judge<T>(&mut self, written: Poll<io::Result<T>>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.waiting = None;
            return written;
        }
        let timeout = self.timeout;
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(timeout)));
        match waiting.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncRead for Patient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Patient {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.judge(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.judge(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.lingering.is_none() {
            ready!(Pin::new(&mut this.stream).poll_shutdown(context))?;
        }
        let (end, ignored) = this.lingering.get_or_insert_with(|| (Box::pin(sleep(LINGER)), 0));
        let mut bytes = [0; 8192];
        while *ignored < LINGER_LEN && end.as_mut().poll(context).is_pending() {
            let mut buffer = ReadBuf::new(&mut bytes);
            match ready!(Pin::new(&mut this.stream).poll_read(context, &mut buffer)) {
                Ok(()) if !buffer.filled().is_empty() => *ignored += buffer.filled().len(),
                _ => break,
            }
        }
        Poll::Ready(Ok(()))
    }
}
