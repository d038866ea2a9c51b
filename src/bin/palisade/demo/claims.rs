//! What the demo claims of acts 1 to 3, judged by the log alone.
//!
//! Nothing here is assumed: a claim whose events are missing does not hold.

use std::collections::BTreeMap;
use std::time::Duration;

use super::holder::{BALANCE, BALANCE_KEY, CACHE_KEY, CHARGE, CHARGED, OTHER_CHARGE};
use super::log::{Act, Delivery, Event, What, of_act};
use super::wire::{Answer, KEY_REUSED, Receipt, STALE_TOKEN};

/// A statement, and whether it is true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Claim {
    pub(super) is_held: bool,
    pub(super) text: String,
}

impl Claim {
    pub(super) fn new(is_held: bool, text: impl Into<String>) -> Self {
        Self { is_held, text: text.into() }
    }
}

pub(super) fn without_guard(log: &[Event]) -> Vec<Claim> {
    let act = Act::WithoutGuard;
    let wrote: Vec<(&str, &str)> = of_act(log, act)
        .filter_map(|event| {
            let What::WroteFile { holder, value } = &event.what else { return None };
            Some((holder.as_str(), value.as_str()))
        })
        .collect();
    let held: Vec<&str> = of_act(log, act)
        .filter_map(|event| {
            let What::FileHolds { value } = &event.what else { return None };
            Some(value.as_str())
        })
        .collect();
    let late_write_won = matches!(
        (wrote.as_slice(), held.as_slice()),
        ([("B", new), ("A", old)], [before, after]) if before == new && after == old && new != old
    );
    let text = "without the guard the late write won: the wrong price stays, and nobody was told";
    vec![lock_did_its_part(log, act), Claim::new(late_write_won, text)]
}

pub(super) fn with_guard(log: &[Event]) -> Vec<Claim> {
    let act = Act::WithGuard;
    let [first, second] = [token_of(log, act, "A"), token_of(log, act, "B")];
    let late = answers(log, act).filter(|answered| answered.holder == "A").collect::<Vec<_>>();
    let refusal = match late.as_slice() {
        [Answered { answer: Answer::Refused(refusal), .. }] => Some(refusal),
        _ => None,
    };
    let (presented, current) =
        refusal.map_or((None, None), |refusal| (refusal.presented, refusal.current));
    let is_refused = refusal.is_some_and(|refusal| refusal.reason == STALE_TOKEN)
        && presented.is_some()
        && (presented, current) == (first, second)
        && presented < current;
    let reads: Vec<_> = reads(log, act).collect();
    let written = answers(log, act).find_map(|answered| match (answered.holder, answered.answer) {
        ("B", Answer::Applied(receipt)) => Some(receipt.version),
        _ => None,
    });
    let is_kept = match reads.as_slice() {
        [before, after] => {
            let signature = format!("(written by B, token {})", second.unwrap_or(0));
            before == after
                && after.fence == second
                && Some(after.version) == written
                && after.entries.get(CACHE_KEY).is_some_and(|value| value.ends_with(&signature))
        }
        _ => false,
    };
    vec![
        lock_did_its_part(log, act),
        Claim::new(
            is_refused,
            format!(
                "A's late write was refused: token {} is older than {}",
                shown(presented),
                shown(current)
            ),
        ),
        Claim::new(is_kept, format!("B's entry is untouched, and the fence is {}", shown(second))),
    ]
}

