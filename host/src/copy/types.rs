//! Types that netCDF lacks, in copies to NCZarr and netCDF files: other types, which common readers turn back.

use ncz_codec::Number;
use ncz_model::{
    Array, Attribute, ByteOrder, Container, DataError, Dtype, FillText, FillValue, Format, Hierarchy, Kind,
    NcType, NetcdfKind, Value, Variable, json, masked::FILL_VALUE, names,
};
use ncz_registry::spec::{ChainSpec, NUMCODECS_PREFIX, StageSpec};

use super::{CopyError, Unstorable, netcdf};

/// NaT, which is not a time.
const NAT: i64 = i64::MIN;

/// The units of times in CF, by their names in numpy.
const UNITS: [(&str, &str); 7] = [
    ("D", "days"),
    ("h", "hours"),
    ("m", "minutes"),
    ("s", "seconds"),
    ("ms", "milliseconds"),
    ("us", "microseconds"),
    ("ns", "nanoseconds"),
];

/// The HDF5 id of shuffle.
const SHUFFLE: u32 = 2;

/// Numbers that are converted at a time.
const NUMBERS: usize = 1024;

/// How a copy stores a variable whose type its format lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Substitute {
    /// The type in the copy.
    pub nc_type: NcType,
    /// What readers make of it, as the rest of a sentence that begins with the type.
    pub how: &'static str,
}

/// How a copy in `format` stores a variable whose type that format lacks; `None`: it has the type.
///
/// | type | stored as | turned back by |
/// | --- | --- | --- |
/// | `bool` | `ubyte`, in files without it `byte`, with the attribute `dtype = "bool"` | xarray |
/// | `bool` with `_FillValue` | the same without `dtype`, with which xarray reads missing values as true | |
/// | `float16` | `float`, the same numbers | |
/// | `datetime64` | `int64` with CF's attribute `units` | xarray, netCDF4, CF readers |
/// | `timedelta64` | `int64` with `units` and the attribute `dtype` | xarray |
/// | Unicode of a fixed length, text of any length | `string` | every reader |
///
/// # Errors
/// The format has no type that holds the values, for the reason that the text gives, as a clause.
pub fn substitute(variable: &Variable, format: Format) -> Result<Option<Substitute>, String> {
    if !format.has_netcdf_model() || variable.is_structured() {
        return Ok(None);
    }
    let dtype = &variable.dtype;
    let kind = format.kind();
    let is_wide = matches!(kind, NetcdfKind::Netcdf4 | NetcdfKind::Cdf5);
    let lacks = |what: &str| match format.is_netcdf() {
        true => format!("netCDF files of the kind {} have no {what}", kind.name()),
        false => format!("NCZarr has no {what}"),
    };
    let int64 = |how| match is_wide {
        true => Ok(Some(Substitute { nc_type: NcType::Int64, how })),
        false => Err(lacks("integers of 64 bits, as which times are stored")),
    };
    match (dtype.kind(), dtype.size()) {
        (Kind::Bool, _) => Ok(Some(Substitute {
            nc_type: if is_wide { NcType::UByte } else { NcType::Byte },
            how: match bool_mask(variable) {
                None => "with the attribute dtype = \"bool\", by which xarray reads truth values",
                Some(_) => {
                    "without the attribute dtype = \"bool\", with which xarray would read missing values as true"
                }
            },
        })),
        (Kind::Float, 2) => Ok(Some(Substitute { nc_type: NcType::Float, how: "which has the same values" })),
        (Kind::DateTime | Kind::TimeDelta, _) => {
            if unit(dtype).is_none() {
                return Err(format!("CF has no units for {dtype}"));
            }
            if let Some(taken) = ["units", "calendar"].iter().find(|name| variable.attribute(name).is_some())
            {
                return Err(format!("it has an attribute {taken:?} already, which CF's units would replace"));
            }
            int64(match dtype.kind() {
                Kind::DateTime => "with units of CF, by which xarray reads times",
                _ => "with units of CF and the attribute dtype, by which xarray reads differences of times",
            })
        }
        (Kind::Unicode, 1..) if !has_type(kind, NcType::String) => Err(lacks("type string")),
        (Kind::Unicode, 1..) => {
            Ok(Some(Substitute { nc_type: NcType::String, how: "which has the same text" }))
        }
        // netCDF-4 has structures of a real and an imaginary part.
        (Kind::Complex, 8 | 16) if format.is_netcdf() && kind == NetcdfKind::Netcdf4 => Ok(None),
        // NCZarr gets strings of a fixed length, see `strings::fix_length`.
        _ => match variable.nc_type.or_else(|| dtype.nc_type(true)) {
            Some(nc_type) if has_type(kind, nc_type) => Ok(None),
            Some(nc_type) => Err(lacks(&format!("type {nc_type}"))),
            None => Err(lacks(&format!("type for {dtype}"))),
        },
    }
}

