use ncz_model::{NewFill, VariableBuilder};

use super::*;

fn dataset(name: &str, attributes: &[(&str, Value)], fill: Option<Value>, nc_type: NcType) -> Hierarchy {
    let mut hierarchy = Hierarchy::new(Format::NCZARR);
    let fill = fill.map_or(NewFill::Default, NewFill::Value);
    let variable = hierarchy.add_variable("/", VariableBuilder::new(name, nc_type).fill(fill)).unwrap();
    for (name, value) in attributes {
        variable.set_attribute(Attribute::new(*name, value.clone())).unwrap();
    }
    hierarchy
}

fn between(one: &Hierarchy, other: &Hierarchy, path: &str) -> Result<Option<Conversion>, String> {
    let side = |hierarchy: &'static Hierarchy| (hierarchy.variable(path).unwrap(), hierarchy);
    let leak = |hierarchy: &Hierarchy| -> &'static Hierarchy { Box::leak(Box::new(hierarchy.clone())) };
    Conversion::between(("a", "b"), side(leak(one)), side(leak(other)))
}

/// The first value of the one side as one of the other.
fn convert(one: &Hierarchy, other: &Hierarchy, value: &Value) -> Result<Value, String> {
    let conversion = between(one, other, "/v")?.ok_or("they are the same")?;
    let bytes = value.to_native_bytes(conversion.from_size).unwrap();
    let converted = conversion.convert(&bytes).map_err(|error| error.to_string())?;
    Ok(Value::from_stored_bytes(conversion.nc_type, &conversion.dtype, &converted).unwrap())
}

fn times(units: &str, calendar: &str, nc_type: NcType) -> Hierarchy {
    dataset("v", &[("units", Value::text(units)), ("calendar", Value::text(calendar))], None, nc_type)
}

#[test]
fn times_are_the_same_moments_in_the_other_units() {
    use NcType::{Double, Float, Int, Int64};
    type Case<'a> = (&'a str, &'a str, NcType, Value, &'a str, &'a str, NcType, Value);
    let cases: Vec<Case<'_>> = vec![
        (
            "days since 2020-01-02",
            "standard",
            Int64,
            3_i64.into(),
            "hours since 2020-01-01",
            "gregorian",
            Int64,
            96_i64.into(),
        ),
        (
            "hours since 2020-03-01",
            "standard",
            Int,
            5_i32.into(),
            "hours since 2020-02-01 00:00",
            "standard",
            Double,
            701.0.into(),
        ),
        (
            "hours since 2020-03-01",
            "noleap",
            Int,
            5_i32.into(),
            "hours since 2020-02-01",
            "365_day",
            Int,
            677_i32.into(),
        ),
        (
            "hours since 2020-03-01",
            "360_day",
            Int,
            5_i32.into(),
            "hours since 2020-02-01",
            "360_day",
            Int,
            725_i32.into(),
        ),
        (
            "hours since 2020-01-02",
            "standard",
            Int,
            12_i32.into(),
            "days since 2020-01-01",
            "standard",
            Double,
            1.5.into(),
        ),
        (
            "hours since 2020-01-02",
            "standard",
            Int,
            12_i32.into(),
            "days since 2020-01-01",
            "standard",
            Float,
            1.5_f32.into(),
        ),
        (
            "days since 2020-01-02",
            "standard",
            Double,
            0.25.into(),
            "minutes since 2020-01-01T12:00:00Z",
            "proleptic_gregorian",
            Int,
            1080_i32.into(),
        ),
        (
            "days since 2020-01-02",
            "standard",
            Double,
            0.25.into(),
            "minutes since 2020-01-01 12:00:00+00:00",
            "proleptic_gregorian",
            Int,
            1080_i32.into(),
        ),
        (
            "days since 2020-01-02",
            "standard",
            Int64,
            i64::MIN.into(),
            "hours since 2020-01-01",
            "standard",
            Int64,
            i64::MIN.into(),
        ),
        (
            "days since 0001-01-01",
            "standard",
            Int,
            0_i32.into(),
            "days since 1970-01-01",
            "standard",
            Int,
            (-719_164_i32).into(),
        ),
        (
            "days since 0001-01-01",
            "proleptic_gregorian",
            Int,
            0_i32.into(),
            "days since 1970-01-01",
            "proleptic_gregorian",
            Int,
            (-719_162_i32).into(),
        ),
        (
            "seconds since 1970-01-01 00:00:00.5 UTC",
            "standard",
            Int64,
            1_i64.into(),
            "milliseconds since 1970-01-01",
            "standard",
            Int64,
            1500_i64.into(),
        ),
    ];
    for (from, from_calendar, from_type, value, to, to_calendar, to_type, want) in cases {
        let (one, other) = (times(from, from_calendar, from_type), times(to, to_calendar, to_type));
        assert_eq!(convert(&one, &other, &value), Ok(want), "{from} {to}");
    }
}

