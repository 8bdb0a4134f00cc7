//! Allow-lists, with third-party plugins: the bytes that are loaded are those that were compared.

#![expect(clippy::unwrap_used, reason = "test code, helpers included")]

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use ncz_registry::Registry;
use ncz_registry::allow_list::AllowList;
use ncz_registry::registry::Builder;
use ncz_registry::report::Verdict;
use ncz_registry::search_path::Environment;
use ncz_registry::trust::Trust;
use ncz_test_support::python;

const LZ4: u32 = 32_004;
const BZIP2: u32 = 307;

/// A folder with copies of two plugins of hdf5plugin, and an allow-list next to it; `None` is a skip that was
/// announced.
struct Place {
    folder: PathBuf,
    list: PathBuf,
    _root: tempfile::TempDir,
}

impl Place {
    fn make() -> Option<Self> {
        let from = python().ok()?.plugin_dir("hdf5plugin").unwrap();
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("plugins");
        fs::create_dir(&folder).unwrap();
        for name in ["libh5lz4.so", "libh5bzip2.so"] {
            fs::copy(from.join(name), folder.join(name)).unwrap();
        }
        let place = Self { folder, list: root.path().join("list"), _root: root };
        place.write(&place.registry().build().make_allow_list().unwrap().0);
        Some(place)
    }

    fn registry(&self) -> Builder {
        // No built-ins, which would work without any plugin.
        Registry::builder().plugin_path(vec![self.folder.clone()]).builtins(false)
    }

