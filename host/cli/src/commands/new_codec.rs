//! `ncz new-codec`: makes a project for a codec plugin from the template.

mod names;
mod template;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ncz::codec::{Builtin, builtins};
use ncz::registry::known;

use self::names::Names;
use crate::args::NewCodec;
use crate::error::CliError;
use crate::exit_code::Exit;
use crate::shell::quoted;

/// The first id that does not belong to HDF5 itself (`H5Z_FILTER_RESERVED` of H5Zpublic.h).
const FIRST_ID: u16 = 256;

/// The first of the ids that need no registration.
const FIRST_TEST_ID: u16 = 32768;

/// Codecs of numcodecs and Zarr that are not built in.
const OTHERS: [&str; 14] = [
    "base64",
    "blpc",
    "bytes",
    "categorize",
    "endian",
    "json2",
    "msgpack2",
    "n5-wrapper",
    "pickle",
    "sharding-indexed",
    "transpose",
    "vlen-array",
    "vlen-bytes",
    "vlen-utf8",
];

/// Runs the command.
pub(crate) fn run(options: &NewCodec, out: &mut dyn Write) -> Result<Exit, CliError> {
    let names = Names::new(&options.name).map_err(CliError::Usage)?;
    check_is_free(&options.name, options.id)?;
    let files = if options.c {
        template::c(&names, options.id)
    } else {
        let folder = codec_api(options.codec_api.as_deref())?;
        let text = folder.to_str().ok_or_else(|| {
            CliError::Usage(format!("{} is not UTF-8, as paths in Cargo.toml must be", folder.display()))
        })?;
        template::rust(&names, options.id, text)
    };
    let folder = options.output.clone().unwrap_or_else(|| PathBuf::from(&options.name));
    write_project(&folder, &files)?;
    if !options.verbosity.quiet {
        let folder = quoted(&folder.display().to_string());
        let build = if options.c { names.build_c() } else { "cargo build --release".to_owned() };
        let library = if options.c { names.library() } else { format!("target/release/{}", names.library()) };
        writeln!(out, "{folder}: a project for the codec {}, HDF5 filter {}", options.name, options.id)?;
        if options.id < FIRST_TEST_ID {
            writeln!(
                out,
                "note: use an id below {FIRST_TEST_ID} only if The HDF Group has registered it for your codec"
            )?;
        }
        writeln!(out, "next: cd {folder} && {build} && ncz conform {library}")?;
    }
    Ok(Exit::Good)
}

/// Refuses the names and ids of other codecs: programs would take one codec for the other.
fn check_is_free(name: &str, id: u16) -> Result<(), CliError> {
    let usage = |text: String| Err(CliError::Usage(text));
    if id < FIRST_ID || id == u16::MAX {
        return usage(format!("--id {id}: the ids of plugins are {FIRST_ID} to 65534"));
    }
    if let Some(filter) = known::by_id(id.into()) {
        return usage(format!(
            "--id {id} is registered for the filter {}; 32768 to 65534 are for tests",
            filter.name
        ));
    }
    let means = |known: &str| known.replace('_', "-").eq_ignore_ascii_case(name);
    let is_builtin = |builtin: &Builtin| {
        let info = builtin.codec().info();
        means(&info.name) || info.numcodecs.iter().chain(info.zarr_v3.iter()).any(means)
    };
    if builtins().iter().any(is_builtin) || known::by_name(name).is_some() || OTHERS.into_iter().any(means) {
        return usage(format!("there is a codec {name} already; choose another name, such as your-{name}"));
    }
    Ok(())
}

/// Finds the folder `codec-api`, which the project depends on.
fn codec_api(given: Option<&Path>) -> Result<PathBuf, CliError> {
    let is_codec_api = |folder: &Path| {
        fs::read_to_string(folder.join("Cargo.toml")).is_ok_and(|text| text.contains("name = \"ncz-codec\""))
    };
    if let Some(folder) = given {
        if !is_codec_api(folder) {
            return Err(CliError::Usage(format!(
                "--codec-api {} is not the folder codec-api of a clone of ncz",
                folder.display()
            )));
        }
        return absolute(folder);
    }
    let here = absolute(Path::new("."))?;
    let found = here.ancestors().map(|folder| folder.join("codec-api")).find(|folder| is_codec_api(folder));
    found.ok_or_else(|| {
        CliError::Usage(
            "a codec in Rust needs the crate ncz-codec; name the folder codec-api of a clone of ncz with --codec-api, or \
             write the codec in C with --c"
                .to_owned(),
        )
    })
}

fn absolute(path: &Path) -> Result<PathBuf, CliError> {
    path.canonicalize().map_err(|source| CliError::File { what: "find", path: path.to_owned(), source })
}

/// Writes all files into a new folder, which appears whole or not at all.
fn write_project(folder: &Path, files: &[(String, String)]) -> Result<(), CliError> {
    let failed = |what, path: &Path| {
        let path = path.to_owned();
        move |source| CliError::File { what, path, source }
    };
    let exists =
        || CliError::Usage(format!("{} exists; choose another folder with --output", folder.display()));
    if fs::symlink_metadata(folder).is_ok() {
        return Err(exists());
    }
    let parent = match folder.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    fs::create_dir_all(parent).map_err(failed("create the folder", parent))?;
    let staging = tempfile::Builder::new().prefix(".ncz-new-codec-").tempdir_in(parent);
    let staging = staging.map_err(failed("create a folder in", parent))?;
    // the folders of a temporary folder are private, those of a project are not
    let project = staging.path().join("project");
    for (name, text) in files {
        let path = project.join(name);
        if let Some(inside) = path.parent() {
            fs::create_dir_all(inside).map_err(failed("create the folder", inside))?;
        }
        fs::write(&path, text).map_err(failed("write", &path))?;
    }
    fs::rename(&project, folder).map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists | io::ErrorKind::DirectoryNotEmpty => exists(),
        _ => failed("create the folder", folder)(source),
    })
}
