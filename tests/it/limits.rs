//! Every limit at n - 1, n and n + 1.
//!
//! A limit that is off by one, or checked after the bytes were kept, shows at its edge. Each case
//! also proves that the error names the field, the limit and what was found, and that text which
//! is nearly a token is refused and not bent into one.

use palisade::limits::{
    HOLDER_BYTES_MAX, IDEMPOTENCY_KEY_BYTES_MAX, KEY_BYTES_MAX, OPERATIONS_MAX, READ_KEYS_MAX,
    REQUEST_BYTES_MAX, RESOURCE_NAME_BYTES_MAX, TOKEN_NUMBER_MAX, VALUE_BYTES_MAX,
};
use palisade::types::{FencedRead, ValueBytes};
use palisade::{
    Error, FencingToken, Grant, Guard, Holder, IdempotencyKey, Invalid, Key, ResourceName,
    WriteRequest,
};

fn token() -> FencingToken {
    FencingToken::generation(1).unwrap()
}

fn grant() -> Grant {
    Grant::new("r", token()).unwrap()
}

/// Tries lengths around a limit, and what the error at n + 1 says.
fn assert_limit<T>(
    field: &str,
    (least, most): (usize, usize),
    build: impl Fn(usize) -> Result<T, Invalid>,
) {
    if least > 0 {
        let empty = build(least - 1).map(|_| ()).unwrap_err();
        assert!(empty.field().ends_with(field), "{empty}");
        assert!(empty.to_string().contains("empty"), "{empty}");
    }
    for fits in [least, most - 1, most] {
        assert!(build(fits).is_ok(), "{field}: {fits} has to fit");
    }
    let beyond = build(most + 1).map(|_| ()).unwrap_err();
    assert!(beyond.field().ends_with(field), "{beyond}");
    for part in [field.to_owned(), (most + 1).to_string(), most.to_string()] {
        assert!(beyond.to_string().contains(&part), "{part:?} is missing in: {beyond}");
    }
    assert!(beyond.limit().unwrap().contains(&most.to_string()), "{beyond:?}");
}

#[test]
fn names_and_keys_and_values_have_their_lengths() {
    let text = |len: usize| "x".repeat(len);
    assert_limit("resource", (1, RESOURCE_NAME_BYTES_MAX), |len| ResourceName::try_from(text(len)));
    assert_limit("holder", (1, HOLDER_BYTES_MAX), |len| Holder::try_from(text(len)));
    assert_limit("idempotency_key", (1, IDEMPOTENCY_KEY_BYTES_MAX), |len| {
        IdempotencyKey::try_from(text(len))
    });
    assert_limit("key", (1, KEY_BYTES_MAX), |len| Key::try_from(text(len)));
    assert_limit("value", (0, VALUE_BYTES_MAX), |len| ValueBytes::try_from(text(len)));
}

#[test]
fn a_length_is_counted_in_bytes_and_not_in_characters() {
    assert!(ResourceName::try_from("ß".repeat(256)).is_ok(), "512 bytes");
    assert!(ResourceName::try_from("ß".repeat(257)).is_err(), "514 bytes");
}

#[test]
fn a_write_has_1_to_128_operations() {
    assert_limit("operations", (1, OPERATIONS_MAX), |count| {
        let write = WriteRequest::under(&grant());
        (0..count).fold(write, |write, _| write.add("n", 1)).build()
    });
}

#[test]
fn a_read_has_at_most_128_keys() {
    let keys = |count| (0..count).map(|n| Key::try_from(format!("{n}")).unwrap()).collect();
    assert_limit("keys", (0, READ_KEYS_MAX), |count| FencedRead::new(grant(), keys(count)));
    let guard = Guard::in_memory().unwrap().blocking();
    let names = |count: usize| (0..count).map(|n| format!("{n}")).collect::<Vec<_>>();
    assert!(guard.read("r", names(READ_KEYS_MAX)).is_ok());
    let beyond = guard.read("r", names(READ_KEYS_MAX + 1)).unwrap_err();
    assert!(matches!(beyond, Error::Invalid(_)), "{beyond:?}");
    let endless = guard.read("r", std::iter::repeat("k")).unwrap_err();
    assert!(matches!(endless, Error::Invalid(_)), "{endless:?}");
}

