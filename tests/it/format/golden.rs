//! One record of every kind and shape, against bytes worked out from the format page alone.

use bytes::Bytes;
use palisade::record::{self, Damage, StoreRecord, key};
use palisade::rule::{KeyRecord, StoredValue};
use palisade::types::{Condition, Fingerprint, OperationResult};
use palisade::{Grant, IdempotencyKey, Key, Operation, Value, WriteBuilder, WriteRequest};

use super::{DONE, FencePart, HeadParts, head, hex, name, sealed, time, token};

const HEAD_KEY: &str = "68 6f72646572732f37 00";
const VALUE_KEY: &str = "64 6f72646572732f37 00 737461747573";
const IDEMPOTENCY_KEY: &str = "69 6f72646572732f37 00 00 00 6368617267652d37";

#[test]
fn the_keys_of_every_kind_are_as_the_format_page_says() {
    let (resource, mut out) = (name("orders/7"), Vec::new());
    assert_eq!(key::STORE, hex("2173746f7265"));
    key::head(&resource, &mut out);
    assert_eq!(out, hex(HEAD_KEY));
    key::head(&name("größe"), &mut out);
    assert_eq!(out, hex("68 6772c3b6c39f65 00"));
    key::value(&resource, &Key::try_from("status").unwrap(), &mut out);
    assert_eq!(out, hex(VALUE_KEY));
    key::value(&resource, &Key::try_from(&[0x00, 0xff]).unwrap(), &mut out);
    assert_eq!(out, hex("64 6f72646572732f37 00 00ff"));
    key::values_of(&resource, &mut out);
    assert_eq!(out, hex("64 6f72646572732f37 00"));
    assert_eq!(key::end_of(&out), hex("64 6f72646572732f37 01"));
    key::idempotency(&resource, &IdempotencyKey::text("charge-7").unwrap(), &mut out);
    assert_eq!(out, hex(IDEMPOTENCY_KEY));
}

#[test]
fn the_store_record_is_as_the_format_page_says() {
    let store_id: [u8; 16] = hex("101112131415161718191a1b1c1d1e1f").try_into().unwrap();
    let made = StoreRecord::new(store_id, time(1_700_000_000_000));
    let mut used = made.clone();
    used.incarnation = 3;
    used.open_count = 258;
    used.writable = false;
    used.clock = time(1_700_000_123_456);
    for (record, bytes) in [
        (
            made,
            "01 101112131415161718191a1b1c1d1e1f 0000000000000001 0000000000000000 01
             0000018bcfe56800 0000018bcfe56800 b53338eb",
        ),
        (
            used,
            "01 101112131415161718191a1b1c1d1e1f 0000000000000003 0000000000000102 00
             0000018bcfe56800 0000018bcfe74a40 270380c2",
        ),
    ] {
        assert_eq!(record.encode(), hex(bytes), "{record:?}");
        assert_eq!(StoreRecord::decode(&hex(bytes)), Ok(record));
    }
}

