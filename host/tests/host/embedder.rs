//! A program that embeds the library uses serde_json as if the library were not there: features of crates are united in
//! one build, and `arbitrary_precision` breaks floats in untagged enums (serde-rs/json#721, #1046, #1108).

use serde::Deserialize;

#[derive(Debug, Deserialize, PartialEq)]
#[serde(untagged)]
enum Setting {
    Whole(i64),
    Number(f64),
    List(Vec<f64>),
    Text(String),
}

#[test]
fn an_untagged_enum_of_floats_is_read() {
    // The library is linked, not only listed.
    assert!(!ncz::registry::Registry::builder().no_plugins(true).build().report().codecs.is_empty());
    let read = |text: &str| serde_json::from_str::<Setting>(text).unwrap();
    assert_eq!(read("3"), Setting::Whole(3));
    assert_eq!(read("2.5"), Setting::Number(2.5));
    assert_eq!(read("1e300"), Setting::Number(1e300));
    assert_eq!(read("[0.5, -1e-3]"), Setting::List(vec![0.5, -1e-3]));
    assert_eq!(read("\"zstd\""), Setting::Text("zstd".to_owned()));
    let number = serde_json::from_str::<serde_json::Value>("2.50").unwrap();
    assert_eq!(number.to_string(), "2.5", "numbers are doubles, not texts");
}
