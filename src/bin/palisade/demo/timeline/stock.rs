//! The panel of act 4: the stock over time, the kill, and the change of generations.

use std::time::Duration;

use super::super::claims::{answers, grants};
use super::super::log::{Act, Delivery, Event, What, of_act};
use super::super::wire::{Answer, STALE_TOKEN};
use super::svg::{Drawing, Mark, Point, at};
use super::{LEFT, MARGIN, RIGHT};

const HEADING: &str = "4. A flash sale: the stock over time";
/// How much of the axis goes to the time before the stock is at its lowest.
const SELLING_WIDTH: f64 = 560.0;
const NOTES_HEIGHT: f64 = 15.0;
const NOTE_WIDTH_MAX: f64 = 210.0;
const CHART_HEIGHT: f64 = 130.0;
const STRIP_HEIGHT: f64 = 26.0;

/// Draws it from `y` on; answers with where it ends.
pub(super) fn draw(drawing: &mut Drawing, log: &[Event], y: f64) -> f64 {
    let Some(sale) = Sale::of(log) else {
        return y;
    };
    drawing.begin("panel", HEADING);
    drawing.text("heading", at(MARGIN, y), HEADING);
    let notes = sale.notes();
    let mut top = y + 16.0;
    for _ in &notes {
        top += NOTES_HEIGHT;
    }
    let bottom = top + CHART_HEIGHT;
    sale.chart(drawing, at(top, bottom));
    let mut note_y = y + 22.0;
    for note in &notes {
        sale.note(drawing, note, at(note_y, bottom));
        note_y += NOTES_HEIGHT;
    }
    let end = sale.strips(drawing, bottom + 20.0);
    for time in [sale.begin, sale.sold_out, sale.end] {
        let seconds = time.saturating_sub(sale.begin).as_secs_f64();
        let place = at(sale.x(time), end);
        drawing.text("small muted middle", place, &format!("{seconds:.2} s"));
    }
    drawing.end();
    end
}

struct Sale<'a> {
    log: &'a [Event],
    begin: Duration,
    /// When the stock was at its lowest for the first time.
    sold_out: Duration,
    end: Duration,
    /// The stock after each order that was applied.
    stock: Vec<(Duration, i64)>,
    first: i64,
}

/// A moment with a line of text of its own.
struct Note {
    at: Duration,
    class: &'static str,
    text: String,
}

impl<'a> Sale<'a> {
    fn of(log: &'a [Event]) -> Option<Self> {
        let act = Act::FlashSale;
        let begin = grants(log, act).next()?.from;
        let end = answers(log, act).last()?.at;
        let mut stock: Vec<(Duration, i64)> = Vec::new();
        let delivered = answers(log, act).filter(|answer| answer.delivery == Delivery::Delivered);
        for answered in delivered {
            // A replay tells the stock as it was, so only a lower number is news.
            if let Some(left) = answered.answer.receipt().and_then(|receipt| receipt.counter)
                && stock.last().is_none_or(|(_, before)| left < *before)
            {
                stock.push((answered.at, left));
            }
        }
        let first = stock.first().map_or(1, |(_, left)| left.saturating_add(1)).max(1);
        let sold_out = stock.last().map_or(end, |(time, _)| *time);
        (begin < end).then_some(Self { log, begin, sold_out, end, stock, first })
    }

    /// Most of the width is for the time in which there is something to sell.
    fn x(&self, time: Duration) -> f64 {
        let between = |from: Duration, to: Duration| {
            let part = time.saturating_sub(from).as_secs_f64();
            let whole = to.saturating_sub(from).as_secs_f64();
            if whole > 0.0 { (part / whole).min(1.0) } else { 0.0 }
        };
        let (selling, after) = (SELLING_WIDTH, RIGHT - LEFT - SELLING_WIDTH);
        let x = LEFT + selling * between(self.begin, self.sold_out);
        x + after * between(self.sold_out, self.end)
    }

