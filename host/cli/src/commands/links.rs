//! `ncz links`: the names of netCDF's tools, as links to this program.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::args::Links;
use crate::error::CliError;
use crate::exit::Exit;
use crate::tools::Tool;

/// The version of the JSON form; it changes when a key changes its meaning or goes.
const SCHEMA: u32 = 1;

/// What stands where a link is to go.
enum Found {
    Nothing,
    /// A link to this program, or to another one of its name.
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
    fs::create_dir_all(folder).map_err(failed("make the folder", folder))?;
    let links: Vec<PathBuf> = Tool::ALL.iter().map(|tool| folder.join(link_name(*tool))).collect();
    // All is looked at before anything is changed.
    for link in &links {
        let refused = match found(link, &program).map_err(failed("look at", link))? {
            Found::Nothing | Found::Ours => None,
            Found::Folder => Some("is a folder, which is not replaced; choose another folder for the links"),
            Found::Other if options.force => None,
            Found::Other => Some("is no link to ncz; --force replaces it, or choose another folder"),
        };
        if let Some(why) = refused {
            return Err(CliError::Usage(format!("{} {why}", link.display())));
        }
    }
    for link in &links {
        make(link, &program).map_err(failed("make the link", link))?;
    }
    if options.json {
        let links: Vec<_> = links.iter().map(|link| link.display().to_string()).collect();
        let json = json!({"schema": SCHEMA, "program": program.display().to_string(), "links": links});
        writeln!(out, "{json:#}")?;
    } else if !options.verbosity.quiet {
        for link in &links {
            writeln!(out, "{} -> {}", link.display(), program.display())?;
        }
        let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.clone());
        writeln!(out, "to use them: export PATH={}:\"$PATH\"", quoted(&folder.display().to_string()))?;
    }
    Ok(Exit::Good)
}

fn link_name(tool: Tool) -> String {
    format!("{}{}", tool.name(), std::env::consts::EXE_SUFFIX)
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

/// Makes a link, in the place of what is there.
fn make(link: &Path, program: &Path) -> io::Result<()> {
    let mut name = link.file_name().unwrap_or_default().to_owned();
    name.push(format!(".new-{}", std::process::id()));
    let new = link.with_file_name(name);
    symlink(program, &new)?;
    fs::rename(&new, link).inspect_err(|_| {
        // What failed is told; a link too many is not.
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

/// A word for a shell.
pub(super) fn quoted(text: &str) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || "/._-+:@%".contains(character);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn what_a_shell_would_take_apart_is_quoted() {
        assert_eq!(quoted("/a/b-1.zarr"), "/a/b-1.zarr");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("x#mode=s3&a"), "'x#mode=s3&a'");
    }
}
