//! The rule: the only place that decides.
//!
//! Pure: no clock, no I/O, no cache, no stored bytes, no randomness. [`evaluate`] looks at a view
//! of everything a group of requests touches and answers with what to write and what to reply. It
//! may run several times on the way to one commit; only the committed run's replies leave.
//!
//! The order of a decision: idempotency, then admission of the token, then the operations, then
//! one write set. An admitted newer token raises the fence even if the operations are refused.
//!
//! ```
//! use palisade::rule::{evaluate, Group, Request, ResourceView, View};
//! use palisade::{FencingToken, Grant};
//! # fn main() -> Result<(), palisade::Invalid> {
//! let claim = Request::Claim(Grant::new("orders/7", FencingToken::generation(42)?)?);
//! let view = View { resources: vec![ResourceView::default()], ..View::default() };
//! let decision = evaluate(&Group::of(claim), &view);
//! assert!(decision.verdicts[0].is_ok());
//! assert_eq!(decision.writes.resources.len(), 1, "the fence is stored");
//! # Ok(())
//! # }
//! ```

mod admission;
mod footprint;
mod group;
mod operations;
mod rejection;
mod state;

pub use footprint::{
    Footprint, KeyRecord, ResourceFootprint, ResourceView, ResourceWrites, StoredValue, View,
    WriteSet,
};
pub use group::{Group, Request};
pub use rejection::Rejection;

use crate::types::{
    Entry, Fence, FenceChange, FencedRead, Fingerprint, Grant, IdempotencyKey, Key, KeyOutcome,
    KeyState, Outcome, Receipt, Snapshot, WriteRequest,
};
use admission::NotAdmitted;
use state::State;

/// What was decided on a group.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Decision {
    /// What to write, all of it or nothing.
    pub writes: WriteSet,
    /// One verdict a request, in the group's order.
    pub verdicts: Vec<Verdict>,
}

/// What a request is answered once everything the answer rests on is durable.
pub type Verdict = Result<Answer, Rejection>;

/// The answer to a request that was not refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer {
    /// To a write.
    Written(Receipt),
    /// To a claim, a close or a retire.
    Fenced(FenceChange),
    /// To a fenced read.
    Read(Snapshot),
}

/// Decides on all requests of `group`, in order, on what `view` shows of its footprint.
///
/// # Panics
/// If the view is not one of this group's footprint: it has to have one part a resource.
#[must_use]
pub fn evaluate(group: &Group, view: &View) -> Decision {
    let mut state = State::new(group.resource(), view.only(), view.now);
    let verdicts = group.requests().iter().map(|request| decide(&mut state, request)).collect();
    let writes = WriteSet { resources: state.into_writes().into_iter().collect() };
    Decision { writes, verdicts }
}

/// What an unfenced read of `keys` sees.
///
/// # Panics
/// If the view is not one of a single resource.
#[must_use]
pub fn read(view: &View, keys: &[Key]) -> Snapshot {
    let base = view.only();
    let live = |key: &Key| base.values.get(key).filter(|stored| stored.is_live(view.now));
    Snapshot {
        entries: keys.iter().map(|key| live(key).map(|stored| entry(key, stored))).collect(),
        version: base.head.version,
        fence: base.head.fence.clone(),
    }
}

/// What became of an idempotency key.
///
/// # Panics
/// If the view is not one of a single resource.
#[must_use]
pub fn key_state(view: &View, key: &IdempotencyKey) -> KeyState {
    let base = view.only();
    let fence = base.head.fence.clone();
    let outcome = match base.records.get(key) {
        Some(record) => KeyOutcome::Applied(Box::new(replayed(record, fence.clone()))),
        None if base.head.forgotten_through.is_some() => KeyOutcome::Unknown,
        None => KeyOutcome::NotApplied,
    };
    KeyState { outcome, fence }
}

fn decide(state: &mut State<'_>, request: &Request) -> Verdict {
    match request {
        Request::Write(write) => self::write(state, write).map(Answer::Written),
        Request::Claim(grant) => claim(state, grant).map(Answer::Fenced),
        Request::ReadFenced(fenced) => read_fenced(state, fenced).map(Answer::Read),
        Request::Close(grant) => close(state, grant).map(Answer::Fenced),
        Request::Retire(grant) => retire(state, grant).map(Answer::Fenced),
    }
}

