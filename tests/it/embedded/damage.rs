//! A record that is damaged is never read as "nothing there" (R10).
//!
//! "No fence" would admit an old holder, "unknown key" would apply a write twice. So whatever the
//! damage, the resource answers `Corrupt`, changes nothing, and its neighbours go on.

use palisade::record::{Damage, key};
use palisade::{Condition, Error, Guard, IdempotencyKey, Key, ResourceName, WriteRequest};

use super::{Opening, Store, grant, raw, stores};
use crate::embedded::gate::Gate;

/// A store in which `r1` and `r10` have one record of each kind.
fn filled(store: &Store) {
    let guard = store.open();
    for resource in ["r1", "r10"] {
        let write = WriteRequest::under(&grant(resource, 7)).put("text", "old").add("count", 5);
        let write = write.idempotency_key("first").unwrap().build().unwrap();
        pollster::block_on(guard.write(write)).unwrap();
    }
}

fn head_key() -> Vec<u8> {
    let mut out = Vec::new();
    key::head(&ResourceName::try_from("r1").unwrap(), &mut out);
    out
}

fn value_key(within: &str) -> Vec<u8> {
    let (resource, mut out) = (ResourceName::try_from("r1").unwrap(), Vec::new());
    key::value(&resource, &Key::try_from(within).unwrap(), &mut out);
    out
}

fn record_key() -> Vec<u8> {
    let (resource, mut out) = (ResourceName::try_from("r1").unwrap(), Vec::new());
    key::idempotency(&resource, &IdempotencyKey::text("first").unwrap(), &mut out);
    out
}

/// What a disk or a bug can make of the record under `key`.
fn kinds_of_damage(store: &Store, key: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let records = store.records();
    let whole = records[key].clone();
    let changed = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = whole.clone();
        change(&mut bytes);
        bytes
    };
    let newer = {
        let framed = [&[2], &whole[1..whole.len() - 4]].concat();
        let checksum = crc32fast::hash(&[key, framed.as_slice()].concat());
        [framed.as_slice(), &checksum.to_be_bytes()].concat()
    };
    let strayed = records.iter().find(|(other, _)| other[0] == key[0] && *other != key);
    vec![
        ("a flipped bit", changed(&|bytes| bytes[9] ^= 1)),
        ("a cut end", changed(&|bytes| bytes.truncate(bytes.len() - 1))),
        ("no byte left", Vec::new()),
        ("zeros", changed(&|bytes| bytes.fill(0))),
        ("a record of another key", strayed.expect("r10 has the like").1.clone()),
        ("a newer format", newer),
    ]
}

fn see_corrupt<T: std::fmt::Debug>(answer: Result<T, Error>, expected: &str, why: &str) {
    let error = answer.expect_err(why);
    assert!(error.definitely_not_applied(), "{why}");
    assert_eq!(error.reason(), "CORRUPT", "{why}: {error}");
    assert!(error.to_string().contains("`palisade verify`"), "{why}: {error}");
    let Error::Corrupt { resource, record, .. } = error else {
        panic!("{why}: {error:?}");
    };
    assert_eq!((resource.as_str(), record), ("r1", expected), "{why}");
}

/// Damages one record in every way, and sees `check` hold each time; then puts it back and sees
/// that nothing was changed meanwhile.
fn for_every_damage(record: &dyn Fn() -> Vec<u8>, check: impl Fn(&Guard, &str)) {
    for store in stores() {
        filled(&store);
        let key = record();
        let whole = store.records();
        for (why, bytes) in kinds_of_damage(&store, &key) {
            store.overwrite(&key, &bytes);
            let guard = store.open();
            check(&guard, why);
            see_the_neighbour_serve(&guard);
            drop(guard);
            let after = store.records();
            store.overwrite(&key, &whole[&key]);
            assert_eq!(after[&key], bytes, "{why}: the damage was written over");
            let of_r1 = |(key, record): (&Vec<u8>, &Vec<u8>)| {
                key[1..].starts_with(b"r1\0").then(|| (key.clone(), record.clone()))
            };
            let before: Vec<_> = whole.iter().filter_map(of_r1).collect();
            let after: Vec<_> =
                after.iter().filter_map(of_r1).filter(|(other, _)| *other != key).collect();
            let before: Vec<_> = before.into_iter().filter(|(other, _)| *other != key).collect();
            assert_eq!(after, before, "{why}: something was applied");
        }
    }
}

