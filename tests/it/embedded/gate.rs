//! A gate in the engine: commits halt there until they are let through.

use std::sync::Arc;
use std::time::Duration;

use palisade::engine::{BoxFuture, Hooks};
use parking_lot::{Condvar, Mutex};

/// Halts every commit between its read and its write while it is shut.
#[derive(Debug, Default)]
pub(super) struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    shut: bool,
    halted: usize,
}

impl Gate {
    pub(super) fn shut() -> Arc<Self> {
        let gate = Self::default();
        gate.state.lock().shut = true;
        Arc::new(gate)
    }

    /// Lets everything through, from now on.
    pub(super) fn open(&self) {
        self.state.lock().shut = false;
        self.changed.notify_all();
    }

    /// Returns once a commit halts at the gate.
    pub(super) fn wait_for_one(&self) {
        let mut state = self.state.lock();
        while state.halted == 0 {
            let waited = self.changed.wait_for(&mut state, HANGS_AFTER);
            assert!(!waited.timed_out(), "no commit came to the gate");
        }
    }
}

impl Hooks for Gate {
    fn between_read_and_commit(&self) -> BoxFuture<'_, ()> {
        let mut state = self.state.lock();
        state.halted += 1;
        self.changed.notify_all();
        while state.shut {
            let waited = self.changed.wait_for(&mut state, HANGS_AFTER);
            assert!(!waited.timed_out(), "the gate was never opened");
        }
        state.halted -= 1;
        drop(state);
        Box::pin(std::future::ready(()))
    }
}

/// Far beyond anything that happens when all is well.
const HANGS_AFTER: Duration = Duration::from_secs(60);
