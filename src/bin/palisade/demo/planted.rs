//! Logs as runs would leave them, made by hand: for tests that break them.

#![expect(clippy::arithmetic_side_effects, reason = "small numbers, in tests only")]

use std::collections::BTreeMap;
use std::time::Duration;

use super::holder::{BALANCE_KEY, CACHE_KEY, CHARGE, OTHER_CHARGE, STOCK_KEY, order};
use super::log::{Act, Delivery, Event, What};
use super::sale::SALE;
use super::sale_claims::{BUYERS, UNITS};
use super::wire::{Answer, BOUND_EXCEEDED, KEY_REUSED, Receipt, Refusal, STALE_TOKEN};

/// A log that grows by a millisecond an event.
#[derive(Default)]
pub(super) struct Planted {
    pub(super) log: Vec<Event>,
    now_ms: u64,
}

impl Planted {
    fn note(&mut self, act: Act, what: What) {
        self.now_ms += 1;
        self.log.push(Event { at: Duration::from_millis(self.now_ms), act, what });
    }

    fn granted(&mut self, act: Act, holder: &str, generation: u64, lease_ms: u64) {
        let from = Duration::from_millis(self.now_ms);
        let lease_until = from + Duration::from_millis(lease_ms);
        let holder = holder.to_owned();
        self.note(act, What::Granted { holder, generation, from, lease_until });
    }

    fn answered(&mut self, act: Act, (holder, token): (&str, u64), name: &str, answer: Answer) {
        let (holder, name) = (holder.to_owned(), name.to_owned());
        self.note(act, What::Sent { holder: holder.clone(), token, name: name.clone() });
        let delivery = Delivery::Delivered;
        self.note(act, What::Answered { holder, token, name, answer, delivery });
    }

    fn read(&mut self, act: Act, entries: &[(String, String)], version: u64, fence: u64) {
        let entries: BTreeMap<String, String> = entries.iter().cloned().collect();
        let resource = SALE.to_owned();
        self.note(act, What::Read { resource, entries, version, fence: Some(fence) });
    }
}

pub(super) fn applied(version: u64, token: u64, counter: Option<i64>) -> Answer {
    Answer::Applied(Receipt { version, token, counter })
}

pub(super) fn replayed(version: u64, token: u64, counter: Option<i64>) -> Answer {
    Answer::Replayed(Receipt { version, token, counter })
}

pub(super) fn stale(presented: u64, current: u64) -> Answer {
    refused(STALE_TOKEN, Some((presented, current)), None)
}

fn refused(reason: &str, tokens: Option<(u64, u64)>, counter: Option<i64>) -> Answer {
    Answer::Refused(Refusal {
        reason: reason.to_owned(),
        presented: tokens.map(|(presented, _)| presented),
        current: tokens.map(|(_, current)| current),
        counter,
    })
}

/// Acts 1 to 3, and a sale of which every claim holds.
pub(super) fn good() -> Vec<Event> {
    let mut planted = Planted::default();
    without_guard(&mut planted);
    with_guard(&mut planted);
    lost_answer(&mut planted);
    flash_sale(&mut planted);
    planted.log
}

fn take_over(planted: &mut Planted, act: Act, first: u64) {
    planted.granted(act, "A", first, 1_000);
    planted.note(act, What::Paused { holder: "A".to_owned() });
    planted.now_ms += 1_005;
    planted.granted(act, "B", first + 1, 1_000);
}

fn without_guard(planted: &mut Planted) {
    let act = Act::WithoutGuard;
    take_over(planted, act, 41);
    let write = |planted: &mut Planted, holder: &str, value: &str| {
        let (holder, value) = (holder.to_owned(), value.to_owned());
        planted.note(act, What::WroteFile { holder, value: value.clone() });
        planted.note(act, What::FileHolds { value });
    };
    write(planted, "B", "24.90");
    planted.note(act, What::Resumed { holder: "A".to_owned() });
    write(planted, "A", "19.90");
    planted.note(act, What::Released { holder: "B".to_owned() });
}

