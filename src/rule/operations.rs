//! put, delete, add, check on the view: all of a write's operations, or why none.

use crate::rule::state::{Draft, State};
use crate::rule::{Rejection, StoredValue};
use crate::types::{Condition, Key, Operation, OperationResult, Value, WriteRequest};

/// Works out the operations of `write`, which would bring the resource to `version`.
pub(super) fn draft(
    state: &State<'_>,
    write: &WriteRequest,
    version: u64,
) -> Result<Draft, Rejection> {
    let mut work = Work {
        state,
        version,
        draft: Draft {
            changes: Vec::with_capacity(write.operations().len()),
            results: Vec::with_capacity(write.operations().len()),
        },
    };
    for operation in write.operations() {
        let result = work.apply(operation)?;
        work.draft.results.push(result);
    }
    Ok(work.draft)
}

struct Work<'s, 'v> {
    state: &'s State<'v>,
    version: u64,
    draft: Draft,
}

impl Work<'_, '_> {
    fn apply(&mut self, operation: &Operation) -> Result<OperationResult, Rejection> {
        match operation {
            Operation::Put { key, value } => {
                self.store(key, Value::Bytes(value.as_bytes().clone()));
            }
            Operation::PutCounter { key, value } => self.store(key, Value::Counter(*value)),
            Operation::Delete { key } => {
                if self.current(key).is_some() {
                    self.draft.changes.push((key.clone(), None));
                }
            }
            Operation::Add { key, delta, min, max } => {
                let sum = self.add(key, *delta, (*min, *max))?;
                self.store(key, Value::Counter(sum));
                return Ok(OperationResult::Counter(sum));
            }
            Operation::Check { key, condition } => self.check(key, *condition)?,
        }
        Ok(OperationResult::Done)
    }

    fn add(
        &self,
        key: &Key,
        delta: i64,
        (min, max): (Option<i64>, Option<i64>),
    ) -> Result<i64, Rejection> {
        let resource = self.state.resource();
        let value = match self.current(key).map(|stored| &stored.value) {
            None => 0,
            Some(Value::Counter(value)) => *value,
            Some(Value::Bytes(_)) => {
                return Err(Rejection::TypeMismatch {
                    resource: resource.clone(),
                    key: key.clone(),
                });
            }
        };
        let allowed = |sum: &i64| {
            min.is_none_or(|least| *sum >= least) && max.is_none_or(|greatest| *sum <= greatest)
        };
        value.checked_add(delta).filter(allowed).ok_or_else(|| Rejection::BoundExceeded {
            resource: resource.clone(),
            key: key.clone(),
            value,
            delta,
            min,
            max,
        })
    }

    fn check(&self, key: &Key, expected: Condition) -> Result<(), Rejection> {
        let found = self.current(key).map(|stored| stored.version);
        let holds = match expected {
            Condition::Absent => found.is_none(),
            Condition::Present => found.is_some(),
            Condition::Version(version) => found == Some(version),
        };
        if holds {
            return Ok(());
        }
        let resource = self.state.resource().clone();
        Err(Rejection::VersionMismatch { resource, key: key.clone(), expected, found })
    }

    fn current(&self, key: &Key) -> Option<&StoredValue> {
        match self.draft.changes.iter().rev().find(|(changed, _)| changed == key) {
            Some((_, value)) => value.as_ref(),
            None => self.state.value(key),
        }
    }

    fn store(&mut self, key: &Key, value: Value) {
        let stored = StoredValue { value, version: self.version, expires_at: None };
        self.draft.changes.push((key.clone(), Some(stored)));
    }
}
