//! Kill -9, again and again, at the worst moments, and nothing that was said becomes untrue.
//!
//! A process that dies leaves a log with a torn end, a manifest half switched, locks that nobody
//! gives back, and callers who cannot tell whether their last writes were done. Each step on the
//! way back up can be the next one to be killed. So the real program, `palisade apply`, is killed
//! hundreds of times: half of the time within its opening, half of the time with dozens of writes
//! in flight ([`kills`]). What it answered is kept outside it, in a [`history`], and after every
//! kill the store has to agree: no acknowledged write lost, no fence lowered, no version used
//! twice, no write applied twice however often it was sent, no refused one applied at all. That the
//! history would notice is itself tested, with planted lies. [`doors`] is about getting in: two
//! processes on one directory, and a making that was interrupted.
//!
//! Kill -9 keeps the page cache, so this says nothing about lost syncs; the model test in `it` does.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails; it times its kills, and tells its seed"
)]

mod child;
mod doors;
mod history;
mod kills;
mod random;
mod wire;