    fn write(&self, lock: &AllowList) {
        fs::write(&self.list, lock.to_json().to_string()).unwrap();
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

fn verdict(registry: &Registry, name: &str) -> (Verdict, String) {
    let file = registry.report().files().find(|file| file.path.ends_with(name)).unwrap();
    (file.verdict, file.reason.clone())
}

#[test]
fn what_is_on_the_list_is_used_and_what_is_not_is_refused() {
    let Some(place) = Place::make() else { return };
    let locked = place.registry().allow_list(place.list.clone()).build();
    assert!(locked.by_id(LZ4).is_ok() && locked.by_id(BZIP2).is_ok());

    fs::copy(place.file("libh5lz4.so"), place.file("liba_copy.so")).unwrap();
    let one_more = place.registry().allow_list(place.list.clone()).build();
    let refused = (Verdict::Refused, "not on the plugin allow-list".to_owned());
    assert_eq!(verdict(&one_more, "liba_copy.so"), refused);
    assert!(one_more.by_id(LZ4).unwrap().origin().to_string().contains("libh5lz4.so"));
    // The same is reported without opening any.
    let look =
        one_more.report_without_loading().files().find(|file| file.path.ends_with("liba_copy.so")).unwrap();
    assert_eq!((look.verdict, look.reason.clone()), refused);
    // Without a list it is used.
    assert_ne!(verdict(&place.registry().build(), "liba_copy.so").0, Verdict::Refused);
}

#[test]
fn one_changed_byte_is_enough_to_be_refused() {
    let Some(place) = Place::make() else { return };
    let file = place.file("libh5bzip2.so");
    let mut bytes = fs::read(&file).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&file, bytes).unwrap();
    let locked = place.registry().allow_list(place.list.clone()).build();
    let (state, reason) = verdict(&locked, "libh5bzip2.so");
    assert_eq!(state, Verdict::Refused);
    assert!(reason.starts_with("changed since it was put on the plugin allow-list"), "{reason}");
    let error = locked.by_id(BZIP2).unwrap_err().to_string();
    assert!(error.contains("changed since"), "{error}");
    assert!(locked.by_id(LZ4).is_ok());
}

#[test]
fn a_list_that_cannot_be_read_refuses_every_plugin() {
    let Some(place) = Place::make() else { return };
    let missing = place.list.with_file_name("missing");
    fs::write(&place.list, "{").unwrap();
    for list in [missing, place.list.clone()] {
        let locked = place.registry().allow_list(list.clone()).build();
        let (state, reason) = verdict(&locked, "libh5lz4.so");
        assert_eq!(state, Verdict::Refused);
        assert!(
            reason.contains("cannot use the plugin allow-list")
                && reason.contains(&list.display().to_string()),
            "{reason}"
        );
        assert!(locked.by_id(LZ4).is_err());
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_loaded_is_a_copy_of_what_was_compared() {
    let Some(place) = Place::make() else { return };
    let locked = place.registry().allow_list(place.list.clone()).build();
    locked.by_id(BZIP2).unwrap();
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let file = place.file("libh5bzip2.so").canonicalize().unwrap();
    // A mapped file can be changed by every user with write permission.
    assert!(!maps.contains(&file.display().to_string()), "{maps}");
    assert!(maps.contains("memfd:ncz-plugin"), "{maps}");
}

fn environment(list: &Path, elevated: bool) -> Environment {
    Environment { allow_list: Some(OsString::from(list)), elevated, ..Environment::capture() }
}

#[test]
fn the_environment_names_a_list_unless_somebody_else_chose_the_environment() {
    let Some(place) = Place::make() else { return };
    let empty = place.list.with_file_name("empty");
    fs::write(&empty, r#"{"schema": 1, "plugins": []}"#).unwrap();
    let of = |elevated| place.registry().environment(environment(&empty, elevated)).build();
    assert!(of(false).by_id(LZ4).is_err());
    let elevated = of(true);
    assert!(elevated.by_id(LZ4).is_ok());
    assert!(elevated.search_path().notes.iter().any(|note| note.contains("NCZ_PLUGIN_LOCK is ignored")));
    // The program's own setting takes precedence over the environment.
    let both =
        place.registry().environment(environment(&empty, false)).allow_list(place.list.clone()).build();
    assert!(both.by_id(LZ4).is_ok());
    // Set and empty is as good as not set.
    assert!(place.registry().environment(environment(Path::new(""), false)).build().by_id(LZ4).is_ok());
}

#[test]
fn a_program_with_more_privileges_than_its_caller_always_refuses_untrusted_plugins() {
    use std::os::unix::fs::PermissionsExt;
    let Some(place) = Place::make() else { return };
    fs::set_permissions(&place.folder, fs::Permissions::from_mode(0o757)).unwrap();
    let of = |elevated| {
        let environment = Environment { elevated, ..Environment::capture() };
        place.registry().environment(environment).trust(Trust::Everybody).build()
    };
    assert!(of(false).by_id(LZ4).is_ok());
    let elevated = of(true);
    assert!(verdict(&elevated, "libh5lz4.so").1.starts_with("everyone may write to its folder"));
    assert!(elevated.search_path().notes.iter().any(|note| note.contains("are refused anyway")));
    // A list does not make up for it, and what is refused is put on none.
    let careful = place.registry().allow_list(place.list.clone()).build();
    assert!(careful.by_id(LZ4).is_err());
    let (lock, left_out) = careful.make_allow_list().unwrap();
    assert_eq!((lock.plugins().len(), left_out.len()), (0, 2));
}

#[test]
fn a_library_that_finds_others_relative_to_its_path_finds_them_from_the_copy_too() {
    // The wheel's plugins have libhdf5 and more in a folder next to theirs.
    let Ok(python) = python() else { return };
    let folder = python.plugin_dir("netCDF4").unwrap();
    let root = tempfile::tempdir().unwrap();
    let list = root.path().join("list");
    let registry = || Registry::builder().plugin_path(vec![folder.clone()]).builtins(false);
    let (lock, _) = registry().build().make_allow_list().unwrap();
    fs::write(&list, lock.to_json().to_string()).unwrap();
    let locked = registry().allow_list(list).build();
    let refused: Vec<_> = locked.report().files().filter(|file| file.verdict == Verdict::Refused).collect();
    assert!(refused.is_empty(), "{refused:#?}");
    assert!(locked.by_id(BZIP2).is_ok());
}