/// Whether files of a kind have a type.
fn has_type(kind: NetcdfKind, nc_type: NcType) -> bool {
    use NcType::{Byte, Char, Double, Float, Int, Short, String};
    match kind {
        NetcdfKind::Netcdf4 => true,
        NetcdfKind::Cdf5 => nc_type != String,
        NetcdfKind::Classic | NetcdfKind::Offset64 | NetcdfKind::Netcdf4Classic => {
            matches!(nc_type, Byte | Char | Short | Int | Float | Double)
        }
    }
}

/// Checks that a copy can have all variables.
///
/// # Errors
/// [`CopyError::NoType`] with those that it cannot have.
pub(super) fn check(hierarchy: &Hierarchy, was: Format, format: Format) -> Result<(), CopyError> {
    let unstorable = hierarchy.variables().filter_map(|variable| {
        let broken = || broken_name(variable, was, format);
        let reason = substitute(variable, format).err().or_else(broken)?;
        Some(Unstorable { path: variable.path.clone(), reason })
    });
    let variables: Vec<Unstorable> = unstorable.collect();
    if variables.is_empty() { Ok(()) } else { Err(CopyError::NoType { variables }) }
}

/// Says which name of a variable, its groups or dimensions readers of the copy do not take: netcdf-c opens no NCZarr dataset
/// with a name that netCDF does not allow, although it reads such names in HDF5 files, and some names are no keys of Zarr.
fn broken_name(variable: &Variable, was: Format, format: Format) -> Option<String> {
    let of_path = variable.path.split('/').filter(|name| !name.is_empty());
    let mut of_objects = of_path.clone();
    let of_dimensions = variable.dimensions.iter().map(|dimension| dimension.name.as_str());
    let mut names =
        of_path.map(|name| ("variable", name)).chain(of_dimensions.map(|name| ("dimension", name)));
    if format.is_nczarr() && !was.is_nczarr() {
        return names.find_map(|(kind, name)| {
            let reason = names::broken_rule(kind, name)?;
            Some(format!("the name {name:?}: {reason}, and netcdf-c then opens nothing of the dataset"))
        });
    }
    if format.is_netcdf() || !was.is_netcdf() {
        return None;
    }
    of_objects.find_map(|name| {
        let reason = match names::broken_key_rule(name) {
            Some(reason) => format!("{reason}, which keys of Zarr do not"),
            None if name.contains('\\') => {
                "zarr-python takes a backslash for a slash, and does not find it".to_owned()
            }
            None if name == "zarr.json" => "Zarr keeps metadata under this name".to_owned(),
            None => return None,
        };
        Some(format!("the name {name:?}: {reason}"))
    })
}

