//! Command lines that do the same again.

use std::path::{Path, PathBuf};

use crate::check::Target;
use crate::plan::Selection;
use crate::trial::Settings;

/// The command that runs one check again with the same random numbers.
pub(crate) fn of_check(library: &Path, settings: &Settings, id: &str, target: &Target) -> String {
    let mut words = vec!["ncz-conform".to_owned(), path(library)];
    words.extend(of_settings(settings));
    words.extend(["--include".to_owned(), id.to_owned(), "--target".to_owned(), quoted(&target.to_string())]);
    words.join(" ")
}

/// The command that does a run again.
pub(crate) fn of_run(libraries: &[PathBuf], settings: &Settings, selection: &Selection) -> String {
    let mut words = vec!["ncz-conform".to_owned()];
    words.extend(libraries.iter().map(|library| path(library)));
    words.extend(of_settings(settings));
    let targets: Vec<_> = selection.targets.iter().map(Target::to_string).collect();
    for (option, values) in
        [("--include", &selection.include), ("--exclude", &selection.exclude), ("--target", &targets)]
    {
        words.extend(values.iter().flat_map(|value| [option.to_owned(), quoted(value)]));
    }
    words.join(" ")
}

fn of_settings(settings: &Settings) -> Vec<String> {
    let default = Settings::default();
    let mut words = vec![format!("--level {} --seed {}", settings.level, settings.seed)];
    for (id, params) in &settings.params {
        let params: Vec<_> = params.iter().map(u32::to_string).collect();
        words.push(format!("--params {id}={}", params.join(",")));
    }
    words.extend(settings.lossy.iter().map(|id| format!("--lossy {id}")));
    words.extend(settings.mutations.map(|number| format!("--mutations {number}")));
    if settings.glibc != default.glibc {
        words.push(format!("--glibc {}.{}", settings.glibc.0, settings.glibc.1));
    }
    words
}

/// A path as a shell takes it; one that begins like an option is kept from being one.
fn path(path: &Path) -> String {
    let text = path.to_string_lossy();
    quoted(&if text.starts_with('-') { format!("./{text}") } else { text.into_owned() })
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:,=@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_is_run_again_with_all_that_its_random_numbers_depend_on() {
        let settings = Settings {
            level: 7,
            seed: 12,
            params: vec![(5, vec![1, 2]), (6, vec![])],
            lossy: vec![9],
            mutations: Some(3),
            glibc: (2, 17),
        };
        let command =
            of_check(Path::new("it's/-x.so"), &settings, "buffers.size", &Target::Native("a b".into()));
        assert_eq!(
            command,
            r"ncz-conform 'it'\''s/-x.so' --level 7 --seed 12 --params 5=1,2 --params 6= --lossy 9 --mutations 3 --glibc 2.17 --include buffers.size --target 'native:a b'"
        );
        let plain = of_check(Path::new("-x.so"), &Settings::default(), "library.load", &Target::Library);
        assert_eq!(plain, "ncz-conform ./-x.so --level 5 --seed 0 --include library.load --target library");
    }

    #[test]
    fn a_run_is_done_again_with_its_choices() {
        let selection = Selection {
            include: vec!["damaged.*".into()],
            exclude: vec!["speed".into()],
            targets: vec![Target::Hdf5(5)],
        };
        let command = of_run(&["a.so".into(), "b".into()], &Settings::default(), &selection);
        assert_eq!(
            command,
            "ncz-conform a.so b --level 5 --seed 0 --include 'damaged.*' --exclude speed --target hdf5:5"
        );
    }
}
