//! A drawing, written as SVG text: shapes, marks, escaped text, one style sheet.

use std::fmt::Write;

#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: f64,
}

pub(super) fn at(x: f64, y: f64) -> Point {
    Point { x, y }
}

/// What happened to a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Accepted,
    Replayed,
    Refused,
    /// Accepted, where it should not have been.
    Damage,
    /// Its answer went nowhere.
    Lost,
}

impl Mark {
    fn class(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Replayed => "replayed",
            Self::Refused => "refused",
            Self::Damage => "damage",
            Self::Lost => "astray",
        }
    }

    /// Inside a circle of radius 9 around the origin.
    fn path(self) -> &'static str {
        match self {
            Self::Accepted | Self::Replayed => "M-4.2 .4 -1.2 3.4 4.4-3",
            Self::Refused | Self::Lost => "M-3.4-3.4 3.4 3.4M3.4-3.4-3.4 3.4",
            Self::Damage => "M0-4.8V1.2M0 4.4V4.5",
        }
    }
}

/// The shapes so far.
#[derive(Debug, Default)]
pub(super) struct Drawing {
    body: String,
}

impl Drawing {
    /// A bar whose left end is in the middle of its height.
    pub(super) fn bar(&mut self, class: &str, from: Point, size: Point) {
        let (y, width) = (from.y - size.y / 2.0, size.x.max(1.0));
        let rect = format_args!(
            r#"<rect class="{class}" x="{:.1}" y="{y:.1}" width="{width:.1}" height="{:.1}" rx="3"/>"#,
            from.x, size.y
        );
        self.add(rect);
    }

    pub(super) fn line(&mut self, class: &str, from: Point, to: Point) {
        let line = format_args!(
            r#"<line class="{class}" x1="{:.1}" y1="{:.1}" x2="{:.1}" y2="{:.1}"/>"#,
            from.x, from.y, to.x, to.y
        );
        self.add(line);
    }

    /// A line through all `points`.
    pub(super) fn path(&mut self, class: &str, points: &[Point]) {
        let mut path = String::new();
        for (number, point) in points.iter().enumerate() {
            let step = if number == 0 { 'M' } else { 'L' };
            let _infallible = write!(path, "{step}{:.1} {:.1}", point.x, point.y);
        }
        self.add(format_args!(r#"<path class="{class}" d="{path}"/>"#));
    }

    pub(super) fn text(&mut self, class: &str, place: Point, text: &str) {
        let text = escaped(text);
        let text = format_args!(
            r#"<text class="{class}" x="{:.1}" y="{:.1}">{text}</text>"#,
            place.x, place.y
        );
        self.add(text);
    }

    /// A mark of radius 9 times `scale`, explained when one points at it.
    pub(super) fn mark(&mut self, mark: Mark, place: Point, scale: f64, explained: &str) {
        let (class, path, title) = (mark.class(), mark.path(), escaped(explained));
        let group = format_args!(
            r#"<g class="{class}" transform="translate({:.1} {:.1}) scale({scale})"><title>{title}</title><circle r="9"/><path d="{path}"/></g>"#,
            place.x, place.y
        );
        self.add(group);
    }

    /// Everything between here and the matching [`Drawing::end`] is about one thing.
    pub(super) fn begin(&mut self, class: &str, label: &str) {
        let label = escaped(label);
        self.add(format_args!(r#"<g class="{class}" role="group" aria-label="{label}">"#));
    }

    pub(super) fn end(&mut self) {
        self.add(format_args!("</g>"));
    }

    /// The finished picture of `size`.
    pub(super) fn finish(self, size: Point, title: &str, description: &str) -> String {
        let (width, height) = (size.x, size.y);
        let (title, description, body) = (escaped(title), escaped(description), self.body);
        format!(
            r##"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" aria-labelledby="title description">
<title id="title">{title}</title>
<desc id="description">{description}</desc>
<style>{STYLE}</style>
<defs>
<pattern id="hatch" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="7" height="7" fill="#f3f1ec"/><line x1="0" y1="0" x2="0" y2="7" stroke="#c9c4b8" stroke-width="3"/></pattern>
<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8Z" fill="#5d6b78"/></marker>
</defs>
<rect class="page" x=".5" y=".5" width="{:.1}" height="{:.1}" rx="10"/>
{body}</svg>
"##,
            width - 1.0,
            height - 1.0,
        )
    }

    fn add(&mut self, element: std::fmt::Arguments<'_>) {
        let _infallible = writeln!(self.body, "{element}");
    }
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            // XML 1.0 has no place for them, escaped or not.
            c if c.is_control() => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

const STYLE: &str = "
text{font-family:ui-sans-serif,system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;font-size:12px;fill:#1b2733}
.page{fill:#fffdf8;stroke:#d8d4ca}
.title{font-size:20px;font-weight:700}
.heading{font-size:15px;font-weight:700}
.label{font-weight:600}
.muted{fill:#5d6b78}
.small{font-size:11px}
.middle{text-anchor:middle}
.before{text-anchor:end}
.strong{font-weight:700}
.onbar{text-anchor:middle;font-weight:600;fill:#fff}
.bad{fill:#b3261e;font-weight:700}
.good{fill:#23682a;font-weight:700}
.track{fill:#f1eee7}
.rule{stroke:#d8d4ca;stroke-width:1}
.guide{stroke:#d8d4ca;stroke-width:1;stroke-dasharray:2 3}
.holder-a{fill:#3567ad}
.holder-b{fill:#75479c}
.holder-c{fill:#1b6f80}
.believes{fill:#fffdf8;stroke:#3567ad;stroke-width:1.5;stroke-dasharray:4 3}
.paused{fill:url(#hatch);stroke:#a39d90}
.fence{fill:#23682a}
.wrong{fill:#b35300}
.sends{stroke:#5d6b78;stroke-width:1.5;marker-end:url(#tip)}
.lost{stroke:#5d6b78;stroke-width:1.5;stroke-dasharray:4 3;fill:none}
.accepted circle{fill:#2e7d32;stroke:#fffdf8;stroke-width:1.5}
.replayed circle{fill:#fffdf8;stroke:#2e7d32;stroke-width:2}
.refused circle{fill:#c62828;stroke:#fffdf8;stroke-width:1.5}
.damage circle{fill:#b35300;stroke:#fffdf8;stroke-width:1.5}
.astray circle{fill:#5d6b78}
.accepted path,.refused path,.damage path,.astray path{fill:none;stroke:#fff;stroke-width:2.2;stroke-linecap:round;stroke-linejoin:round}
.replayed path{fill:none;stroke:#2e7d32;stroke-width:2.2;stroke-linecap:round;stroke-linejoin:round}
.stock{fill:none;stroke:#3567ad;stroke-width:2.5;stroke-linejoin:round}
.down{fill:#f6dcd9}
.kill{stroke:#c62828;stroke-width:1.5}
.event{stroke:#5d6b78;stroke-width:1}
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_break_out_of_the_picture() {
        let mut drawing = Drawing::default();
        drawing.text("small", at(1.0, 2.0), "</text><script>\"&'\u{7}");
        let svg = drawing.finish(at(10.0, 10.0), "<t>", "a & b");
        assert!(!svg.contains("<script>"));
        assert!(svg.contains("&lt;/text&gt;&lt;script&gt;&quot;&amp;&#39;\u{fffd}"));
        assert!(svg.contains(">&lt;t&gt;</title>"));
        assert!(svg.contains("a &amp; b</desc>"));
    }
}