/// Gives a planned variable a type that the format has.
///
/// # Errors
/// [`DataError::Unsupported`]: the format has none, or not for the fill value.
pub(super) fn change(variable: &mut Variable, format: Format) -> Result<(), DataError> {
    if format.is_netcdf() && netcdf::lay_out(variable)? {
        return Ok(());
    }
    let unsupported = |variable: &Variable, reason: String| DataError::Unsupported {
        variable: variable.path.clone(),
        reason,
    };
    let substitute = substitute(variable, format).map_err(|reason| unsupported(variable, reason))?;
    let to_text = format.is_netcdf() && variable.nc_type == Some(NcType::String);
    let nc_type = match substitute {
        Some(Substitute { nc_type, .. }) => nc_type,
        None if to_text => NcType::String,
        None => return Ok(()),
    };
    let from = variable.dtype.clone();
    let to = match nc_type {
        NcType::String => Dtype::vlen_text(),
        other => other.dtype(from.order(), 0),
    };
    let mask = bool_mask(variable);
    let string = Value::String(vec![fill_text(variable)]);
    let fill = variable.fill.take().map(|fill| {
        // The bytes of a truth value or of a time are those of an integer.
        let value = match nc_type {
            NcType::String => Some(string),
            NcType::Float => fill.value(nc_type, &from),
            _ => Value::from_stored_bytes(nc_type, &to, fill.bytes()),
        };
        let value = value.ok_or_else(|| format!("its fill value is not one of {nc_type}"))?;
        FillValue::from_value(&value, &to, FillText::of(format)).map_err(|error| error.to_string())
    });
    variable.fill = fill.transpose().map_err(|reason| unsupported(variable, reason))?;
    let set = |variable: &mut Variable, name: &str, value: Value| match variable.attribute(name) {
        Some(_) => Ok(()),
        None => variable.set_attribute(Attribute::new(name, value)),
    };
    match from.kind() {
        Kind::Bool => match mask {
            Some(mask) => {
                let byte =
                    if nc_type == NcType::Byte { Value::from(i8::from(mask)) } else { u8::from(mask).into() };
                variable.set_attribute(Attribute::new(FILL_VALUE, byte))?;
            }
            None => set(variable, "dtype", Value::text("bool"))?,
        },
        Kind::DateTime | Kind::TimeDelta => {
            let (name, word) = unit(&from).unwrap_or_default();
            if from.kind() == Kind::DateTime {
                set(variable, "units", Value::text(format!("{word} since 1970-01-01")))?;
                set(variable, "calendar", Value::text("proleptic_gregorian"))?;
            } else {
                set(variable, "units", Value::text(word))?;
                set(variable, "dtype", Value::text(format!("timedelta64[{name}]")))?;
            }
            // Missing chunks read as the fill value, which is not NaT in each case.
            let is_nat = variable.fill.as_ref().is_some_and(|fill| {
                fill.value(NcType::Int64, &to).is_some_and(|value| value == Value::from(NAT))
            });
            set(variable, if is_nat { FILL_VALUE } else { "missing_value" }, Value::from(NAT))?;
        }
        _ => {}
    }
    variable.dtype = to;
    variable.nc_type = Some(nc_type);
    Ok(())
}

/// The truth value that the attribute `_FillValue` marks as missing.
fn bool_mask(variable: &Variable) -> Option<bool> {
    let attribute = variable.attribute(FILL_VALUE)?;
    let integer = || attribute.value.as_integer().map(|number| number != 0);
    attribute.json.as_ref().and_then(json::Json::as_bool).or_else(integer)
}

/// The fill value of a variable of strings as text; empty if there is none.
pub(crate) fn fill_text(variable: &Variable) -> Vec<u8> {
    let Some(fill) = &variable.fill else { return Vec::new() };
    if variable.dtype.is_variable_length() {
        return fill.bytes().to_vec();
    }
    let mut native = fill.bytes().to_vec();
    if variable.dtype.is_swapped() {
        native.chunks_exact_mut(variable.dtype.swap_unit().max(1)).for_each(<[u8]>::reverse);
    }
    match Value::from_elements(&variable.dtype, &native) {
        Some(Value::String(strings)) => strings.into_iter().next().unwrap_or_default(),
        _ => Vec::new(),
    }
}

/// The unit of a type of times: its name in numpy, and its word in CF; `None` if CF has none.
fn unit(dtype: &Dtype) -> Option<(&'static str, &'static str)> {
    let (_, unit) = dtype.text().split_once('[')?;
    let unit = unit.strip_suffix(']')?;
    UNITS.into_iter().find(|(name, _)| *name == unit)
}

/// The codecs of a variable whose elements have another size in the copy: shuffle gets that size, and strings have none,
/// which netcdf-c would shuffle otherwise. `None`: the size is the same.
///
/// # Errors
/// The codecs of the source cannot be read.
pub(super) fn other_codecs(
    source: &dyn Container,
    original: &Variable,
    planned: &Variable,
) -> Result<Option<ChainSpec>, DataError> {
    let (from, to) = (&original.dtype, &planned.dtype);
    if from.size() == to.size() || from.is_variable_length() || to.is_variable_length() {
        return Ok(None);
    }
    let was = source.hierarchy().format;
    let agreed = source.agreed_filters(original, was)?;
    let spec = ChainSpec::from_json(was.dialect(), &json::to_values(&agreed))
        .map_err(|source| DataError::Spec { variable: original.path.clone(), source: Box::new(source) })?;
    let is_shuffle = |stage: &StageSpec| match stage {
        StageSpec::Filter { id, .. } => *id == SHUFFLE,
        StageSpec::Json { name, .. } | StageSpec::Named { name, .. } => {
            name.strip_prefix(NUMCODECS_PREFIX).unwrap_or(name) == "shuffle"
        }
    };
    let size = u32::try_from(to.size()).ok().filter(|_| planned.nc_type != Some(NcType::String));
    let stages = spec.stages().iter().filter_map(|stage| match is_shuffle(stage) {
        false => Some(stage.clone()),
        true => Some(StageSpec::Filter { id: SHUFFLE, params: vec![size?] }),
    });
    Ok(Some(ChainSpec::new(stages.collect())))
}