pub(super) fn lost_answer(log: &[Event]) -> Vec<Claim> {
    let act = Act::LostAnswer;
    let to = |name: &'static str| answers(log, act).filter(move |answered| answered.name == name);
    let first: Option<&Receipt> = to(CHARGE).next().and_then(|first| match first {
        Answered { answer: Answer::Applied(receipt), delivery: Delivery::Lost, .. } => {
            Some(receipt)
        }
        _ => None,
    });
    let again: Vec<_> = to(CHARGE).skip(1).collect();
    let is_replayed = matches!(
        (first, again.as_slice()),
        (Some(first), [Answered { answer: Answer::Replayed(again), delivery: Delivery::Delivered, .. }])
            if first == again
    );
    let left = BALANCE.saturating_sub(CHARGED).to_string();
    let read = reads(log, act).last();
    let has_one_effect =
        read.as_ref().is_some_and(|read| read.entries.get(BALANCE_KEY) == Some(&left));
    let others: Vec<_> = to(OTHER_CHARGE).map(|answered| answered.answer).collect();
    let is_reuse_refused = matches!(others.as_slice(), [only] if only.is_refused_for(KEY_REUSED));
    let version = first.map(|receipt| receipt.version);
    let is_unchanged = read.is_some_and(|read| Some(read.version) == version)
        && of_act(log, act).any(|event| {
            let What::KeyStates { applied, .. } = &event.what else { return false };
            version.is_some() && applied.get(CHARGE).copied() == version
        });
    vec![
        Claim::new(
            is_replayed && has_one_effect,
            format!(
                "the retry was replayed with the first answer (version {}), and the money was \
                 charged once",
                shown(version)
            ),
        ),
        Claim::new(
            is_reuse_refused && is_unchanged,
            "the key with another amount was refused, and changed nothing",
        ),
    ]
}

/// That the lock was never granted while a lease ran, and that its number grew, even as its holder
/// was stopped until its successor had written.
fn lock_did_its_part(log: &[Event], act: Act) -> Claim {
    let grants: Vec<Grant<'_>> = grants(log, act).collect();
    let (is_exclusive, gap) = match grants.as_slice() {
        [first, second] => (
            second.from >= first.lease_until && second.generation > first.generation,
            second.from.saturating_sub(first.lease_until),
        ),
        _ => (false, Duration::ZERO),
    };
    let at = |wanted: fn(&What) -> bool| {
        of_act(log, act).find(|event| wanted(&event.what)).map(|event| event.at)
    };
    let paused = at(|what| matches!(what, What::Paused { holder } if holder == "A"));
    let resumed = at(|what| matches!(what, What::Resumed { holder } if holder == "A"));
    let replaced = at(|what| {
        matches!(
            what,
            What::WroteFile { holder, .. } | What::Answered { holder, .. } if holder == "B"
        )
    });
    let slept_through = paused.is_some() && paused < replaced && replaced < resumed;
    Claim::new(
        is_exclusive && slept_through,
        format!(
            "the lock did its part: granted again only when the lease was over, {} ms after it",
            gap.as_millis()
        ),
    )
}

pub(super) struct Grant<'a> {
    pub(super) holder: &'a str,
    pub(super) generation: u64,
    pub(super) from: Duration,
    pub(super) lease_until: Duration,
}

pub(super) fn grants(log: &[Event], act: Act) -> impl Iterator<Item = Grant<'_>> {
    of_act(log, act).filter_map(|event| {
        let What::Granted { holder, generation, from, lease_until } = &event.what else {
            return None;
        };
        let (generation, from, lease_until) = (*generation, *from, *lease_until);
        Some(Grant { holder, generation, from, lease_until })
    })
}

fn token_of(log: &[Event], act: Act, holder: &str) -> Option<u64> {
    grants(log, act).find(|grant| grant.holder == holder).map(|grant| grant.generation)
}

pub(super) struct Answered<'a> {
    pub(super) at: Duration,
    pub(super) holder: &'a str,
    pub(super) token: u64,
    pub(super) name: &'a str,
    pub(super) answer: &'a Answer,
    pub(super) delivery: Delivery,
}

pub(super) fn answers(log: &[Event], act: Act) -> impl Iterator<Item = Answered<'_>> {
    of_act(log, act).filter_map(|event| {
        let What::Answered { holder, token, name, answer, delivery } = &event.what else {
            return None;
        };
        let (at, token, delivery) = (event.at, *token, *delivery);
        Some(Answered { at, holder, token, name, answer, delivery })
    })
}

#[derive(PartialEq)]
pub(super) struct Read<'a> {
    pub(super) entries: &'a BTreeMap<String, String>,
    pub(super) version: u64,
    pub(super) fence: Option<u64>,
}

pub(super) fn reads(log: &[Event], act: Act) -> impl Iterator<Item = Read<'_>> {
    of_act(log, act).filter_map(|event| {
        let What::Read { entries, version, fence, .. } = &event.what else { return None };
        Some(Read { entries, version: *version, fence: *fence })
    })
}

/// A number that may be missing from the log.
pub(super) fn shown(number: Option<u64>) -> String {
    number.map_or_else(|| "none".to_owned(), |number| number.to_string())
}

