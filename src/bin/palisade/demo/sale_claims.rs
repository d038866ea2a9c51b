//! What the demo claims of the flash sale, judged by the log alone.

use std::collections::{BTreeMap, BTreeSet};

use super::claims::{Answered, Claim, answers, grants, reads, shown};
use super::holder::STOCK_KEY;
use super::log::{Act, Delivery, Event, What, of_act};
use super::wire::{Answer, BOUND_EXCEEDED, Receipt, STALE_TOKEN};

pub(super) const UNITS: u32 = 100;
pub(super) const BUYERS: u32 = 1_000;

const ACT: Act = Act::FlashSale;

pub(super) fn flash_sale(log: &[Event]) -> Vec<Claim> {
    let ledger = Ledger::of(log);
    vec![
        sold_exactly(log, &ledger),
        never_negative(log, &ledger),
        one_answer_each(&ledger),
        retries_recognised(&ledger),
        late_orders_refused(log),
        kill_lost_nothing(log),
        verified(log),
    ]
}

/// What each order came to, from the answers in the order in which they came.
#[derive(Debug, Default)]
struct Ledger<'a> {
    orders: BTreeMap<&'a str, Order<'a>>,
    replayed: u32,
    /// Replayed to a buyer whose first answer was lost with the kill.
    replayed_after_loss: u32,
    refused_again: u32,
}

#[derive(Debug, Default)]
struct Order<'a> {
    sent: u32,
    answered: u32,
    applied: Option<&'a Receipt>,
    sold_out: bool,
    /// A final answer has reached the buyer.
    is_answered: bool,
    /// Answers that contradict each other, or that no retry may be given.
    contradictions: Vec<&'static str>,
}

impl<'a> Ledger<'a> {
    fn of(log: &'a [Event]) -> Self {
        let mut ledger = Self::default();
        for event in of_act(log, ACT) {
            if let What::Sent { name, .. } = &event.what {
                let order = ledger.orders.entry(name).or_default();
                order.sent = order.sent.saturating_add(1);
            } else if let What::Answered { name, answer, delivery, .. } = &event.what {
                ledger.take(name, answer, *delivery);
            }
        }
        ledger
    }

    fn take(&mut self, name: &'a str, answer: &'a Answer, delivery: Delivery) {
        let order = self.orders.entry(name).or_default();
        // A delivery before this one whose answer nobody has seen.
        let has_unseen = order.sent > order.answered.saturating_add(1);
        order.answered = order.answered.saturating_add(1);
        let is_final = match answer {
            Answer::Applied(receipt) => {
                if order.applied.replace(receipt).is_some() {
                    order.contradictions.push("applied twice");
                }
                true
            }
            Answer::Replayed(receipt) => {
                self.replayed = self.replayed.saturating_add(1);
                let is_news = u32::from(!order.is_answered);
                self.replayed_after_loss = self.replayed_after_loss.saturating_add(is_news);
                match order.applied {
                    Some(first) if first == receipt => {}
                    Some(_) => order.contradictions.push("replayed with another answer"),
                    None if has_unseen => order.applied = Some(receipt),
                    None => order.contradictions.push("replayed at the first delivery"),
                }
                true
            }
            Answer::Refused(refusal) if refusal.reason == BOUND_EXCEEDED => {
                if order.sold_out {
                    self.refused_again = self.refused_again.saturating_add(1);
                }
                order.sold_out = true;
                true
            }
            Answer::Refused(refusal) => {
                if refusal.reason != STALE_TOKEN {
                    order.contradictions.push("refused for another reason");
                }
                false
            }
        };
        if order.sold_out && order.applied.is_some() {
            order.contradictions.push("both sold and sold out");
        }
        order.is_answered |= is_final && delivery == Delivery::Delivered;
    }

    fn sold(&self) -> BTreeMap<String, u64> {
        let sold = self.orders.iter().filter_map(|(name, order)| {
            order.applied.map(|receipt| ((*name).to_owned(), receipt.version))
        });
        sold.collect()
    }

    fn contradiction(&self) -> Option<String> {
        self.orders.iter().find_map(|(name, order)| {
            order.contradictions.first().map(|what| format!("; {name} was {what}"))
        })
    }
}

fn sold_exactly(log: &[Event], ledger: &Ledger<'_>) -> Claim {
    let sold = ledger.sold();
    let read = reads(log, ACT).last();
    let entries = read.as_ref().map(|read| read.entries);
    let stock = entries.and_then(|entries| entries.get(STOCK_KEY)).map(String::as_str);
    let orders: BTreeSet<&String> =
        entries.into_iter().flat_map(BTreeMap::keys).filter(|key| *key != STOCK_KEY).collect();
    let are_stored = orders == sold.keys().collect();
    let are_known = of_act(log, ACT).any(|event| {
        let What::KeyStates { applied, asked, .. } = &event.what else { return false };
        *applied == sold && u32::try_from(*asked) == Ok(BUYERS)
    });
    let is_exact = u32::try_from(sold.len()) == Ok(UNITS);
    Claim::new(
        is_exact && stock == Some("0") && are_stored && are_known,
        format!(
            "sold exactly {} of {UNITS}; the store holds {} orders, and a stock of {}",
            sold.len(),
            orders.len(),
            stock.unwrap_or("unknown")
        ),
    )
}

