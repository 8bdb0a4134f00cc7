//! Values of user-defined types.

use std::sync::Arc;

use crate::json::{Json, Map};
use crate::user_type::{ElementType, TypeClass, UserType};
use crate::value::Value;

/// A row of values of one type.
#[derive(Clone, Debug, PartialEq)]
pub enum Row {
    /// Values of an atomic type, or the integers of an enumeration.
    Plain(Value),
    /// The bytes of each opaque value.
    Opaque(Vec<Vec<u8>>),
    /// For each compound value, the elements of each field in row-major order.
    Compound(Vec<Vec<Row>>),
    /// The elements of each variable-length value.
    Vlen(Vec<Row>),
}

/// A row of values with their user-defined type.
#[derive(Clone, Debug, PartialEq)]
pub struct UserValue {
    /// The type of each value.
    pub of: Arc<UserType>,
    /// The values.
    pub row: Row,
}

impl Row {
    /// The number of values; of bytes for `char`.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Plain(values) => values.len(),
            Self::Opaque(values) => values.len(),
            Self::Compound(values) => values.len(),
            Self::Vlen(values) => values.len(),
        }
    }

    /// Whether there are no values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// No values of a type.
    #[must_use]
    pub fn empty(of: &ElementType) -> Self {
        match of {
            ElementType::Atomic(nc_type) => Self::Plain(Value::empty(*nc_type)),
            ElementType::User(user) => match &user.class {
                TypeClass::Enum { base, .. } => Self::Plain(Value::empty(*base)),
                TypeClass::Opaque { .. } => Self::Opaque(Vec::new()),
                TypeClass::Compound { .. } => Self::Compound(Vec::new()),
                TypeClass::Vlen { .. } => Self::Vlen(Vec::new()),
            },
        }
    }

    /// Adds the values of a row of the same type; those of another type are not added.
    pub fn append(&mut self, other: Self) {
        match (self, other) {
            (Self::Plain(values), Self::Plain(other)) => values.append(other),
            (Self::Opaque(values), Self::Opaque(other)) => values.extend(other),
            (Self::Compound(values), Self::Compound(other)) => values.extend(other),
            (Self::Vlen(values), Self::Vlen(other)) => values.extend(other),
            _ => {}
        }
    }

    /// Takes the values out, and leaves none.
    #[must_use]
    pub fn take(&mut self) -> Self {
        let mut empty = match self {
            Self::Plain(values) => Self::Plain(Value::empty(values.nc_type())),
            Self::Opaque(_) => Self::Opaque(Vec::new()),
            Self::Compound(_) => Self::Compound(Vec::new()),
            Self::Vlen(_) => Self::Vlen(Vec::new()),
        };
        std::mem::swap(self, &mut empty);
        empty
    }

    /// About how many bytes of memory they take.
    #[must_use]
    pub fn memory(&self) -> usize {
        /// What an allocation takes besides its bytes.
        const ALLOCATION: usize = 32;
        let all = |rows: &[Self]| {
            rows.iter().fold(ALLOCATION, |sum, row| sum.saturating_add(size_of::<Self>() + row.memory()))
        };
        let texts = |texts: &[Vec<u8>]| {
            texts.iter().fold(ALLOCATION, |sum, text| {
                sum.saturating_add(size_of::<Vec<u8>>() + ALLOCATION).saturating_add(text.len())
            })
        };
        match self {
            Self::Plain(Value::String(values)) | Self::Opaque(values) => texts(values),
            Self::Plain(values) => {
                ALLOCATION.saturating_add(values.len().saturating_mul(values.nc_type().size().unwrap_or(1)))
            }
            Self::Compound(values) => values.iter().fold(ALLOCATION, |sum, fields| {
                sum.saturating_add(size_of::<Vec<Self>>()).saturating_add(all(fields))
            }),
            Self::Vlen(rows) => all(rows),
        }
    }

    /// The values, as often as `times` says.
    #[must_use]
    pub fn repeated(&self, times: usize) -> Self {
        let mut all = self.clone();
        all.truncate(0);
        (0..times).for_each(|_| all.append(self.clone()));
        all
    }

    /// Keeps the first `len` values.
    pub fn truncate(&mut self, len: usize) {
        match self {
            Self::Plain(values) => values.truncate(len),
            Self::Opaque(values) => values.truncate(len),
            Self::Compound(values) => values.truncate(len),
            Self::Vlen(values) => values.truncate(len),
        }
    }
}