#[test]
fn a_head_with_every_combination_of_flags_is_as_the_format_page_says() {
    let forgotten = Some(token(2, 9));
    let fence = |holder, closed| {
        Some(FencePart { token: token(3, 4), holder, closed, raised_at: 1_700_000_000_001 })
    };
    let lease = Some("lease-7f3a");
    for (fence, forgotten, bytes) in [
        (None, None, "01 00 0000000000000005 49934d12"),
        (None, forgotten, "01 08 0000000000000005 0000000000000002 0000000000000009 6350375a"),
        (
            fence(None, false),
            None,
            "01 01 0000000000000005 0000000000000003 0000000000000004 0000018bcfe56801 64acfceb",
        ),
        (
            fence(None, false),
            forgotten,
            "01 09 0000000000000005 0000000000000003 0000000000000004 0000018bcfe56801
             0000000000000002 0000000000000009 8297c88b",
        ),
        (
            fence(None, true),
            None,
            "01 05 0000000000000005 0000000000000003 0000000000000004 0000018bcfe56801 bf66bf27",
        ),
        (
            fence(None, true),
            forgotten,
            "01 0d 0000000000000005 0000000000000003 0000000000000004 0000018bcfe56801
             0000000000000002 0000000000000009 d2647e04",
        ),
        (
            fence(lease, false),
            None,
            "01 03 0000000000000005 0000000000000003 0000000000000004 0000018bcfe56801
             000a 6c656173652d37663361 9fecdc26",
        ),
        (
            fence(lease, false),
            forgotten,
            "01 0b 0000000000000005 0000000000000003 0000000000000004 0000018bcfe56801
             000a 6c656173652d37663361 0000000000000002 0000000000000009 341ab6e7",
        ),
        (
            fence(lease, true),
            None,
            "01 07 0000000000000005 0000000000000003 0000000000000004 0000018bcfe56801
             000a 6c656173652d37663361 7c2777d5",
        ),
        (
            fence(lease, true),
            forgotten,
            "01 0f 0000000000000005 0000000000000003 0000000000000004 0000018bcfe56801
             000a 6c656173652d37663361 0000000000000002 0000000000000009 185e845a",
        ),
    ] {
        see_head(&HeadParts { version: 5, fence, forgotten }, bytes);
    }
}

#[test]
fn a_head_of_the_highest_numbers_is_as_the_format_page_says() {
    let max = (1 << 63) - 1;
    let fence = FencePart {
        token: token(max, max),
        holder: None,
        closed: false,
        raised_at: 1_700_000_000_001,
    };
    see_head(
        &HeadParts { version: max, fence: Some(fence), forgotten: None },
        "01 01 7fffffffffffffff 7fffffffffffffff 7fffffffffffffff 0000018bcfe56801 6d63bd93",
    );
}

fn see_head(parts: &HeadParts<'_>, bytes: &str) {
    let (head, mut out) = (head(parts), Vec::new());
    record::encode_head(&hex(HEAD_KEY), &head, &mut out);
    assert_eq!(out, hex(bytes), "{head:?}");
    assert_eq!(record::decode_head(&hex(HEAD_KEY), &hex(bytes)), Ok(head));
}

#[test]
fn bytes_and_counters_with_and_without_expiry_are_as_the_format_page_says() {
    let end = Some(time(1_700_000_000_001));
    let paid = || Value::Bytes(Bytes::from_static(b"paid"));
    let counter = Value::Counter;
    for (value, expires_at, bytes) in [
        (paid(), None, "01 00 0000000000000007 70616964 ed46e1dd"),
        (Value::Bytes(Bytes::new()), None, "01 00 0000000000000007 b7729f78"),
        (counter(-2), None, "01 01 0000000000000007 fffffffffffffffe 53ddd0f7"),
        (paid(), end, "01 02 0000000000000007 0000018bcfe56801 70616964 d5d0345f"),
        (
            counter(i64::MAX),
            end,
            "01 03 0000000000000007 0000018bcfe56801 7fffffffffffffff 96c7229f",
        ),
    ] {
        let (stored, mut out) = (StoredValue { value, version: 7, expires_at }, Vec::new());
        record::encode_value(&hex(VALUE_KEY), &stored, &mut out);
        assert_eq!(out, hex(bytes), "{stored:?}");
        assert_eq!(record::decode_value(&hex(VALUE_KEY), &hex(bytes)), Ok(stored));
    }
}

