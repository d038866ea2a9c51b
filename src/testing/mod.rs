//! The conformance suite: what an engine's author runs against their own engine.
//!
//! Implement [`Subject`] for the engine and name it to [`engine_suite!`](crate::engine_suite): one
//! test a case, each named after the rule, the step of a decision or the obligation that it
//! proves. The suite goes through the public interface, and halts writers with the engine's hooks
//! where random load would never meet the window.
//!
//! ```
//! use std::sync::Arc;
//! use palisade::engine::{Engine, EngineContext, Hooks, MemoryEngine, MemoryStore};
//! use palisade::testing::Subject;
//!
//! #[derive(Default)]
//! struct InMemory(MemoryStore);
//!
//! impl Subject for InMemory {
//!     fn open(&mut self, hooks: Arc<dyn Hooks>) -> Arc<dyn Engine> {
//!         let context = EngineContext { hooks, ..EngineContext::default() };
//!         Arc::new(MemoryEngine::open(&self.0, context))
//!     }
//!     fn overwrite(&mut self, key: &[u8], record: &[u8]) {
//!         self.0.overwrite(key, Some(record.to_vec()));
//!     }
//! }
//!
//! palisade::engine_suite!(in_memory, super::InMemory::default());
//! # fn main() {}
//! ```

#![expect(
    clippy::missing_panics_doc,
    clippy::arithmetic_side_effects,
    reason = "a case of the suite panics where the engine breaks its promise"
)]

pub mod endings;
pub mod fencing;
pub mod obligations;
pub mod operations;
pub mod retries;
mod support;

use std::sync::Arc;

use crate::engine::{Engine, Hooks};

/// An engine under test, and the store it is opened on.
pub trait Subject {
    /// Opens an engine on the store: an empty one at first, and from then on the one that the
    /// engines before have left. They are dropped by then.
    fn open(&mut self, hooks: Arc<dyn Hooks>) -> Arc<dyn Engine>;

    /// Replaces the record stored under `key` by other bytes, as damage would. No engine is open.
    fn overwrite(&mut self, key: &[u8], record: &[u8]);
}

/// Makes a module of tests, one for each case of the suite, for the engine that an expression
/// gives as a [`Subject`](crate::testing::Subject).
#[macro_export]
macro_rules! engine_suite {
    ($module:ident, $subject:expr) => {
        mod $module {
            $crate::engine_suite!(@cases $subject, fencing {
                r1_an_older_token_is_refused,
                r1_tokens_never_go_down_within_one_commit,
                r1_tokens_are_compared_as_numbers,
                r1_the_epoch_comes_before_the_generation,
                r1_the_fence_survives_a_restart,
                r2_an_equal_token_is_accepted,
                r3_everything_that_changes_data_is_fenced,
                r4_the_fence_outlives_the_data,
                r5_a_refusal_changes_no_data,
                r10_a_damaged_head_is_never_read_as_no_fence,
                step_3_a_claim_raises_the_fence_and_no_version,
                step_3_one_number_for_two_holders_is_a_split,
                step_3_a_holder_is_bound_to_an_equal_token_that_had_none,
                step_3_a_newer_token_raises_the_fence_even_if_refused,
                names_are_opaque,
                a_fenced_read_shuts_the_old_holder_out,
            });
            $crate::engine_suite!(@cases $subject, retries {
                step_2_a_retry_is_recognised_under_any_token,
                step_2_a_retry_under_a_newer_token_raises_the_fence,
                step_2_a_key_for_other_operations_is_refused,
                step_2_a_retry_that_is_not_admitted_raises_nothing,
                a_retry_in_the_same_commit_is_recognised,
                a_refusal_binds_no_key,
                a_key_belongs_to_its_resource,
                keys_outlive_data_and_restarts,
                a_fingerprint_sees_every_part_of_a_request,
                key_state_tells_what_became_of_a_key,
                r10_a_damaged_key_record_is_never_read_as_unknown,
            });
            $crate::engine_suite!(@cases $subject, operations {
                step_4_a_failed_check_refuses_everything,
                step_4_a_counter_stays_within_its_bounds,
                step_4_bytes_cannot_be_added_to,
                step_5_all_operations_are_applied_in_order,
                a_missing_counter_counts_as_zero,
                the_version_moves_only_with_data,
                a_version_never_comes_back,
                keys_of_any_bytes_are_kept_apart,
                the_longest_of_everything_fits,
            });
            $crate::engine_suite!(@cases $subject, endings {
                step_3_a_closed_generation_admits_a_newer_token_only,
                closing_may_be_repeated,
                step_3_closed_comes_before_split,
                retiring_deletes_everything_and_closes,
                retire_after_close_still_deletes,
                retiring_within_a_commit_sees_what_came_before,
                retiring_leaves_neighbours_alone,
            });
            $crate::engine_suite!(@cases $subject, obligations {
                obligation_1_the_head_is_validated_at_the_commit_point,
                obligation_1_absences_are_validated_at_the_commit_point,
                obligation_2_no_older_write_commits_after_an_answer,
                obligation_3_no_answer_leaves_before_the_commit,
                obligation_3_nothing_uncommitted_is_readable,
                obligation_4_a_dropped_commit_tears_nothing,
                obligation_6_a_failing_group_fails_alone,
                obligation_7_only_the_committed_verdict_leaves,
                obligation_8_two_guards_on_one_engine_are_safe,
                obligation_8_what_is_kept_in_memory_is_what_is_stored,
                two_groups_of_one_resource_see_each_other,
                r8_a_vanished_caller_changes_nothing,
            });
        }
    };
    (@cases $subject:expr, $file:ident { $($case:ident,)+ }) => {
        $(
            #[test]
            fn $case() {
                $crate::testing::$file::$case(&mut $subject);
            }
        )+
    };
}
