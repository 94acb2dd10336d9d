//! The body of a reply: pieces made on demand, on threads that may block.

use crate::failure::{Answer, Failure};
use crate::pieces::Pieces;
use crate::reply::Content;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::sync::Semaphore;

type Next = (Answer<Option<Bytes>>, Box<dyn Pieces>);

enum State {
    Whole(Option<Bytes>),
    Idle(Box<dyn Pieces>),
    Busy(Pin<Box<dyn Future<Output = Result<Next, Failure>> + Send>>),
    Ended,
}

/// An observer of one reply.
pub(crate) trait Watch: Send {
    /// Some bytes were passed to the connection.
    fn sent(&mut self, bytes: u64);
    /// The reply broke off.
    fn broke(&mut self, why: &Failure);
    /// All of the reply was passed to the connection.
    fn ended(&mut self);
}

pub(crate) struct ReplyBody {
    state: State,
    first: Option<Bytes>,
    left: Option<u64>,
    permits: Arc<Semaphore>,
    watch: Box<dyn Watch>,
}

impl ReplyBody {
    pub(crate) fn new(content: Content, permits: Arc<Semaphore>, mut watch: Box<dyn Watch>) -> Self {
        let (state, first, left) = match content {
            Content::None => (State::Ended, None, Some(0)),
            Content::Whole(bytes) => {
                let len = bytes.len() as u64;
                (State::Whole((len > 0).then_some(bytes)), None, Some(len))
            }
            Content::Pieces { first, rest, len } => (State::Idle(rest), first, len),
        };
        if left == Some(0) {
            watch.ended();
        }
        ReplyBody { state, first, left, permits, watch }
    }

    fn sent(&mut self, bytes: Bytes) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let len = bytes.len() as u64;
        self.watch.sent(len);
        self.left = self.left.map(|left| left.saturating_sub(len));
        if self.left == Some(0) {
            self.state = State::Ended;
            self.watch.ended();
        }
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }

    fn broke(&mut self, why: &Failure) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        self.state = State::Ended;
        self.watch.broke(why);
        Poll::Ready(Some(Err(io::Error::other(why.message.clone()))))
    }
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if let Some(first) = self.first.take() {
            return self.sent(first);
        }
        loop {
            match std::mem::replace(&mut self.state, State::Ended) {
                State::Ended | State::Whole(None) => return Poll::Ready(None),
                State::Whole(Some(bytes)) => return self.sent(bytes),
                State::Idle(mut pieces) => {
                    let permits = Arc::clone(&self.permits);
                    self.state = State::Busy(Box::pin(async move {
                        let permit = permits.acquire_owned().await;
                        let work = move || {
                            let next = pieces.next();
                            drop(permit);
                            (next, pieces)
                        };
                        tokio::task::spawn_blocking(work).await.map_err(|_| panicked())
                    }));
                }
                State::Busy(mut busy) => match busy.as_mut().poll(context) {
                    Poll::Pending => {
                        self.state = State::Busy(busy);
                        return Poll::Pending;
                    }
                    Poll::Ready(Err(why) | Ok((Err(why), _))) => return self.broke(&why),
                    Poll::Ready(Ok((Ok(Some(bytes)), pieces))) => {
                        self.state = State::Idle(pieces);
                        return self.sent(bytes);
                    }
                    Poll::Ready(Ok((Ok(None), _))) => {
                        if self.left.is_some_and(|left| left > 0) {
                            let short = Failure::new(
                                hyper::StatusCode::INTERNAL_SERVER_ERROR,
                                "the reply is too short",
                            );
                            return self.broke(&short);
                        }
                        self.watch.ended();
                        return Poll::Ready(None);
                    }
                },
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.first.is_none() && matches!(self.state, State::Ended | State::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        self.left.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

/// A thread that answered a request has panicked, which is a defect of the server.
pub(crate) fn panicked() -> Failure {
    Failure::new(hyper::StatusCode::INTERNAL_SERVER_ERROR, "the server failed; its messages say more")
}
