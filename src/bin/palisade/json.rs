//! JSON, read strictly.
//!
//! Every field has to be known, and given once; a whole number is exact, as JSON text or as a JSON
//! integer; `null` is the same as leaving a field out. An error names its field by its path and
//! never shows what was in it.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;

use palisade::Invalid;
use palisade::types::Problem;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};

/// Any JSON, with whole numbers kept exact.
#[derive(Debug)]
pub(crate) enum Json {
    Null,
    Bool,
    Whole(i128),
    /// A number that is no whole one, or too large to be exact.
    Inexact,
    Text(String),
    List(Vec<Json>),
    Object(Object),
}

#[derive(Debug, Default)]
pub(crate) struct Object {
    fields: BTreeMap<String, Json>,
    /// The first field that was given again.
    repeated: Option<String>,
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyJson)
    }
}

struct AnyJson;

impl<'de> Visitor<'de> for AnyJson {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Json, E> {
        Ok(Json::Bool)
    }

    fn visit_i64<E>(self, number: i64) -> Result<Json, E> {
        Ok(Json::Whole(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Json, E> {
        Ok(Json::Whole(number.into()))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Json, E> {
        Ok(Json::Inexact)
    }

    fn visit_str<E>(self, text: &str) -> Result<Json, E> {
        Ok(Json::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Json, E> {
        Ok(Json::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Json, A::Error> {
        let mut object = Object::default();
        while let Some((name, value)) = entries.next_entry::<String, Json>()? {
            match object.fields.entry(name) {
                Entry::Vacant(place) => {
                    place.insert(value);
                }
                Entry::Occupied(place) => {
                    object.repeated.get_or_insert_with(|| place.key().clone());
                }
            }
        }
        Ok(Json::Object(object))
    }
}

impl Json {
    /// The one JSON value in `text`.
    pub(crate) fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    pub(crate) fn into_text(self, path: &str) -> Result<String, Invalid> {
        match self {
            Self::Text(text) => Ok(text),
            Self::Null
            | Self::Bool
            | Self::Whole(_)
            | Self::Inexact
            | Self::List(_)
            | Self::Object(_) => Err(Invalid::malformed(path.to_owned(), "text")),
        }
    }

    pub(crate) fn into_list(self, path: &str) -> Result<Vec<Self>, Invalid> {
        match self {
            Self::List(list) => Ok(list),
            Self::Null
            | Self::Bool
            | Self::Whole(_)
            | Self::Inexact
            | Self::Text(_)
            | Self::Object(_) => Err(Invalid::malformed(path.to_owned(), "a list")),
        }
    }

    /// A whole number from `min` to `max`, as text or as a JSON integer.
    pub(crate) fn into_whole<N>(self, path: &str, (min, max): (N, N)) -> Result<N, Invalid>
    where
        N: TryFrom<i128> + fmt::Display,
    {
        let whole = match self {
            Self::Whole(whole) => Some(whole),
            Self::Text(text) => text.parse().ok(),
            Self::Null | Self::Bool | Self::Inexact | Self::List(_) | Self::Object(_) => None,
        };
        whole.and_then(|whole| N::try_from(whole).ok()).ok_or_else(|| {
            let expected =
                format!("a whole number from {min} to {max}, as text or as a JSON integer");
            Invalid::malformed(path.to_owned(), expected)
        })
    }
}

/// The fields of one object, taken out one by one.
#[derive(Debug)]
pub(crate) struct Fields {
    path: String,
    fields: BTreeMap<String, Json>,
}

impl Fields {
    /// The fields of the object at `path`; the whole request lies at the empty path.
    pub(crate) fn of(path: &str, json: Json) -> Result<Self, Invalid> {
        let shown = if path.is_empty() { "request" } else { path };
        match json {
            Json::Object(Object { fields, repeated }) => {
                let fields = Self { path: path.to_owned(), fields };
                match repeated {
                    Some(name) => Err(Invalid::malformed(fields.name(&name), "given only once")),
                    None => Ok(fields),
                }
            }
            Json::Null
            | Json::Bool
            | Json::Whole(_)
            | Json::Inexact
            | Json::Text(_)
            | Json::List(_) => Err(Invalid::malformed(shown.to_owned(), "a JSON object")),
        }
    }

    /// Refuses every field that is not one of `known`.
    pub(crate) fn only(self, known: &[&str]) -> Result<Self, Invalid> {
        match self.fields.keys().find(|name| !known.contains(&name.as_str())) {
            None => Ok(self),
            Some(unknown) => {
                let expected =
                    format!("left out: it is unknown here, known are {}", known.join(", "));
                Err(Invalid::malformed(self.name(unknown), expected))
            }
        }
    }

    /// The only field, with its name.
    pub(crate) fn sole(mut self) -> Option<(String, Json)> {
        match (self.fields.pop_first(), self.fields.is_empty()) {
            (Some(sole), true) => Some(sole),
            (Some(_), false) | (None, _) => None,
        }
    }

    pub(crate) fn optional(&mut self, name: &str) -> Option<Json> {
        self.fields.remove(name).filter(|json| !matches!(json, Json::Null))
    }

    pub(crate) fn required(&mut self, name: &str) -> Result<Json, Invalid> {
        self.optional(name).ok_or_else(|| Invalid::new(self.name(name), Problem::Missing))
    }

    pub(crate) fn text(&mut self, name: &str) -> Result<String, Invalid> {
        self.required(name)?.into_text(&self.name(name))
    }

    /// The path of the field `name`, which a user may have made up.
    pub(crate) fn name(&self, name: &str) -> String {
        let escaped: String = name.escape_debug().take(NAME_CHARS_MAX).collect();
        if self.path.is_empty() { escaped } else { format!("{}.{escaped}", self.path) }
    }
}

/// Of a field's name in a message.
const NAME_CHARS_MAX: usize = 64;
