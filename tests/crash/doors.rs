//! Getting in: one process at a time, and a making that was interrupted.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::child::Child;
use crate::random::Random;

const CLAIM: &str = "{\"op\":\"claim\",\"resource\":\"r\",\"token\":\"7\"}\n";
const FENCE: &str = "{\"op\":\"fence\",\"resource\":\"r\"}\n";

fn init(directory: &Path) {
    let ended = Child::start(&["init"], directory).end();
    assert!(ended.status.success(), "{ended:?}");
}

/// A process that has opened the store.
fn hold(directory: &Path) -> Child {
    let mut child = Child::start(&["apply"], directory);
    child.send(CLAIM);
    let answer = child.receive();
    assert!(answer.contains("\"outcome\":\"applied\""), "{answer}");
    child
}

/// Sees a second process kept out, with one line that names the directory.
fn see_kept_out(directory: &Path) {
    for command in ["apply", "verify", "info", "init"] {
        let ended = Child::start(&[command], directory).end();
        assert_eq!(ended.status.code(), Some(3), "{command}: {ended:?}");
        assert_eq!(ended.output, [""; 0], "{command}");
        assert_eq!(ended.errors.lines().count(), 1, "{command}: {ended:?}");
        let named = format!("{:?} is held by another process", directory.to_str().unwrap());
        assert!(ended.errors.contains(&named), "{command}: {ended:?}");
    }
}

#[test]
fn one_process_at_a_time_holds_a_directory() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("store");
    init(&directory);
    let mut first = hold(&directory);
    see_kept_out(&directory);
    // RocksDB's own lock file protects nobody once it is deleted.
    fs::remove_file(directory.join("LOCK")).unwrap();
    see_kept_out(&directory);
    first.send(FENCE);
    assert!(first.receive().contains("\"fence\":\"7\""), "the first one goes on undisturbed");
    let ended = first.end();
    assert!(ended.status.success(), "{ended:?}");
    hold(&directory).end();
}

#[test]
fn a_process_that_was_killed_lets_the_next_one_in_at_once() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("store");
    init(&directory);
    for _ in 0..10 {
        let first = hold(&directory);
        see_kept_out_once(&directory);
        first.kill();
        let mut next = Child::start(&["apply"], &directory);
        next.send(FENCE);
        assert!(next.receive().contains("\"fence\":\"7\""));
        next.kill();
    }
}

fn see_kept_out_once(directory: &Path) {
    let ended = Child::start(&["apply"], directory).end();
    assert_eq!(ended.status.code(), Some(3), "{ended:?}");
}

#[test]
fn a_store_whose_making_was_killed_opens_or_can_be_made_again() {
    let mut random = Random::new();
    let parent = tempfile::tempdir().unwrap();
    let makings = (0..3).map(|number| {
        let started = Instant::now();
        init(&parent.path().join(format!("whole-{number}")));
        started.elapsed()
    });
    let making = makings.min().unwrap();
    let (mut unfinished, mut opened) = (0, 0);
    for round in 0..300 {
        if round >= 50 && unfinished >= UNFINISHED_MIN && opened >= OPENED_MIN {
            break;
        }
        let directory = parent.path().join(format!("store-{round}"));
        if random.percent(30) {
            fs::create_dir(&directory).unwrap();
        }
        // The next making is killed as well, now and then.
        let kills = 1 + random.below(3);
        for _ in 0..kills {
            kill_while_making(&directory, making, &mut random);
        }
        if directory.join("UNFINISHED").exists() {
            unfinished += 1;
        }
        opened += u64::from(see_open_or_made_again(&directory));
    }
    eprintln!("{unfinished} were unfinished and {opened} open, {making:?} to make one");
    assert!(unfinished >= UNFINISHED_MIN, "too few were killed in their making: {unfinished}");
    assert!(opened >= OPENED_MIN, "too few were killed after their making: {opened}");
}

const UNFINISHED_MIN: u64 = 15;
const OPENED_MIN: u64 = 5;

fn kill_while_making(directory: &Path, making: Duration, random: &mut Random) {
    let child = Child::start(&["init"], directory);
    // On a busy machine it takes longer than it was measured to.
    let most = if random.percent(75) { making * 5 / 4 } else { making * 4 };
    random.wait_up_to(most);
    child.kill();
}

/// Whether the store could be opened; if not, it has to be possible to make it now.
fn see_open_or_made_again(directory: &Path) -> bool {
    let mut child = Child::start(&["apply"], directory);
    child.send(CLAIM);
    let ended = child.end();
    let is_open = ended.status.success();
    if is_open {
        let again = Child::start(&["init"], directory).end();
        assert_eq!(again.status.code(), Some(1), "a store was made over another: {again:?}");
        assert!(again.errors.contains("is not empty"), "{again:?}");
    } else {
        assert_eq!(ended.output, [""; 0], "{ended:?}");
        assert_eq!(ended.errors.lines().count(), 1, "{ended:?}");
        assert!(ended.errors.contains("`palisade init`"), "no way out is named: {ended:?}");
        init(directory);
    }
    let mut child = hold(directory);
    child.send(FENCE);
    assert!(child.receive().contains("\"fence\":\"7\""));
    child.end();
    is_open
}
