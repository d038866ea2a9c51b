//! Every record comes back as it was, and everything else is an error: never a panic, never a
//! guess, never "nothing there".

use bytes::Bytes;
use palisade::record::{self, Damage, StoreRecord, key};
use palisade::rule::{KeyRecord, StoredValue};
use palisade::types::{Fingerprint, OperationResult};
use palisade::{FencingToken, Head, Value};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::keys::{idempotency_keys, keys, names};
use super::{DONE, FencePart, HeadParts, head, sealed, time, token};

/// A record of any kind, and the key it lies under.
#[derive(Clone, Debug, PartialEq)]
enum Record {
    Store(StoreRecord),
    Head(Vec<u8>, Head),
    Value(Vec<u8>, StoredValue),
    Idempotency(Vec<u8>, KeyRecord),
}

impl Record {
    fn key(&self) -> &[u8] {
        match self {
            Self::Store(_) => key::STORE,
            Self::Head(key, _) | Self::Value(key, _) | Self::Idempotency(key, _) => key,
        }
    }

    fn encode(&self) -> Vec<u8> {
        let mut out = b"what was there before".to_vec();
        match self {
            Self::Store(store) => return store.encode(),
            Self::Head(key, head) => record::encode_head(key, head, &mut out),
            Self::Value(key, value) => record::encode_value(key, value, &mut out),
            Self::Idempotency(key, kept) => record::encode_key_record(key, kept, &mut out),
        }
        out
    }

    /// Reads `bytes` as a record of this one's kind, stored under `key`.
    fn decode(&self, key: &[u8], bytes: &[u8]) -> Result<Self, Damage> {
        let under = || key.to_vec();
        match self {
            Self::Store(_) => StoreRecord::decode(bytes).map(Self::Store),
            Self::Head(..) => record::decode_head(key, bytes).map(|h| Self::Head(under(), h)),
            Self::Value(..) => record::decode_value(key, bytes).map(|v| Self::Value(under(), v)),
            Self::Idempotency(..) => {
                record::decode_key_record(key, bytes).map(|k| Self::Idempotency(under(), k))
            }
        }
    }
}

const NUMBER_MAX: u64 = (1 << 63) - 1;

fn numbers() -> impl Strategy<Value = u64> {
    prop_oneof![0_u64..300, 0..=NUMBER_MAX, Just(NUMBER_MAX)]
}

fn tokens() -> impl Strategy<Value = FencingToken> {
    (numbers(), numbers()).prop_map(|(epoch, generation)| token(epoch, generation.max(1)))
}

fn counters() -> impl Strategy<Value = i64> {
    prop_oneof![-3_i64..3, any::<i64>(), Just(i64::MIN), Just(i64::MAX)]
}

fn stores() -> impl Strategy<Value = Record> {
    let numbers = (any::<u64>(), any::<u64>(), any::<u64>(), any::<u64>());
    (any::<[u8; 16]>(), numbers, any::<bool>()).prop_map(|(id, (a, b, c, d), writable)| {
        let mut store = StoreRecord::new(id, time(c));
        store.incarnation = a;
        store.open_count = b;
        store.writable = writable;
        store.clock = time(d);
        Record::Store(store)
    })
}

fn heads() -> impl Strategy<Value = Record> {
    let holders = prop_oneof![option::of(".{1,60}"), Just(Some("h".repeat(256)))];
    let fences = (tokens(), holders, any::<bool>(), any::<u64>());
    let parts = (numbers(), option::of(fences), option::of(tokens()));
    (names(), parts).prop_map(|(resource, (version, fence, forgotten))| {
        let mut key = Vec::new();
        key::head(&resource, &mut key);
        let fence = fence.as_ref().map(|(token, holder, closed, raised_at)| FencePart {
            token: *token,
            holder: holder.as_deref(),
            closed: *closed,
            raised_at: *raised_at,
        });
        Record::Head(key, head(&HeadParts { version, fence, forgotten }))
    })
}

fn values() -> impl Strategy<Value = Record> {
    let bytes = vec(any::<u8>(), 0..40).prop_map(|bytes| Value::Bytes(Bytes::from(bytes)));
    let value = prop_oneof![bytes, counters().prop_map(Value::Counter)];
    let expiry = option::of(any::<u64>().prop_map(time));
    (names(), keys(), value, numbers(), expiry).prop_map(
        |(resource, within, value, version, expires_at)| {
            let mut key = Vec::new();
            key::value(&resource, &within, &mut key);
            Record::Value(key, StoredValue { value, version, expires_at })
        },
    )
}

