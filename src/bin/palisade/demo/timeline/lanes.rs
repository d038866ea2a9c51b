//! The panels of acts 1 to 3: who held the lock, who ran, what was written and what came of it.

use super::super::log::{Act, Event};
use super::moments::{Moments, Outcome};
use super::svg::{Drawing, Mark, Point, at};
use super::{LEFT, MARGIN, RIGHT};

/// One act, with the lanes that tell it.
#[derive(Debug)]
pub(super) struct Panel {
    pub(super) act: Act,
    pub(super) heading: &'static str,
    pub(super) lanes: &'static [Lane],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    Holder(&'static str),
    Lock,
    /// Where an answer can get lost.
    Network,
    /// Where the writes arrive.
    File,
    Guard,
}

const LANE_HEIGHT: f64 = 34.0;
const BAR_HEIGHT: f64 = 20.0;

impl Panel {
    /// Draws it from `y` on; answers with where it ends.
    pub(super) fn draw(&self, drawing: &mut Drawing, log: &[Event], y: f64) -> f64 {
        let moments = Moments::of(log, self.act);
        drawing.begin("panel", self.heading);
        drawing.text("heading", at(MARGIN, y), self.heading);
        let top = y + 14.0;
        let mut middle = top - LANE_HEIGHT / 2.0;
        let mut lanes = Vec::new();
        for lane in self.lanes {
            middle += LANE_HEIGHT;
            lanes.push((*lane, middle));
            if *lane != Lane::Network {
                drawing.bar("track", at(LEFT, middle), at(RIGHT - LEFT, BAR_HEIGHT));
            }
        }
        captions(drawing, &moments, at(top, middle + 16.0));
        for (lane, y) in &lanes {
            drawing.begin("lane", &lane.name());
            drawing.text("label before", at(LEFT - 14.0, y + 4.0), &lane.name());
            match lane {
                Lane::Holder(name) => holder(drawing, &moments, name, *y),
                Lane::Lock => lock(drawing, &moments, *y),
                Lane::Network => lost_answers(drawing, &moments, *y),
                Lane::File | Lane::Guard => contents(drawing, &moments, *lane, *y),
            }
            drawing.end();
        }
        arrows(drawing, &moments, &lanes);
        drawing.end();
        middle + 62.0
    }
}

impl Lane {
    fn name(self) -> String {
        match self {
            Self::Holder(name) => format!("holder {name}"),
            Self::Lock => "lock".to_owned(),
            Self::Network => "network".to_owned(),
            Self::File => "file".to_owned(),
            Self::Guard => "guard".to_owned(),
        }
    }
}

/// A guide at each moment from `span.x` to `span.y`; below it the seconds since the first one, and
/// what happened.
fn captions(drawing: &mut Drawing, moments: &Moments<'_>, span: Point) {
    for moment in &moments.all {
        let x = moment.x;
        drawing.line("guide", at(x, span.x), at(x, span.y));
        let time = format!("{:.3} s", moments.since_first(moment.at).as_secs_f64());
        drawing.text("small muted middle", at(x, span.y + 13.0), &time);
        drawing.text("small middle", at(x, span.y + 28.0), &moment.caption);
        if let Some(outcome) = &moment.outcome {
            let class = match outcome.mark {
                Mark::Accepted | Mark::Replayed => "small middle good",
                Mark::Refused | Mark::Damage | Mark::Lost => "small middle bad",
            };
            drawing.text(class, at(x, span.y + 42.0), &outcome.text);
        }
    }
}

/// When the holder had the lock and ran, when it was stopped, and when it ran on without the lock.
fn holder(drawing: &mut Drawing, moments: &Moments<'_>, name: &str, y: f64) {
    let Some(grant) = moments.grants.iter().find(|grant| grant.holder == name) else {
        return;
    };
    let class = class_of(name);
    let token = format!("token {}", grant.generation);
    let last = moments.last_of(name);
    let granted = moments.x(grant.from);
    let Some((paused, resumed)) = moments.pause_of(name) else {
        bar(drawing, [class, "onbar small"], y, [granted, moments.x(last)], &token);
        return;
    };
    let (sleeps, wakes) = (moments.x(paused), moments.x(resumed));
    bar(drawing, [class, "onbar small"], y, [granted, sleeps], &token);
    let time = resumed.saturating_sub(paused).as_secs_f64();
    let text = format!("paused (SIGSTOP) for {time:.2} s");
    bar(drawing, ["paused", "middle"], y, [sleeps, wakes], &text);
    let classes = if grant.lease_until < resumed {
        ["believes", "small middle"]
    } else {
        [class, "onbar small"]
    };
    bar(drawing, classes, y, [wakes, moments.x(last)], &token);
}

