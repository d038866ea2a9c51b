//! The table that is printed in the end, from what was measured and nothing else.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use crate::load::{Figures, Mode, Run};
use crate::systems::System;

#[derive(Default)]
pub struct Table {
    cases: BTreeMap<(Mode, usize), BTreeMap<System, Vec<Figures>>>,
}

impl Table {
    pub fn add(&mut self, system: System, run: Run, figures: Figures) {
        let case = self.cases.entry((run.mode, run.writers)).or_default();
        case.entry(system).or_default().push(figures);
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<6}{:>8}  {:<12}{:>12}{:>12}{:>12}   to by hand",
            "mode", "writers", "system", "writes/s", "median us", "p99 us"
        )?;
        for ((mode, writers), systems) in &self.cases {
            for (system, rounds) in systems {
                let rate = median(rounds.iter().map(|round| round.per_second));
                let micros = |of: fn(&Figures) -> Duration| {
                    median(rounds.iter().map(|round| of(round).as_secs_f64() * 1e6))
                };
                let (middle, tail) = (micros(|round| round.median), micros(|round| round.p99));
                write!(f, "{:<6}{writers:>8}  ", mode.to_string())?;
                write!(f, "{:<12}{rate:>12.0}{middle:>12.1}{tail:>12.1}", format!("{system:?}"))?;
                match systems.get(&System::ByHand) {
                    Some(by_hand) => writeln!(f, "{:>12.2}x", ratio(rounds, by_hand))?,
                    None => writeln!(f)?,
                }
            }
        }
        Ok(())
    }
}

/// The median over the rounds of the ratio within a round: the machine drifts between rounds.
fn ratio(rounds: &[Figures], by_hand: &[Figures]) -> f64 {
    let pairs = rounds.iter().zip(by_hand);
    median(pairs.map(|(system, by_hand)| system.per_second / by_hand.per_second))
}

fn median(figures: impl Iterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}
