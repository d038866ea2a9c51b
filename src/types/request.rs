//! A write, and a fenced read: values that are built once and sent as often as need be.

use std::sync::Arc;

use crate::limits::{OPERATIONS_MAX, READ_KEYS_MAX, REQUEST_BYTES_MAX};
use crate::types::{Fingerprint, Grant, IdempotencyKey, Invalid, Key, Problem, ValueBytes};

/// A write under a grant: 1 to 128 operations on one resource, in order, all or nothing.
///
/// A request is a value. A retry sends the very same one (it is cheap to clone), and with an
/// idempotency key a retry is safe whatever became of the first try.
///
/// ```
/// use palisade::{FencingToken, Grant, WriteRequest};
/// # fn main() -> Result<(), palisade::Invalid> {
/// let grant = Grant::new("orders/7", FencingToken::generation(42)?)?;
/// let write = WriteRequest::under(&grant)
///     .idempotency_key("charge-7")?
///     .put("status", "paid")
///     .add("stock", -1).min(0)
///     .build()?;
/// assert_eq!(write.operations().len(), 2);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteRequest(Arc<Parts>);

#[derive(Debug, PartialEq, Eq)]
struct Parts {
    grant: Grant,
    idempotency: Option<(IdempotencyKey, Fingerprint)>,
    operations: Vec<Operation>,
    size: usize,
}

/// One step of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Operation {
    /// Stores bytes under a key, whatever was there.
    Put {
        /// The key.
        key: Key,
        /// The bytes.
        value: ValueBytes,
    },
    /// Stores a counter under a key, whatever was there.
    PutCounter {
        /// The key.
        key: Key,
        /// The counter.
        value: i64,
    },
    /// Removes a key. A key that is absent is no error.
    Delete {
        /// The key.
        key: Key,
    },
    /// Adds to a counter; a missing one counts as 0. Refused if the sum would leave its bounds.
    Add {
        /// The key.
        key: Key,
        /// What is added.
        delta: i64,
        /// The least sum allowed.
        min: Option<i64>,
        /// The greatest sum allowed.
        max: Option<i64>,
    },
    /// Refuses the write unless the key is as stated.
    Check {
        /// The key.
        key: Key,
        /// What has to hold.
        condition: Condition,
    },
}

/// What a check demands of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Condition {
    /// The key is absent.
    Absent,
    /// The key is present.
    Present,
    /// The key is present and last changed at this version of the resource.
    Version(u64),
}

impl WriteRequest {
    /// Begins a write under `grant`.
    pub fn under(grant: &Grant) -> WriteBuilder {
        WriteBuilder {
            grant: grant.clone(),
            idempotency_key: None,
            operations: Vec::new(),
            size: 0,
            invalid: None,
        }
    }

    /// The grant it is written under.
    #[must_use]
    pub fn grant(&self) -> &Grant {
        &self.0.grant
    }

    /// The idempotency key, if it has one.
    #[must_use]
    pub fn idempotency_key(&self) -> Option<&IdempotencyKey> {
        self.0.idempotency.as_ref().map(|(key, _)| key)
    }

    /// The idempotency key with the fingerprint that a retry has to share.
    #[must_use]
    pub fn idempotency(&self) -> Option<(&IdempotencyKey, &Fingerprint)> {
        self.0.idempotency.as_ref().map(|(key, fingerprint)| (key, fingerprint))
    }

    /// The operations, in order.
    #[must_use]
    pub fn operations(&self) -> &[Operation] {
        &self.0.operations
    }

    /// Its size in bytes, as the limit of 4 MiB counts it: names, keys and values, and 32 bytes
    /// for each operation.
    #[must_use]
    pub fn size(&self) -> usize {
        self.0.size
    }
}

impl Operation {
    /// The key it names.
    #[must_use]
    pub fn key(&self) -> &Key {
        match self {
            Self::Put { key, .. }
            | Self::PutCounter { key, .. }
            | Self::Delete { key }
            | Self::Add { key, .. }
            | Self::Check { key, .. } => key,
        }
    }

    fn size(&self) -> usize {
        let value = match self {
            Self::Put { value, .. } => value.as_bytes().len(),
            Self::PutCounter { .. }
            | Self::Delete { .. }
            | Self::Add { .. }
            | Self::Check { .. } => 0,
        };
        OPERATION_BYTES.saturating_add(self.key().as_bytes().len()).saturating_add(value)
    }
}

/// Collects the operations of a [`WriteRequest`]. The first thing that is invalid is kept and
/// reported by [`WriteBuilder::build`].
#[derive(Debug)]
#[must_use = "a write does nothing until it is built and handed to a guard"]
pub struct WriteBuilder {
    grant: Grant,
    idempotency_key: Option<IdempotencyKey>,
    operations: Vec<Operation>,
    size: usize,
    invalid: Option<Invalid>,
}

impl WriteBuilder {
    /// Names the event, so that retries are recognised.
    ///
    /// # Errors
    /// [`Invalid`] if the key is.
    pub fn idempotency_key(
        self,
        key: impl TryInto<IdempotencyKey, Error: Into<Invalid>>,
    ) -> Result<Self, Invalid> {
        let key = key.try_into().map_err(Into::into)?;
        Ok(Self { idempotency_key: Some(key), ..self })
    }

    /// Stores bytes under `key`, whatever was there.
    pub fn put(
        self,
        key: impl TryInto<Key, Error: Into<Invalid>>,
        value: impl TryInto<ValueBytes, Error: Into<Invalid>>,
    ) -> Self {
        self.operation(key, |key| {
            Ok(Operation::Put { key, value: value.try_into().map_err(Into::into)? })
        })
    }

