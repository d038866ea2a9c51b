//! Two records never share a key, and one resource's data lies together, in the order of its keys.

use std::collections::BTreeMap;

use bytes::Bytes;
use palisade::record::key::{self, Owner};
use palisade::{IdempotencyKey, Key, ResourceName};
use proptest::collection::vec;
use proptest::prelude::*;

use super::name;

/// Names that begin alike, differ by what the format uses itself, and go up to the limit.
pub(super) fn names() -> impl Strategy<Value = ResourceName> {
    let alike = proptest::sample::select(vec!["r", "r1", "r10", "r1/x", "r/", "d", "!store", "é"]);
    let any = "[^\\p{Cc}]{1,40}".prop_filter("at most 512 bytes", |text| text.len() <= 512);
    let long = Just("n".repeat(512));
    prop_oneof![4 => alike.prop_map(str::to_owned), 4 => any, 1 => long]
        .prop_map(|text| name(&text))
}

pub(super) fn keys() -> impl Strategy<Value = Key> {
    let small = vec(proptest::sample::select(vec![0_u8, 1, b'a', 0xff]), 1..=4);
    let medium = vec(any::<u8>(), 1..=64);
    let long = vec(any::<u8>(), 1_024);
    prop_oneof![6 => small, 3 => medium, 1 => long]
        .prop_map(|bytes| Key::try_from(Bytes::from(bytes)).unwrap())
}

pub(super) fn idempotency_keys() -> impl Strategy<Value = IdempotencyKey> {
    let short = "\\PC{1,12}";
    let zeros = "[\0\u{1}a]{1,3}";
    prop_oneof![4 => short, 2 => zeros, 1 => Just("k".repeat(255))]
        .prop_map(|text| IdempotencyKey::text(&text).unwrap())
}

fn owners() -> impl Strategy<Value = Owner> {
    prop_oneof![
        1 => Just(Owner::Store),
        3 => names().prop_map(Owner::Head),
        6 => (names(), keys()).prop_map(|(resource, key)| Owner::Value(resource, key)),
        6 => (names(), idempotency_keys())
            .prop_map(|(resource, key)| Owner::Idempotency(resource, key)),
    ]
}

fn stored(owner: &Owner) -> Vec<u8> {
    let mut out = b"what was there before".to_vec();
    match owner {
        Owner::Store => return key::STORE.to_vec(),
        Owner::Head(resource) => key::head(resource, &mut out),
        Owner::Value(resource, within) => key::value(resource, within, &mut out),
        Owner::Idempotency(resource, within) => key::idempotency(resource, within, &mut out),
        other => panic!("a kind of record that this test does not know: {other:?}"),
    }
    out
}

proptest! {
    #[test]
    fn what_a_key_belongs_to_is_read_back_from_it(owner in owners()) {
        // Encoding has an inverse, so it is injective: no two records share a key.
        prop_assert_eq!(key::owner(&stored(&owner)), Some(owner));
    }

    #[test]
    fn a_key_that_is_read_is_the_one_that_would_be_written(
        tag in proptest::sample::select(b"!hdix".to_vec()),
        rest in vec(proptest::sample::select(vec![0_u8, 1, b'a', b's', 0xc3, 0xa9]), 0..12),
    ) {
        let bytes = [&[tag], rest.as_slice()].concat();
        if let Some(owner) = key::owner(&bytes) {
            prop_assert_eq!(stored(&owner), bytes);
        }
    }

    #[test]
    fn any_bytes_can_be_asked_for_their_owner(bytes in vec(any::<u8>(), 0..64)) {
        if let Some(owner) = key::owner(&bytes) {
            prop_assert_eq!(stored(&owner), bytes);
        }
    }

    #[test]
    fn the_values_of_a_resource_lie_in_the_byte_order_of_their_keys(
        resource in names(), one in keys(), other in keys(),
    ) {
        let of = |key: &Key| stored(&Owner::Value(resource.clone(), key.clone()));
        prop_assert_eq!(of(&one).cmp(&of(&other)), one.as_bytes().cmp(other.as_bytes()));
    }

    #[test]
    fn the_range_of_a_resources_values_holds_all_of_them_and_nothing_else(
        resource in names(), others in vec(owners(), 1..20), own in vec(keys(), 0..5),
    ) {
        let own = own.into_iter().map(|key| Owner::Value(resource.clone(), key));
        let table: BTreeMap<Vec<u8>, Owner> =
            others.into_iter().chain(own).map(|owner| (stored(&owner), owner)).collect();
        let mut from = Vec::new();
        key::values_of(&resource, &mut from);
        let end = key::end_of(&from);
        for (stored, owner) in &table {
            let is_own = matches!(owner, Owner::Value(name, _) if *name == resource);
            prop_assert_eq!(*stored >= from && *stored < end, is_own, "{:?}", owner);
            prop_assert_eq!(stored.starts_with(&from), is_own, "{:?}", owner);
        }
    }
}

#[test]
fn resources_whose_names_begin_alike_share_nothing() {
    let value = |resource: &str, key: &str| {
        stored(&Owner::Value(name(resource), Key::try_from(key).unwrap()))
    };
    let mut table: Vec<(Vec<u8>, &str)> = Vec::new();
    for resource in ["r1", "r10", "r1/x", "r", "r1 ", "r1é"] {
        for key in ["a", "0", "/x", "\u{1}"] {
            table.push((value(resource, key), resource));
        }
    }
    table.sort();
    let mut runs: Vec<&str> = table.iter().map(|(_, resource)| *resource).collect();
    runs.dedup();
    assert_eq!(runs.len(), 6, "the values of one resource lie together: {runs:?}");
}
