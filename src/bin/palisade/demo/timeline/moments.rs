//! The moments of an act: what is worth a caption, and where it lies on the axis.

use std::time::Duration;

use super::super::claims::Grant;
use super::super::log::{Act, Delivery, Event, What, of_act};
use super::super::wire::{Answer, STALE_TOKEN};
use super::svg::Mark;
use super::{LEFT, RIGHT};

pub(super) struct Moments<'a> {
    pub(super) grants: Vec<Grant<'a>>,
    /// In the order of time.
    pub(super) all: Vec<Moment<'a>>,
    events: Vec<&'a Event>,
}

pub(super) struct Moment<'a> {
    pub(super) at: Duration,
    pub(super) x: f64,
    pub(super) holder: &'a str,
    pub(super) caption: String,
    /// What came of it, where it is a write.
    pub(super) outcome: Option<Outcome>,
}

pub(super) struct Outcome {
    pub(super) mark: Mark,
    pub(super) text: String,
    /// What is there from now on; nothing where nothing changed.
    pub(super) leaves: Option<String>,
    pub(super) is_lost: bool,
}

impl<'a> Moments<'a> {
    pub(super) fn of(log: &'a [Event], act: Act) -> Self {
        let events: Vec<&Event> = of_act(log, act).collect();
        let mut grants: Vec<Grant<'_>> = Vec::new();
        let mut all: Vec<Moment<'_>> = Vec::new();
        for event in &events {
            if let What::Granted { holder, generation, from, lease_until } = &event.what {
                // The coordinator's clock knows milliseconds only. What a holder did next comes
                // after its grant, and the end of a lease before the grant that follows it.
                let from = (*from).min(event.at);
                let lease_until = lease_until.saturating_sub(Duration::from_micros(1));
                grants.push(Grant { holder, generation: *generation, from, lease_until });
            }
            all.extend(moment(event, grants.last()));
        }
        let end = all.last().map_or(Duration::ZERO, |last| last.at);
        let over = grants.iter().filter(|grant| grant.lease_until < end).map(|grant| Moment {
            at: grant.lease_until,
            x: 0.0,
            holder: grant.holder,
            caption: "lease over".to_owned(),
            outcome: None,
        });
        all.extend(over);
        all.sort_by_key(|moment| moment.at);
        spread(&mut all);
        Self { grants, all, events }
    }

    /// Where a time lies on the axis.
    pub(super) fn x(&self, time: Duration) -> f64 {
        let at_or_after = self.all.iter().find(|moment| moment.at >= time);
        at_or_after.or(self.all.last()).map_or(LEFT, |moment| moment.x)
    }

    pub(super) fn since_first(&self, time: Duration) -> Duration {
        time.saturating_sub(self.all.first().map_or(Duration::ZERO, |first| first.at))
    }

    pub(super) fn outcomes(&self) -> impl Iterator<Item = (f64, &Outcome)> {
        self.all.iter().filter_map(|moment| Some((moment.x, moment.outcome.as_ref()?)))
    }

    /// When the holder did its last.
    pub(super) fn last_of(&self, holder: &str) -> Duration {
        let of_holder = self.all.iter().filter(|moment| moment.holder == holder);
        let mut lasting = of_holder.filter(|moment| moment.caption != "lease over");
        lasting.next_back().map_or(Duration::ZERO, |moment| moment.at)
    }

    /// When the holder was stopped, and when it went on.
    pub(super) fn pause_of(&self, name: &str) -> Option<(Duration, Duration)> {
        let paused = self.events.iter().find_map(|event| {
            let What::Paused { holder } = &event.what else { return None };
            (holder == name).then_some(event.at)
        })?;
        let resumed = self.events.iter().find_map(|event| {
            let What::Resumed { holder } = &event.what else { return None };
            (holder == name).then_some(event.at)
        })?;
        Some((paused, resumed))
    }
}

/// What of an event is worth a caption; `newest` is the last grant so far.
fn moment<'a>(event: &'a Event, newest: Option<&Grant<'_>>) -> Option<Moment<'a>> {
    let mut at = event.at;
    let mut outcome = None;
    let (holder, caption) = match &event.what {
        What::Granted { holder, .. } => {
            at = newest.map_or(at, |newest| newest.from);
            (holder, format!("{holder} takes lock"))
        }
        What::Released { holder } => (holder, format!("{holder} is done")),
        What::Paused { holder } => (holder, format!("{holder} is paused")),
        What::Resumed { holder } => (holder, format!("{holder} wakes")),
        What::WroteFile { holder, value } => {
            outcome = Some(written(value, newest.is_some_and(|newest| newest.holder == holder)));
            (holder, format!("{holder} writes"))
        }
        What::Answered { holder, token, answer, delivery, .. } => {
            let answered = answered(answer, *token, *delivery == Delivery::Lost);
            let caption = match (answered.mark, answer.is_refused_for(STALE_TOKEN)) {
                (Mark::Replayed, _) => "sent again".to_owned(),
                (Mark::Refused, false) => "other amount".to_owned(),
                (Mark::Refused | Mark::Accepted | Mark::Damage | Mark::Lost, _) => {
                    format!("{holder} writes")
                }
            };
            outcome = Some(answered);
            (holder, caption)
        }
        What::LostLock { .. }
        | What::FileHolds { .. }
        | What::Sent { .. }
        | What::StoreKilled { .. }
        | What::StoreOpened
        | What::Read { .. }
        | What::KeyStates { .. }
        | What::Verified { .. } => return None,
    };
    Some(Moment { at, x: 0.0, holder, caption, outcome })
}

/// A write to the plain file, which takes everything.
fn written(value: &str, is_by_newest: bool) -> Outcome {
    let (mark, text) =
        if is_by_newest { (Mark::Accepted, "accepted") } else { (Mark::Damage, "overwrites it") };
    let shown = value.split(' ').next().unwrap_or_default();
    let leaves = Some(format!("price {shown}"));
    Outcome { mark, text: text.to_owned(), leaves, is_lost: false }
}

fn answered(answer: &Answer, token: u64, is_lost: bool) -> Outcome {
    let (mark, text, leaves) = match answer {
        Answer::Applied(_) => {
            let text = if is_lost { "answer lost" } else { "accepted" };
            (Mark::Accepted, text.to_owned(), Some(format!("fence {token}")))
        }
        Answer::Replayed(_) => (Mark::Replayed, "replayed".to_owned(), None),
        Answer::Refused(refusal) => {
            let text = match (refusal.presented, refusal.current) {
                (Some(presented), Some(current)) => format!("refused: {presented} < {current}"),
                _ => "refused".to_owned(),
            };
            (Mark::Refused, text, None)
        }
    };
    Outcome { mark, text, leaves, is_lost }
}

/// Lays the moments out: those that are close in time still get room for their captions, and long
/// waits are shortened.
fn spread(moments: &mut [Moment<'_>]) {
    let mut at = None;
    let mut width = 0.0;
    for moment in &mut *moments {
        if let Some(before) = at {
            let gap = moment.at.saturating_sub(before).as_secs_f64() * 1_000.0;
            width += 60.0 + 30.0 * (1.0 + gap).log10();
        }
        at = Some(moment.at);
        moment.x = width;
    }
    let (begin, end) = (LEFT + 30.0, RIGHT - 36.0);
    let scale = if width > 0.0 { (end - begin) / width } else { 0.0 };
    for moment in moments {
        moment.x = begin + moment.x * scale;
    }
}
