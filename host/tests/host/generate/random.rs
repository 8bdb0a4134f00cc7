use std::fmt::Write as _;

use proptest::prelude::*;

use super::helpers::{assert_same_text, dump, made, text};
use super::oracles::by_netcdf;

/// A type, and texts of values of it.
fn constant(nc_type: &'static str) -> BoxedStrategy<String> {
    let fill = Just("_".to_owned());
    let number = match nc_type {
        "byte" => any::<i8>().prop_map(|value| value.to_string()).boxed(),
        "ubyte" => any::<u8>().prop_map(|value| value.to_string()).boxed(),
        "short" => any::<i16>().prop_map(|value| value.to_string()).boxed(),
        "ushort" => any::<u16>().prop_map(|value| value.to_string()).boxed(),
        "int" => any::<i32>().prop_map(|value| value.to_string()).boxed(),
        "uint" => any::<u32>().prop_map(|value| value.to_string()).boxed(),
        "int64" => any::<i64>().prop_map(|value| format!("{value}LL")).boxed(),
        "uint64" => any::<u64>().prop_map(|value| format!("{value}ULL")).boxed(),
        "float" => any::<u32>().prop_map(|bits| real(f64::from(f32::from_bits(bits)))).boxed(),
        "double" => any::<u64>().prop_map(|bits| real(f64::from_bits(bits))).boxed(),
        _ => return "[ -!#-&(-\\[\\]-~é]{1,6}".prop_map(|text| format!("\"{text}\"")).boxed(),
    };
    prop_oneof![8 => number, 1 => fill].boxed()
}

fn real(value: f64) -> String {
    match value {
        _ if value.is_nan() => "NaN".to_owned(),
        f64::INFINITY => "Infinity".to_owned(),
        f64::NEG_INFINITY => "-Infinity".to_owned(),
        _ => format!("{value:e}"),
    }
}

const TYPES: [&str; 11] =
    ["byte", "ubyte", "short", "ushort", "int", "uint", "int64", "uint64", "float", "double", "string"];

/// A variable: its dimensions, whether it has a fill value, attributes, and its values by rows.
#[derive(Debug, Clone)]
struct Drawn {
    nc_type: &'static str,
    dimensions: &'static [&'static str],
    fill: Option<String>,
    attribute: Option<(&'static str, Vec<String>)>,
    /// Rows of an outer dimension.
    rows: Vec<Vec<String>>,
}

const DIMENSIONS: [&[&str]; 7] = [&[], &["x"], &["t"], &["t", "x"], &["x", "y"], &["x", "t"], &["t", "u"]];

fn drawn() -> impl Strategy<Value = Drawn> {
    let nc_type = prop::sample::select(TYPES.as_slice());
    (nc_type, prop::sample::select(DIMENSIONS.as_slice())).prop_flat_map(|(nc_type, dimensions)| {
        let own = constant(nc_type).prop_filter("_ is no fill value", |text| text != "_");
        let (rows, most) = match dimensions {
            [] => (1..=1, 1),
            // x has 3, y 4 values; t and u are unlimited.
            [dimension] => (1..=1, if *dimension == "x" { 3 } else { 5 }),
            ["t", "x"] => (1..=1, 12),
            ["x", "y"] => (1..=1, 12),
            _ => (1..=3, 5),
        };
        let attribute_type = prop::sample::select(TYPES.as_slice());
        let attribute = attribute_type.prop_flat_map(|nc_type| {
            let values = constant(nc_type).prop_filter("no fill in attributes", |text| text != "_");
            prop::collection::vec(values, 1..4).prop_map(move |values| (nc_type, values))
        });
        (
            prop::option::of(own),
            prop::option::of(attribute),
            prop::collection::vec(prop::collection::vec(constant(nc_type), 1..=most), rows),
        )
            .prop_map(move |(fill, attribute, rows)| Drawn {
                nc_type,
                dimensions,
                fill,
                attribute,
                rows,
            })
    })
}

/// A text of some variables, half of them in a group inside.
fn cdl(variables: &[Drawn]) -> String {
    let mut text = "netcdf d {\ndimensions:\n t = UNLIMITED ; u = UNLIMITED ; x = 3 ; y = 4 ;\n".to_owned();
    let (outer, inner) = variables.split_at(variables.len() / 2);
    body(&mut text, outer, "a");
    text.push_str("group: g {\n");
    body(&mut text, inner, "b");
    text.push_str("}\n}\n");
    text
}

fn body(text: &mut String, variables: &[Drawn], name: &str) {
    text.push_str("variables:\n");
    for (at, variable) in variables.iter().enumerate() {
        let Drawn { nc_type, dimensions, fill, attribute, .. } = variable;
        let shape =
            if dimensions.is_empty() { String::new() } else { format!("({})", dimensions.join(", ")) };
        writeln!(text, " {nc_type} {name}{at}{shape} ;").unwrap();
        // ncdump shows strings that are the fill value in another way.
        if let Some(fill) = fill.as_ref().filter(|_| *nc_type != "string") {
            writeln!(text, "  {name}{at}:_FillValue = {fill} ;").unwrap();
        }
        if let Some((nc_type, values)) = attribute {
            writeln!(text, "  {nc_type} {name}{at}:att = {} ;", values.join(", ")).unwrap();
        }
    }
    text.push_str("data:\n");
    for (at, variable) in variables.iter().enumerate() {
        let nested = matches!(variable.dimensions, ["x", "t"] | ["t", "u"]);
        let rows: Vec<String> = variable.rows.iter().map(|row| row.join(", ")).collect();
        let rows = if nested { format!("{{{}}}", rows.join("}, {")) } else { rows.join(", ") };
        writeln!(text, " {name}{at} = {rows} ;").unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_text_prints_the_same_again(variables in prop::collection::vec(drawn(), 1..6)) {
        let first = dump(&made(&cdl(&variables)));
        assert_same_text(&first, &dump(&made(&first)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn ncgen_makes_the_same_values(variables in prop::collection::vec(drawn(), 1..6)) {
        let source = cdl(&variables);
        let folder = tempfile::tempdir().unwrap();
        let Some(theirs) = by_netcdf(&source, folder.path()) else { return Ok(()) };
        let theirs = theirs.replacen("netcdf x {", "netcdf d {", 1);
        assert_same_text(&text(&made(&theirs), false), &text(&made(&source), false));
    }
}