#[test]
fn an_idempotency_record_is_as_the_format_page_says() {
    let fingerprint: [u8; 32] = (0..32).collect::<Vec<u8>>().try_into().unwrap();
    let fingerprint = Fingerprint::from_bytes(fingerprint);
    let counter = OperationResult::Counter;
    let successors = KeyRecord {
        fingerprint,
        version: 6,
        token: token(0, 42),
        last_used: token(3, 1),
        applied_at: time(1_700_000_000_001),
        results: vec![DONE, counter(99), DONE, counter(-1)],
    };
    let least = KeyRecord {
        fingerprint,
        version: 0,
        token: token(0, 1),
        last_used: token(0, 1),
        applied_at: time(0),
        results: vec![DONE],
    };
    for (kept, bytes) in [
        (
            successors,
            "01 00 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f
             0000000000000006 0000000000000000 000000000000002a 0000000000000003 0000000000000001
             0000018bcfe56801 04 00 01 0000000000000063 00 01 ffffffffffffffff 6bc025f1",
        ),
        (
            least,
            "01 00 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f
             0000000000000000 0000000000000000 0000000000000001 0000000000000000 0000000000000001
             0000000000000000 01 00 1aeba1f6",
        ),
    ] {
        let mut out = Vec::new();
        record::encode_key_record(&hex(IDEMPOTENCY_KEY), &kept, &mut out);
        assert_eq!(out, hex(bytes), "{kept:?}");
        assert_eq!(record::decode_key_record(&hex(IDEMPOTENCY_KEY), &hex(bytes)), Ok(kept));
    }
}

#[test]
fn the_fingerprint_of_every_operation_is_as_the_format_page_says() {
    let status = || Key::try_from("status").unwrap();
    let check = |condition| Operation::Check { key: status(), condition };
    for (operation, bytes) in [
        (put("paid"), "f17854045179d1a65ce4969b83f378b38c3b60ca9771edf3823c38b393936802"),
        (put(""), "c2321c75144adbe6f6f8deeb258f8dc77a61df7609301c58654df746e2ffbc15"),
        (
            Operation::PutCounter { key: Key::try_from("stock").unwrap(), value: -5 },
            "3581a399f1d8ed444711cb92aa04f4284fd04aa62200fc4edef3af0dbf6192b4",
        ),
        (
            Operation::Delete { key: status() },
            "a8d6abc5531b463cae45ad8973a0df34579fe754d085a77054382d8c9850a8b8",
        ),
        (add(-1, None, None), "eba105c17d6f15c49d4e8be4bb20742df0bd71434ce26d366554cdc03ccfae6a"),
        (
            add(-1, Some(0), None),
            "1deae97fc67720e3db785715bc01c2e71f16175d21106730206dd90f59685362",
        ),
        (
            add(-1, None, Some(0)),
            "11c8e8d5cd705e0adb88d71d4891194f756fbf6c274e9198fbc8253be974be36",
        ),
        (
            add(1, Some(-10), Some(10)),
            "8b7ba6a29f1e685bd466f1d5ea4738bcaed63f20253d60942c9bbd8cf7d76cd8",
        ),
        (
            check(Condition::Absent),
            "ea903c7d0f26dfdc5012a8a7f4cbd8ce0b8cf69df3bfea2a117b70c2300f18f2",
        ),
        (
            check(Condition::Present),
            "f54ca3380e91e69bb9705bd7ccfc0745899102cdd1ae98610351187bc1292893",
        ),
        (
            check(Condition::Version(7)),
            "9c9542a42ed06d95aadf48c0e9bf2baab0389ba89fe773d7b45f7127bbb9350c",
        ),
    ] {
        let fingerprint = Fingerprint::of(&name("orders/7"), std::slice::from_ref(&operation));
        assert_eq!(fingerprint.as_bytes(), hex(bytes).as_slice(), "{operation:?}");
    }
}

fn put(value: &str) -> Operation {
    Operation::Put { key: Key::try_from("status").unwrap(), value: value.try_into().unwrap() }
}

fn add(delta: i64, min: Option<i64>, max: Option<i64>) -> Operation {
    Operation::Add { key: Key::try_from("stock").unwrap(), delta, min, max }
}

#[test]
fn the_fingerprint_of_a_request_covers_its_operations_in_order_and_no_token_or_holder() {
    let expected = hex("9fb95e01273655c697bcca1e409d00ffb8b785c65aea8c64d468854a2a1f9a6d");
    let write = |grant: &Grant| -> WriteBuilder {
        WriteRequest::under(grant)
            .put("status", "paid")
            .put_counter("stock", -5)
            .delete("note")
            .add("stock", -1)
            .min(0)
            .check("status", Condition::Version(7))
            .idempotency_key("charge-7")
            .unwrap()
    };
    for (generation, holder) in [(1, "a"), (42, "lease-7f3a")] {
        let grant = Grant::new("orders/7", token(9, generation)).unwrap().held_by(holder).unwrap();
        let write = write(&grant).build().unwrap();
        let (_, fingerprint) = write.idempotency().unwrap();
        assert_eq!(fingerprint.as_bytes(), expected.as_slice());
    }
}