fn never_negative(log: &[Event], ledger: &Ledger<'_>) -> Claim {
    let mut seen = 0_u32;
    let mut least = i64::from(UNITS);
    for answered in answers(log, ACT) {
        let counter = match answered.answer {
            Answer::Applied(receipt) | Answer::Replayed(receipt) => receipt.counter,
            Answer::Refused(refusal) => refusal.counter,
        };
        if let Some(counter) = counter {
            seen = seen.saturating_add(1);
            least = least.min(counter);
        }
    }
    let left: BTreeSet<i64> =
        ledger.orders.values().filter_map(|order| order.applied?.counter).collect();
    let each_once = left == (0..i64::from(UNITS)).collect();
    Claim::new(
        least == 0 && each_once,
        format!("the stock was never negative: its lowest in {} answers is {least}", grouped(seen)),
    )
}

fn one_answer_each(ledger: &Ledger<'_>) -> Claim {
    let answered = ledger.orders.values().filter(|order| order.is_answered).count();
    let contradiction = ledger.contradiction();
    let answered = u32::try_from(answered).unwrap_or(u32::MAX);
    Claim::new(
        answered == BUYERS && contradiction.is_none(),
        format!(
            "each of {} buyers has one final answer, whoever gave it{}",
            grouped(answered),
            contradiction.unwrap_or_default()
        ),
    )
}

fn retries_recognised(ledger: &Ledger<'_>) -> Claim {
    let sold = ledger.orders.values().filter(|order| order.applied.is_some());
    let mut retried = sold.map(|order| order.sent > 1);
    let all_retried = retried.clone().next().is_some() && retried.all(|is_retried| is_retried);
    Claim::new(
        all_retried
            && ledger.contradiction().is_none()
            && ledger.replayed_after_loss > 0
            && ledger.refused_again > 0,
        format!(
            "every retry of a sold order was replayed: {} times, {} after the kill had lost the answer",
            ledger.replayed, ledger.replayed_after_loss
        ),
    )
}

fn late_orders_refused(log: &[Event]) -> Claim {
    let mut generations = grants(log, ACT).map(|grant| grant.generation);
    let (first, second) = (generations.next(), generations.next());
    let all: Vec<Answered<'_>> = answers(log, ACT).collect();
    let is_late = |answered: &&Answered<'_>| answered.answer.is_refused_for(STALE_TOKEN);
    let refused: BTreeSet<&str> = all.iter().filter(is_late).map(|late| late.name).collect();
    let are_stale = all.iter().filter(is_late).all(|late| {
        let Answer::Refused(refusal) = late.answer else { return false };
        Some(late.token) == first && refusal.presented == first && refusal.current == second
    });
    let served: BTreeSet<&str> = all
        .iter()
        .filter(|answered| Some(answered.token) == second && !is_late(answered))
        .map(|answered| answered.name)
        .collect();
    // In the order of the answers, which is that of the commits.
    let tokens = all.iter().filter_map(|answered| match answered.answer {
        Answer::Applied(receipt) => Some(receipt.token),
        Answer::Replayed(_) | Answer::Refused(_) => None,
    });
    let never_back = tokens.is_sorted();
    Claim::new(
        !refused.is_empty()
            && first < second
            && are_stale
            && never_back
            && refused.is_subset(&served),
        format!(
            "{} late orders of generation {} were refused; generation {} served their buyers",
            refused.len(),
            shown(first),
            shown(second)
        ),
    )
}

fn kill_lost_nothing(log: &[Event]) -> Claim {
    let position = |wanted: fn(&What) -> bool| log.iter().position(|event| wanted(&event.what));
    let killed =
        position(|what| matches!(what, What::StoreKilled { unanswered } if *unanswered > 0));
    let (before, after) = killed.map_or((log, None), |at| {
        let (before, after) = log.split_at(at);
        (before, Some(after))
    });
    let found = after.and_then(|after| reads(after, ACT).next());
    let promised: Vec<&Receipt> =
        answers(before, ACT).filter_map(|answered| answered.answer.receipt()).collect();
    let version = promised.iter().map(|receipt| receipt.version).max();
    let stock = promised.iter().filter_map(|receipt| receipt.counter).min();
    let fence = grants(before, ACT).last().map(|grant| grant.generation);
    let is_kept = found.as_ref().is_some_and(|found| {
        let left = found.entries.get(STOCK_KEY).and_then(|left| left.parse::<i64>().ok());
        found.fence == fence
            && version.is_some_and(|version| found.version >= version)
            && left.zip(stock).is_some_and(|(left, stock)| left <= stock)
    });
    Claim::new(
        is_kept,
        format!(
            "the kill took back nothing that was answered; the fence was still {}",
            shown(found.and_then(|found| found.fence))
        ),
    )
}

