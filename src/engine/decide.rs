//! What engines over an ordered table of bytes share: reading a footprint, deciding on a run of
//! groups, and staging what was decided.

use std::collections::HashSet;

use crate::engine::{EngineError, GroupResult};
use crate::limits::RETIRE_POINT_DELETES_MAX;
use crate::record::{self, Damage, key};
use crate::rule::{Footprint, Group, ResourceFootprint, ResourceView, ResourceWrites, View};
use crate::rule::{WriteSet, evaluate};
use crate::types::{Head, ResourceName, Timestamp};

/// An ordered table of bytes, seen at one moment.
pub(super) trait Table {
    /// What `decode` makes of the record under `key`, if there is one.
    fn get<T>(&self, key: &[u8], decode: impl FnOnce(&[u8]) -> T)
    -> Result<Option<T>, EngineError>;

    /// The first keys that begin with `prefix`, `max` of them at most.
    fn keys(&self, prefix: &[u8], max: usize) -> Result<Vec<Vec<u8>>, EngineError>;
}

/// Changes that are committed together.
pub(super) trait Batch {
    fn put(&mut self, key: &[u8], record: &[u8]);
    fn delete(&mut self, key: &[u8]);
    fn delete_range(&mut self, from: &[u8], to: &[u8]);
}

/// Reads footprints from a table. Its buffers are used again from one record to the next.
#[derive(Debug, Default)]
pub(super) struct Codec {
    key: Vec<u8>,
    record: Vec<u8>,
}

impl Codec {
    /// Reads all of `footprint`; heads come from `heads`.
    pub(super) fn load(
        &mut self,
        table: &impl Table,
        footprint: &Footprint,
        heads: &mut impl Heads,
        now: Timestamp,
    ) -> Result<View, EngineError> {
        let mut resources = Vec::with_capacity(footprint.resources.len());
        for needs in &footprint.resources {
            let head = match heads.cached(&needs.resource) {
                Some(head) => head,
                None => self.head(table, &needs.resource)?,
            };
            resources.push(self.resource(table, needs, head)?);
        }
        Ok(View { now, resources })
    }

    /// Adds what `writes` says to `batch`; nothing of it if something cannot be read.
    pub(super) fn stage(
        &mut self,
        table: &impl Table,
        writes: &WriteSet,
        batch: &mut impl Batch,
    ) -> Result<(), EngineError> {
        let mut cleared = Vec::new();
        for writes in writes.resources.iter().filter(|writes| writes.clear) {
            key::values_of(&writes.resource, &mut self.key);
            cleared.push(table.keys(&self.key, RETIRE_POINT_DELETES_MAX.saturating_add(1))?);
        }
        let mut cleared = cleared.into_iter();
        for writes in &writes.resources {
            if writes.clear {
                self.stage_clear(&writes.resource, &cleared.next().unwrap_or_default(), batch);
            }
            self.stage_resource(writes, batch);
        }
        Ok(())
    }

    fn head(&mut self, table: &impl Table, resource: &ResourceName) -> Result<Head, EngineError> {
        key::head(resource, &mut self.key);
        let head = table.get(&self.key, |record| record::decode_head(&self.key, record))?;
        Ok(sound(resource, "head", head)?.unwrap_or_default())
    }

    fn resource(
        &mut self,
        table: &impl Table,
        needs: &ResourceFootprint,
        head: Head,
    ) -> Result<ResourceView, EngineError> {
        let resource = &needs.resource;
        let mut view = ResourceView { head, ..ResourceView::default() };
        for wanted in &needs.keys {
            key::value(resource, wanted, &mut self.key);
            let value = table.get(&self.key, |record| record::decode_value(&self.key, record))?;
            if let Some(value) = sound(resource, "value", value)? {
                view.values.insert(wanted.clone(), value);
            }
        }
        for wanted in &needs.idempotency_keys {
            key::idempotency(resource, wanted, &mut self.key);
            let record =
                table.get(&self.key, |record| record::decode_key_record(&self.key, record))?;
            if let Some(record) = sound(resource, "idempotency record", record)? {
                view.records.insert(wanted.clone(), record);
            }
        }
        if needs.listed_keys_max > 0 {
            key::values_of(resource, &mut self.key);
            for stored in table.keys(&self.key, needs.listed_keys_max)? {
                let Some(key::Owner::Value(_, listed)) = key::owner(&stored) else {
                    let damage = Damage::Content { part: "key" };
                    return Err(corrupt(resource, "value", damage));
                };
                view.listed.push(listed);
            }
        }
        Ok(view)
    }

