//! What a command prints: for people as aligned columns, for programs as JSON.
//!
//! Invariants: nothing is printed but through here and `apply`; a control character of a key, a
//! value or a holder never reaches the terminal, except where `get` was asked for the raw value;
//! an error is one line.

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use palisade::engine::{StoreInfo, Verification};
use palisade::{
    Entry, Fence, FenceChange, Head, Key, KeyOutcome, KeyState, OperationResult, Receipt, Snapshot,
    Timestamp, Value as StoredValue,
};
use serde_json::{Value, json};

use crate::args::{Format, Global};
use crate::failure::{self, Failure};
use crate::request::Answer;
use crate::wire;

/// How results and errors are printed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    format: Format,
    quiet: bool,
}

impl Output {
    pub(crate) fn of(global: &Global) -> Self {
        Self { format: global.output, quiet: global.quiet }
    }

    /// The answer to a verb. When quiet, a confirmation is left out; what was asked for is not.
    pub(crate) fn answer(self, answer: &Answer) -> Result<(), Failure> {
        if self.quiet {
            match answer {
                Answer::Written(receipt) if self.format == Format::Table => {
                    return print(counters(receipt).map(|sum| sum + "\n").collect::<String>());
                }
                Answer::Written(receipt) if counters(receipt).next().is_some() => {}
                Answer::Written(_) | Answer::Fenced(_) => return Ok(()),
                Answer::Read { .. } | Answer::Head(_) | Answer::KeyState(_) => {}
            }
        }
        self.show(|| wire::answer(answer), || table(answer))
    }

    /// The value of a key that is present, as it is.
    pub(crate) fn value(self, entry: &Entry) -> Result<(), Failure> {
        if self.format != Format::Table {
            return self.show(|| wire::entry(entry), String::new);
        }
        match &entry.value {
            StoredValue::Counter(counter) => print(format!("{counter}\n")),
            StoredValue::Bytes(bytes) => print([bytes, b"\n".as_slice()].concat()),
            _ => Ok(()),
        }
    }

    pub(crate) fn made(self, path: &Path, store: &StoreInfo) -> Result<(), Failure> {
        if self.quiet {
            return Ok(());
        }
        let json = || json!({ "data_dir": path.to_string_lossy(), "store_id": store.store_id });
        self.show(json, || format!("made an empty store in {:?}\n", path.to_string_lossy()))
    }

    pub(crate) fn info(self, store: &StoreInfo) -> Result<(), Failure> {
        let json = || {
            json!({
                "store_id": store.store_id,
                "format": store.format,
                "incarnation": store.incarnation.to_string(),
                "open_count": store.open_count.to_string(),
                "created_at_ms": store.created_at.as_unix_millis().to_string(),
            })
        };
        self.show(json, || {
            pairs(&[
                ("store id", store.store_id.clone()),
                ("format", store.format.to_string()),
                ("incarnation", store.incarnation.to_string()),
                ("open count", store.open_count.to_string()),
                ("created at", rfc3339(store.created_at)),
            ])
        })
    }

    pub(crate) fn verification(self, found: &Verification) -> Result<(), Failure> {
        let sound = found.problems == 0;
        if self.quiet && sound {
            return Ok(());
        }
        let json = || {
            json!({
                "sound": sound,
                "resources": found.resources.to_string(),
                "values": found.values.to_string(),
                "idempotency_records": found.idempotency_records.to_string(),
                "problems": found.problems.to_string(),
                "first_problems": found.first_problems,
            })
        };
        self.show(json, || {
            let mut text = pairs(&[
                ("resources", found.resources.to_string()),
                ("values", found.values.to_string()),
                ("idempotency records", found.idempotency_records.to_string()),
                ("problems", found.problems.to_string()),
            ]);
            for problem in &found.first_problems {
                text.push_str("problem: ");
                text.push_str(&printable(problem.as_bytes()));
                text.push('\n');
            }
            text.push_str(if sound {
                "the store is sound\n"
            } else {
                "the store is damaged: stop using the resources above, and restore a backup\n"
            });
            text
        })
    }