fn verified(log: &[Event]) -> Claim {
    let verified = of_act(log, ACT).filter_map(|event| {
        let What::Verified { sound } = &event.what else { return None };
        Some(*sound)
    });
    Claim::new(verified.last() == Some(true), "`palisade verify` has read every record: sound")
}

/// With a comma between thousands.
pub(super) fn grouped(number: u32) -> String {
    match (number / 1_000, number % 1_000) {
        (0, rest) => rest.to_string(),
        (thousands, rest) => format!("{thousands},{rest:03}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::holder::order;
    use super::super::planted;
    use super::*;

    fn held(log: &[Event]) -> Vec<bool> {
        flash_sale(log).iter().map(|claim| claim.is_held).collect()
    }

    /// The claims that no longer hold once `spoil` has changed events.
    fn broken_by(spoil: impl FnMut(&mut Event)) -> Vec<usize> {
        let mut log = planted::good();
        log.iter_mut().for_each(spoil);
        let held = held(&log);
        (0..held.len()).filter(|claim| !held[*claim]).collect()
    }

    /// Changes the `nth` answer to the order of `buyer`.
    fn answer_to(buyer: u32, nth: usize, anew: Answer) -> impl FnMut(&mut Event) {
        let mut seen = 0;
        move |event| {
            if let What::Answered { name, answer, .. } = &mut event.what
                && *name == order(buyer)
            {
                if seen == nth {
                    *answer = anew.clone();
                }
                seen = seen.saturating_add(1);
            }
        }
    }

    #[test]
    fn a_good_sale_holds_every_claim_and_an_empty_log_none() {
        assert_eq!(held(&planted::good()), [true; 7]);
        assert_eq!(held(&[]), [false; 7]);
    }

    #[test]
    fn one_unit_too_many_is_seen() {
        let oversold = answer_to(BUYERS, 0, planted::applied(102, 8, Some(-1)));
        assert_eq!(broken_by(oversold), [0, 1, 2, 3]);
    }

    #[test]
    fn an_order_applied_twice_is_seen() {
        assert_eq!(broken_by(answer_to(5, 1, planted::applied(102, 8, Some(95)))), [0, 2, 3]);
    }

    #[test]
    fn a_retry_answered_otherwise_than_the_first_time_is_seen() {
        assert_eq!(broken_by(answer_to(5, 1, planted::replayed(7, 7, Some(95)))), [2, 3]);
        assert_eq!(broken_by(answer_to(5, 1, planted::stale(7, 8))), [4]);
    }

    #[test]
    fn a_replay_of_what_was_never_sent_before_is_seen() {
        assert_eq!(broken_by(answer_to(5, 0, planted::replayed(6, 7, Some(95)))), [0, 1, 2, 3]);
    }

    #[test]
    fn a_late_order_that_was_applied_is_seen() {
        let late = answer_to(41, 0, planted::applied(102, 7, Some(-1)));
        assert!(broken_by(late).contains(&4));
    }

    #[test]
    fn a_buyer_without_an_answer_is_seen() {
        let mut log = planted::good();
        log.retain(
            |event| !matches!(&event.what, What::Answered { name, .. } if *name == order(500)),
        );
        assert!(!held(&log)[2]);
    }

    #[test]
    fn stock_orders_or_keys_that_disagree_with_the_answers_are_seen() {
        let left_over = broken_by(|event| {
            if let What::Read { entries, .. } = &mut event.what
                && entries.len() > 1
            {
                entries.insert(STOCK_KEY.to_owned(), "1".to_owned());
            }
        });
        assert_eq!(left_over, [0]);
        let lost_order = broken_by(|event| {
            if let What::Read { entries, .. } = &mut event.what {
                entries.remove(&order(7));
            }
        });
        assert_eq!(lost_order, [0]);
        let forgotten_key = broken_by(|event| {
            if let What::KeyStates { applied, .. } = &mut event.what {
                applied.remove(&order(7));
            }
        });
        assert_eq!(forgotten_key, [0]);
    }

    #[test]
    fn a_fence_or_a_sale_that_the_kill_took_back_is_seen() {
        let spoil = |change: fn(&mut BTreeMap<String, String>, &mut Option<u64>)| {
            let mut is_down = false;
            broken_by(move |event| {
                is_down |= matches!(event.what, What::StoreKilled { .. });
                if let What::Read { entries, fence, .. } = &mut event.what
                    && is_down
                    && entries.len() == 1
                {
                    change(entries, fence);
                }
            })
        };
        assert_eq!(spoil(|_, fence| *fence = None), [5]);
        let resold = |entries: &mut BTreeMap<String, String>, _: &mut Option<u64>| {
            entries.insert(STOCK_KEY.to_owned(), "100".to_owned());
        };
        assert_eq!(spoil(resold), [5]);
    }

    #[test]
    fn damage_that_verify_found_is_seen() {
        let damaged = broken_by(|event| {
            if let What::Verified { sound } = &mut event.what {
                *sound = false;
            }
        });
        assert_eq!(damaged, [6]);
    }
}