#[test]
fn a_record_of_another_format_is_called_that_and_not_damaged() {
    let newer = sealed(&hex(HEAD_KEY), &hex("02 00 0000000000000005"));
    assert_eq!(
        record::decode_head(&hex(HEAD_KEY), &newer),
        Err(Damage::Format { found: 2 }),
        "what a newer version wrote is intact, and this version cannot judge it"
    );
}

#[test]
fn a_body_that_the_format_does_not_allow_is_damaged_even_with_the_right_checksum() {
    let fence = "0000000000000003 0000000000000004 0000018bcfe56801";
    for (framed, why) in [
        ("01 10 0000000000000005".to_owned(), "a flag that is not known"),
        ("01 02 0000000000000005 0001 61".to_owned(), "a holder without a fence"),
        ("01 04 0000000000000005".to_owned(), "closed without a fence"),
        ("01 00 8000000000000000".to_owned(), "a version above 2^63 - 1"),
        ("01 00 00000000000005".to_owned(), "a version cut short"),
        ("01 00 0000000000000005 00".to_owned(), "a byte too many"),
        (format!("01 03 0000000000000005 {fence} 0000"), "a holder of no bytes"),
        (format!("01 03 0000000000000005 {fence} 0002 61"), "a holder cut short"),
        (format!("01 03 0000000000000005 {fence} 0001 ff"), "a holder that is not UTF-8"),
        (format!("01 03 0000000000000005 {fence} 0101 {}", "61".repeat(257)), "a long holder"),
        (
            "01 01 0000000000000005 0000000000000003 0000000000000000 0000018bcfe56801".to_owned(),
            "generation 0",
        ),
        (
            "01 01 0000000000000005 8000000000000000 0000000000000004 0000018bcfe56801".to_owned(),
            "an epoch above 2^63 - 1",
        ),
    ] {
        let stored = sealed(&hex(HEAD_KEY), &hex(&framed));
        let decoded = record::decode_head(&hex(HEAD_KEY), &stored);
        assert!(matches!(decoded, Err(Damage::Content { .. })), "{why}: {decoded:?}");
    }
}

#[test]
fn an_idempotency_record_that_the_format_does_not_allow_is_damaged() {
    let fingerprint = "11".repeat(32);
    let body = |token: u64, last: u64, results: &str| {
        let tokens = format!("0000000000000000 {token:016x} 0000000000000000 {last:016x}");
        format!("{fingerprint} 0000000000000006 {tokens} 0000018bcfe56801 {results}")
    };
    for (framed, why) in [
        (format!("01 01 {}", body(5, 5, "01 00")), "an outcome that is not written yet"),
        (
            format!("01 00 {}", body(5, 4, "01 00")),
            "last used below the token it was applied under",
        ),
        (format!("01 00 {}", body(5, 5, "00")), "no result"),
        (format!("01 00 {}", body(5, 5, &format!("81 {}", "00".repeat(129)))), "129 results"),
        (format!("01 00 {}", body(5, 5, "02 00")), "fewer results than counted"),
        (format!("01 00 {}", body(5, 5, "01 00 00")), "more results than counted"),
        (format!("01 00 {}", body(5, 5, "01 02")), "a result of no kind"),
        (format!("01 00 {}", body(5, 5, "01 01 00000000")), "a counter cut short"),
    ] {
        let stored = sealed(&hex(IDEMPOTENCY_KEY), &hex(&framed));
        let decoded = record::decode_key_record(&hex(IDEMPOTENCY_KEY), &stored);
        assert!(matches!(decoded, Err(Damage::Content { .. })), "{why}: {decoded:?}");
    }
}