fn lock(drawing: &mut Drawing, moments: &Moments<'_>, y: f64) {
    for grant in &moments.grants {
        let until = grant.lease_until.min(moments.last_of(grant.holder));
        let until =
            if moments.pause_of(grant.holder).is_some() { grant.lease_until } else { until };
        let span = [moments.x(grant.from), moments.x(until)];
        let text = format!("generation {}: {}", grant.generation, grant.holder);
        bar(drawing, [class_of(grant.holder), "onbar small"], y, span, &text);
    }
}

/// What is there, from one write that changed it to the next.
fn contents(drawing: &mut Drawing, moments: &Moments<'_>, lane: Lane, y: f64) {
    let mut changes: Vec<(f64, &Outcome, &str)> = Vec::new();
    for (x, outcome) in moments.outcomes() {
        if let Some(leaves) = outcome.leaves.as_deref()
            && changes.last().is_none_or(|(_, _, before)| *before != leaves)
        {
            changes.push((x, outcome, leaves));
        }
    }
    for (x, outcome, leaves) in changes {
        let class = match (lane, outcome.mark) {
            (_, Mark::Damage) => "wrong",
            (Lane::Guard, _) => "fence",
            (Lane::File | Lane::Lock | Lane::Network | Lane::Holder(_), _) => "holder-b",
        };
        // Up to the right end: what comes later is drawn over it.
        drawing.bar(class, at(x, y), at(RIGHT - x, BAR_HEIGHT));
        let next = moments.outcomes().map(|(next, _)| next).find(|next| *next > x);
        let middle = f64::midpoint(x, next.unwrap_or(RIGHT));
        drawing.text("onbar small", at(middle, y + 4.0), leaves);
    }
}

/// An answer that is on its way back, and ends in the middle of nowhere.
fn lost_answers(drawing: &mut Drawing, moments: &Moments<'_>, y: f64) {
    for (x, outcome) in moments.outcomes().filter(|(_, outcome)| outcome.is_lost) {
        let (from, to) = (at(x + 7.0, y + LANE_HEIGHT - 6.0), at(x + 26.0, y + 5.0));
        drawing.line("lost", from, to);
        drawing.mark(Mark::Lost, at(x + 28.0, y), 0.6, &outcome.text);
        drawing.text("small", at(x + 40.0, y + 4.0), "the answer is lost here");
    }
}

/// An arrow from the holder's lane to the last one for each write, and the mark where it arrives.
fn arrows(drawing: &mut Drawing, moments: &Moments<'_>, lanes: &[(Lane, f64)]) {
    let Some((_, bottom)) = lanes.last() else {
        return;
    };
    for moment in &moments.all {
        let Some(outcome) = &moment.outcome else {
            continue;
        };
        let (x, is_from) =
            (moment.x, |lane: &Lane| *lane.name() == format!("holder {}", moment.holder));
        if let Some((_, from)) = lanes.iter().find(|(lane, _)| is_from(lane)) {
            let from = from + BAR_HEIGHT / 2.0;
            drawing.line("sends", at(x, from), at(x, bottom - 9.0));
        }
        let told = format!("{}: {}", moment.caption, outcome.text);
        drawing.mark(outcome.mark, at(x, *bottom), 1.0, &told);
    }
}

/// A bar with a text in its middle; one that is too short for a text has none.
fn bar(drawing: &mut Drawing, classes: [&str; 2], y: f64, span: [f64; 2], text: &str) {
    let [class, text_class] = classes;
    let [from, to] = span;
    drawing.bar(class, at(from, y), at(to - from, BAR_HEIGHT));
    if to - from > 44.0 {
        drawing.text(text_class, at(f64::midpoint(from, to), y + 4.0), text);
    }
}

fn class_of(holder: &str) -> &'static str {
    match holder {
        "A" => "holder-a",
        "B" => "holder-b",
        _ => "holder-c",
    }
}
