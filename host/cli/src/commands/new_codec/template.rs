//! The files of a project: those of `plugin-template/` under other names.

use super::names::Names;

macro_rules! template {
    ($name:literal) => {
        include_str!(concat!("../../../../../plugin-template/", $name))
    };
}

/// The files of the template that a new project has, with their paths.
const RUST: [(&str, &str); 11] = [
    (".gitignore", template!(".gitignore")),
    ("Cargo.lock", template!("Cargo.lock")),
    ("Cargo.toml", template!("Cargo.toml")),
    ("clippy.toml", template!("clippy.toml")),
    ("rustfmt.toml", template!("rustfmt.toml")),
    ("cdylib/Cargo.toml", template!("cdylib/Cargo.toml")),
    ("cdylib/src/lib.rs", template!("cdylib/src/lib.rs")),
    ("src/codec.rs", template!("src/codec.rs")),
    ("src/config.rs", template!("src/config.rs")),
    ("tests/config.rs", template!("tests/config.rs")),
    ("tests/streams.rs", template!("tests/streams.rs")),
];

macro_rules! header {
    ($name:literal) => {
        (concat!("include/", $name), include_str!(concat!("../../../../../codec-api/include/", $name)))
    };
}

/// The headers of a codec in C.
const HEADERS: &[(&str, &str)] = &[
    header!("ncz_codec.h"),
    header!("ncz_plugin.h"),
    header!("ncz_plugin/caller.h"),
    header!("ncz_plugin/config.h"),
    header!("ncz_plugin/error.h"),
    header!("ncz_plugin/hdf5.h"),
    header!("ncz_plugin/json.h"),
    header!("ncz_plugin/log.h"),
    header!("ncz_plugin/native.h"),
    header!("ncz_plugin/nczarr.h"),
    header!("ncz_plugin/run.h"),
];

/// Lines of the template that say how to choose among its folders; a project has one.
const MEMBERS: &str =
    r#"members = ["cdylib", "cdylib-codec-only", "cdylib-hdf5-only"]  # keep the one that you want"#;
const FACES: &str = " The other two are its faces one by one.";
const CODEC_API: &str =
    r#"{ path = "../codec-api" }  # the one line to change: the folder codec-api of your checkout of ncz"#;
const COMPATIBLE: &str =
    "//!\n//! # Compatible implementations\n//! `c/my_cdelta8.c`, the same in C under other names.\n";

/// A codec in Rust.
pub(super) fn rust(names: &Names, id: u16, codec_api: &str) -> Vec<(String, String)> {
    let path = toml_string(codec_api);
    let rename = |text: &str| {
        text.replace(MEMBERS, r#"members = ["cdylib"]"#)
            .replace(FACES, "")
            .replace(COMPATIBLE, "")
            .replace("my-delta8", &names.codec)
            .replace("my_h5delta8", &format!("h5{}", names.snake))
            .replace("my_delta8", &names.snake)
            .replace("Delta8", &names.camel)
            .replace("32801", &id.to_string())
            // last: nothing is to be replaced in the path
            .replace(CODEC_API, &format!("{{ path = {path} }}"))
    };
    let mut files: Vec<_> = RUST.iter().map(|(name, text)| ((*name).to_owned(), rename(text))).collect();
    files.push(("src/lib.rs".to_owned(), rename(template!("src/lib.rs"))));
    files.push(("README.md".to_owned(), filled(include_str!("rust.md"), names, id)));
    files
}

/// A codec in C.
pub(super) fn c(names: &Names, id: u16) -> Vec<(String, String)> {
    let source = template!("c/my_cdelta8.c")
        .replace("<ncz>/codec-api/include", "include")
        .replace("libmy_cdelta8.so", &names.library())
        .replace(" my_cdelta8 =", " codec =")
        .replace("(my_cdelta8)", "(codec)")
        .replace("my-cdelta8", &names.codec)
        .replace("my_cdelta8", &names.snake)
        .replace("32802", &id.to_string());
    let mut files: Vec<_> =
        HEADERS.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    files.push((format!("{}.c", names.snake), source));
    files.push(("README.md".to_owned(), filled(include_str!("c.md"), names, id)));
    files
}

/// Fills the names into the text of a README.
fn filled(text: &str, names: &Names, id: u16) -> String {
    text.replace("{name}", &names.codec)
        .replace("{snake}", &names.snake)
        .replace("{camel}", &names.camel)
        .replace("{library}", &names.library())
        .replace("{build}", &names.build_c())
        .replace("{id}", &id.to_string())
}

/// A string in TOML.
fn toml_string(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            letter if letter.is_control() => quoted.push_str(&format!("\\u{:04x}", u32::from(letter))),
            letter => quoted.push(letter),
        }
    }
    quoted + "\""
}