    fn stage_clear(
        &mut self,
        resource: &ResourceName,
        first_keys: &[Vec<u8>],
        batch: &mut impl Batch,
    ) {
        if first_keys.len() > RETIRE_POINT_DELETES_MAX {
            key::values_of(resource, &mut self.key);
            batch.delete_range(&self.key, &key::end_of(&self.key));
        } else {
            for key in first_keys {
                batch.delete(key);
            }
        }
    }

    fn stage_resource(&mut self, writes: &ResourceWrites, batch: &mut impl Batch) {
        let Self { key, record } = self;
        for (changed, value) in &writes.values {
            key::value(&writes.resource, changed, key);
            match value {
                Some(value) => {
                    record::encode_value(key, value, record);
                    batch.put(key, record);
                }
                None => batch.delete(key),
            }
        }
        for (used, kept) in &writes.records {
            key::idempotency(&writes.resource, used, key);
            record::encode_key_record(key, kept, record);
            batch.put(key, record);
        }
        key::head(&writes.resource, key);
        record::encode_head(key, &writes.head, record);
        batch.put(key, record);
    }
}

/// Heads that are known without a read. What it tells is exactly what is stored.
pub(super) trait Heads {
    fn cached(&mut self, resource: &ResourceName) -> Option<Head>;
}

/// No head is known without a read.
#[derive(Debug)]
pub(super) struct NoHeads;

impl Heads for NoHeads {
    fn cached(&mut self, _: &ResourceName) -> Option<Head> {
        None
    }
}

/// A run of groups that was decided on and is not yet committed.
#[derive(Debug, Default)]
pub(super) struct Decided {
    /// One result a group, in order.
    pub(super) results: Vec<GroupResult>,
    /// The new heads, to be cached once they are durable.
    pub(super) heads: Vec<(ResourceName, Head)>,
}

/// Decides on `groups`, which are about distinct resources, and stages the decisions in `batch`.
/// A group that cannot be read fails alone.
pub(super) fn decide(
    codec: &mut Codec,
    table: &impl Table,
    heads: &mut impl Heads,
    (groups, now): (&[Group], Timestamp),
    batch: &mut impl Batch,
) -> Decided {
    let mut decided = Decided::default();
    for group in groups {
        let view = codec.load(table, &group.footprint(), heads, now);
        let result = view.and_then(|view| {
            let decision = evaluate(group, &view);
            codec.stage(table, &decision.writes, batch)?;
            let written = decision.writes.resources.into_iter();
            decided.heads.extend(written.map(|writes| (writes.resource, writes.head)));
            Ok(decision.verdicts)
        });
        decided.results.push(result);
    }
    decided
}

/// Splits `groups` into runs in which every resource comes once: two groups of one resource are
/// decided on one after the other.
pub(super) fn runs(groups: Vec<Group>) -> Vec<Vec<Group>> {
    let mut runs = Vec::new();
    let mut run: Vec<Group> = Vec::with_capacity(groups.len());
    let mut seen = HashSet::with_capacity(groups.len());
    for group in groups {
        if !seen.insert(group.resource().clone()) {
            runs.push(std::mem::take(&mut run));
            seen.clear();
            seen.insert(group.resource().clone());
        }
        run.push(group);
    }
    runs.push(run);
    runs
}

fn sound<T>(
    resource: &ResourceName,
    record: &'static str,
    decoded: Option<Result<T, Damage>>,
) -> Result<Option<T>, EngineError> {
    decoded.transpose().map_err(|damage| corrupt(resource, record, damage))
}

fn corrupt(resource: &ResourceName, record: &'static str, damage: Damage) -> EngineError {
    EngineError::Corrupt { resource: resource.clone(), record, damage }
}