#[test]
fn a_request_has_at_most_4_mib() {
    // Four values of the greatest length are too much; the last one gives way byte by byte.
    let sized = |size: usize| {
        let mut write = WriteRequest::under(&grant());
        for key in ["a", "b", "c"] {
            write = write.put(key, vec![0; VALUE_BYTES_MAX]);
        }
        let counted = "r".len() + 3 * (32 + 1 + VALUE_BYTES_MAX) + 32 + 1;
        write.put("d", vec![0; size - counted]).build()
    };
    for fits in [REQUEST_BYTES_MAX - 1, REQUEST_BYTES_MAX] {
        assert_eq!(sized(fits).unwrap().size(), fits);
    }
    let beyond = sized(REQUEST_BYTES_MAX + 1).unwrap_err();
    assert_eq!(beyond.field(), "request");
    assert!(beyond.to_string().contains(&REQUEST_BYTES_MAX.to_string()), "{beyond}");
}

#[test]
fn both_numbers_of_a_token_have_63_bits() {
    assert!(FencingToken::generation(0).is_err(), "0 is what a missing field reads as");
    for generation in [1, 2, TOKEN_NUMBER_MAX - 1, TOKEN_NUMBER_MAX] {
        let token = FencingToken::generation(generation).unwrap();
        assert_eq!(token.to_string().parse(), Ok(token));
    }
    assert!(FencingToken::generation(TOKEN_NUMBER_MAX + 1).is_err());
    assert!(FencingToken::generation(u64::MAX).is_err());
    for epoch in [0, 1, TOKEN_NUMBER_MAX] {
        let token = token().in_epoch(epoch).unwrap();
        assert_eq!(token.to_string().parse(), Ok(token));
    }
    let beyond = token().in_epoch(TOKEN_NUMBER_MAX + 1).unwrap_err();
    assert!(beyond.to_string().contains("9223372036854775807"), "{beyond}");
}

#[test]
fn a_negative_number_is_refused_and_never_cast() {
    for negative in [-1, i64::MIN, 0] {
        let refused = FencingToken::try_from(negative).unwrap_err();
        assert_eq!(refused.field(), "token");
    }
    assert_eq!(FencingToken::try_from(i64::MAX).unwrap().generation_number(), TOKEN_NUMBER_MAX);
}

#[test]
fn text_that_is_nearly_a_token_is_refused() {
    let nearly = [
        "",
        " ",
        "0",
        "0:0",
        "1:0",
        ":",
        "1:",
        ":1",
        "1:2:3",
        "+1",
        "-1",
        "1 ",
        " 1",
        "1.0",
        "1e3",
        "0x1",
        "١",
        "1_000",
        "18446744073709551616",
        "9223372036854775808",
        "9223372036854775808:1",
        "null",
        "1\n",
    ];
    for text in nearly {
        let refused = text.parse::<FencingToken>();
        assert!(refused.is_err(), "{text:?} was read as {refused:?}");
    }
    assert_eq!("007".parse::<FencingToken>().unwrap().to_string(), "7");
}

#[test]
fn a_resource_has_no_control_characters() {
    for control in ["\0", "a\0b", "\n", "\t", "\u{7f}", "\u{85}", "a\u{1b}[0m"] {
        let refused = ResourceName::try_from(control).unwrap_err();
        assert!(refused.to_string().contains("control"), "{refused}");
    }
    for fine in [" ", "a b", "ü", "日本", "a/../b", "%00", "\u{200b}"] {
        assert!(ResourceName::try_from(fine).is_ok(), "{fine:?}");
    }
}

#[test]
fn the_first_thing_that_is_invalid_is_named() {
    let write = WriteRequest::under(&grant()).put("k", "v").put("", "v").delete("");
    assert_eq!(write.build().unwrap_err().field(), "operations[1].key");
    let write = WriteRequest::under(&grant()).put("k", vec![0; VALUE_BYTES_MAX + 1]);
    assert_eq!(write.build().unwrap_err().field(), "operations[0].value");
    let write = WriteRequest::under(&grant()).put("k", "v").min(1);
    assert_eq!(write.build().unwrap_err().field(), "min");
    let write = WriteRequest::under(&grant()).add("n", 1).min(2).max(1);
    assert_eq!(write.build().unwrap_err().field(), "operations[0].min");
    assert!(WriteRequest::under(&grant()).add("n", 1).min(2).max(2).build().is_ok());
}
