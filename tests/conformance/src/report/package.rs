//! Which installed package a library comes from.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Name and version of the package that installed a file, `hdf5plugin 6.0.0`: a Python package whose list of files
/// names it, or one of Debian.
pub(super) fn of(library: &Path) -> Option<String> {
    let path = library.canonicalize().ok()?;
    of_python(&path).or_else(|| of_debian(&path)).or_else(|| of_debian(&std::path::absolute(library).ok()?))
}

/// The folder of each package's list of files is next to the package (PEP 376, PEP 627).
fn of_python(path: &Path) -> Option<String> {
    path.ancestors().skip(1).find_map(|folder| {
        if folder.file_name()? != "site-packages" && folder.file_name()? != "dist-packages" {
            return None;
        }
        let within = path.strip_prefix(folder).ok()?.to_str()?;
        let lists = folder.read_dir().ok()?.filter_map(Result::ok).map(|entry| entry.path());
        lists.filter(|list| list.extension().is_some_and(|extension| extension == "dist-info")).find_map(
            |list| {
                let record = std::fs::read_to_string(list.join("RECORD")).ok()?;
                let is_of = |line: &str| line.trim_start_matches('"').strip_prefix(within).is_some_and(ends);
                record.lines().any(is_of).then(|| name_and_version(&list)).flatten()
            },
        )
    })
}

/// What follows a path in a line of a list.
fn ends(rest: &str) -> bool {
    rest.starts_with([',', '"'])
}

/// `hdf5plugin-6.0.0.dist-info` as two words.
fn name_and_version(list: &Path) -> Option<String> {
    let (name, version) = list.file_stem()?.to_str()?.split_once('-')?;
    Some(format!("{name} {version}"))
}

fn of_debian(path: &Path) -> Option<String> {
    // Since /usr was merged, lists have some files under the old name of their folder.
    let old = path.strip_prefix("/usr").ok().map(|rest| Path::new("/").join(rest));
    let owner = [Some(path.to_owned()), old].into_iter().flatten().find_map(|path: PathBuf| {
        let found = output(Command::new("dpkg-query").arg("--search").arg("--").arg(&path))?;
        Some(found.lines().next()?.rsplit_once(": ")?.0.split(", ").next()?.to_owned())
    })?;
    let version =
        output(Command::new("dpkg-query").args(["--show", "--showformat=${Version}", "--", &owner]))?;
    let name = owner.split(':').next().unwrap_or(&owner);
    Some(format!("{name} {version} (Debian)"))
}

fn output(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
