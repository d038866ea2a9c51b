//! The fingerprint of a request: what a retry must have in common with its first try.
//!
//! A cryptographic hash of a canonical encoding of the resource and the operations, as the format
//! page (`record::format`) specifies it. Token, holder, scope and deadline are not in it, so that
//! a successor's retry is recognised. It is stored, hence part of the format: golden bytes pin it.

use crate::types::{Condition, Operation, ResourceName};

/// 32 bytes of BLAKE3 over the canonical encoding of resource and operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; Self::LEN]);

impl Fingerprint {
    pub(crate) const LEN: usize = 32;

    /// The fingerprint of `operations` on `resource`.
    #[must_use]
    pub fn of(resource: &ResourceName, operations: &[Operation]) -> Self {
        let mut canonical = Canonical::new();
        canonical.bytes(resource.as_str().as_bytes());
        canonical.len(operations.len());
        for operation in operations {
            canonical.operation(operation);
        }
        Self(canonical.0.finalize().into())
    }

    /// A fingerprint read back from a record.
    #[must_use]
    pub fn from_bytes(bytes: [u8; Self::LEN]) -> Self {
        Self(bytes)
    }

    /// Its 32 bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; Self::LEN] {
        &self.0
    }
}

struct Canonical(blake3::Hasher);

impl Canonical {
    fn new() -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"palisade request 1\0");
        Self(hasher)
    }

    fn operation(&mut self, operation: &Operation) {
        match operation {
            Operation::Put { key, value } => {
                self.key(1, key.as_bytes());
                self.option(None); // ttl
                self.bytes(value.as_bytes());
            }
            Operation::PutCounter { key, value } => {
                self.key(2, key.as_bytes());
                self.number(value.to_be_bytes());
            }
            Operation::Delete { key } => self.key(3, key.as_bytes()),
            Operation::Add { key, delta, min, max } => {
                self.key(4, key.as_bytes());
                self.number(delta.to_be_bytes());
                self.option(min.map(i64::to_be_bytes));
                self.option(max.map(i64::to_be_bytes));
            }
            Operation::Check { key, condition } => {
                self.key(5, key.as_bytes());
                match condition {
                    Condition::Absent => self.tag(0),
                    Condition::Present => self.tag(1),
                    Condition::Version(version) => {
                        self.tag(2);
                        self.number(version.to_be_bytes());
                    }
                }
            }
        }
    }

    fn key(&mut self, tag: u8, key: &[u8]) {
        self.tag(tag);
        self.bytes(key);
    }

    fn tag(&mut self, tag: u8) {
        self.0.update(&[tag]);
    }

    fn number(&mut self, number: [u8; 8]) {
        self.0.update(&number);
    }

    fn option(&mut self, number: Option<[u8; 8]>) {
        match number {
            None => self.tag(0),
            Some(number) => {
                self.tag(1);
                self.number(number);
            }
        }
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.len(bytes.len());
        self.0.update(bytes);
    }

    fn len(&mut self, len: usize) {
        let len = u64::try_from(len).expect("no supported machine has wider lengths");
        self.number(len.to_be_bytes());
    }
}
