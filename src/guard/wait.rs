//! Waiting for a future on a plain thread.

/// Waits for `future` on this thread.
///
/// The thread may belong to a tokio runtime, in the middle of a task. There tokio's own primitives
/// count against the task's budget, which is only given back when the task yields to its runtime;
/// and this wait does not yield. Hence the future is exempt from it: it would spin for ever.
pub(super) fn block_on<F: Future>(future: F) -> F::Output {
    pollster::block_on(tokio::task::unconstrained(future))
}
