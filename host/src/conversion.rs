//! Elements of a variable as those of the same variable of another dataset, which has other units of time, another
//! packing, another value for missing ones, or another type.
//!
//! Every value stays exact, or is refused: times are sums and quotients of whole numbers, and packed numbers must be
//! unpacked to the same number by the attributes of both sides.

mod container;
mod number;
mod packing;
mod times;

use ncz_model::json::Json;
use ncz_model::{Attribute, Dtype, FillValue, Format, Hierarchy, Kind, NcType, Value, Variable};

pub(crate) use self::container::{Conversions, Converted, Source};
use self::number::put;
pub(crate) use self::number::{Number, numbers};
use self::packing::Packing;
use self::times::{Shift, TimeUnits};
use crate::agreement::{self, Side};

/// Attributes that a conversion changes to those of the other side.
const CHANGED: [&str; 6] = ["units", "calendar", "scale_factor", "add_offset", "missing_value", "_FillValue"];

/// Attributes whose numbers are packed, as the elements are.
const PACKED: [&str; 3] = ["valid_min", "valid_max", "valid_range"];

/// Elements that are converted at a time.
const TOGETHER: usize = 1 << 16;

/// How the elements of a variable become those of another.
#[derive(Clone, Debug)]
pub(crate) struct Conversion {
    /// In what the two sides differ, with the names of both.
    pub(crate) reason: String,
    from: NcType,
    from_size: usize,
    rule: Rule,
    /// The values that readers of the one side mask, and what readers of the other mask in their place.
    masked: Vec<(Number, Option<Number>)>,
    /// The values that readers of the other side mask.
    masks: Vec<Number>,
    /// A value that all readers of the other side mask.
    missing: Option<Number>,
    /// What the variable is on the other side.
    nc_type: NcType,
    dtype: Dtype,
    fill: Option<FillValue>,
    attributes: Vec<Attribute>,
    /// The units or the packing of both sides, for messages.
    forms: (String, String),
    remedy: &'static str,
    /// How messages name the other side.
    other: String,
}

#[derive(Clone, Debug)]
enum Rule {
    /// Numbers stay as they are.
    Same,
    Times(Shift),
    Packing {
        from: Packing,
        to: Packing,
    },
}

/// A value that the other side cannot hold.
#[derive(Debug, thiserror::Error)]
#[error("{value} ({from}) cannot be kept exactly as {nc_type} ({to}){why}")]
pub(crate) struct Inexact {
    value: String,
    from: String,
    to: String,
    nc_type: &'static str,
    /// Why, if there is more to say, and the remedy.
    why: String,
}