/// Whether two rows have the same values, bit by bit: NaN is the same as NaN.
#[must_use]
pub fn same_rows(one: &Row, other: &Row) -> bool {
    match (one, other) {
        (Row::Plain(one), Row::Plain(other)) => match (one, other) {
            (Value::String(one), Value::String(other)) => one == other,
            _ => one.nc_type() == other.nc_type() && one.to_native_bytes(0) == other.to_native_bytes(0),
        },
        (Row::Opaque(one), Row::Opaque(other)) => one == other,
        (Row::Compound(one), Row::Compound(other)) => {
            let same = |(one, other): (&Vec<Row>, &Vec<Row>)| same_all(one, other);
            one.len() == other.len() && one.iter().zip(other).all(same)
        }
        (Row::Vlen(one), Row::Vlen(other)) => same_all(one, other),
        _ => false,
    }
}

fn same_all(one: &[Row], other: &[Row]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same_rows(one, other))
}

/// The JSON of each value of a row: a number or text; the name of an integer of an enumeration; the bytes of opaque
/// values in hexadecimal; an object for a compound; a list for a variable-length value. Numbers that JSON does not have
/// are text. Values of `char` are one text.
#[must_use]
pub fn row_json(of: &ElementType, row: &Row) -> Vec<Json> {
    match (row, of) {
        (Row::Plain(Value::Char(text)), _) => {
            vec![Json::from(String::from_utf8_lossy(crate::value::unpadded(text)).into_owned())]
        }
        (Row::Plain(values), ElementType::User(user)) => (0..values.len())
            .map(|at| {
                let value = integer_at(values, at);
                let name = value.and_then(|value| user.member(value));
                name.map_or_else(|| number_json(values, at), Json::from)
            })
            .collect(),
        (Row::Plain(values), _) => (0..values.len()).map(|at| number_json(values, at)).collect(),
        (Row::Opaque(values), _) => values.iter().map(|bytes| Json::from(hex(bytes))).collect(),
        (Row::Compound(values), ElementType::User(user)) => {
            let TypeClass::Compound { fields } = &user.class else { return Vec::new() };
            let object = |row: &Vec<Row>| {
                let members = fields.iter().zip(row).map(|(field, row)| {
                    let is_single = field.shape.is_empty() || matches!(row, Row::Plain(Value::Char(_)));
                    let mut values = row_json(&field.element, row);
                    let value = match values.pop() {
                        Some(value) if is_single && values.is_empty() => value,
                        last => Json::Array(values.into_iter().chain(last).collect()),
                    };
                    (field.name.clone(), value)
                });
                Json::from(members.collect::<Map>())
            };
            values.iter().map(object).collect()
        }
        (Row::Vlen(rows), ElementType::User(user)) => {
            let TypeClass::Vlen { base } = &user.class else { return Vec::new() };
            rows.iter().map(|row| Json::Array(row_json(base, row))).collect()
        }
        (Row::Compound(_) | Row::Vlen(_), ElementType::Atomic(_)) => Vec::new(),
    }
}

/// One integer of a row of integers.
#[must_use]
pub fn integer_at(values: &Value, at: usize) -> Option<i128> {
    Some(match values {
        Value::Byte(values) => i128::from(*values.get(at)?),
        Value::UByte(values) => i128::from(*values.get(at)?),
        Value::Short(values) => i128::from(*values.get(at)?),
        Value::UShort(values) => i128::from(*values.get(at)?),
        Value::Int(values) => i128::from(*values.get(at)?),
        Value::UInt(values) => i128::from(*values.get(at)?),
        Value::Int64(values) => i128::from(*values.get(at)?),
        Value::UInt64(values) => i128::from(*values.get(at)?),
        Value::Float(_) | Value::Double(_) | Value::Char(_) | Value::String(_) => return None,
    })
}

fn number_json(values: &Value, at: usize) -> Json {
    let float = |value: f64| match value {
        value if value.is_nan() => Json::from("NaN"),
        f64::INFINITY => Json::from("Infinity"),
        f64::NEG_INFINITY => Json::from("-Infinity"),
        value => Json::from(value),
    };
    match values {
        Value::UInt64(values) => values.get(at).copied().map_or(Json::Null, Json::from),
        // The decimal text of a float, and not that of the double with the same value.
        Value::Float(values) => values
            .get(at)
            .map_or(Json::Null, |value| float(value.to_string().parse().unwrap_or(f64::from(*value)))),
        Value::Double(values) => values.get(at).map_or(Json::Null, |value| float(*value)),
        Value::String(texts) => {
            texts.get(at).map_or(Json::Null, |text| Json::from(String::from_utf8_lossy(text).into_owned()))
        }
        other => {
            let value = integer_at(other, at).and_then(|value| i64::try_from(value).ok());
            value.map_or(Json::Null, Json::from)
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
