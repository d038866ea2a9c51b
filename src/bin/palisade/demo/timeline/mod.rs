//! The timeline: a picture of the run, drawn from the demo's own log.
//!
//! Nothing in it is arranged: a bar or a mark is there because an event is, at its time. A log that
//! lacks events gives a picture that lacks marks.

mod lanes;
mod moments;
mod stock;
mod svg;

use super::log::{Act, Event};
use lanes::{Lane, Panel};
use svg::{Drawing, Mark, at};

/// The whole picture, as SVG text.
pub(super) fn draw(log: &[Event]) -> String {
    let mut drawing = Drawing::default();
    drawing.text("title", at(MARGIN, 38.0), TITLE);
    let subtitle = "Drawn by palisade demo from the log of its own run: real processes, real times. \
                    Long waits are drawn shorter than they were.";
    drawing.text("muted", at(MARGIN, 59.0), subtitle);
    legend(&mut drawing, 86.0);
    let mut y = 122.0;
    for panel in &PANELS {
        y = panel.draw(&mut drawing, log, y) + 26.0;
    }
    let y = stock::draw(&mut drawing, log, y) + 20.0;
    drawing.finish(at(WIDTH, y), TITLE, DESCRIPTION)
}

const TITLE: &str = "A paused lock holder, a lost answer and a kill -9";
const DESCRIPTION: &str = "Four panels over time. First, without the guard: holder A is paused, its lease runs out, holder \
     B takes the lock and writes, A wakes and its late write overwrites B's. Second, with the guard: \
     A's late write carries an older fencing token and is refused. Third, a write whose answer was \
     lost is sent again with its idempotency key and replayed. Fourth, the stock of a flash sale \
     goes from 100 to 0, across a kill -9 of the store and a change of generations.";

const PANELS: [Panel; 3] = [
    Panel {
        act: Act::WithoutGuard,
        heading: "1. Without the guard",
        lanes: &[Lane::Holder("A"), Lane::Lock, Lane::Holder("B"), Lane::File],
    },
    Panel {
        act: Act::WithGuard,
        heading: "2. With the guard",
        lanes: &[Lane::Holder("A"), Lane::Lock, Lane::Holder("B"), Lane::Guard],
    },
    Panel {
        act: Act::LostAnswer,
        heading: "3. A lost answer",
        lanes: &[Lane::Holder("C"), Lane::Network, Lane::Guard],
    },
];

const WIDTH: f64 = 960.0;
const MARGIN: f64 = 28.0;
/// Where the time axis begins and ends.
const LEFT: f64 = 124.0;
const RIGHT: f64 = 920.0;

fn legend(drawing: &mut Drawing, y: f64) {
    drawing.begin("legend", "Legend");
    let mut x = MARGIN;
    let bars = [("holder-a", "runs under its grant", 138.0), ("paused", "paused", 64.0)];
    for (class, text, width) in bars {
        drawing.bar(class, at(x, y), at(24.0, 12.0));
        drawing.text("small", at(x + 31.0, y + 4.0), text);
        x += 31.0 + width;
    }
    drawing.bar("believes", at(x, y), at(24.0, 12.0));
    drawing.text("small", at(x + 31.0, y + 4.0), "runs, and its lease is over");
    x += 31.0 + 166.0;
    let marks = [
        (Mark::Accepted, "accepted", 66.0),
        (Mark::Replayed, "replayed", 64.0),
        (Mark::Refused, "refused", 60.0),
        (Mark::Damage, "accepted, and wrong", 0.0),
    ];
    for (mark, text, width) in marks {
        drawing.mark(mark, at(x + 8.0, y), 0.8, text);
        drawing.text("small", at(x + 20.0, y + 4.0), text);
        x += 20.0 + width;
    }
    drawing.end();
}

#[cfg(test)]
mod tests {
    use super::super::log::What;
    use super::super::planted;
    use super::*;

    fn count(svg: &str, what: &str) -> usize {
        svg.matches(what).count()
    }

    #[test]
    fn every_write_of_the_log_has_its_mark() {
        let svg = draw(&planted::good());
        for lane in ["holder A", "lock", "holder B", "guard", "file", "holder C", "network"] {
            assert!(svg.contains(&format!("aria-label=\"{lane}\"")), "{lane}");
        }
        // The legend has one of each kind.
        assert_eq!(count(&svg, r#"class="damage""#), 2);
        assert_eq!(count(&svg, r#"class="accepted""#), 5);
        assert!(count(&svg, r#"class="refused""#) >= 4);
        assert!(count(&svg, r#"class="replayed""#) >= 3);
        assert!(svg.contains("refused: 43 &lt; 44"));
        assert!(svg.contains("kill -9 of the store, 2 orders unanswered"));
    }

    #[test]
    fn a_refusal_that_did_not_happen_is_not_drawn() {
        let mut log = planted::good();
        for event in &mut log {
            if let What::Answered { answer, token: 43, .. } = &mut event.what {
                *answer = planted::applied(2, 43, None);
            }
        }
        let svg = draw(&log);
        assert!(!svg.contains("refused: 43"));
        assert!(svg.contains("fence 43"));
    }

    #[test]
    fn a_log_without_events_is_drawn_without_marks() {
        let svg = draw(&[]);
        assert_eq!(count(&svg, r#"class="refused""#), 1);
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
        assert!(!draw(&planted::good()).contains("NaN"));
    }
}
