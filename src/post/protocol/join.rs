//! Several futures at once, without a runtime.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

/// Runs the futures, at most `width` at a time, to their end.
pub(super) async fn each<'a>(width: usize, futures: impl IntoIterator<Item = Pin<Box<dyn Future<Output = ()> + 'a>>>) {
    let mut waiting = futures.into_iter();
    let mut running: Vec<_> = waiting.by_ref().take(width.max(1)).collect();
    poll_fn(|context| {
        loop {
            let before = running.len();
            running.retain_mut(|future| future.as_mut().poll(context).is_pending());
            let ended = before - running.len();
            running.extend(waiting.by_ref().take(ended));
            // The new ones have to be polled once, or nobody wakes this one.
            if ended == 0 || running.is_empty() {
                break;
            }
        }
        if running.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}