#[test]
fn times_that_are_not_exact_are_refused_with_the_remedy() {
    use NcType::{Double, Int, Int64};
    type Case<'a> = (&'a str, &'a str, NcType, Value, &'a str, &'a str, NcType, &'a str);
    let cases: Vec<Case<'_>> = vec![
        (
            "hours since 2020-01-02",
            "standard",
            Int,
            6_i32.into(),
            "days since 2020-01-01",
            "standard",
            Int64,
            "6 (hours since 2020-01-02) cannot be kept exactly as int64 (days since 2020-01-01); begin with",
        ),
        (
            "hours since 2020-01-02",
            "standard",
            Int,
            1_i32.into(),
            "days since 2020-01-01",
            "standard",
            Double,
            "cannot be kept exactly as double",
        ),
        (
            "days since 2020-01-02",
            "standard",
            Int64,
            (1_i64 << 40).into(),
            "seconds since 2020-01-01",
            "standard",
            Int,
            "cannot be kept exactly as int ",
        ),
        (
            "days since 2020-01-02",
            "standard",
            Int,
            1_i32.into(),
            "days since 2020-01-01",
            "noleap",
            Int,
            "the calendars differ",
        ),
        (
            "days since 1500-01-01",
            "standard",
            Int,
            1_i32.into(),
            "days since 1500-01-01",
            "proleptic_gregorian",
            Int,
            "the calendars differ",
        ),
        (
            "days since 2020-01-01",
            "standard",
            Int,
            (-400_000_i32).into(),
            "days since 2020-01-02",
            "proleptic_gregorian",
            Int,
            "cannot be kept exactly",
        ),
        (
            "months since 2020-01-02",
            "standard",
            Int,
            1_i32.into(),
            "days since 2020-01-01",
            "standard",
            Int,
            "its attribute \"units\" is",
        ),
        (
            "days since 2020-01-02 00:00 -6:00",
            "standard",
            Int,
            1_i32.into(),
            "days since 2020-01-01",
            "standard",
            Int,
            "its attribute \"units\" is",
        ),
    ];
    for (from, from_calendar, from_type, value, to, to_calendar, to_type, want) in cases {
        let (one, other) = (times(from, from_calendar, from_type), times(to, to_calendar, to_type));
        let error = convert(&one, &other, &value).unwrap_err();
        assert!(error.contains(want), "{from} {to}: {error}");
    }
}

