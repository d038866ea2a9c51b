//! A presented token against the fence: admit, or why not.

use crate::types::{Fence, Grant, Holder};

/// What admitting a token does to the fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admitted {
    /// The token is newer: it becomes the fence, open, bound to the presented holder or to none.
    Raises,
    /// The token is the fence's, which had no holder so far: it is bound to the presented one.
    Binds,
    /// The token is the fence's.
    Unchanged,
}

/// Why a token is not admitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NotAdmitted {
    /// Older than the fence.
    Stale(Fence),
    /// The fence's own, and its generation is over.
    Closed(Fence),
    /// The fence's own, and bound to another holder.
    Split(Fence, Holder),
}

/// Decides on `grant` against the resource's present fence.
pub(super) fn admit(fence: Option<&Fence>, grant: &Grant) -> Result<Admitted, NotAdmitted> {
    let Some(fence) = fence else {
        return Ok(Admitted::Raises);
    };
    if grant.token() < fence.token {
        return Err(NotAdmitted::Stale(fence.clone()));
    }
    if grant.token() > fence.token {
        return Ok(Admitted::Raises);
    }
    if fence.closed {
        return Err(NotAdmitted::Closed(fence.clone()));
    }
    match (&fence.holder, grant.holder()) {
        (Some(bound), Some(presented)) if bound != presented => {
            Err(NotAdmitted::Split(fence.clone(), bound.clone()))
        }
        (None, Some(_)) => Ok(Admitted::Binds),
        (Some(_) | None, None) | (Some(_), Some(_)) => Ok(Admitted::Unchanged),
    }
}

/// Whether `grant` may repeat the close or retire that ended the fence's generation: the same
/// token, and no other holder.
pub(super) fn repeats_end(fence: &Fence, grant: &Grant) -> bool {
    let same_holder = match (&fence.holder, grant.holder()) {
        (Some(bound), Some(presented)) => bound == presented,
        (None, _) | (_, None) => true,
    };
    fence.token == grant.token() && same_holder
}