fn see_the_neighbour_serve(guard: &Guard) {
    let write = WriteRequest::under(&grant("r10", 7)).add("count", 1).build().unwrap();
    pollster::block_on(guard.write(write)).unwrap();
    assert_eq!(pollster::block_on(guard.read("r10", ["text"])).unwrap().entries.len(), 1);
}

#[test]
fn a_resource_whose_head_is_damaged_serves_nothing_and_its_neighbours_serve() {
    for_every_damage(&head_key, |guard, why| {
        let late = WriteRequest::under(&grant("r1", 6)).put("text", "late").build().unwrap();
        let newer = WriteRequest::under(&grant("r1", 9)).put("text", "new").build().unwrap();
        pollster::block_on(async {
            see_corrupt(guard.write(late).await, "head", why);
            see_corrupt(guard.write(newer).await, "head", why);
            see_corrupt(guard.claim(grant("r1", 9)).await, "head", why);
            see_corrupt(guard.close(grant("r1", 7)).await, "head", why);
            see_corrupt(guard.retire(grant("r1", 7)).await, "head", why);
            see_corrupt(guard.read_fenced(grant("r1", 7), ["text"]).await, "head", why);
            see_corrupt(guard.read("r1", ["text"]).await, "head", why);
            see_corrupt(guard.fence("r1").await, "head", why);
            see_corrupt(guard.key_state("r1", "first").await, "head", why);
        });
    });
}

#[test]
fn a_retry_whose_record_is_damaged_is_not_applied_again() {
    for_every_damage(&record_key, |guard, why| {
        let retry = WriteRequest::under(&grant("r1", 7)).put("text", "old").add("count", 5);
        let retry = retry.idempotency_key("first").unwrap().build().unwrap();
        pollster::block_on(async {
            see_corrupt(guard.write(retry).await, "idempotency record", why);
            see_corrupt(guard.key_state("r1", "first").await, "idempotency record", why);
            let seen = guard.read("r1", ["text", "count"]).await.unwrap();
            assert_eq!(seen.version, 1, "the data can still be read");
        });
    });
}

#[test]
fn a_damaged_value_is_neither_absent_nor_zero() {
    for_every_damage(&|| value_key("count"), |guard, why| {
        let under = || WriteRequest::under(&grant("r1", 7));
        let check = |condition| under().put("text", "x").check("count", condition);
        pollster::block_on(async {
            for write in [
                under().add("count", 1),
                under().put("text", "x").add("count", 1),
                under().delete("count"),
                check(Condition::Absent),
                check(Condition::Present),
            ] {
                see_corrupt(guard.write(write.build().unwrap()).await, "value", why);
            }
            see_corrupt(guard.read("r1", ["text", "count"]).await, "value", why);
            let read = guard.read_fenced(grant("r1", 7), ["count"]).await;
            see_corrupt(read, "value", why);
            let seen = guard.read("r1", ["text"]).await.unwrap();
            assert!(seen.entries[0].is_some(), "the other keys can still be read");
        });
    });
}

#[test]
fn a_head_of_a_newer_format_is_told_apart_from_one_that_is_damaged() {
    for store in stores() {
        filled(&store);
        let newer = kinds_of_damage(&store, &head_key()).pop().unwrap();
        store.overwrite(&head_key(), &newer.1);
        let error = pollster::block_on(store.open().fence("r1")).unwrap_err();
        let Error::Corrupt { damage: Damage::Format { found }, .. } = error else {
            panic!("{error:?}");
        };
        assert_eq!(found, 2);
    }
}

