//! The verbs: each makes one request from its arguments, asks it, and prints the answer.
//!
//! Invariant: a write presents the token it was given. None looks up the present one.

use std::ffi::OsStr;
use std::io::{self, Read as _};

use palisade::limits::VALUE_BYTES_MAX;
use palisade::types::ValueBytes;
use palisade::{
    Condition, Grant, Head, IdempotencyKey, Invalid, Key, ResourceName, Settings, WriteBuilder,
    WriteRequest,
};

use crate::args::{Add, Conditions, Del, Get, Global, KeyState, On, Put, Read};
use crate::failure::{Exit, Failure};
use crate::output::Output;
use crate::request::{Answer, Request};
use crate::store;

pub(crate) fn put(global: &Global, put: &Put) -> Result<Exit, Failure> {
    let key = key(&put.key)?;
    let write = conditional(global, &put.resource, &key, &put.conditions)?;
    let write = if put.counter {
        write.put_counter(key, counter(&value(&put.value)?)?)
    } else {
        write.put(key, ValueBytes::try_from(value(&put.value)?)?)
    };
    tell(global, Request::Write(build(write)?))
}

pub(crate) fn get(global: &Global, get: &Get) -> Result<Exit, Failure> {
    let resource = resource(&get.resource)?;
    let key = key(&get.key)?;
    let Answer::Read { keys, snapshot } =
        ask(global, Request::Read { resource: resource.clone(), keys: vec![key] })?
    else {
        return Ok(Exit::Other); // no guard answers a read with anything else
    };
    let Some(entry) = snapshot.entries.into_iter().next().flatten() else {
        return Err(Failure::NotFound { resource, key: keys.into_iter().next() });
    };
    Output::of(global).value(&entry)?;
    Ok(Exit::Done)
}

pub(crate) fn del(global: &Global, del: &Del) -> Result<Exit, Failure> {
    let key = key(&del.key)?;
    let write = conditional(global, &del.resource, &key, &del.conditions)?;
    tell(global, Request::Write(build(write.delete(key))?))
}

pub(crate) fn add(global: &Global, add: &Add) -> Result<Exit, Failure> {
    let key = key(&add.key)?;
    let mut write = conditional(global, &add.resource, &key, &add.conditions)?;
    write = write.add(key, add.delta);
    if let Some(min) = add.min {
        write = write.min(min);
    }
    if let Some(max) = add.max {
        write = write.max(max);
    }
    tell(global, Request::Write(build(write)?))
}

pub(crate) fn claim(global: &Global, on: &On) -> Result<Exit, Failure> {
    tell(global, Request::Claim(grant(global, &on.resource)?))
}

pub(crate) fn close(global: &Global, on: &On) -> Result<Exit, Failure> {
    tell(global, Request::Close(grant(global, &on.resource)?))
}

pub(crate) fn retire(global: &Global, on: &On) -> Result<Exit, Failure> {
    tell(global, Request::Retire(grant(global, &on.resource)?))
}

pub(crate) fn read(global: &Global, read: &Read) -> Result<Exit, Failure> {
    let keys = read.keys.iter().map(|text| key(text)).collect::<Result<_, _>>()?;
    let request = if read.fenced {
        Request::ReadFenced { grant: grant(global, &read.resource)?, keys }
    } else {
        Request::Read { resource: resource(&read.resource)?, keys }
    };
    tell(global, request)
}

pub(crate) fn fence(global: &Global, on: &On) -> Result<Exit, Failure> {
    let resource = resource(&on.resource)?;
    let answer = ask(global, Request::Fence(resource.clone()))?;
    if matches!(&answer, Answer::Head(head) if *head == Head::default()) {
        return Err(Failure::NotFound { resource, key: None });
    }
    Output::of(global).answer(&answer)?;
    Ok(Exit::Done)
}

pub(crate) fn key_state(global: &Global, of: &KeyState) -> Result<Exit, Failure> {
    let resource = resource(&of.resource)?;
    let idempotency_key = IdempotencyKey::text(&of.event)?;
    tell(global, Request::KeyState { resource, idempotency_key })
}

fn tell(global: &Global, request: Request) -> Result<Exit, Failure> {
    Output::of(global).answer(&ask(global, request)?)?;
    Ok(Exit::Done)
}

/// The request was made, and so is valid, before the store is opened.
fn ask(global: &Global, request: Request) -> Result<Answer, Failure> {
    let guard = store::open(global.data_dir()?, Settings::default())?;
    Ok(pollster::block_on(request.run(guard))?)
}

fn grant(global: &Global, resource: &str) -> Result<Grant, Failure> {
    let token = global.token.as_deref().ok_or_else(|| {
        Invalid::malformed(
            "token",
            "given: the one that your lock returned when it was acquired, with --token or in \
             PALISADE_TOKEN",
        )
    })?;
    let grant = Grant::new(resource, token.parse()?)?;
    Ok(match &global.holder {
        Some(holder) => grant.held_by(holder.as_str())?,
        None => grant,
    })
}

/// Begins a write to `key` that the conditions guard.
fn conditional(
    global: &Global,
    resource: &str,
    key: &Key,
    conditions: &Conditions,
) -> Result<WriteBuilder, Failure> {
    let mut write = WriteRequest::under(&grant(global, resource)?);
    if let Some(name) = &global.idempotency_key {
        write = write.idempotency_key(name)?;
    }
    if conditions.absent {
        write = write.check(key, Condition::Absent);
    }
    if conditions.present {
        write = write.check(key, Condition::Present);
    }
    if let Some(version) = conditions.version {
        write = write.check(key, Condition::Version(version));
    }
    Ok(write)
}

/// The user gave one operation and knows no index: `operations[1].min` is `min` here.
fn build(write: WriteBuilder) -> Result<WriteRequest, Invalid> {
    write.build().map_err(|invalid| {
        let field = invalid.field().rsplit('.').next().unwrap_or_default().to_owned();
        Invalid::new(field, invalid.problem().clone())
    })
}

fn resource(name: &str) -> Result<ResourceName, Invalid> {
    ResourceName::try_from(name)
}

fn key(argument: &OsStr) -> Result<Key, Invalid> {
    Key::try_from(argument.as_encoded_bytes())
}

/// The argument's bytes, or for `-` those of standard input: no more than it takes to see that
/// they are too many.
fn value(argument: &OsStr) -> Result<Vec<u8>, Failure> {
    if argument != "-" {
        return Ok(argument.as_encoded_bytes().to_vec());
    }
    let mut bytes = Vec::new();
    let most = u64::try_from(VALUE_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(1);
    match io::stdin().lock().take(most).read_to_end(&mut bytes) {
        Ok(_) => Ok(bytes),
        Err(source) => Err(Failure::Input { path: None, source }),
    }
}

fn counter(bytes: &[u8]) -> Result<i64, Invalid> {
    let text = std::str::from_utf8(bytes).ok();
    text.and_then(|text| text.trim().parse().ok()).ok_or_else(|| {
        let expected = format!("a whole number from {} to {} with --counter", i64::MIN, i64::MAX);
        Invalid::malformed("value", expected)
    })
}
