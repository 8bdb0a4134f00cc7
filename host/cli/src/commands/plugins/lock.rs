//! `ncz plugins lock`: makes or checks the plugin allow-list.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ncz::registry::Registry;
use ncz::registry::allow_list::AllowList;
use ncz::registry::search_path::ALLOW_LIST_VARIABLE;
use serde::Serialize;

use crate::args::PluginsLock;
use crate::error::CliError;
use crate::exit_code::Exit;
use crate::output::{Style, bytes, count, write_json};

/// The default file.
const STANDARD: &str = "ncz-plugins.lock";

/// Runs the command.
pub(super) fn run(
    options: &PluginsLock,
    registry: &Registry,
    out: &mut dyn Write,
    style: Style,
) -> Result<Exit, CliError> {
    let list = options.output.clone().or_else(|| registry.allow_list_file().map(Path::to_owned));
    let list = list.unwrap_or_else(|| PathBuf::from(STANDARD));
    let (now, refused) = registry.make_allow_list().map_err(CliError::AllowList)?;
    if options.check {
        check(options, &list, &now, out)
    } else {
        write(options, &list, &now, &refused, out, style)
    }
}

/// The JSON form of `--check`.
#[derive(Serialize)]
struct CheckReport<'a> {
    schema: u32,
    list: String,
    differences: &'a [String],
}

fn check(options: &PluginsLock, list: &Path, now: &AllowList, out: &mut dyn Write) -> Result<Exit, CliError> {
    let found = AllowList::read(list).map_err(CliError::AllowList)?.differences(now);
    let differences: Vec<String> = found.iter().map(ToString::to_string).collect();
    if options.json {
        let report = CheckReport { schema: 1, list: list.display().to_string(), differences: &differences };
        write_json(out, &report)?;
    } else {
        for difference in &differences {
            writeln!(out, "{difference}")?;
        }
        if differences.is_empty() {
            writeln!(out, "{}: {} as listed", list.display(), count(now.plugins().len() as u64, "plugin"))?;
        }
    }
    Ok(Exit::of_findings(!differences.is_empty()))
}

fn write(
    options: &PluginsLock,
    list: &Path,
    now: &AllowList,
    refused: &[(PathBuf, String)],
    out: &mut dyn Write,
    style: Style,
) -> Result<Exit, CliError> {
    replace(list, &format!("{:#}\n", now.to_json()))
        .map_err(|source| CliError::LockOutput { path: list.to_owned(), source })?;
    if options.json {
        writeln!(out, "{:#}", now.to_json())?;
    } else {
        for (path, content) in now.plugins() {
            writeln!(out, "{}  {}", path.display(), style.dim(&bytes(content.size)))?;
        }
        for (path, reason) in refused {
            writeln!(out, "{} is left out: {reason}", path.display())?;
        }
        let path = list.display();
        writeln!(
            out,
            "{path}: {}; to use only these: --plugin-lock {path}, or {ALLOW_LIST_VARIABLE}={path}",
            count(now.plugins().len() as u64, "plugin")
        )?;
    }
    Ok(Exit::of_findings(!refused.is_empty()))
}

/// Replaces a file whole or not at all.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let mut name = path.file_name().ok_or(io::ErrorKind::InvalidFilename)?.to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let new = path.with_file_name(name);
    let mut file = OpenOptions::new().write(true).create_new(true).open(&new)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    written.and_then(|()| fs::rename(&new, path)).inspect_err(|_| {
        let _ = fs::remove_file(&new);
    })
}