#[test]
fn a_damaged_resource_does_not_fail_what_is_committed_together_with_it() {
    for store in stores() {
        filled(&store);
        store.overwrite(&head_key(), b"damaged");
        let gate = Gate::shut();
        let mut opening = Opening { hooks: gate.clone(), ..Opening::default() };
        opening.settings.inline_commits = false;
        let guard = store.open_with(opening);
        let write = |resource: &str| {
            let write = WriteRequest::under(&grant(resource, 8)).put("text", "new");
            guard.write(write.build().unwrap())
        };
        // The first one halts in its commit; the other three are then one batch.
        let ((first, damaged), (neighbour, third)) = pollster::block_on(async {
            let opens = async {
                gate.wait_for_one();
                gate.open();
            };
            let together = both(write("r1"), both(write("r10"), write("r3")));
            let (first, (together, ())) = both(write("r2"), both(together, opens)).await;
            let (damaged, others) = together;
            ((first, damaged), others)
        });
        assert!(first.is_ok() && neighbour.is_ok() && third.is_ok());
        see_corrupt(damaged, "head", "in a batch");
    }
}

/// Polls `one` before `other`, until both are done.
async fn both<A, B>(one: impl Future<Output = A>, other: impl Future<Output = B>) -> (A, B) {
    tokio::join!(biased; one, other)
}

#[test]
fn verify_counts_the_records_of_a_sound_store_and_finds_each_damaged_one() {
    let [_, store] = stores();
    filled(&store);
    let Store::Rocks(directory) = &store else { unreachable!("the second one is on disk") };
    let found = palisade::engine::verify(directory.path(), |_| {}).unwrap();
    assert_eq!((found.resources, found.values, found.idempotency_records), (2, 4, 2));
    assert_eq!((found.problems, found.first_problems.len()), (0, 0));

    let whole = store.records();
    for (key, says) in [
        (head_key(), "checksum mismatch"),
        (value_key("text"), "checksum mismatch"),
        (record_key(), "checksum mismatch"),
    ] {
        let mut damaged = whole[&key].clone();
        damaged[9] ^= 0x10;
        store.overwrite(&key, &damaged);
        let found = palisade::engine::verify(directory.path(), |_| {}).unwrap();
        assert!(found.problems > 0, "not found: {}", key.escape_ascii());
        let shown = format!("{}: ", key.escape_ascii());
        let problem = found.first_problems.iter().find(|problem| problem.starts_with(&shown));
        assert!(problem.is_some_and(|problem| problem.contains(says)), "{found:?}");
        store.overwrite(&key, &whole[&key]);
    }
}

#[test]
fn verify_finds_data_that_is_newer_than_its_head_or_has_none() {
    let [_, store] = stores();
    filled(&store);
    let Store::Rocks(directory) = &store else { unreachable!("the second one is on disk") };
    let whole = store.records();
    // As if the head alone had been taken from an older copy, or been lost.
    let older = {
        let mut older = palisade::Head::default();
        older.fence = pollster::block_on(store.open().fence("r1")).unwrap().fence;
        let mut out = Vec::new();
        palisade::record::encode_head(&head_key(), &older, &mut out);
        out
    };
    store.overwrite(&head_key(), &older);
    let found = palisade::engine::verify(directory.path(), |_| {}).unwrap();
    assert_eq!(found.problems, 3, "two values and a record: {found:?}");
    raw(directory.path(), |db| db.delete(head_key()).unwrap());
    let found = palisade::engine::verify(directory.path(), |_| {}).unwrap();
    assert_eq!(found.problems, 3, "two values and a record: {found:?}");
    store.overwrite(&head_key(), &whole[&head_key()]);
    raw(directory.path(), |db| db.put(b"x", b"stray").unwrap());
    let found = palisade::engine::verify(directory.path(), |_| {}).unwrap();
    assert_eq!(found.problems, 1, "a key of no kind: {found:?}");
}
