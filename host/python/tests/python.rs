//! Runs the tests of the Python package: each file of this folder is a test, and pytest runs it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use libtest_mimic::{Arguments, Failed, Trial};
use ncz_test_support::{build_python_package, python, run};

/// What the tests of one file may take.
const LIMIT: Duration = Duration::from_secs(600);

fn main() -> ExitCode {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut files: Vec<PathBuf> = match std::fs::read_dir(&folder) {
        Ok(entries) => {
            entries.filter_map(Result::ok).map(|entry| entry.path()).filter(|path| is_test(path)).collect()
        }
        Err(error) => {
            eprintln!("cannot list {}: {error}", folder.display());
            return ExitCode::FAILURE;
        }
    };
    files.sort();
    let trials = files.into_iter().map(|file| {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Trial::test(name, move || pytest(&file))
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}

fn is_test(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with("test_") && name.ends_with(".py")
}

fn pytest(file: &Path) -> Result<(), Failed> {
    let Ok(python) = python() else { return Ok(()) };
    let package = build_python_package()?;
    let mut command = python.command(&[("PYTHONPATH", package.as_os_str())]);
    command.args(["-m", "pytest", "-q", "-p", "no:cacheprovider"]).arg(file);
    // Not where the sources of the package are, which Python would import.
    command.current_dir(file.parent().unwrap_or(file));
    run(&mut command, LIMIT)?.success("pytest")?;
    Ok(())
}