fn with_guard(planted: &mut Planted) {
    let act = Act::WithGuard;
    take_over(planted, act, 43);
    let entry = [(CACHE_KEY.to_owned(), "24.90 (written by B, token 44)".to_owned())];
    planted.answered(act, ("B", 44), CACHE_KEY, applied(1, 44, None));
    planted.read(act, &entry, 1, 44);
    planted.note(act, What::Resumed { holder: "A".to_owned() });
    planted.answered(act, ("A", 43), CACHE_KEY, stale(43, 44));
    planted.note(act, What::LostLock { holder: "A".to_owned() });
    planted.read(act, &entry, 1, 44);
    planted.note(act, What::Released { holder: "B".to_owned() });
}

fn lost_answer(planted: &mut Planted) {
    let act = Act::LostAnswer;
    planted.granted(act, "C", 12, 5_000);
    let by = ("C", 12);
    planted.answered(act, by, "open the account", applied(1, 12, Some(100)));
    planted.answered(act, by, CHARGE, applied(2, 12, Some(70)));
    if let Some(Event { what: What::Answered { delivery, .. }, .. }) = planted.log.last_mut() {
        *delivery = Delivery::Lost;
    }
    planted.answered(act, by, CHARGE, replayed(2, 12, Some(70)));
    planted.answered(act, by, OTHER_CHARGE, refused(KEY_REUSED, None, None));
    planted.note(act, What::Released { holder: "C".to_owned() });
    planted.read(act, &[(BALANCE_KEY.to_owned(), "70".to_owned())], 2, 12);
    let applied = BTreeMap::from([(CHARGE.to_owned(), 2)]);
    planted.note(act, What::KeyStates { resource: SALE.to_owned(), asked: 1, applied });
}

/// Buyers 1 to 40 buy from the first generation, the last two of them across the kill; 41 and 42
/// come late and are served by the second, which sells the rest.
fn flash_sale(planted: &mut Planted) {
    let act = Act::FlashSale;
    let (first, second) = (("shop-a", 7), ("shop-b", 8));
    let units = i64::from(UNITS);
    planted.granted(act, first.0, first.1, 60_000);
    planted.read(act, &[(STOCK_KEY.to_owned(), units.to_string())], 1, 7);
    let receipt = |buyer: u32| (u64::from(buyer) + 1, Some(units - i64::from(buyer)));
    let sell = |planted: &mut Planted, buyer: u32, by: (&str, u64)| {
        let (version, left) = receipt(buyer);
        planted.answered(act, by, &order(buyer), applied(version, by.1, left));
    };
    for buyer in 1..=38 {
        sell(planted, buyer, first);
    }
    for buyer in [39, 40] {
        let (holder, name) = (first.0.to_owned(), order(buyer));
        planted.note(act, What::Sent { holder, token: first.1, name });
    }
    planted.note(act, What::StoreKilled { unanswered: 2 });
    planted.read(act, &[(STOCK_KEY.to_owned(), "60".to_owned())], 41, 7);
    planted.note(act, What::StoreOpened);
    for buyer in [39, 40] {
        let (version, left) = receipt(buyer);
        planted.answered(act, first, &order(buyer), replayed(version, 7, left));
    }
    planted.note(act, What::Released { holder: first.0.to_owned() });
    planted.granted(act, second.0, second.1, 60_000);
    for buyer in 43..=UNITS {
        sell(planted, buyer, second);
    }
    for buyer in [41, 42] {
        planted.answered(act, first, &order(buyer), stale(7, 8));
    }
    for buyer in [41, 42] {
        sell(planted, buyer, second);
    }
    let sold_out = || refused(BOUND_EXCEEDED, None, Some(0));
    for buyer in UNITS + 1..=BUYERS {
        planted.answered(act, second, &order(buyer), sold_out());
    }
    for buyer in 1..=UNITS {
        let (version, left) = receipt(buyer);
        let token = if buyer <= 40 { 7 } else { 8 };
        planted.answered(act, second, &order(buyer), replayed(version, token, left));
    }
    planted.answered(act, second, &order(BUYERS), sold_out());
    let orders = (1..=UNITS).map(|buyer| (order(buyer), format!("buyer {buyer}")));
    let mut entries: Vec<(String, String)> = orders.collect();
    entries.push((STOCK_KEY.to_owned(), "0".to_owned()));
    planted.read(act, &entries, 101, 8);
    let applied = (1..=UNITS).map(|buyer| (order(buyer), u64::from(buyer) + 1)).collect();
    let (resource, asked) = (SALE.to_owned(), 1_000);
    planted.note(act, What::KeyStates { resource, asked, applied });
    planted.note(act, What::Verified { sound: true });
}