    /// Tells how far long work has come: on a terminal only, and never in the output.
    pub(crate) fn progress(self, text: &str) {
        let mut terminal = io::stderr().lock();
        if !self.quiet && terminal.is_terminal() {
            // Nobody misses progress that cannot be shown.
            let _unseen = write!(terminal, "\r\x1b[K{text}").and_then(|()| terminal.flush());
        }
    }

    /// One line, or one JSON object, on standard error.
    pub(crate) fn failure(self, failure: &Failure) {
        if failure.is_closed_pipe() {
            return;
        }
        let line = match self.format {
            Format::Table => format!("palisade: {}", one_line(&failure.to_string())),
            Format::Json | Format::Jsonl => failure.to_json().to_string(),
        };
        complain(&line);
    }

    fn show(
        self,
        json: impl FnOnce() -> Value,
        table: impl FnOnce() -> String,
    ) -> Result<(), Failure> {
        print(match self.format {
            Format::Table => table(),
            Format::Json => format!("{:#}\n", json()),
            Format::Jsonl => format!("{}\n", json()),
        })
    }
}

/// A command line that was not understood. It could not be parsed, so what it asks for is guessed.
pub(crate) fn usage(error: &clap::Error) {
    let arguments: Vec<_> = std::env::args_os().collect();
    let is_json = |word: &std::ffi::OsStr| word == "json" || word == "jsonl";
    let given = arguments.iter().any(|word| word == "--output=json" || word == "--output=jsonl")
        || arguments.windows(2).any(|two| match two {
            [flag, format] => flag == "--output" && is_json(format),
            _ => false,
        })
        || std::env::var_os("PALISADE_OUTPUT").is_some_and(|format| is_json(&format));
    if !given {
        // There is nowhere else to complain to.
        let _unheard = error.print().is_err();
        return;
    }
    let text = error.render().to_string();
    let first = text.split("\n\n").next().unwrap_or_default();
    let message = one_line(first.strip_prefix("error: ").unwrap_or(first));
    complain(&failure::object("INVALID", &message, Vec::new()).to_string());
}

fn print(bytes: impl AsRef<[u8]>) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(bytes.as_ref()).and_then(|()| out.flush()).map_err(Failure::Output)
}

fn complain(line: &str) {
    // There is nowhere else to complain to.
    let _unheard = writeln!(io::stderr().lock(), "{line}").is_err();
}

fn table(answer: &Answer) -> String {
    match answer {
        Answer::Written(receipt) => {
            let mut rows = vec![
                ("outcome", wire::outcome(receipt.outcome()).to_owned()),
                ("version", receipt.version().to_string()),
                ("token", receipt.token().to_string()),
                ("fence", fence_text(receipt.fence())),
            ];
            rows.extend(counters(receipt).map(|counter| ("counter", counter)));
            pairs(&rows)
        }
        Answer::Fenced(FenceChange { previous, fence, version, .. }) => pairs(&[
            ("fence", fence_text(Some(fence))),
            ("previous", fence_text(previous.as_ref())),
            ("version", version.to_string()),
        ]),
        Answer::Read { keys, snapshot } => read_table(keys, snapshot),
        Answer::Head(Head { fence, version, .. }) => {
            let raised_at = fence.as_ref().map(|fence| rfc3339(fence.raised_at));
            pairs(&[
                ("fence", fence_text(fence.as_ref())),
                ("raised at", raised_at.unwrap_or_else(none)),
                ("version", version.to_string()),
            ])
        }
        Answer::KeyState(KeyState { outcome, fence, .. }) => {
            let mut rows = vec![("state", wire::key_outcome(outcome).replace('_', " "))];
            if let KeyOutcome::Applied(receipt) = outcome {
                rows.push(("version", receipt.version().to_string()));
                rows.push(("token", receipt.token().to_string()));
                rows.push(("applied at", rfc3339(receipt.applied_at())));
                rows.extend(counters(receipt).map(|counter| ("counter", counter)));
            }
            rows.push(("fence", fence_text(fence.as_ref())));
            pairs(&rows)
        }
    }
}

