//! `ncz links`: makes links to this program with the names of netCDF's tools.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::args::Links;
use crate::error::CliError;
use crate::exit_code::Exit;
use crate::output::write_json;
use crate::shell::quoted;
use crate::tool_name::ToolName;

/// The version of the JSON form; it changes when a key changes its meaning or is removed.
const SCHEMA: u32 = 1;

/// The JSON form.
#[derive(Serialize)]
struct LinksReport {
    schema: u32,
    program: String,
    links: Vec<String>,
}

/// What is at the path of a link now.
enum Found {
    Nothing,
    /// A link to this program, or to another program of the same name.
    Ours,
    Other,
    Folder,
}

/// Runs the command.
pub(crate) fn run(options: &Links, out: &mut dyn Write) -> Result<Exit, CliError> {
    let failed = |what, path: &Path| {
        let path = path.to_owned();
        move |source| CliError::File { what, path, source }
    };
    let program = std::env::current_exe().map_err(failed("find", Path::new("ncz")))?;
    let folder = &options.folder;
    fs::create_dir_all(folder).map_err(failed("create the folder", folder))?;
    let links: Vec<PathBuf> = ToolName::ALL.iter().map(|tool| folder.join(link_name(*tool))).collect();
    // Everything is checked before anything is changed.
    for link in &links {
        let refused = match found(link, &program).map_err(failed("read", link))? {
            Found::Nothing | Found::Ours => None,
            Found::Folder => Some("is a folder, which is not replaced; choose another folder for the links"),
            Found::Other if options.force => None,
            Found::Other => Some("is not a link to ncz; replace it with --force, or choose another folder"),
        };
        if let Some(why) = refused {
            return Err(CliError::Usage(format!("{} {why}", link.display())));
        }
    }
    for link in &links {
        make(link, &program).map_err(failed("make the link", link))?;
    }
    if options.json {
        let links = links.iter().map(|link| link.display().to_string()).collect();
        write_json(out, &LinksReport { schema: SCHEMA, program: program.display().to_string(), links })?;
    } else if !options.verbosity.quiet {
        for link in &links {
            writeln!(out, "{} -> {}", link.display(), program.display())?;
        }
        let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.clone());
        writeln!(out, "to use them: export PATH={}:\"$PATH\"", quoted(&folder.display().to_string()))?;
    }
    Ok(Exit::Good)
}

fn link_name(tool: ToolName) -> String {
    format!("{}{}", tool.as_str(), std::env::consts::EXE_SUFFIX)
}

fn found(link: &Path, program: &Path) -> io::Result<Found> {
    let kind = match fs::symlink_metadata(link) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
        metadata => metadata?.file_type(),
    };
    if kind.is_dir() {
        return Ok(Found::Folder);
    }
    if !kind.is_symlink() {
        return Ok(Found::Other);
    }
    let target = fs::read_link(link)?;
    let ours = target.file_name().is_some() && target.file_name() == program.file_name();
    Ok(if ours { Found::Ours } else { Found::Other })
}

/// Makes a link, replacing an existing file.
fn make(link: &Path, program: &Path) -> io::Result<()> {
    let mut name = link.file_name().unwrap_or_default().to_owned();
    name.push(format!(".new-{}", std::process::id()));
    let new = link.with_file_name(name);
    symlink(program, &new)?;
    fs::rename(&new, link).inspect_err(|_| {
        // The first error is reported; this one only leaves a link.
        let _ = fs::remove_file(&new);
    })
}

#[cfg(unix)]
fn symlink(program: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(program, link)
}

#[cfg(windows)]
fn symlink(program: &Path, link: &Path) -> io::Result<()> {
    std::os::windows::fs::symlink_file(program, link)
}