/// Whether elements of these two types have the same bytes and mean the same: truth values and times are integers.
pub(super) fn is_relabelled(from: &Dtype, to: &Dtype) -> bool {
    let is_integer = |dtype: &Dtype| matches!(dtype.kind(), Kind::Int | Kind::UInt);
    match from.kind() {
        Kind::Bool => is_integer(to) && to.size() == 1,
        Kind::DateTime | Kind::TimeDelta => {
            to.kind() == Kind::Int && (from.size(), from.order()) == (to.size(), to.order())
        }
        _ => false,
    }
}

/// Converts stored elements of the source to those of the target: other floating-point numbers, or another byte order.
pub(super) fn convert(source: &Array, target: &Array, elements: &mut Vec<u8>) {
    let (from, to) = (source.dtype(), target.dtype());
    let is_float = |dtype: &Dtype| dtype.kind() == Kind::Float;
    if is_float(from) && is_float(to) && from.size() != to.size() {
        let number = |dtype: &Dtype| {
            let order = if dtype.order() == ByteOrder::Big {
                ncz_codec::ByteOrder::Big
            } else {
                ncz_codec::ByteOrder::Little
            };
            Number::new(ncz_codec::Dtype { kind: ncz_codec::Kind::Float, size: dtype.size(), order }).ok()
        };
        if let (Some(read), Some(write)) = (number(from), number(to)) {
            let mut converted = vec![0; elements.len() / from.size() * to.size()];
            let mut floats = [0.0; NUMBERS];
            let pieces = elements.chunks(NUMBERS * from.size());
            for (piece, out) in pieces.zip(converted.chunks_mut(NUMBERS * to.size())) {
                let floats = &mut floats[..piece.len() / from.size()];
                read.read_floats(piece, floats);
                write.write_floats(floats, out);
            }
            *elements = converted;
        }
        return;
    }
    if from.order() != to.order() {
        let unit = to.swap_unit();
        if unit > 1 {
            elements.chunks_exact_mut(unit).for_each(<[u8]>::reverse);
        }
    }
}

#[cfg(test)]
mod tests {
    use ncz_model::VariableBuilder;

    use super::*;

    fn substituted(dtype: &str, format: Format) -> Result<Option<NcType>, String> {
        let mut hierarchy = Hierarchy::new(Format::Zarr3);
        hierarchy.add_dimension("/", "x", 3, false).unwrap();
        let dtype = Dtype::parse(dtype).unwrap();
        let builder = VariableBuilder::of_dtype("v", dtype, None).dimensions(["x"]);
        let variable = hierarchy.add_variable("/", builder).unwrap();
        substitute(variable, format).map(|found| found.map(|found| found.nc_type))
    }

    #[test]
    fn each_format_has_its_own_substitutes() {
        let (classic, netcdf4) = (Format::Netcdf(NetcdfKind::Classic), Format::Netcdf(NetcdfKind::Netcdf4));
        for (dtype, format, wanted) in [
            ("|b1", Format::NCZARR, Ok(Some(NcType::UByte))),
            ("|b1", classic, Ok(Some(NcType::Byte))),
            ("|b1", Format::Zarr3, Ok(None)),
            (">f2", netcdf4, Ok(Some(NcType::Float))),
            ("<M8[us]", Format::NCZARR, Ok(Some(NcType::Int64))),
            ("<m8[D]", netcdf4, Ok(Some(NcType::Int64))),
            ("<U7", Format::NCZARR, Ok(Some(NcType::String))),
            ("<c16", netcdf4, Ok(None)),
            ("<i8", Format::NCZARR, Ok(None)),
        ] {
            assert_eq!(substituted(dtype, format), wanted, "{dtype} {format:?}");
        }
        for (dtype, format, reason) in [
            ("<M8[M]", Format::NCZARR, "CF has no units for <M8[M]"),
            ("<M8[10ns]", netcdf4, "CF has no units for <M8[10ns]"),
            ("<M8[s]", classic, "integers of 64 bits"),
            ("<U7", classic, "no type string"),
            ("<c16", Format::NCZARR, "NCZarr has no type for <c16"),
            ("|V5", netcdf4, "no type for |V5"),
        ] {
            let found = substituted(dtype, format).unwrap_err();
            assert!(found.contains(reason), "{found}");
        }
    }
}
