//! Random histories against a naive model of the rule, on both engines.
//!
//! Each rule has a test of its own; what breaks is their meeting: a retry after the fence moved, in
//! one commit with the claim that moved it, on a resource that was retired and whose last commit
//! was in doubt when the power went. Nobody writes that test by hand. So [`plan`] draws histories in
//! which such meetings are common, [`reference`] works out every answer from `semantics.md` with
//! plain maps and no cleverness, and [`system`] sees the engines give exactly these answers, number
//! for number. The only transitions whose answer may be "unknown" are those in which the disk
//! fails; after them the store has to be just what the disk kept, and retries tell the truth.

mod answer;
mod plan;
mod reference;
mod system;

use std::collections::BTreeMap;

use proptest::test_runner::{Config, FileFailurePersistence, TestError, TestRunner};
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest};

use reference::Model;
use system::{Disk, Memory, Rocks, System};

#[test]
fn the_memory_engine_answers_as_the_model_in_any_history() {
    run::<Memory>(2_500);
}

#[test]
fn the_embedded_store_answers_as_the_model_in_any_history() {
    run::<Rocks>(250);
}

/// Runs `cases` histories, or as many as `PROPTEST_CASES` says.
fn run<D: Disk>(cases: u32) {
    let mut config = Config::default();
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = cases;
    }
    config.source_file = Some(file!());
    config.failure_persistence = Some(Box::new(FileFailurePersistence::WithSource("regressions")));
    config.max_shrink_iters = 1_000;
    let is_whole = config.cases >= cases;
    let (mut runner, met) = (TestRunner::new(config.clone()), parking_lot::Mutex::default());
    let histories = Model::<D>::sequential_strategy(1..60);
    let outcome = runner.run(&histories, |(model, steps, seen)| {
        System::<D>::test_sequential(config.clone(), model.clone(), steps.clone(), seen);
        count(model, &steps, &mut met.lock());
        Ok(())
    });
    if let Err(TestError::Fail(reason, (model, steps, _))) = &outcome {
        panic!("{reason}\nbegins as {model:?}\n{steps:#?}");
    }
    outcome.expect("no history is rejected");
    // A run that never meets what it is about proves nothing.
    let met = met.into_inner();
    let missed: Vec<_> = D::MEETS.iter().filter(|what| !met.contains_key(*what)).collect();
    assert!(!is_whole || missed.is_empty(), "never met: {missed:?} in {met:?}");
}

/// Counts which kinds of answers the history of `steps` met.
fn count<D: Disk>(
    mut model: Model<D>,
    steps: &[plan::Step],
    met: &mut BTreeMap<&'static str, usize>,
) {
    for step in steps {
        model = Model::<D>::apply(model, step);
        for (_, answer) in &model.last.exchanges {
            *met.entry(answer.kind()).or_default() += 1;
        }
    }
}
