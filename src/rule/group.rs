//! What is decided together: the waiting requests of one resource.

use crate::rule::{Footprint, ResourceFootprint};
use crate::types::{FencedRead, Grant, Key, Operation, ResourceName, WriteRequest};

/// One request that waits for a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Request {
    /// Apply operations.
    Write(WriteRequest),
    /// Raise the fence.
    Claim(Grant),
    /// Raise the fence, then read.
    ReadFenced(FencedRead),
    /// End the generation: from here only a newer token is admitted.
    Close(Grant),
    /// Delete all data, then close.
    Retire(Grant),
}

impl Request {
    /// The grant it presents.
    #[must_use]
    pub fn grant(&self) -> &Grant {
        match self {
            Self::Write(write) => write.grant(),
            Self::ReadFenced(read) => read.grant(),
            Self::Claim(grant) | Self::Close(grant) | Self::Retire(grant) => grant,
        }
    }

    /// The resource it is about.
    #[must_use]
    pub fn resource(&self) -> &ResourceName {
        self.grant().resource()
    }

    /// The bytes it holds while it waits.
    #[must_use]
    pub fn size(&self) -> usize {
        match self {
            Self::Write(write) => write.size(),
            Self::ReadFenced(read) => {
                let keys = read.keys().iter().map(|key| key.as_bytes().len());
                keys.fold(self.resource().as_str().len(), usize::saturating_add)
            }
            Self::Claim(_) | Self::Close(_) | Self::Retire(_) => self.resource().as_str().len(),
        }
    }
}

/// The waiting requests of one resource, in the order in which they are decided. Each is applied
/// or refused on its own; all that is applied is committed as one.
#[derive(Clone, Debug)]
pub struct Group {
    resource: ResourceName,
    requests: Vec<Request>,
}

impl Group {
    /// A group of one request.
    #[must_use]
    pub fn of(first: Request) -> Self {
        Self { resource: first.resource().clone(), requests: vec![first] }
    }

    /// Adds a request that is decided after those already here.
    ///
    /// # Panics
    /// If it is about another resource: what is decided together sees one head.
    pub fn push(&mut self, request: Request) {
        assert!(*request.resource() == self.resource, "a group is about one resource");
        self.requests.push(request);
    }

    /// The resource.
    #[must_use]
    pub fn resource(&self) -> &ResourceName {
        &self.resource
    }

    /// The requests, in the order in which they are decided.
    #[must_use]
    pub fn requests(&self) -> &[Request] {
        &self.requests
    }

    /// What the decision has to see.
    #[must_use]
    pub fn footprint(&self) -> Footprint {
        let mut needs = ResourceFootprint::of(self.resource.clone());
        let mut retires = false;
        let mut written: usize = 0;
        for request in &self.requests {
            match request {
                Request::Write(write) => {
                    written = written.saturating_add(write.operations().len());
                    collect_write(write, &mut needs);
                }
                Request::ReadFenced(read) => needs.keys.extend_from_slice(read.keys()),
                Request::Retire(_) => retires = true,
                Request::Claim(_) | Request::Close(_) => {}
            }
        }
        if retires {
            // One more than this group can itself have deleted before it retires: enough to tell
            // whether anything is left to delete.
            needs.listed_keys_max = written.saturating_add(1);
        }
        distinct(&mut needs.keys);
        distinct(&mut needs.idempotency_keys);
        Footprint { resources: vec![needs] }
    }
}

fn collect_write(write: &WriteRequest, needs: &mut ResourceFootprint) {
    needs.idempotency_keys.extend(write.idempotency_key().cloned());
    for operation in write.operations() {
        match operation {
            // What a put replaces does not matter to it.
            Operation::Put { .. } | Operation::PutCounter { .. } => {}
            Operation::Delete { key }
            | Operation::Add { key, .. }
            | Operation::Check { key, .. } => needs.keys.push(Key::clone(key)),
        }
    }
}

fn distinct<T: Ord>(items: &mut Vec<T>) {
    if items.len() > 1 {
        items.sort_unstable();
        items.dedup();
    }
}