fn write(state: &mut State<'_>, write: &WriteRequest) -> Result<Receipt, Rejection> {
    if let Some((key, fingerprint)) = write.idempotency()
        && let Some(record) = state.record(key)
    {
        let record = record.clone();
        return recognise(state, write.grant(), (key, fingerprint), record);
    }
    let grant = write.grant();
    state.admit(grant).map_err(|why| refuse(state, grant, write.idempotency_key(), why))?;
    let mut draft = operations::draft(state, write, state.next_version())?;
    state.take(&mut draft);
    let receipt = Receipt {
        outcome: Outcome::Applied,
        version: state.head().version,
        token: grant.token(),
        applied_at: state.now(),
        results: draft.results,
        fence: state.fence().cloned(),
    };
    if let Some((key, fingerprint)) = write.idempotency() {
        let record = KeyRecord {
            fingerprint: *fingerprint,
            version: receipt.version,
            token: receipt.token,
            last_used: receipt.token,
            applied_at: receipt.applied_at,
            results: receipt.results.clone(),
        };
        state.set_record(key, record);
    }
    Ok(receipt)
}

/// A write whose idempotency key has a record: a retry, or the key reused for something else.
/// The answer does not depend on the token; one that is admissible raises the fence all the same.
fn recognise(
    state: &mut State<'_>,
    grant: &Grant,
    (key, fingerprint): (&IdempotencyKey, &Fingerprint),
    record: KeyRecord,
) -> Result<Receipt, Rejection> {
    let admitted = state.admit(grant).is_ok();
    if record.fingerprint != *fingerprint {
        return Err(Rejection::KeyReused {
            resource: state.resource().clone(),
            idempotency_key: key.clone(),
            first_version: record.version,
            first_token: record.token,
        });
    }
    let receipt = replayed(&record, state.fence().cloned());
    if admitted && grant.token() > record.last_used {
        state.set_record(key, KeyRecord { last_used: grant.token(), ..record });
    }
    Ok(receipt)
}

fn claim(state: &mut State<'_>, grant: &Grant) -> Result<FenceChange, Rejection> {
    let previous = state.fence().cloned();
    state.admit(grant).map_err(|why| refuse(state, grant, None, why))?;
    Ok(change(state, grant, previous))
}

fn read_fenced(state: &mut State<'_>, read: &FencedRead) -> Result<Snapshot, Rejection> {
    let grant = read.grant();
    state.admit(grant).map_err(|why| refuse(state, grant, None, why))?;
    let keys = read.keys().iter();
    Ok(Snapshot {
        entries: keys.map(|key| state.value(key).map(|stored| entry(key, stored))).collect(),
        version: state.head().version,
        fence: state.fence().cloned(),
    })
}

fn close(state: &mut State<'_>, grant: &Grant) -> Result<FenceChange, Rejection> {
    let previous = state.fence().cloned();
    state.admit_end(grant).map_err(|why| refuse(state, grant, None, why))?;
    state.close();
    Ok(change(state, grant, previous))
}

fn retire(state: &mut State<'_>, grant: &Grant) -> Result<FenceChange, Rejection> {
    let previous = state.fence().cloned();
    state.admit_end(grant).map_err(|why| refuse(state, grant, None, why))?;
    state.clear();
    state.close();
    Ok(change(state, grant, previous))
}

fn change(state: &State<'_>, grant: &Grant, previous: Option<Fence>) -> FenceChange {
    let fence = state.fence().cloned().expect("an admitted token leaves a fence");
    assert!(fence.token == grant.token(), "an admitted token is the fence");
    FenceChange { previous, fence, version: state.head().version }
}

fn refuse(
    state: &State<'_>,
    grant: &Grant,
    key: Option<&IdempotencyKey>,
    why: NotAdmitted,
) -> Rejection {
    let resource = state.resource().clone();
    // A record would have been recognised before the token was looked at.
    let nothing_forgotten =
        state.head().forgotten_through.is_none_or(|forgotten| forgotten < grant.token());
    let outcome = if nothing_forgotten { KeyOutcome::NotApplied } else { KeyOutcome::Unknown };
    let key_state = key.map(|_| KeyState { outcome, fence: state.fence().cloned() });
    match why {
        NotAdmitted::Stale(fence) => Rejection::StaleToken {
            resource,
            presented: grant.token(),
            current: fence.token,
            current_holder: fence.holder,
            raised_at: fence.raised_at,
            raised_ago: fence.raised_at.elapsed_until(state.now()),
            key_state,
        },
        NotAdmitted::Closed(fence) => Rejection::Closed { resource, token: fence.token, key_state },
        NotAdmitted::Split(fence, first_holder) => {
            Rejection::SplitGeneration { resource, token: fence.token, first_holder, key_state }
        }
    }
}

fn replayed(record: &KeyRecord, fence: Option<Fence>) -> Receipt {
    Receipt {
        outcome: Outcome::Replayed,
        version: record.version,
        token: record.token,
        applied_at: record.applied_at,
        results: record.results.clone(),
        fence,
    }
}

fn entry(key: &Key, stored: &StoredValue) -> Entry {
    Entry { key: key.clone(), value: stored.value.clone(), version: stored.version }
}
