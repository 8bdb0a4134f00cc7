//! The checks as the tests of a crate: `cargo test` and `cargo nextest` run them one by one.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::SystemTime;

use libtest_mimic::{Arguments, Completion, Failed, Trial};

use crate::conformance::{Conformance, Planned, Prepared};
use crate::error::{Error, chain};
use crate::exit::Exit;
use crate::outcome::Verdict;
use crate::worker;

/// The variable that sets the level of tests.
const LEVEL: &str = "NCZ_CONFORM_LEVEL";
/// The variable that sets their seed.
const SEED: &str = "NCZ_CONFORM_SEED";

/// The `main` of a test target without harness: each check of each part of the libraries is a test.
///
/// A library is a path, or the name of a crate whose shared library cargo has just built for the tests. The level is
/// 5, or that of the variable `NCZ_CONFORM_LEVEL`; the seed is 0, or that of `NCZ_CONFORM_SEED`.
///
/// `Cargo.toml`:
///
/// ```toml
/// [[test]]
/// name = "conformance"
/// harness = false
/// ```
///
/// `tests/conformance.rs`:
///
/// ```no_run
/// fn main() -> std::process::ExitCode {
///     ncz_conform::test_main(["my_h5delta8"])
/// }
/// ```
pub fn test_main(libraries: impl IntoIterator<Item = impl Into<PathBuf>>) -> ExitCode {
    Conformance::of_all(libraries).test_main()
}

impl Conformance {
    /// As [`test_main`], with the settings of this run.
    pub fn test_main(self) -> ExitCode {
        worker::run_if_asked();
        let arguments = Arguments::from_args();
        match self.tests() {
            Ok(tests) => libtest_mimic::run(&arguments, tests).exit_code(),
            Err(error) => {
                eprintln!("error: {}", chain(&error));
                Exit::of_error(&error).into()
            }
        }
    }

    fn tests(mut self) -> Result<Vec<Trial>, Error> {
        if let Some(level) = number(LEVEL)? {
            self = self.level(u8::try_from(level).unwrap_or(u8::MAX));
        }
        if let Some(seed) = number(SEED)? {
            self = self.seed(seed);
        }
        let prepared = Arc::new(self.map_libraries(built)?.prepare()?);
        let tests = prepared.plans().iter().cloned().map(|plan| test(Arc::clone(&prepared), plan));
        Ok(tests.collect())
    }
}

/// One check of one target as a test.
fn test(prepared: Arc<Prepared>, plan: Planned) -> Trial {
    let library = plan.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
    let name = format!("{library}::{}::{}", plan.check.id, plan.target);
    let shown = name.clone();
    Trial::ignorable_test(name, move || {
        let (result, bug) = prepared.run(&plan).map_err(|error| Failed::from(chain(&error)))?;
        if let Some(bug) = bug {
            return Err(Failed::from(bug));
        }
        let message = &result.outcome.message;
        match result.outcome.verdict {
            Verdict::Passed => Ok(Completion::Completed),
            Verdict::Skipped => Ok(Completion::ignored_with(message)),
            Verdict::Warned => {
                eprintln!("{shown}: warned: {message}");
                Ok(Completion::Completed)
            }
            verdict => {
                let mut text = format!("{verdict}: {message}\nagain: {}", result.replay);
                for (name, printed) in [("stdout", &result.stdout), ("stderr", &result.stderr)] {
                    if !printed.is_empty() {
                        text.push_str(&format!("\n{name}: {printed}"));
                    }
                }
                Err(Failed::from(text))
            }
        }
    })
}

/// The number in a variable of the environment.
fn number(name: &'static str) -> Result<Option<u64>, Error> {
    let Some(text) = std::env::var_os(name) else { return Ok(None) };
    let number = text.to_str().and_then(|text| text.parse().ok());
    number.map(Some).ok_or_else(|| Error::Variable { name, value: text.to_string_lossy().into_owned() })
}

/// Returns the path of the library of a crate that cargo built for the running test; a path is returned unchanged.
fn built(library: PathBuf) -> Result<PathBuf, Error> {
    let is_name = library.components().count() == 1 && !library.to_string_lossy().contains(DLL_SUFFIX);
    if !is_name || library.exists() {
        return Ok(library);
    }
    let file = format!("{DLL_PREFIX}{}{DLL_SUFFIX}", library.to_string_lossy().replace('-', "_"));
    let exe = std::env::current_exe()
        .map_err(|source| Error::Start { program: "the running program".into(), source })?;
    // The tests lie in target/<profile>/deps, and the library there or one above.
    let folders = exe.ancestors().skip(1).take(2);
    let candidates =
        folders.map(|folder| folder.join(&file)).filter_map(|path| Some((changed(&path)?, path)));
    match candidates.max_by_key(|(changed, _)| *changed) {
        Some((_, path)) => Ok(path),
        None => Err(Error::NotBuilt { name: library.to_string_lossy().into_owned(), file }),
    }
}

fn changed(path: &Path) -> Option<SystemTime> {
    path.metadata().and_then(|metadata| metadata.modified()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_of_a_crate_is_found_by_its_name_and_a_path_stays() {
        let exe = std::env::current_exe().unwrap();
        let file = format!("{DLL_PREFIX}of_conform_tests{DLL_SUFFIX}");
        let path = exe.parent().unwrap().join(&file);
        std::fs::write(&path, "").unwrap();
        assert_eq!(built("of-conform-tests".into()).unwrap(), path);
        std::fs::remove_file(&path).unwrap();
        let error = built("of-conform-tests".into()).unwrap_err().to_string();
        assert!(error.contains("crate-type = [\"cdylib\"") && error.contains(&file), "{error}");
        let path = PathBuf::from(format!("there/{file}"));
        assert_eq!(built(path.clone()).unwrap(), path);
    }
}