    /// Stores a counter under `key`, whatever was there.
    pub fn put_counter(self, key: impl TryInto<Key, Error: Into<Invalid>>, value: i64) -> Self {
        self.operation(key, |key| Ok(Operation::PutCounter { key, value }))
    }

    /// Removes `key`.
    pub fn delete(self, key: impl TryInto<Key, Error: Into<Invalid>>) -> Self {
        self.operation(key, |key| Ok(Operation::Delete { key }))
    }

    /// Adds `delta` to the counter under `key`. Bound the sum with [`WriteBuilder::min`] and
    /// [`WriteBuilder::max`].
    pub fn add(self, key: impl TryInto<Key, Error: Into<Invalid>>, delta: i64) -> Self {
        self.operation(key, |key| Ok(Operation::Add { key, delta, min: None, max: None }))
    }

    /// The least sum that the `add` just before may reach.
    pub fn min(self, least: i64) -> Self {
        self.bound("min", |min, _| *min = Some(least))
    }

    /// The greatest sum that the `add` just before may reach.
    pub fn max(self, greatest: i64) -> Self {
        self.bound("max", |_, max| *max = Some(greatest))
    }

    /// Refuses the whole write unless `key` is as `condition` says.
    pub fn check(self, key: impl TryInto<Key, Error: Into<Invalid>>, condition: Condition) -> Self {
        self.operation(key, |key| Ok(Operation::Check { key, condition }))
    }

    /// The finished request.
    ///
    /// # Errors
    /// [`Invalid`], naming the first field that is: a key, a value or a bound, or the write as a
    /// whole where it has no operation, more than 128, or more than 4 MiB.
    pub fn build(self) -> Result<WriteRequest, Invalid> {
        if let Some(invalid) = self.invalid {
            return Err(invalid);
        }
        Invalid::check_len("operations", self.operations.len(), OPERATIONS_MAX, "operations")?;
        for (index, operation) in self.operations.iter().enumerate() {
            check_bounds(operation).map_err(|invalid| invalid.within(&nth(index)))?;
        }
        let named = |text: Option<&str>| text.map_or(0, str::len);
        let size = self
            .size
            .saturating_add(self.grant.resource().as_str().len())
            .saturating_add(named(self.grant.holder().map(super::Holder::as_str)))
            .saturating_add(named(self.idempotency_key.as_ref().map(IdempotencyKey::as_str)));
        Invalid::check_len("request", size, REQUEST_BYTES_MAX, "bytes")?;
        let idempotency = self.idempotency_key.map(|key| {
            let fingerprint = Fingerprint::of(self.grant.resource(), &self.operations);
            (key, fingerprint)
        });
        Ok(WriteRequest(Arc::new(Parts {
            grant: self.grant,
            idempotency,
            operations: self.operations,
            size,
        })))
    }

    fn operation(
        mut self,
        key: impl TryInto<Key, Error: Into<Invalid>>,
        make: impl FnOnce(Key) -> Result<Operation, Invalid>,
    ) -> Self {
        // Beyond the limit nothing is kept: `build` only has to see that it was passed.
        if self.invalid.is_some() || self.operations.len() > OPERATIONS_MAX {
            return self;
        }
        match key.try_into().map_err(Into::into).and_then(make) {
            Ok(operation) => {
                self.size = self.size.saturating_add(operation.size());
                self.operations.push(operation);
            }
            Err(invalid) => self.invalid = Some(invalid.within(&nth(self.operations.len()))),
        }
        self
    }

    fn bound(
        mut self,
        field: &'static str,
        set: impl FnOnce(&mut Option<i64>, &mut Option<i64>),
    ) -> Self {
        if let Some(Operation::Add { min, max, .. }) = self.operations.last_mut() {
            set(min, max);
        } else if self.invalid.is_none() {
            self.invalid = Some(Invalid::malformed(field, "set right after the `add` it bounds"));
        }
        self
    }
}

/// A read that first claims the resource: shut the old holder out, then look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FencedRead {
    grant: Grant,
    keys: Vec<Key>,
}

impl FencedRead {
    /// A read of `keys` under `grant`.
    ///
    /// # Errors
    /// [`Invalid`] if there are more than 128 keys.
    pub fn new(grant: Grant, keys: Vec<Key>) -> Result<Self, Invalid> {
        check_read_keys(&keys)?;
        Ok(Self { grant, keys })
    }

    /// The grant.
    #[must_use]
    pub fn grant(&self) -> &Grant {
        &self.grant
    }

    /// The keys, in the order of the answer.
    #[must_use]
    pub fn keys(&self) -> &[Key] {
        &self.keys
    }
}

/// Checks how many keys a read names; none is allowed, and answers version and fence alone.
pub(crate) fn check_read_keys(keys: &[Key]) -> Result<(), Invalid> {
    if keys.len() > READ_KEYS_MAX {
        let problem = Problem::TooLong { found: keys.len(), max: READ_KEYS_MAX, unit: "keys" };
        return Err(Invalid::new("keys", problem));
    }
    Ok(())
}

fn check_bounds(operation: &Operation) -> Result<(), Invalid> {
    if let Operation::Add { min: Some(min), max: Some(max), .. } = operation
        && min > max
    {
        let problem = Problem::OutOfRange {
            found: min.to_string(),
            min: i128::from(i64::MIN),
            max: i128::from(*max),
        };
        return Err(Invalid::new("min", problem));
    }
    Ok(())
}

fn nth(index: usize) -> String {
    format!("operations[{index}]")
}

/// What an operation counts for beside its key and value.
const OPERATION_BYTES: usize = 32;
