//! Compares `plugins/CODECS.md` with the info of each codec.

#![expect(clippy::expect_used, reason = "helpers of tests fail the test")]

use std::collections::BTreeMap;
use std::path::Path;

use ncz_codec::Dialect;
use ncz_registry::Registry;
use ncz_registry::known::read_by;

/// The columns that are compared: name, HDF5 id, numcodecs, Zarr v3, lossy, checksum.
const COMPARED: usize = 6;

/// Rows of the table under this heading, by their first cells.
fn rows(text: &str, heading: &str) -> BTreeMap<String, Vec<String>> {
    let section = text.split_once(heading).expect("the heading").1;
    let table =
        section.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    // After the names of the columns and the line under them.
    let cells = table.skip(2).map(|line| {
        line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect::<Vec<_>>()
    });
    cells.map(|cells| (cells[0].clone(), cells)).collect()
}

/// The names of a dialect as the table has them; those that zarr-python made up follow from the others.
fn names(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_table_of_codecs_says_what_the_codecs_say() {
    let plugins = ncz_test_support::build_plugins().unwrap();
    let registry = Registry::builder().plugin_path(vec![plugins]).build();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins/CODECS.md");
    let text = std::fs::read_to_string(path).unwrap();
    let mut rows = rows(&text, "\n## The codecs\n");
    let mut wrong = Vec::new();
    for codec in registry.report().codecs.iter().filter(|codec| codec.candidates.iter().any(|one| one.used)) {
        let named = |dialect, names: &[String]| registry.by_name(dialect, names.first()?).ok();
        let entry = codec.id.and_then(|id| registry.by_id(id).ok());
        let entry = entry.or_else(|| named(Dialect::Numcodecs, &codec.numcodecs));
        let entry = entry.or_else(|| named(Dialect::ZarrV3, &codec.zarr_v3)).expect("one that is used");
        let said = |known: Option<bool>| known.map_or("not known", |yes| if yes { "yes" } else { "no" });
        let expected = [
            format!("`{}`", codec.name),
            codec.id.map(|id| id.to_string()).unwrap_or_default(),
            names(&codec.numcodecs),
            names(&codec.zarr_v3),
            said(codec.lossy).to_owned(),
            said(Some(entry.info().has_checksum)).to_owned(),
        ];
        let found = rows.remove(&expected[0]).unwrap_or_default();
        if found.get(..COMPARED) != Some(&expected[..]) {
            wrong.push(format!(
                "expected: | {} |\nfound:    | {} |",
                expected.join(" | "),
                found.join(" | ")
            ));
        }
        // The readers are one table in the registry, which `ncz info`, `ncz bench` and `ncz copy` use.
        let (readers, said) = (read_by(entry.info()), found.last().map_or("", String::as_str));
        if readers != said {
            wrong.push(format!("{}: expected read by: {readers}\nfound: {said}", expected[0]));
        }
    }
    let unknown = rows.keys().map(|name| format!("{name} is not a codec of the plugins here"));
    wrong.extend(unknown);
    assert!(wrong.is_empty(), "plugins/CODECS.md:\n{}", wrong.join("\n"));
}
