//! JSON values whose numbers keep their digits.

use std::fmt;
use std::ops::{Index, IndexMut};
use std::str::FromStr;
use std::sync::Arc;

use indexmap::IndexMap;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{JsonError, Special, parse, to_text};

/// The members of an object, in their order.
pub type Map = IndexMap<String, Json>;

/// A JSON value. Two numbers are equal if they are written alike.
///
/// ```
/// use ncz_model::json::{Json, json, parse};
///
/// let array = parse(br#"{"shape": [0010e-1, 3], "fill_value": 0.10}"#);
/// assert!(array.is_err(), "no number starts with zeros");
/// let array = parse(br#"{"shape": [10, 3], "fill_value": 0.10}"#)?.value;
/// assert_eq!(array["shape"], json!([10, 3]));
/// assert_eq!(array["fill_value"].to_string(), "0.10");
/// # Ok::<(), ncz_model::json::JsonError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Json {
    /// `null`
    #[default]
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, as it was written.
    Number(Number),
    /// Text.
    String(String),
    /// A list.
    Array(Vec<Json>),
    /// Members in their order. Copies share them until one is changed.
    Object(Arc<Map>),
}

/// A number as it was written: no digit is lost, however many it has.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Number(Box<str>);

impl Number {
    /// The number with this text, which is one of JSON's, or a word of [`Special`].
    #[must_use]
    pub fn from_text(text: impl Into<Box<str>>) -> Self {
        Self(text.into())
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The number if it is written as a whole number within 64 bits.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        self.0.parse().ok()
    }

    /// The number if it is written as a whole number within 64 bits.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        self.0.parse().ok()
    }

    /// The number if it is written as a whole number within 128 bits.
    #[must_use]
    pub fn as_i128(&self) -> Option<i128> {
        self.0.parse().ok()
    }

    /// The nearest double; `None` beyond the range of doubles.
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        self.0.parse().ok().filter(|value: &f64| value.is_finite())
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Json {
    /// Whether it is `null`.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Whether it is `true` or `false`.
    #[must_use]
    pub fn is_boolean(&self) -> bool {
        matches!(self, Self::Bool(_))
    }

    /// Whether it is a number.
    #[must_use]
    pub fn is_number(&self) -> bool {
        matches!(self, Self::Number(_))
    }

    /// Whether it is text.
    #[must_use]
    pub fn is_string(&self) -> bool {
        matches!(self, Self::String(_))
    }

    /// Whether it is a list.
    #[must_use]
    pub fn is_array(&self) -> bool {
        matches!(self, Self::Array(_))
    }

    /// Whether it has members.
    #[must_use]
    pub fn is_object(&self) -> bool {
        matches!(self, Self::Object(_))
    }

    /// The truth value.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The number.
    #[must_use]
    pub fn as_number(&self) -> Option<&Number> {
        match self {
            Self::Number(number) => Some(number),
            _ => None,
        }
    }

    /// The number, as in [`Number::as_u64`].
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        self.as_number()?.as_u64()
    }

    /// The number, as in [`Number::as_i64`].
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        self.as_number()?.as_i64()
    }

    /// The number, as in [`Number::as_f64`].
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        self.as_number()?.as_f64()
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The items of a list.
    #[must_use]
    pub fn as_array(&self) -> Option<&Vec<Self>> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The items of a list, for changing them.
    pub fn as_array_mut(&mut self) -> Option<&mut Vec<Self>> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    /// Adds an item to a list; for the macro.
    #[doc(hidden)]
    pub fn push_item(&mut self, item: Self) {
        if let Self::Array(items) = self {
            items.push(item);
        }
    }

    /// The members.
    #[must_use]
    pub fn as_object(&self) -> Option<&Map> {
        match self {
            Self::Object(members) => Some(members),
            _ => None,
        }
    }

    /// The members, without a copy unless others share them.
    #[must_use]
    pub fn into_object(self) -> Option<Map> {
        match self {
            Self::Object(members) => Some(Arc::unwrap_or_clone(members)),
            _ => None,
        }
    }

    /// The members, for changing them.
    pub fn as_object_mut(&mut self) -> Option<&mut Map> {
        match self {
            Self::Object(members) => Some(Arc::make_mut(members)),
            _ => None,
        }
    }

    /// The member of this name; `None` if it does not exist, or if this is not an object.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.as_object()?.get(key)
    }

    /// The member of this name, for changing it.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Self> {
        self.as_object_mut()?.get_mut(key)
    }

    /// Converts to the value type of the codec interface. Whole numbers of 64 bits are exact, others become the nearest
    /// double; numbers beyond the range of doubles, and [`Special`] numbers, become text.
    #[must_use]
    pub fn to_value(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
                (Some(whole), ..) => Value::from(whole),
                (_, Some(whole), _) => Value::from(whole),
                (.., Some(double)) => Value::from(double),
                _ => Value::from(number.as_str()),
            },
            Self::String(text) => Value::from(text.as_str()),
            Self::Array(items) => items.iter().map(Self::to_value).collect(),
            Self::Object(members) => {
                Value::Object(members.iter().map(|(key, value)| (key.clone(), value.to_value())).collect())
            }
        }
    }
}

