//! The embedded store against a plain group commit by hand on the same RocksDB.
//!
//! Every case does the same work: one 100-byte value, the fence and the idempotency record, in one
//! atomic batch, durable before the answer. The reference writes blindly; Palisade checks token
//! and idempotency key first. All figures come from one run on one machine, the systems taking
//! turns, and what counts are the ratios: the median over the rounds of the ratio within a round.
//!
//!   cargo bench --bench embedded                        everything, about two minutes
//!   cargo bench --bench embedded -- --secs 3 --rounds 5
//!   cargo bench --bench embedded -- --writers 64,256 --mode hot --systems byhand,palisade
#![expect(
    clippy::unwrap_used,
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::cast_precision_loss,
    clippy::disallowed_types,
    clippy::print_stdout,
    clippy::print_stderr,
    unreachable_pub,
    reason = "a bench measures time, prints, and stops where it goes wrong"
)]

mod load;
mod reference;
mod report;
mod systems;

use std::time::Duration;

use load::{Mode, Run};
use report::Table;
use systems::System;

/// What is measured, from the command line.
struct Plan {
    secs: f64,
    rounds: usize,
    writers: Vec<usize>,
    modes: Vec<Mode>,
    /// All that fit the number of writers, unless some are named.
    systems: Option<Vec<System>>,
}

fn main() {
    let plan = Plan::from_arguments();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let mut table = Table::default();
    for round in 1..=plan.rounds {
        for &mode in &plan.modes {
            for &writers in &plan.writers {
                eprintln!("round {round} of {}: {mode}, {writers} writers", plan.rounds);
                for system in plan.systems(writers) {
                    let run = Run { mode, writers, length: Duration::from_secs_f64(plan.secs) };
                    let path = directory.path().join(format!("{system:?}-{mode}-{writers}"));
                    let figures = runtime.block_on(system.measure(&path, run));
                    std::fs::remove_dir_all(&path).unwrap();
                    table.add(system, run, figures);
                }
            }
        }
    }
    print!("{table}");
}

impl Plan {
    fn systems(&self, writers: usize) -> Vec<System> {
        let mut systems = System::for_writers(writers);
        systems.retain(|system| self.systems.as_ref().is_none_or(|named| named.contains(system)));
        systems
    }

    fn from_arguments() -> Self {
        let mut plan = Self {
            secs: 1.5,
            rounds: 3,
            writers: vec![1, 16, 64, 256],
            modes: vec![Mode::Many, Mode::Hot],
            systems: None,
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().expect("a value after the flag");
            match argument.as_str() {
                "--secs" => plan.secs = value().parse().unwrap(),
                "--rounds" => plan.rounds = value().parse().unwrap(),
                "--writers" => {
                    plan.writers = value().split(',').map(|n| n.parse().unwrap()).collect();
                }
                "--mode" => plan.modes = vec![Mode::named(&value())],
                "--systems" => {
                    plan.systems = Some(value().split(',').map(System::named).collect());
                }
                // Cargo passes it to every bench.
                "--bench" => {}
                other => {
                    eprintln!("unknown argument {other:?}; see the head of this bench");
                    std::process::exit(2);
                }
            }
        }
        plan
    }
}