fn idempotency_records() -> impl Strategy<Value = Record> {
    let result = prop_oneof![Just(DONE), counters().prop_map(OperationResult::Counter)];
    let results = prop_oneof![9 => vec(result.clone(), 1..6), 1 => vec(result, 128)];
    let parts = (any::<[u8; 32]>(), numbers(), tokens(), tokens(), any::<u64>(), results);
    (names(), idempotency_keys(), parts).prop_map(
        |(resource, used, (fingerprint, version, one, other, at, results))| {
            let mut key = Vec::new();
            key::idempotency(&resource, &used, &mut key);
            let kept = KeyRecord {
                fingerprint: Fingerprint::from_bytes(fingerprint),
                version,
                token: one.min(other),
                last_used: one.max(other),
                applied_at: time(at),
                results,
            };
            Record::Idempotency(key, kept)
        },
    )
}

fn records() -> impl Strategy<Value = Record> {
    prop_oneof![1 => stores(), 3 => heads(), 3 => values(), 3 => idempotency_records()]
}

proptest! {
    #[test]
    fn a_record_is_read_back_as_it_was(record in records()) {
        let bytes = record.encode();
        prop_assert_eq!(record.decode(record.key(), &bytes), Ok(record));
    }

    #[test]
    fn one_flipped_bit_anywhere_is_an_error(record in records()) {
        let bytes = record.encode();
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let decoded = record.decode(record.key(), &damaged);
            prop_assert_eq!(decoded, Err(Damage::Checksum), "bit {}", bit);
        }
    }

    #[test]
    fn a_record_cut_short_is_an_error(record in records()) {
        let bytes = record.encode();
        for len in 0..bytes.len() {
            let decoded = record.decode(record.key(), &bytes[..len]);
            prop_assert_eq!(decoded, Err(Damage::Checksum), "{} of {} bytes", len, bytes.len());
        }
    }

    #[test]
    fn a_record_that_strayed_to_another_key_is_an_error(one in records(), other in records()) {
        // The store record has but one key.
        prop_assume!(one.key() != other.key() && !matches!(one, Record::Store(_)));
        let decoded = one.decode(other.key(), &one.encode());
        prop_assert_eq!(decoded, Err(Damage::Checksum));
    }

    #[test]
    fn any_bytes_at_all_are_an_error(kind in records(), bytes in vec(any::<u8>(), 0..200)) {
        prop_assert!(kind.decode(kind.key(), &bytes).is_err(), "a checksum matched by chance");
    }

    #[test]
    fn bytes_with_the_right_checksum_are_what_would_be_written_or_an_error(
        kind in records(),
        edits in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        resized in option::weighted(0.3, 0_usize..120),
        foreign in option::weighted(0.2, vec(any::<u8>(), 0..120)),
    ) {
        // As a bug would write them, not as a disk would damage them: the checksum says nothing.
        let whole = kind.encode();
        let mut framed = foreign.unwrap_or_else(|| whole[..whole.len() - 4].to_vec());
        for (at, byte) in edits {
            if !framed.is_empty() {
                let at = at.index(framed.len());
                framed[at] = byte;
            }
        }
        if let Some(len) = resized {
            framed.resize(len, 0);
        }
        let bytes = sealed(kind.key(), &framed);
        if let Ok(record) = kind.decode(kind.key(), &bytes) {
            prop_assert_eq!(record.encode(), bytes, "read, and written differently");
        }
    }
}

#[test]
fn a_value_above_the_limit_is_an_error_and_one_at_the_limit_is_not() {
    let key = b"dr\0k";
    for (len, fits) in [(1 << 20, true), ((1 << 20) + 1, false)] {
        let value = Value::Bytes(Bytes::from(vec![7; len]));
        let (stored, mut out) = (StoredValue { value, version: 1, expires_at: None }, Vec::new());
        record::encode_value(key, &stored, &mut out);
        let decoded = record::decode_value(key, &out);
        assert_eq!(decoded.is_ok(), fits, "{len} bytes");
        assert!(fits || matches!(decoded, Err(Damage::Content { part: "value" })));
    }
}
