use std::path::{Path, PathBuf};

/// The root of the workspace: the folder with the `Cargo.lock`.
#[must_use]
pub fn workspace_root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_owned()
}

/// Cargo's target folder, into which the running test was built.
#[must_use]
pub fn target_dir() -> PathBuf {
    Built::of_this_process().target
}

/// Where and how cargo built the running program: `<target>[/<triple>]/<profile folder>/...`.
pub(crate) struct Built {
    pub(crate) target: PathBuf,
    pub(crate) triple: Option<String>,
    pub(crate) profile: String,
}

impl Built {
    pub(crate) fn of_this_process() -> Self {
        std::env::current_exe().ok().and_then(|program| Self::of(&program)).unwrap_or_else(|| Self {
            // a doc test runs from a temporary folder
            target: workspace_root().join("target"),
            triple: None,
            profile: "dev".to_owned(),
        })
    }

    /// Reads the layout from the path of a program that cargo built.
    fn of(program: &Path) -> Option<Self> {
        // cargo marks the target folder; the outermost mark counts, as a folder for a target triple has one too
        let target = program.ancestors().filter(|folder| folder.join("CACHEDIR.TAG").is_file()).last()?;
        let inside = program.parent()?.strip_prefix(target).ok()?;
        let names: Vec<&str> = inside
            .iter()
            .filter_map(|name| name.to_str())
            .take_while(|name| !matches!(*name, "deps" | "examples" | "build"))
            .collect();
        let (triple, folder) = match names.as_slice() {
            [folder] => (None, *folder),
            [triple, folder] => (Some((*triple).to_owned()), *folder),
            _ => return None,
        };
        let profile = if folder == "debug" { "dev" } else { folder };
        Some(Self { target: target.to_owned(), triple, profile: profile.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target() -> tempfile::TempDir {
        let target = tempfile::tempdir().unwrap();
        std::fs::write(target.path().join("CACHEDIR.TAG"), "").unwrap();
        target
    }

    #[test]
    fn the_profile_is_read_from_the_path_of_the_program() {
        let target = target();
        for (program, triple, profile) in [
            ("debug/deps/registry-0123", None, "dev"),
            ("release/ncz", None, "release"),
            ("release/examples/bench", None, "release"),
            ("x86_64-unknown-linux-gnu/debug/deps/a", Some("x86_64-unknown-linux-gnu"), "dev"),
        ] {
            let built = Built::of(&target.path().join(program)).unwrap();
            assert_eq!((built.triple.as_deref(), built.profile.as_str()), (triple, profile), "{program}");
            assert_eq!(built.target, target.path());
        }
    }

    #[test]
    fn this_test_was_built_in_a_target_folder() {
        assert!(target_dir().join("CACHEDIR.TAG").is_file());
        assert!(workspace_root().join("Cargo.lock").is_file());
    }
}
