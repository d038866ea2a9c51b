//! Retiring a resource deletes all of its data and nothing else, whether key by key or as a range.

use std::collections::BTreeMap;

use palisade::record::key::{self, Owner};
use palisade::{Grant, Guard, Key, WriteRequest};

use super::{Store, grant, stores};

/// Beside what the others' names begin with, and what begins like them.
const NEIGHBOURS: [&str; 5] = ["r", "r10", "r1/x", "r1 ", "r2"];

#[test]
fn retiring_deletes_every_key_of_the_resource_and_nothing_of_its_neighbours() {
    // Up to 1,024 keys go one by one, more of them as one range.
    for keys in [1, 1_023, 1_024, 1_025, 5_000] {
        for store in stores() {
            retire_one_of_many(&store, keys);
        }
    }
}

fn retire_one_of_many(store: &Store, keys: usize) {
    let guard = store.open();
    fill(&guard, &grant("r1", 7), keys);
    for neighbour in NEIGHBOURS {
        fill(&guard, &grant(neighbour, 7), 5);
    }
    drop(guard);
    let before = values_by_resource(store);
    assert_eq!(before["r1"].len(), keys);

    let guard = store.open();
    let versions_before = versions(&guard);
    let change = pollster::block_on(guard.retire(grant("r1", 7))).unwrap();
    assert!(change.fence.closed);
    assert_eq!(change.version, versions_before["r1"] + 1, "deleting is a change");
    let mut expected = versions_before;
    expected.insert("r1", change.version);
    assert_eq!(versions(&guard), expected);
    see_nothing_of(&guard, keys);
    drop(guard);

    let mut expected = before;
    expected.remove("r1");
    assert_eq!(values_by_resource(store), expected, "{keys} keys");
    write_again(store, keys, change.version);
}

/// The fence and the version outlive the data, and nothing of the data comes back.
fn write_again(store: &Store, keys: usize, version: u64) {
    let guard = store.open();
    let late = WriteRequest::under(&grant("r1", 7)).put(nth(0), "late").build().unwrap();
    pollster::block_on(guard.write(late)).expect_err("the generation is over");
    let again = WriteRequest::under(&grant("r1", 8)).put("new", "data").build().unwrap();
    let receipt = pollster::block_on(guard.write(again)).unwrap();
    assert_eq!(receipt.version(), version + 1, "a version never restarts");
    see_nothing_of(&guard, keys);
    drop(guard);
    assert_eq!(values_by_resource(store)["r1"].len(), 1);
}

fn see_nothing_of(guard: &Guard, keys: usize) {
    let all: Vec<String> = (0..keys).map(nth).collect();
    for some in all.chunks(128) {
        let seen = pollster::block_on(guard.read("r1", some)).unwrap();
        assert!(seen.entries.iter().all(Option::is_none), "a deleted key is back");
    }
}

fn fill(guard: &Guard, grant: &Grant, keys: usize) {
    let all: Vec<String> = (0..keys).map(nth).collect();
    for some in all.chunks(128) {
        let put = |write: palisade::WriteBuilder, key: &String| write.put(key, "value");
        let write = some.iter().fold(WriteRequest::under(grant), put);
        pollster::block_on(guard.write(write.build().unwrap())).unwrap();
    }
}

fn nth(index: usize) -> String {
    format!("key-{index:05}")
}

fn versions(guard: &Guard) -> BTreeMap<&'static str, u64> {
    let version = |name| pollster::block_on(guard.fence(name)).unwrap().version;
    ["r1"].into_iter().chain(NEIGHBOURS).map(|name| (name, version(name))).collect()
}

fn values_by_resource(store: &Store) -> BTreeMap<String, Vec<Key>> {
    let mut found: BTreeMap<String, Vec<Key>> = BTreeMap::new();
    for stored in store.records().keys() {
        if let Some(Owner::Value(resource, key)) = key::owner(stored) {
            found.entry(resource.to_string()).or_default().push(key);
        }
    }
    found
}
