//! One resource while the requests of a group are decided on it.
//!
//! Begins as the view, takes up each decision in turn, and ends as the write set. Invariants: the
//! fence never goes down, the version never goes down, and whatever is written in a resource is
//! written together with its head.

use std::collections::HashMap;

use crate::rule::admission::{self, Admitted, NotAdmitted};
use crate::rule::{KeyRecord, ResourceView, ResourceWrites, StoredValue};
use crate::types::{
    Fence, Grant, Head, IdempotencyKey, Key, OperationResult, ResourceName, Timestamp,
};

#[derive(Debug)]
pub(super) struct State<'v> {
    resource: &'v ResourceName,
    now: Timestamp,
    base: &'v ResourceView,
    head: Head,
    /// Whether all data of the base is deleted.
    cleared: bool,
    values: HashMap<Key, Option<StoredValue>>,
    records: HashMap<IdempotencyKey, KeyRecord>,
    changed: bool,
}

/// What a write changes, worked out and not yet part of the state.
#[derive(Debug)]
pub(super) struct Draft {
    /// The changes in order; a later one of a key holds.
    pub(super) changes: Vec<(Key, Option<StoredValue>)>,
    /// One result an operation.
    pub(super) results: Vec<OperationResult>,
}

impl<'v> State<'v> {
    pub(super) fn new(resource: &'v ResourceName, base: &'v ResourceView, now: Timestamp) -> Self {
        Self {
            resource,
            now,
            base,
            head: base.head.clone(),
            cleared: false,
            values: HashMap::new(),
            records: HashMap::new(),
            changed: false,
        }
    }

    pub(super) fn resource(&self) -> &ResourceName {
        self.resource
    }

    pub(super) fn now(&self) -> Timestamp {
        self.now
    }

    pub(super) fn head(&self) -> &Head {
        &self.head
    }

    pub(super) fn fence(&self) -> Option<&Fence> {
        self.head.fence.as_ref()
    }

    /// The value of `key`, if it is present now.
    pub(super) fn value(&self, key: &Key) -> Option<&StoredValue> {
        let stored = match self.values.get(key) {
            Some(value) => value.as_ref(),
            None if self.cleared => None,
            None => self.base.values.get(key),
        };
        stored.filter(|stored| stored.is_live(self.now))
    }

    pub(super) fn record(&self, key: &IdempotencyKey) -> Option<&KeyRecord> {
        self.records.get(key).or_else(|| self.base.records.get(key))
    }

    pub(super) fn set_record(&mut self, key: &IdempotencyKey, record: KeyRecord) {
        self.records.insert(key.clone(), record);
        self.changed = true;
    }

    /// Admits `grant`, raising or binding the fence, or says why not.
    pub(super) fn admit(&mut self, grant: &Grant) -> Result<(), NotAdmitted> {
        match admission::admit(self.fence(), grant)? {
            Admitted::Raises => self.set_fence(Fence::raised_by(grant, self.now)),
            Admitted::Binds => {
                if let Some(fence) = &mut self.head.fence {
                    fence.holder = grant.holder().cloned();
                    self.changed = true;
                }
            }
            Admitted::Unchanged => {}
        }
        Ok(())
    }

    /// Admits `grant` to end its generation; the call that ended it may be repeated.
    pub(super) fn admit_end(&mut self, grant: &Grant) -> Result<(), NotAdmitted> {
        match self.admit(grant) {
            Err(NotAdmitted::Closed(fence)) if admission::repeats_end(&fence, grant) => Ok(()),
            verdict => verdict,
        }
    }

    /// Ends the generation of the present fence.
    pub(super) fn close(&mut self) {
        if let Some(fence) = &mut self.head.fence
            && !fence.closed
        {
            fence.closed = true;
            self.changed = true;
        }
    }

    /// Takes up the changes of a write. The version moves only if data changes.
    pub(super) fn take(&mut self, draft: &mut Draft) {
        if draft.changes.is_empty() {
            return;
        }
        self.head.version = self.next_version();
        self.values.extend(draft.changes.drain(..));
        self.changed = true;
    }

    /// Deletes all data. The version moves only if there was any.
    pub(super) fn clear(&mut self) {
        if !self.has_data() {
            return;
        }
        self.head.version = self.next_version();
        self.cleared = true;
        self.values.clear();
        self.changed = true;
    }

    /// The version that the next change of data brings.
    pub(super) fn next_version(&self) -> u64 {
        // VERSION_MAX lies 2^63 below the overflow, and no stored version is above it.
        self.head.version.saturating_add(1)
    }

    /// What is to be written, if anything is.
    pub(super) fn into_writes(self) -> Option<ResourceWrites> {
        if !self.changed {
            return None;
        }
        let before = self.base.head.fence.as_ref().map(|fence| fence.token);
        let after = self.head.fence.as_ref().map(|fence| fence.token);
        assert!(after >= before, "R1: the fence of a resource never goes down");
        assert!(self.head.version >= self.base.head.version, "a version never goes down");
        Some(ResourceWrites {
            resource: self.resource.clone(),
            head: self.head,
            clear: self.cleared,
            values: self.values.into_iter().collect(),
            records: self.records.into_iter().collect(),
        })
    }

    fn set_fence(&mut self, fence: Fence) {
        self.head.fence = Some(fence);
        self.changed = true;
    }

    fn has_data(&self) -> bool {
        let live = |stored: &StoredValue| stored.is_live(self.now);
        let written = self.values.values().flatten().any(live);
        // The view lists more keys than this group can have deleted, so one that is untouched
        // here is among them if there is any.
        let untouched = |key: &Key| !self.values.contains_key(key);
        written || (!self.cleared && self.base.listed.iter().any(untouched))
    }
}