#[cfg(test)]
mod tests {
    use super::super::planted;
    use super::*;

    /// Which claims of acts 1 to 3 hold.
    fn held(log: &[Event]) -> Vec<bool> {
        let claims = [without_guard(log), with_guard(log), lost_answer(log)].concat();
        claims.iter().map(|claim| claim.is_held).collect()
    }

    /// The claims that no longer hold once `spoil` has changed one kind of event.
    fn broken_by(spoil: impl FnMut(&mut Event)) -> Vec<usize> {
        let mut log = planted::good();
        log.iter_mut().for_each(spoil);
        let held = held(&log);
        (0..held.len()).filter(|claim| !held[*claim]).collect()
    }

    #[test]
    fn a_good_run_holds_every_claim_and_an_empty_log_none() {
        assert_eq!(held(&planted::good()), [true; 7]);
        assert_eq!(held(&[]), [false; 7]);
    }

    #[test]
    fn a_lease_that_overlaps_the_next_one_breaks_the_claim_of_the_lock() {
        let broken = broken_by(|event| {
            if let What::Granted { lease_until, .. } = &mut event.what {
                *lease_until += Duration::from_millis(10);
            }
        });
        assert_eq!(broken, [0, 2]);
    }

    #[test]
    fn a_number_that_does_not_grow_breaks_the_claims_of_lock_and_refusal() {
        let broken = broken_by(|event| {
            if let What::Granted { generation, .. } = &mut event.what {
                *generation = 43;
            }
        });
        assert_eq!(broken, [0, 2, 3, 4]);
    }

    #[test]
    fn a_holder_that_was_never_stopped_breaks_the_claim_of_the_lock() {
        let broken = broken_by(|event| {
            if let What::Paused { holder } = &mut event.what {
                *holder = "nobody".to_owned();
            }
        });
        assert_eq!(broken, [0, 2]);
    }

    #[test]
    fn a_file_that_kept_the_right_price_breaks_the_claim_of_damage() {
        let broken = broken_by(|event| {
            if let What::FileHolds { value } = &mut event.what {
                *value = "24.90".to_owned();
            }
        });
        assert_eq!(broken, [1]);
    }

    #[test]
    fn a_late_write_that_was_applied_breaks_the_claim_of_refusal() {
        let broken = broken_by(|event| {
            if let What::Answered { answer, token: 43, .. } = &mut event.what {
                *answer = planted::applied(2, 43, None);
            }
        });
        assert_eq!(broken, [3]);
    }

    #[test]
    fn a_refusal_that_names_other_tokens_breaks_the_claim_of_refusal() {
        let broken = broken_by(|event| {
            if let What::Answered { answer, token: 43, .. } = &mut event.what {
                *answer = planted::stale(42, 44);
            }
        });
        assert_eq!(broken, [3]);
    }

    #[test]
    fn an_entry_that_changed_breaks_the_claim_that_it_is_untouched() {
        let mut reads = 0;
        let broken = broken_by(|event| {
            if let What::Read { entries, .. } = &mut event.what {
                reads += 1;
                if reads == 2 {
                    entries
                        .insert(CACHE_KEY.to_owned(), "19.90 (written by A, token 43)".to_owned());
                }
            }
        });
        assert_eq!(broken, [4]);
    }

    #[test]
    fn a_retry_that_was_applied_or_answered_anew_breaks_its_claim() {
        for anew in [planted::applied(3, 12, Some(40)), planted::replayed(3, 12, Some(70))] {
            let broken = broken_by(|event| {
                if let What::Answered { answer: answer @ Answer::Replayed(_), name, .. } =
                    &mut event.what
                    && name == CHARGE
                {
                    *answer = anew.clone();
                }
            });
            assert_eq!(broken, [5]);
        }
    }

    #[test]
    fn money_charged_twice_breaks_both_claims_of_the_retry() {
        let broken = broken_by(|event| {
            if let What::Read { entries, version, .. } = &mut event.what
                && entries.contains_key(BALANCE_KEY)
            {
                entries.insert(BALANCE_KEY.to_owned(), "40".to_owned());
                *version = 3;
            }
        });
        assert_eq!(broken, [5, 6]);
    }
}