fn read_table(keys: &[Key], snapshot: &Snapshot) -> String {
    let mut text = pairs(&[
        ("fence", fence_text(snapshot.fence.as_ref())),
        ("version", snapshot.version.to_string()),
    ]);
    if snapshot.entries.is_empty() {
        return text;
    }
    let mut rows = vec![["KEY", "VERSION", "VALUE"].map(str::to_owned).to_vec()];
    for (key, entry) in keys.iter().zip(&snapshot.entries) {
        let version = entry.as_ref().map(|entry| entry.version.to_string());
        let value = match entry.as_ref().map(|entry| &entry.value) {
            Some(StoredValue::Counter(counter)) => format!("{counter} (counter)"),
            Some(StoredValue::Bytes(bytes)) => printable(bytes),
            Some(_) => none(),
            None => "(absent)".to_owned(),
        };
        rows.push(vec![printable(key.as_bytes()), version.unwrap_or_else(none), value]);
    }
    text.push('\n');
    text.push_str(&columns(&rows));
    text
}

fn fence_text(fence: Option<&Fence>) -> String {
    let Some(fence) = fence else {
        return none();
    };
    let holder = fence.holder.as_ref().map(|holder| format!(", held by \"{holder}\""));
    let closed = if fence.closed { ", closed" } else { "" };
    format!("{}{}{closed}", fence.token, holder.unwrap_or_default())
}

fn counters(receipt: &Receipt) -> impl Iterator<Item = String> {
    receipt.results().iter().filter_map(|result| match result {
        OperationResult::Counter(counter) => Some(counter.to_string()),
        OperationResult::Done | _ => None,
    })
}

fn none() -> String {
    "-".to_owned()
}

fn pairs(rows: &[(&str, String)]) -> String {
    let rows: Vec<Vec<String>> =
        rows.iter().map(|(name, value)| vec![(*name).to_owned(), value.clone()]).collect();
    columns(&rows)
}

fn columns(rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or_default();
    let cell = |row: &[String], column: usize| row.get(column).map_or(0, |c| c.chars().count());
    let widths: Vec<usize> = (0..count)
        .map(|column| rows.iter().map(|row| cell(row, column)).max().unwrap_or_default())
        .collect();
    let mut text = String::new();
    for row in rows {
        let padded = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        text.push_str(padded.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// Text as it is, but for control characters; other bytes escaped.
fn printable(bytes: &[u8]) -> String {
    let escaped = |c: char| {
        if c.is_control() { c.escape_default().to_string() } else { c.to_string() }
    };
    match std::str::from_utf8(bytes) {
        Ok(text) => text.chars().map(escaped).collect(),
        Err(_) => bytes.escape_ascii().to_string(),
    }
}

fn one_line(text: &str) -> String {
    text.split(char::is_control).map(str::trim).collect::<Vec<_>>().join(" ").trim().to_owned()
}

/// The calendar's date and time in UTC, after Howard Hinnant's `civil_from_days`: years are
/// counted from March, so that the leap day is a year's last.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "2^64 milliseconds are 2^38 days, and no step comes near a bound of 64 bits"
)]
fn rfc3339(time: Timestamp) -> String {
    let millis = time.as_unix_millis();
    let days = millis / 86_400_000 + 719_468; // since 0000-03-01
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute) = (millis / 3_600_000 % 24, millis / 60_000 % 60);
    let (second, milli) = (millis / 1_000 % 60, millis % 1_000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let cases = [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (951_868_799_999, "2000-02-29T23:59:59.999Z"),
            (951_868_800_000, "2000-03-01T00:00:00.000Z"),
            (1_735_689_599_001, "2024-12-31T23:59:59.001Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ];
        for (millis, expected) in cases {
            assert_eq!(rfc3339(Timestamp::from_unix_millis(millis)), expected);
        }
        assert!(rfc3339(Timestamp::from_unix_millis(u64::MAX)).starts_with("584556019-"));
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        assert_eq!(printable("grün\u{1b}[31m\n".as_bytes()), "grün\\u{1b}[31m\\n");
        assert_eq!(printable(b"\xff\x00"), "\\xff\\x00");
        assert_eq!(one_line("a\n  b\u{7}"), "a b");
    }
}