/// Converts each value to the value type of the codec interface: [`Json::to_value`].
#[must_use]
pub fn to_values(values: &[Json]) -> Vec<Value> {
    values.iter().map(Json::to_value).collect()
}

/// Strict JSON, as [`to_text`] writes it.
impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&to_text(self))
    }
}

/// Reads JSON as [`parse`] does.
impl FromStr for Json {
    type Err = JsonError;

    fn from_str(text: &str) -> Result<Self, JsonError> {
        parse(text.as_bytes()).map(|parsed| parsed.value)
    }
}

impl Index<&str> for Json {
    type Output = Self;

    /// The member of this name, `null` if there is none.
    fn index(&self, key: &str) -> &Self {
        self.get(key).unwrap_or(&Self::Null)
    }
}

impl IndexMut<&str> for Json {
    /// The member of this name, which is added if it does not exist. A value that is not an object becomes one.
    fn index_mut(&mut self, key: &str) -> &mut Self {
        if !self.is_object() {
            *self = Self::from(Map::new());
        }
        match self {
            Self::Object(members) => Arc::make_mut(members).entry(key.to_owned()).or_default(),
            other => other,
        }
    }
}

impl Index<usize> for Json {
    type Output = Self;

    /// Returns the item at this index, `null` if there is none.
    fn index(&self, at: usize) -> &Self {
        self.as_array().and_then(|items| items.get(at)).unwrap_or(&Self::Null)
    }
}

impl PartialEq<str> for Json {
    fn eq(&self, text: &str) -> bool {
        self.as_str() == Some(text)
    }
}

/// Compares the result of [`Json::to_value`].
impl PartialEq<Value> for Json {
    fn eq(&self, value: &Value) -> bool {
        self.to_value() == *value
    }
}

impl PartialEq<&str> for Json {
    fn eq(&self, text: &&str) -> bool {
        self.as_str() == Some(text)
    }
}

impl From<Value> for Json {
    fn from(value: Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(value),
            Value::Number(number) => Self::Number(Number::from_text(number.to_string())),
            Value::String(text) => Self::String(text),
            Value::Array(items) => Self::Array(items.into_iter().map(Self::from).collect()),
            Value::Object(members) => {
                let members: Map = members.into_iter().map(|(key, value)| (key, Self::from(value))).collect();
                Self::from(members)
            }
        }
    }
}

/// Converts as [`Json::to_value`] does.
impl From<Json> for Value {
    fn from(json: Json) -> Self {
        json.to_value()
    }
}

/// Serializes the result of [`Json::to_value`], for reports. Metadata are written by [`to_text`], which keeps every
/// digit.
impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_value().serialize(serializer)
    }
}

