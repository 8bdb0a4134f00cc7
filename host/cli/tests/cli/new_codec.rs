use std::fs;
use std::path::Path;

use crate::bench::{Run, command, run};

fn new_codec(folder: &Path, arguments: &[&str]) -> Run {
    run(command().arg("new-codec").args(arguments).current_dir(folder))
}

/// All files of a project, with their text.
fn texts(folder: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(texts(&path));
        } else {
            found.push((path.display().to_string(), fs::read_to_string(&path).unwrap()));
        }
    }
    found
}

#[test]
fn nothing_of_the_template_s_names_stays_in_a_project() {
    let folder = tempfile::tempdir().unwrap();
    let api = concat!(env!("CARGO_MANIFEST_DIR"), "/../../codec-api");
    for (name, arguments, files) in
        [("acme-fpz", &["--codec-api", api][..], 13), ("acme-fp2", &["--c"][..], 12)]
    {
        let arguments = [&[name, "--id", "32900"], arguments].concat();
        let run = new_codec(folder.path(), &arguments).ends(0);
        assert!(run.stdout.contains("32900") && run.stdout.contains("ncz conform"), "{}", run.stdout);
        let texts = texts(&folder.path().join(name));
        assert!(texts.len() >= files, "{texts:?}");
        for (file, text) in &texts {
            let text = text.to_lowercase();
            // The headers are those of ncz, which have a number as an example.
            let old = if file.contains("/include/") {
                &["delta8"][..]
            } else {
                &["delta8", "3280", "keep the one"]
            };
            for old in old {
                assert!(!text.contains(old), "{file} has {old}\n{text}");
            }
        }
        assert!(texts.iter().any(|(_, text)| text.contains("32900")));
    }
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn what_cannot_become_a_codec_is_refused_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("there")).unwrap();
    for (arguments, says) in [
        (&["Acme", "--id", "32900", "--c"][..], "small letters"),
        (&["zstd", "--id", "32900", "--c"], "there is a codec zstd already"),
        (&["vlen-utf8", "--id", "32900", "--c"], "there is a codec vlen-utf8 already"),
        (&["cast-value", "--id", "32900", "--c"], "there is a codec cast-value already"),
        (&["codec", "--id", "32900", "--c"], "a word of Rust or of the project"),
        (&["acme", "--id", "32015", "--c"], "registered for the filter Zstandard"),
        (&["acme", "--id", "255", "--c"], "256 to 65534"),
        (&["acme", "--id", "65536", "--c"], "65536"),
        (&["acme", "--c"], "--id"),
        (&["there", "--id", "32900", "--c"], "choose another folder with --output"),
        (&["acme", "--id", "32900"], "--codec-api"),
        (&["acme", "--id", "32900", "--codec-api", "there"], "not the folder codec-api"),
    ] {
        new_codec(folder.path(), arguments).ends(2).says(&[says]);
    }
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["there"]);
    assert_eq!(fs::read_dir(folder.path().join("there")).unwrap().count(), 0);
}