    fn events(&self) -> impl Iterator<Item = &'a Event> {
        of_act(self.log, Act::FlashSale)
    }

    /// The kill, the reopening, the new generation, the late worker, and the last unit.
    fn notes(&self) -> Vec<Note> {
        let mut notes = Vec::new();
        let mut generations = 0_u32;
        for event in self.events() {
            let (class, text) = match &event.what {
                What::StoreKilled { unanswered } => {
                    ("kill", format!("kill -9 of the store, {unanswered} orders unanswered"))
                }
                What::StoreOpened => ("event", "the store is open again".to_owned()),
                What::Granted { generation, .. } => {
                    generations = generations.saturating_add(1);
                    let begins = if generations == 1 { "sells" } else { "takes over" };
                    ("event", format!("generation {generation} {begins}"))
                }
                What::Resumed { .. } => ("event", "the paused worker wakes".to_owned()),
                What::Released { .. }
                | What::Paused { .. }
                | What::LostLock { .. }
                | What::WroteFile { .. }
                | What::FileHolds { .. }
                | What::Sent { .. }
                | What::Answered { .. }
                | What::Read { .. }
                | What::KeyStates { .. }
                | What::Verified { .. } => continue,
            };
            notes.push(Note { at: event.at, class, text });
        }
        if let Some((at, 0)) = self.stock.last() {
            notes.push(Note { at: *at, class: "event", text: "sold out".to_owned() });
        }
        // Each line begins below the texts of those before it, and so crosses none of them.
        notes.sort_by_key(|note| note.at);
        notes
    }

    /// The step line from `span.x` down to `span.y`, and its scale.
    fn chart(&self, drawing: &mut Drawing, span: Point) {
        let height = span.y - span.x;
        let y = |left: i64| span.y - height * fraction(left, self.first);
        for left in [self.first, self.first / 2, 0] {
            drawing.line("rule", at(LEFT, y(left)), at(RIGHT, y(left)));
            drawing.text("small muted before", at(LEFT - 14.0, y(left) + 4.0), &left.to_string());
        }
        drawing.text("label before", at(LEFT - 44.0, y(self.first / 2) + 4.0), "stock");
        let mut points = vec![at(LEFT, y(self.first))];
        let mut before = self.first;
        for &(time, left) in &self.stock {
            points.extend([at(self.x(time), y(before)), at(self.x(time), y(left))]);
            before = left;
        }
        points.push(at(RIGHT, y(before)));
        let down = self.events().find(|event| matches!(event.what, What::StoreKilled { .. }));
        let up = self.events().find(|event| matches!(event.what, What::StoreOpened));
        if let (Some(down), Some(up)) = (down, up) {
            let (from, to) = (self.x(down.at), self.x(up.at));
            drawing.bar("down", at(from, f64::midpoint(span.x, span.y)), at(to - from, height));
        }
        drawing.path("stock", &points);
    }

    /// A text in a row of its own, and a line down from it to `place.y`.
    fn note(&self, drawing: &mut Drawing, note: &Note, place: Point) {
        let (x, y) = (self.x(note.at), place.x);
        drawing.line(note.class, at(x, y - 9.0), at(x, place.y));
        let class = if note.class == "kill" { "small bad" } else { "small" };
        if x < RIGHT - NOTE_WIDTH_MAX {
            drawing.text(class, at(x + 5.0, y), &note.text);
        } else {
            drawing.text(&format!("{class} before"), at(x - 5.0, y), &note.text);
        }
    }

    /// Below the chart: where retries were replayed and late orders refused.
    fn strips(&self, drawing: &mut Drawing, top: f64) -> f64 {
        let mark_of = |answer: &Answer| match answer {
            Answer::Replayed(_) => Some(Mark::Replayed),
            Answer::Refused(refusal) if refusal.reason == STALE_TOKEN => Some(Mark::Refused),
            Answer::Applied(_) | Answer::Refused(_) => None,
        };
        let mut y = top;
        for (name, mark) in [("replayed", Mark::Replayed), ("refused", Mark::Refused)] {
            drawing.bar("track", at(LEFT, y), at(RIGHT - LEFT, 16.0));
            let answers = answers(self.log, Act::FlashSale);
            let times =
                answers.filter(|answered| mark_of(answered.answer) == Some(mark)).map(|it| it.at);
            let mut after = f64::MIN;
            let mut count = 0_u32;
            for time in times {
                count = count.saturating_add(1);
                let x = self.x(time);
                // As many as can be told apart.
                if x >= after {
                    drawing.mark(mark, at(x, y), 0.6, name);
                    after = x + 12.0;
                }
            }
            let label = format!("{count} {name}");
            drawing.text("label before", at(LEFT - 14.0, y + 4.0), &label);
            y += STRIP_HEIGHT;
        }
        y
    }
}

/// `part` of `whole`; both are small.
fn fraction(part: i64, whole: i64) -> f64 {
    let small = |number: i64| f64::from(i32::try_from(number).unwrap_or(i32::MAX));
    small(part) / small(whole)
}