impl From<bool> for Json {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

macro_rules! whole_numbers {
    ($($type:ty)*) => {
        $(impl From<$type> for Json {
            fn from(value: $type) -> Self {
                Self::Number(Number::from_text(value.to_string()))
            }
        }

        /// Whether it is this number, written as a whole number.
        impl PartialEq<$type> for Json {
            fn eq(&self, other: &$type) -> bool {
                self.as_number().is_some_and(|number| number.as_str().parse() == Ok(*other))
            }
        })*
    };
}

whole_numbers!(u8 i8 u16 i16 u32 i32 u64 i64 u128 i128 usize isize);

/// Numbers that JSON cannot express become [`Special::bare`].
impl From<f64> for Json {
    fn from(value: f64) -> Self {
        match serde_json::Number::from_f64(value) {
            Some(number) => Self::Number(Number::from_text(number.to_string())),
            None if value.is_nan() => Special::NaN.bare(),
            None if value > 0.0 => Special::Infinity.bare(),
            None => Special::NegativeInfinity.bare(),
        }
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<String> for Json {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

impl From<Map> for Json {
    fn from(members: Map) -> Self {
        Self::Object(Arc::new(members))
    }
}

impl<T: Into<Self>> From<Vec<T>> for Json {
    fn from(items: Vec<T>) -> Self {
        items.into_iter().collect()
    }
}

impl<T: Clone + Into<Self>> From<&[T]> for Json {
    fn from(items: &[T]) -> Self {
        items.iter().cloned().collect()
    }
}

impl<T: Into<Self>, const N: usize> From<[T; N]> for Json {
    fn from(items: [T; N]) -> Self {
        items.into_iter().collect()
    }
}

impl<T: Into<Self>> From<Option<T>> for Json {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl<T: Clone + Into<Self>> From<&T> for Json {
    fn from(value: &T) -> Self {
        value.clone().into()
    }
}

impl<T: Into<Self>> FromIterator<T> for Json {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self::Array(items.into_iter().map(Into::into).collect())
    }
}

/// Makes a [`Json`] from the notation of JSON; a value may be any expression that converts into one.
///
/// ```
/// use ncz_model::json::json;
///
/// let shape = [3, 4];
/// let array = json!({"shape": shape, "compressor": null, "filters": [{"id": "delta"}]});
/// assert_eq!(array.to_string(), r#"{"shape": [3,4], "compressor": null, "filters": [{"id": "delta"}]}"#);
/// ```
#[macro_export]
#[doc(hidden)]
macro_rules! __json {
    (null) => { $crate::json::Json::Null };
    ([ $($items:tt)* ]) => {{
        #[allow(unused_mut)]
        let mut items = $crate::json::Json::Array(Vec::new());
        $crate::__json!(@items items $($items)*);
        items
    }};
    ({ $($members:tt)* }) => {{
        #[allow(unused_mut)]
        let mut members = $crate::json::Map::new();
        $crate::__json!(@members members $($members)*);
        $crate::json::Json::from(members)
    }};
    (@items $to:ident) => {};
    (@items $to:ident null $(, $($rest:tt)*)?) => {
        $to.push_item($crate::json::Json::Null);
        $crate::__json!(@items $to $($($rest)*)?);
    };
    (@items $to:ident [ $($inner:tt)* ] $(, $($rest:tt)*)?) => {
        $to.push_item($crate::__json!([ $($inner)* ]));
        $crate::__json!(@items $to $($($rest)*)?);
    };
    (@items $to:ident { $($inner:tt)* } $(, $($rest:tt)*)?) => {
        $to.push_item($crate::__json!({ $($inner)* }));
        $crate::__json!(@items $to $($($rest)*)?);
    };
    (@items $to:ident $item:expr $(, $($rest:tt)*)?) => {
        $to.push_item($crate::json::Json::from(&$item));
        $crate::__json!(@items $to $($($rest)*)?);
    };
    (@members $to:ident) => {};
    (@members $to:ident $key:tt : null $(, $($rest:tt)*)?) => {
        $to.insert(($key).into(), $crate::json::Json::Null);
        $crate::__json!(@members $to $($($rest)*)?);
    };
    (@members $to:ident $key:tt : [ $($inner:tt)* ] $(, $($rest:tt)*)?) => {
        $to.insert(($key).into(), $crate::__json!([ $($inner)* ]));
        $crate::__json!(@members $to $($($rest)*)?);
    };
    (@members $to:ident $key:tt : { $($inner:tt)* } $(, $($rest:tt)*)?) => {
        $to.insert(($key).into(), $crate::__json!({ $($inner)* }));
        $crate::__json!(@members $to $($($rest)*)?);
    };
    (@members $to:ident $key:tt : $value:expr $(, $($rest:tt)*)?) => {
        $to.insert(($key).into(), $crate::json::Json::from(&$value));
        $crate::__json!(@members $to $($($rest)*)?);
    };
    ($value:expr) => { $crate::json::Json::from(&$value) };
}

pub use crate::__json as json;
