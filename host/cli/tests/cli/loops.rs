use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::bench::{Run, big_dataset, command, ncz, run};

const GROUP_V2: &str = r#"{"zarr_format": 2}"#;

/// Every command that walks through a dataset.
fn walks(path: &Path, target: &Path) -> [Vec<String>; 5] {
    let (path, target) = (path.display().to_string(), target.display().to_string());
    [vec!["info"], vec!["ls"], vec!["dump"], vec!["verify"], vec!["copy"]].map(|words| {
        let paths = if words == ["copy"] { vec![path.clone(), target.clone()] } else { vec![path.clone()] };
        words.into_iter().map(str::to_owned).chain(paths).collect()
    })
}

/// Each of them must end soon, with this code.
#[track_caller]
fn all_end(path: &Path, code: i32, wanted: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    for (at, args) in walks(path, &folder.path().join("copy.zarr")).iter().enumerate() {
        let begun = Instant::now();
        let _: Run = run(command().args(args)).ends(code).says(wanted);
        assert!(begun.elapsed() < Duration::from_secs(60), "{args:?}: {:?}", begun.elapsed());
        assert!(at < 4 || code == 0 || fs::read_dir(folder.path()).unwrap().count() == 0);
    }
}

fn group(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    fs::create_dir_all(&path).unwrap();
    fs::write(path.join(".zgroup"), GROUP_V2).unwrap();
    path
}

#[test]
fn a_group_that_contains_itself_is_refused_and_its_path_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let version2 = group(folder.path(), "v2.zarr");
    let version3 = folder.path().join("v3.zarr");
    fs::create_dir(&version3).unwrap();
    fs::write(version3.join("zarr.json"), r#"{"zarr_format": 3, "node_type": "group"}"#).unwrap();
    for path in [version2, version3] {
        symlink(".", path.join("one")).unwrap();
        symlink(&path, path.join("two")).unwrap();
        all_end(&path, 3, &["a loop of symbolic links: \"one\" of ", "leads back to "]);
    }
}

#[test]
fn a_loop_through_a_folder_above_the_dataset_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = group(folder.path(), "d.zarr");
    fs::write(folder.path().join(".zgroup"), GROUP_V2).unwrap();
    symlink("..", path.join("up")).unwrap();
    all_end(&path, 3, &["a loop of symbolic links: \"up/d.zarr\" of "]);
}

#[test]
fn a_loop_of_groups_that_the_metadata_name_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.nczarr");
    fs::create_dir(&path).unwrap();
    fs::write(path.join(".zgroup"), GROUP_V2).unwrap();
    let zattrs = r#"{"_nczarr_superblock": {"version": "2.0.0"},
        "_nczarr_group": {"dimensions": {}, "arrays": [], "groups": ["one", "two"]}}"#;
    fs::write(path.join(".zattrs"), zattrs).unwrap();
    symlink(".", path.join("one")).unwrap();
    symlink(".", path.join("two")).unwrap();
    all_end(&path, 3, &["a loop of symbolic links: \"one\" of "]);
}

#[test]
fn links_whose_paths_double_with_every_level_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = group(folder.path(), "d.zarr");
    for level in 0..40 {
        let inner = if level == 0 { path.clone() } else { group(folder.path(), &format!("g{level}")) };
        symlink(folder.path().join(format!("g{}", level + 1)), inner.join("one")).unwrap();
        symlink(folder.path().join(format!("g{}", level + 1)), inner.join("two")).unwrap();
    }
    all_end(&path, 3, &["symbolic links lead to directories that are reached by other paths too", "10000"]);
}

#[test]
fn links_to_arrays_groups_and_chunks_elsewhere_are_followed() {
    let folder = tempfile::tempdir().unwrap();
    let array = big_dataset(folder.path(), 3, 4).join("t");
    let path = group(folder.path(), "d.zarr");
    symlink(&array, path.join("a")).unwrap();
    let inner = group(folder.path(), "inner");
    symlink(&array, inner.join("b")).unwrap();
    symlink(&inner, path.join("g")).unwrap();
    symlink(&inner, path.join("h")).unwrap();
    // an array whose chunks lie elsewhere
    let own = path.join("own");
    fs::create_dir(&own).unwrap();
    let zarray = fs::read_to_string(array.join(".zarray")).unwrap();
    let zarray = zarray.replace(r#""filters""#, r#""dimension_separator": "/", "filters""#);
    let zarray = zarray.replace(r#""shape": [12], "chunks": [4]"#, r#""shape": [2, 12], "chunks": [1, 4]"#);
    fs::write(own.join(".zarray"), zarray).unwrap();
    symlink(&array, own.join("0")).unwrap();
    symlink(&array, own.join("1")).unwrap();
    let target = folder.path().join("copy.zarr");
    for args in walks(&path, &target) {
        // a link to an array has its .zarray among the chunks, which verify notes
        run(command().args(args)).ends(0);
    }
    let rows = |name: &str| ncz(["cat", target.to_str().unwrap(), name]).ends(0).stdout;
    assert_eq!(rows("g/b"), rows("h/b"));
    let row = rows("a").lines().collect::<Vec<_>>().join(",");
    assert_eq!(rows("own"), format!("{row}\n{row}\n"));
}

#[test]
fn a_loop_beside_the_chunks_of_an_array_or_beside_the_members_of_a_group_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = big_dataset(folder.path(), 3, 4);
    fs::create_dir(path.join("notes")).unwrap();
    symlink(".", path.join("notes/one")).unwrap();
    symlink(".", path.join("notes/two")).unwrap();
    let text = path.display().to_string();
    ncz(["verify", &text]).ends(1);
    let found = ncz(["verify", &text]).stdout;
    assert!(found.contains("a loop of symbolic links: \"notes/one\" of "), "{found}");
    let target = folder.path().join("copy.zarr");
    ncz(["copy", &text, target.to_str().unwrap()]).ends(0).says(&["notes"]);

    symlink(".", path.join("t/one")).unwrap();
    symlink("..", path.join("t/two")).unwrap();
    let wanted = "a loop of symbolic links: \"t/one\" of ";
    ncz(["info", &text, "--sizes"]).ends(3).says(&[wanted]);
    let found = ncz(["verify", &text]).ends(1).stdout;
    assert!(found.contains("error /t variable-unchecked: ") && found.contains(wanted), "{found}");
    // reading by name needs no list
    ncz(["cat", &text, "t"]).ends(0);
}

#[test]
fn a_copy_that_can_be_resumed_looks_at_each_directory_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = big_dataset(folder.path(), 3, 4);
    fs::create_dir(path.join("notes")).unwrap();
    symlink("..", path.join("notes/one")).unwrap();
    symlink("..", path.join("notes/two")).unwrap();
    let target = folder.path().join("copy.zarr");
    ncz(["copy", "--resume", path.to_str().unwrap(), target.to_str().unwrap()]).ends(0);
}