impl Conversion {
    /// How elements of the one become elements of the other; `None` if they are the same already. The error is the
    /// difference that cannot be converted, in which the `names` are those of the two datasets.
    pub(crate) fn between(
        names: (&str, &str),
        one: Side<'_>,
        other: Side<'_>,
    ) -> Result<Option<Self>, String> {
        let times = (TimeUnits::of(one.0, one.1, other.1), TimeUnits::of(other.0, other.1, one.1));
        let (same, same_times) = (agreement::same_meaning(names, one, other), times.0 == times.1);
        let reason = match same {
            Ok(()) if same_times => return Ok(None),
            // The units are those of another variable, whose bounds these are.
            Ok(()) => format!(
                "its times are {} in {} and {} in {}",
                times::shown(&times.0),
                names.0,
                times::shown(&times.1),
                names.1
            ),
            Err(reason) => reason,
        };
        let sides = [one.0, other.0];
        let is_number = |variable: &Variable| {
            let kind = variable.dtype.kind();
            matches!(kind, Kind::Int | Kind::UInt | Kind::Float)
                && variable.user_type.is_none()
                && variable.nc_type.and_then(NcType::size) == Some(variable.dtype.size())
        };
        let (Some(from), Some(to)) = (one.0.nc_type, other.0.nc_type) else { return Err(reason) };
        if !sides.into_iter().all(is_number) {
            return Err(reason);
        }
        agreement::same_attributes(names, one.0, other.0, &CHANGED)?;
        let packings = [Packing::of(one.0)?, Packing::of(other.0)?];
        let is_packed = packings.iter().any(Packing::is_packed);
        let is_other_sign = sides.into_iter().any(agreement::is_other_sign);
        let times = match times {
            (Ok(ours), Ok(theirs)) => (ours, theirs),
            // Whatever the moment is, it is the same.
            _ if same_times => (None, None),
            (Err(why), _) | (_, Err(why)) => return Err(format!("{reason}; {why}")),
        };
        let (rule, remedy) = match times {
            (Some(ours), Some(theirs)) if !is_packed && !is_other_sign => {
                let shift = ours.shift_to(&theirs).map_err(|why| format!("{reason}; {why}"))?;
                let remedy = "begin with the dataset whose unit is finer, or write the times of one of them again in \
                              the units of the other";
                (Rule::Times(shift), remedy)
            }
            (None, None) => {
                agreement::same_attributes(
                    names,
                    one.0,
                    other.0,
                    &["scale_factor", "add_offset", "missing_value"],
                )?;
                let [ours, theirs] = packings;
                let remedy = "unpack the variable in one of them";
                let ranges = [(one.0, names.0), (other.0, names.1)].into_iter().flat_map(|(side, name)| {
                    let has = PACKED.into_iter().filter(|range| side.attribute(range).is_some());
                    has.map(move |range| format!("its attribute {range} in {name} is packed too; {remedy}"))
                });
                let range = ranges.into_iter().next();
                match ours == theirs {
                    true if from == to => (Rule::Same, remedy),
                    // What readers make of numbers of two types is theirs to decide.
                    true => return Err(reason),
                    // Readers unpack numbers of the other sign.
                    false if is_other_sign => return Err(reason),
                    false => match range {
                        Some(range) => return Err(format!("{reason}; {range}")),
                        None => (Rule::Packing { from: ours, to: theirs }, remedy),
                    },
                }
            }
            _ => return Err(reason),
        };
        let ours = Masks::of(one.0, one.1.format)?;
        let theirs = Masks::of(other.0, other.1.format)?;
        // Only some readers mask a default of netCDF: it cannot stand for what all of them mask.
        let explicit = theirs.fill.filter(|_| agreement::is_masked_by_all(other));
        let their_fill = if one.0.attribute("_FillValue").is_some() { explicit } else { theirs.fill };
        let missing = theirs.missing.or(explicit);
        // It is a number like any other where the other side masks no fill value.
        let is_default = one.0.attribute("_FillValue").is_none() && !agreement::is_masked_by_all(one);
        let our_fill = ours.fill.filter(|_| !is_default || theirs.fill.is_some());
        let masked = [(our_fill, their_fill.or(missing)), (ours.missing, missing)];
        let forms = match &rule {
            Rule::Times(shift) => (shift.from.clone(), shift.to.clone()),
            Rule::Packing { from, to } => (from.to_string(), to.to_string()),
            Rule::Same => (names.0.to_owned(), names.1.to_owned()),
        };
        Ok(Some(Self {
            reason,
            from,
            from_size: one.0.dtype.size(),
            rule,
            masked: masked.into_iter().filter_map(|(ours, theirs)| Some((ours?, theirs))).collect(),
            masks: theirs.fill.into_iter().chain(theirs.missing).collect(),
            missing,
            nc_type: to,
            dtype: other.0.dtype.clone(),
            fill: other.0.fill.clone(),
            attributes: other.0.attributes.iter().filter(is_changed).cloned().collect(),
            forms,
            remedy,
            other: names.1.to_owned(),
        }))
    }

    /// How numbers become the same numbers in the byte order of the other, which must be of the same meaning; `None` if
    /// they are not numbers of one type.
    pub(crate) fn of_byte_order(reason: String, one: &Variable, other: &Variable) -> Option<Self> {
        let is_number = |variable: &Variable| {
            matches!(variable.dtype.kind(), Kind::Int | Kind::UInt | Kind::Float)
                && variable.user_type.is_none()
                && variable.nc_type.and_then(NcType::size) == Some(variable.dtype.size())
        };
        let (from, nc_type) = (one.nc_type?, other.nc_type?);
        let is_one_type = from == nc_type && is_number(one) && is_number(other);
        is_one_type.then(|| Self {
            reason,
            from,
            from_size: one.dtype.size(),
            rule: Rule::Same,
            masked: Vec::new(),
            masks: Vec::new(),
            missing: None,
            nc_type,
            forms: (one.dtype.to_string(), other.dtype.to_string()),
            dtype: other.dtype.clone(),
            fill: other.fill.clone(),
            attributes: one.attributes.iter().filter(is_changed).cloned().collect(),
            remedy: "leave it out",
            other: String::new(),
        })
    }

    /// Whether the numbers stay the same: only their bytes become others, or what chunks are read as that were never
    /// written.
    pub(crate) fn keeps_numbers(&self) -> bool {
        let is_kept =
            |(ours, theirs): &(Number, Option<Number>)| theirs.is_some_and(|theirs| theirs.is_same(*ours));
        matches!(self.rule, Rule::Same) && self.masked.iter().all(is_kept)
    }

    /// Describes a variable as it is after the conversion: in chunks without codecs, one for each stored object.
    fn apply(&self, variable: &Variable) -> Variable {
        let kept = variable.attributes.iter().filter(|attribute| !is_changed(attribute));
        Variable {
            dtype: self.dtype.clone(),
            nc_type: Some(self.nc_type),
            fill: self.fill.clone(),
            chunk_shape: variable.object_shape().to_vec(),
            sharding: None,
            order: ncz_model::Order::C,
            filters: Vec::<Json>::new(),
            attributes: kept.chain(&self.attributes).cloned().collect(),
            ..variable.clone()
        }
    }

