//! The record of a resource: its fence and its version.

use crate::types::{FencingToken, Grant, Holder, Timestamp};

/// The highest token a resource has accepted, and to whom it is bound.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fence {
    /// The highest accepted token.
    pub token: FencingToken,
    /// The holder it is bound to: the first one that named itself under this token.
    pub holder: Option<Holder>,
    /// Whether the generation is over: only a newer token is admitted from here.
    pub closed: bool,
    /// When this token was first accepted.
    pub raised_at: Timestamp,
}

impl Fence {
    /// The open fence that `grant` raises at `raised_at`.
    #[must_use]
    pub fn raised_by(grant: &Grant, raised_at: Timestamp) -> Self {
        let holder = grant.holder().cloned();
        Self { token: grant.token(), holder, closed: false, raised_at }
    }
}

/// What the guard keeps of a resource for ever. A resource that was never written has the default
/// one: no fence, version 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Head {
    /// The fence, once a token was accepted.
    pub fence: Option<Fence>,
    /// Grows by one with every applied write that changes data; never restarts.
    pub version: u64,
    /// The highest token of any idempotency record that was forgotten.
    pub forgotten_through: Option<FencingToken>,
}