#[test]
fn bounds_have_the_units_of_their_variable() {
    let of = |units: &str| {
        let mut hierarchy = times(units, "standard", NcType::Int);
        let bounds = Attribute::new("bounds", "v_bnds");
        hierarchy.variable_mut("/v").unwrap().set_attribute(bounds).unwrap();
        hierarchy.add_variable("/", VariableBuilder::new("v_bnds", NcType::Int)).unwrap();
        hierarchy
    };
    let (one, other) = (of("days since 2020-01-02"), of("hours since 2020-01-01"));
    let conversion = between(&one, &other, "/v_bnds").unwrap().unwrap();
    assert!(conversion.reason.contains("\"hours since 2020-01-01\" in b"), "{}", conversion.reason);
    assert_eq!(conversion.convert(&2_i32.to_ne_bytes()).unwrap(), 72_i32.to_le_bytes());
    assert!(between(&one, &one, "/v_bnds").unwrap().is_none());
    let mut silent = other;
    silent.variable_mut("/v").unwrap().attributes.retain(|attribute| attribute.name != "bounds");
    assert!(between(&one, &silent, "/v_bnds").unwrap().is_some());
}

#[test]
fn packed_numbers_are_unpacked_to_the_same_or_refused() {
    use NcType::{Double, Float, Int, Short};
    let packed = |scale: Option<f64>, offset: Option<f64>, fill: Option<Value>, nc_type| {
        let attributes = [("scale_factor", scale), ("add_offset", offset)];
        let attributes: Vec<_> =
            attributes.iter().filter_map(|(name, value)| Some((*name, Value::from((*value)?)))).collect();
        dataset("v", &attributes, fill, nc_type)
    };
    let short = |scale, offset, fill: i16| packed(Some(scale), Some(offset), Some(fill.into()), Short);
    let plain = |nc_type, fill: Value| packed(None, None, Some(fill), nc_type);
    let target = short(0.5, 10.0, -1);
    for (one, other, value, want) in [
        (short(0.5, 20.0, -9), &target, Value::from(4_i16), Ok(Value::from(24_i16))),
        (short(0.5, 20.0, -9), &target, Value::from(-9_i16), Ok(Value::from(-1_i16))),
        (short(0.25, 10.0, -9), &target, Value::from(6_i16), Ok(Value::from(3_i16))),
        (
            short(0.25, 10.0, -9),
            &target,
            Value::from(5_i16),
            Err("5 (scale_factor 0.25, add_offset 10) cannot be kept"),
        ),
        (short(0.5, 20.0, -9), &target, Value::from(-21_i16), Err("take it for a missing value")),
        (short(0.5, 20.0, -9), &target, Value::from(32_767_i16), Err("cannot be kept exactly as short")),
        (short(0.5, 20.0, -9), &plain(Double, (-1.0).into()), Value::from(3_i16), Ok(Value::from(21.5))),
        (plain(Float, (-9.0_f32).into()), &target, Value::from(11.5_f32), Ok(Value::from(3_i16))),
        (plain(Float, (-9.0_f32).into()), &target, Value::from(f32::NAN), Err("NaN")),
        (
            plain(Float, f32::NAN.into()),
            &plain(Float, (-1.0_f32).into()),
            Value::from(f32::NAN),
            Ok(Value::from(-1.0_f32)),
        ),
        (
            plain(Float, f32::NAN.into()),
            &plain(Float, (-1.0_f32).into()),
            Value::from(0.1_f32),
            Ok(Value::from(0.1_f32)),
        ),
        (plain(Int, (-1_i32).into()), &plain(Double, (-1.0).into()), Value::from(1_i32), Err("its type is")),
    ] {
        match (convert(&one, other, &value), want) {
            (Ok(found), Ok(want)) => assert_eq!(found, want, "{value:?}"),
            (Err(found), Err(want)) => assert!(found.contains(want), "{found}"),
            (found, want) => panic!("{value:?}: {found:?} {want:?}"),
        }
    }
}

#[test]
fn a_valid_range_that_is_packed_is_not_converted() {
    let of = |scale: f64| {
        let attributes = [("scale_factor", scale.into()), ("valid_max", Value::from(100_i16))];
        dataset("v", &attributes, None, NcType::Short)
    };
    let error = between(&of(0.5), &of(0.25), "/v").unwrap_err();
    assert!(error.contains("its attribute valid_max in a is packed too; unpack"), "{error}");
}
