use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use ncz::model::{Attribute, Value};
use ncz::store::{Access, FileStore};
use ncz::zarr::Dataset;
use ncz::zarr::metadata::ReadOptions;
use ncz_test_support::{fixtures, program, run, unpack};

use super::helpers::{made, session, values};

/// What netcdf-c gets wrong (traps 6 and 7): doubles with 6 digits, text that looks like JSON.
fn is_known(fixture: &str, path: &str, name: &str) -> bool {
    matches!(
        (fixture, path, name),
        ("types", "/d", "scale")
            | ("types", "/", "a_double")
            | ("attrs", "/v", "json_object" | "json_array" | "json_number" | "looks_like_list" | "nan_attr")
    )
}

#[test]
fn netcdf_c_made_the_same_of_the_same_text() {
    for name in ["attrs", "endian", "fill", "filters", "groups", "names", "scalars", "simple", "types"] {
        let folder = unpack(format!("netcdf-c-4.10.2/nczarr/{name}.zip")).unwrap();
        let store = Arc::new(FileStore::open(folder.path(), Access::Read).unwrap());
        let theirs = Dataset::open(store, session(), &ReadOptions::default()).unwrap();
        let ours = made(&std::fs::read_to_string(fixtures().join(format!("cdl/{name}.cdl"))).unwrap());
        same(name, &ours, &theirs);
    }
}

fn same(fixture: &str, ours: &Dataset, theirs: &Dataset) {
    let groups = |dataset: &Dataset| -> Vec<_> {
        let group = |group: &ncz::model::Group| (group.path.clone(), group.dimensions.clone());
        dataset.hierarchy().groups().map(group).collect()
    };
    assert_eq!(groups(ours), groups(theirs), "{fixture}");
    for (one, other) in ours.hierarchy().groups().zip(theirs.hierarchy().groups()) {
        attributes(fixture, &one.path, &one.attributes, &other.attributes);
    }
    for one in ours.hierarchy().variables() {
        let path = &one.path;
        let other = theirs.hierarchy().variable(path).unwrap();
        let shown = |variable: &ncz::model::Variable| {
            let order = variable.dtype.order();
            let (chunks, dimensions) = (variable.chunk_shape.clone(), variable.dimensions.clone());
            (variable.nc_type, order, chunks, dimensions, variable.storage, variable.shape.clone())
        };
        assert_eq!(shown(one), shown(other), "{fixture} {path}");
        let ids = |variable: &ncz::model::Variable| -> Vec<_> {
            variable.filters.iter().map(|filter| filter["id"].clone()).collect()
        };
        assert_eq!(ids(one), ids(other), "{fixture} {path}");
        let fill = |variable: &ncz::model::Variable| {
            let fill = variable.fill.as_ref()?;
            let is_default =
                variable.nc_type.is_some_and(|nc_type| fill.is_default(nc_type, &variable.dtype));
            Some((!is_default).then(|| format!("{:?}", fill.bytes())))
        };
        assert_eq!(fill(one), fill(other), "{fixture} {path}");
        attributes(fixture, path, &one.attributes, &other.attributes);
        let (one, other) = (values(ours, path).unwrap(), values(theirs, path).unwrap());
        // Doubles that were never written are netcdf-c's fill with 6 digits.
        if fixture != "fill" && fixture != "filters" {
            assert_eq!(format!("{one:?}"), format!("{other:?}"), "{fixture} {path}");
        }
    }
}

fn attributes(fixture: &str, path: &str, ours: &[Attribute], theirs: &[Attribute]) {
    let known = |attribute: &&Attribute| !is_known(fixture, path, &attribute.name);
    let shown = |attributes: &[Attribute]| -> std::collections::BTreeMap<String, String> {
        let shown = |attribute: &Attribute| (attribute.name.clone(), value_text(&attribute.value));
        attributes.iter().filter(known).map(shown).collect()
    };
    assert_eq!(shown(ours), shown(theirs), "{fixture} {path}");
}

fn value_text(value: &Value) -> String {
    match value {
        Value::Char(text) => format!("char {:?}", String::from_utf8_lossy(text).trim_end_matches('\0')),
        value => format!("{value:?}"),
    }
}

/// What Debian's ncgen and ncdump make of a text, which is another text of the same dataset.
pub(crate) fn by_netcdf(text: &str, folder: &Path) -> Option<String> {
    let (Ok(ncgen), Ok(ncdump)) = (program("ncgen"), program("ncdump")) else { return None };
    let (source, target) = (folder.join("x.cdl"), folder.join("x.nc"));
    std::fs::write(&source, text).unwrap();
    let limit = Duration::from_secs(60);
    let made = run(Command::new(ncgen).arg("-4").arg("-o").arg(&target).arg(&source), limit).unwrap();
    made.success("ncgen").unwrap();
    let dumped = run(Command::new(ncdump).args(["-p", "9,17"]).arg(&target), limit).unwrap();
    Some(dumped.success("ncdump").unwrap().stdout_text())
}