    /// Converts elements in the byte order of the machine to elements as the other side stores them.
    ///
    /// # Errors
    /// [`Inexact`]: the other side cannot hold a value.
    fn convert(&self, elements: &[u8]) -> Result<Vec<u8>, Inexact> {
        let count = elements.len() / self.from_size.max(1);
        let mut converted = Vec::with_capacity(count.saturating_mul(self.dtype.size()));
        for block in elements.chunks(self.from_size.max(1) * TOGETHER) {
            let values = Value::from_native_bytes(self.from, self.from_size, block);
            for number in values.as_ref().map(numbers).unwrap_or_default() {
                self.number(number, &mut converted)?;
            }
        }
        if self.dtype.is_swapped() {
            converted.chunks_exact_mut(self.dtype.swap_unit().max(1)).for_each(<[u8]>::reverse);
        }
        Ok(converted)
    }

    fn number(&self, number: Number, out: &mut Vec<u8>) -> Result<(), Inexact> {
        let because = |why: String| Inexact {
            value: number.to_string(),
            from: self.forms.0.clone(),
            to: self.forms.1.clone(),
            nc_type: self.nc_type.name(),
            why,
        };
        let inexact = || because(format!("; {}", self.remedy));
        let no_mask = |what: &str| {
            because(format!(
                ": it is {what}, and there is no value for missing ones; give it the attribute missing_value in {}",
                self.other
            ))
        };
        if let Some((_, mask)) = self.masked.iter().find(|(masked, _)| masked.is_same(number)) {
            let mask = mask.ok_or_else(|| no_mask("missing"))?;
            return if put(mask, self.nc_type, out) { Ok(()) } else { Err(inexact()) };
        }
        if let (Rule::Times(_), Some(nat)) = (&self.rule, self.not_a_time(number)) {
            return if put(nat, self.nc_type, out) { Ok(()) } else { Err(no_mask("not a time (NaT)")) };
        }
        let converted = match &self.rule {
            Rule::Same => Some(number),
            Rule::Times(shift) => shift.apply(number),
            Rule::Packing { from, to } => to.pack(from.unpack(number), self.nc_type),
        };
        let converted = converted.ok_or_else(inexact)?;
        // NaN is missing for every reader, whether it is masked or not.
        let is_nan = matches!(converted, Number::Float(value) if value.is_nan());
        if !is_nan && self.masks.iter().any(|mask| mask.is_same(converted)) {
            return Err(because(format!(
                ": readers would take it for a missing value; give it another missing value in {}",
                self.other
            )));
        }
        if put(converted, self.nc_type, out) { Ok(()) } else { Err(inexact()) }
    }

    /// What is not a time on the other side, if a number is none: xarray writes and reads NaT as the least integer of 64
    /// bits, and as NaN.
    fn not_a_time(&self, number: Number) -> Option<Number> {
        let least = Number::Int(i64::MIN.into());
        let is_none = match number {
            Number::Int(_) => self.from == NcType::Int64 && number.is_same(least),
            Number::Float(value) => value.is_nan(),
        };
        is_none.then_some(match self.nc_type {
            NcType::Float | NcType::Double => Number::Float(f64::NAN),
            NcType::Int64 => least,
            _ => self.missing.unwrap_or(number),
        })
    }

    /// Whether chunks that were never written are also none after the conversion: their fill value becomes the fill
    /// value of the other side.
    fn keeps_fill(&self, variable: &Variable) -> bool {
        let mut ours = variable.fill_bytes();
        if variable.dtype.is_swapped() {
            ours.reverse();
        }
        self.convert(&ours).is_ok_and(|converted| {
            converted == self.fill.as_ref().map_or_else(|| self.dtype.no_fill(), |fill| fill.bytes().to_vec())
        })
    }
}

/// Whether a conversion changes an attribute to that of the other side.
fn is_changed(attribute: &&Attribute) -> bool {
    CHANGED.contains(&attribute.name.as_str())
}

/// The values that readers mask.
struct Masks {
    fill: Option<Number>,
    missing: Option<Number>,
}

impl Masks {
    fn of(variable: &Variable, format: Format) -> Result<Self, String> {
        let one = |value: &Value| match numbers(value).as_slice() {
            &[number] => Ok(number),
            _ => Err("its attribute missing_value is not one number".to_owned()),
        };
        let missing = variable.attribute("missing_value").map(|attribute| one(&attribute.value));
        let fill = variable.masked_value(format).and_then(|value| numbers(&value).first().copied());
        Ok(Self { fill, missing: missing.transpose()? })
    }
}

/// The group of a variable.
fn group_of<'h>(hierarchy: &'h Hierarchy, variable: &Variable) -> Option<&'h ncz_model::Group> {
    hierarchy.group(ncz_model::split_path(&variable.path).0).ok()
}

#[cfg(test)]
mod tests;
