//! Plugins whose libhdf5 is absent.

use std::path::{Path, PathBuf};

use ncz_h5shim::{Error, Replace, Symbols, open_with_shim};
use ncz_test_support::python;

use crate::plugin::{DEBIAN_HDF5, DECODE, ENCODE, Plugin, address, debian, field, is_mapped, package, ty};

/// Names and files of what netCDF4's plugins need.
pub(crate) struct Wheel {
    pub(crate) plugins: PathBuf,
    absent: Vec<String>,
    others: Vec<PathBuf>,
}

impl Wheel {
    /// `None` is a skip that was announced.
    pub(crate) fn find() -> Option<Self> {
        let plugins = package("netCDF4")?;
        let libraries = python().ok()?.site_packages().unwrap().join("netcdf4.libs");
        let mut files: Vec<PathBuf> =
            libraries.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
        let absent = |path: &Path| name(path).starts_with("libhdf5") || name(path).starts_with("libnetcdf");
        let direct = ["libblosc-", "libzstd-", "libbz2-", "libsz-", "libcurl-"];
        let is_other = |path: &PathBuf| direct.iter().any(|start| name(path).starts_with(start));
        Some(Self {
            plugins,
            absent: files.iter().filter(|path| absent(path)).map(|path| name(path)).collect(),
            others: files.into_iter().filter(is_other).collect(),
        })
    }

    /// A copy of a plugin, without libhdf5 and libnetcdf.
    pub(crate) fn copy(&self, name: &str, symbols: Symbols) -> *mut std::ffi::c_void {
        let plugin = std::fs::read(self.plugins.join(name)).unwrap();
        let absent = |name: &&String| symbols != Symbols::Hdf5 || name.starts_with("libhdf5");
        let needed: Vec<&str> = self.absent.iter().filter(absent).map(String::as_str).collect();
        let load_first: Vec<&Path> = self.others.iter().map(PathBuf::as_path).collect();
        open_with_shim(&plugin, &Replace { needed: &needed, symbols, load_first: &load_first }).unwrap()
    }
}

fn round_trip(plugin: &Plugin, params: &[u32]) {
    let chunk = field(0);
    let stored = plugin.run(ENCODE, params, &chunk).unwrap();
    assert!(stored.len() < chunk.len() && stored != chunk, "{}", plugin.id());
    let back = plugin.run(DECODE, params, &stored).unwrap();
    assert!(back[..chunk.len()] == chunk[..], "{}", plugin.id());
}

#[test]
fn debians_plugins_work_without_libhdf5_all_in_one_process() {
    let Some(folder) = debian() else { return };
    let blosc = Plugin::debian(&folder.join("libH5Zblosc.so"));
    let zfp = Plugin::debian(&folder.join("libh5zzfp.so"));
    let lz4 = Plugin::debian(&folder.join("libh5lz4.so"));
    let again = Plugin::debian(&folder.join("libH5Zblosc.so"));
    assert_ne!(blosc.handle, again.handle);

    let given = [0, 0, 0, 0, 5, 1, 1];
    for plugin in [blosc, again] {
        let answer = plugin.ask(&ty("f4"), &[64, 48], &given);
        assert_eq!(answer.values(), [2, 2, 4, 12_288, 5, 1, 1]);
        round_trip(&plugin, answer.values());
    }
    let answer = zfp.ask(&ty("f4"), &[64, 48], &[5, 0, 0, 0, 0, 0]);
    assert_eq!(answer.set_local, 1);
    round_trip(&zfp, answer.values());
    round_trip(&lz4, &[]);

    assert!(!is_mapped("libhdf5"));
    nothing_is_global();
    // Libraries that need these by name do not get the copies.
    for name in [c"libH5Zblosc.so", c"libh5lz4.so", c"libhdf5_serial.so.103"] {
        // SAFETY: nothing is loaded with this flag.
        let known = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        assert!(known.is_null(), "{name:?}");
    }
}

#[test]
fn the_real_libhdf5_can_be_loaded_afterwards_and_by_others() {
    let Some(folder) = debian() else { return };
    let copy = Plugin::debian(&folder.join("libH5Zblosc.so"));
    let real = Plugin::initialised(&folder.join("libH5Zblosc.so"));
    assert!(is_mapped("libhdf5_serial"));
    // The real libhdf5 does not know the shim's handles.
    assert!(real.ask(&ty("f4"), &[64, 48], &[]).set_local < 0);
    assert_eq!(copy.ask(&ty("f4"), &[64, 48], &[]).values(), [2, 2, 4, 12_288]);
    nothing_is_global();
}

#[test]
fn netcdf4s_plugins_work_without_libhdf5_all_in_one_process() {
    let Some(wheel) = Wheel::find() else { return };
    let copy = |name: &str| Plugin::of(wheel.copy(name, Symbols::Hdf5));
    let f4 = ty("f4");
    let chunk = [64, 48];

    let blosc = copy("lib__nch5blosc.so");
    let answer = blosc.ask(&f4, &chunk, &[0, 0, 0, 0, 5, 1, 1]);
    assert_eq!(answer.values(), [0, 0, 4, 12_288, 5, 1, 1]);
    round_trip(&blosc, answer.values());

    let shuffle = copy("lib__nch5shuffle.so");
    let answer = shuffle.ask(&f4, &chunk, &[]);
    assert_eq!((answer.values(), answer.outcome.filters[0].flags), (&[4][..], 0));

    let szip = copy("lib__nch5szip.so");
    for (name, user, working) in [
        ("f4", [4, 8], [12, 8, 32, 48]),
        ("f4", [32, 16], [40, 16, 32, 48]),
        (">f4", [4, 8], [20, 8, 32, 48]),
        (">f4", [32, 16], [48, 16, 32, 48]),
        ("f8", [4, 8], [12, 8, 64, 48]),
    ] {
        let answer = szip.ask(&ty(name), &chunk, &user);
        assert_eq!(answer.values(), working, "{name} {user:?}");
    }
    round_trip(&szip, &[40, 16, 32, 48]);

    round_trip(&copy("lib__nch5deflate.so"), &[5]);
    round_trip(&copy("lib__nch5bzip2.so"), &[9]);
    round_trip(&copy("lib__nch5zstd.so"), &[3]);
    let fletcher32 = copy("lib__nch5fletcher32.so");
    let stored = fletcher32.run(ENCODE, &[], &field(0)).unwrap();
    assert_eq!(stored.len(), field(0).len() + 4);
    assert_eq!(fletcher32.run(DECODE, &[], &stored).unwrap(), field(0));

    assert!(!is_mapped("libhdf5") && !is_mapped("libnetcdf"));
    nothing_is_global();
}

#[test]
fn a_library_that_is_not_needed_is_an_error() {
    let Some(folder) = debian() else { return };
    let plugin = std::fs::read(folder.join("libh5lz4.so")).unwrap();
    let replace = Replace { needed: &["libhdf5.so.999"], symbols: Symbols::Hdf5, load_first: &[] };
    let error = open_with_shim(&plugin, &replace).unwrap_err();
    assert!(matches!(&error, Error::NotNeeded(name) if name == "libhdf5.so.999"), "{error}");
}

#[test]
fn a_function_that_is_not_offered_is_named_before_anything_is_loaded() {
    let Some(folder) = debian() else { return };
    let mut plugin = std::fs::read(folder.join("libh5lz4.so")).unwrap();
    let name = b"H5allocate_memory\0";
    let at = plugin.windows(name.len()).position(|window| window == name).unwrap();
    plugin[at..at + 10].copy_from_slice(b"H5Fopen_or");
    let replace = Replace { needed: &[DEBIAN_HDF5], symbols: Symbols::Hdf5, load_first: &[] };
    let error = open_with_shim(&plugin, &replace).unwrap_err();
    assert!(matches!(&error, Error::Missing(names) if names == &["H5Fopen_or_memory"]), "{error}");
    assert!(!is_mapped("memfd"));
}

fn nothing_is_global() {
    for name in [c"H5open", c"H5Tget_size", c"nc_inq_var", c"ncz_h5shim_slots"] {
        assert_eq!(address(libc::RTLD_DEFAULT, name), None, "{name:?}");
    }
}

/// A plugin that leaves libhdf5's functions undefined and does not name a library: one of netCDF4's,
/// with its entries for libhdf5 blanked.
fn without_hdf5(mut plugin: Vec<u8>) -> Vec<u8> {
    let word = |plugin: &[u8], at: usize| u64::from_le_bytes(plugin[at..at + 8].try_into().unwrap());
    let count = usize::from(u16::from_le_bytes([plugin[56], plugin[57]]));
    let headers = word(&plugin, 32) as usize;
    let all: Vec<usize> = (0..count).map(|index| headers + index * 56).collect();
    let segment = |kind: u8| all.iter().copied().filter(|at| plugin[*at] == kind).collect::<Vec<_>>();
    let (loads, dynamic) = (segment(1), segment(2)[0]);
    let place = |address: u64| {
        let within = |at: &usize| {
            (word(&plugin, at + 16)..word(&plugin, at + 16) + word(&plugin, at + 32)).contains(&address)
        };
        let at = loads.iter().find(|at| within(at)).unwrap();
        (address - word(&plugin, at + 16) + word(&plugin, at + 8)) as usize
    };
    let start = place(word(&plugin, dynamic + 16));
    let entries: Vec<usize> =
        (0..).map(|index| start + index * 16).take_while(|at| word(&plugin, *at) != 0).collect();
    let strings = entries.iter().find(|at| word(&plugin, **at) == 5).unwrap();
    let strings = place(word(&plugin, strings + 8));
    let mut gone = Vec::new();
    for at in entries {
        let name = strings + word(&plugin, at + 8) as usize;
        if word(&plugin, at) == 1 && plugin[name..].starts_with(b"libhdf5") {
            gone.push(at);
        }
    }
    assert_eq!(gone.len(), 2);
    for at in gone {
        plugin[at] = 21; // DT_DEBUG
    }
    plugin
}

#[test]
fn a_plugin_that_names_no_libhdf5_is_given_one() {
    let Some(wheel) = Wheel::find() else { return };
    let load_first: Vec<&Path> = wheel.others.iter().map(PathBuf::as_path).collect();
    let replace = Replace { needed: &[], symbols: Symbols::Hdf5, load_first: &load_first };
    for (name, params) in
        [("lib__nch5zstd.so", vec![3]), ("lib__nch5blosc.so", vec![2, 2, 4, 12_288, 5, 1, 1])]
    {
        let plugin = without_hdf5(std::fs::read(wheel.plugins.join(name)).unwrap());
        let plugin = Plugin::of(open_with_shim(&plugin, &replace).unwrap());
        round_trip(&plugin, &params);
    }
    assert!(!is_mapped("libhdf5"));
    nothing_is_global();
}

#[test]
fn nothing_is_mapped_that_may_be_written_and_run() {
    let Some(folder) = debian() else { return };
    Plugin::debian(&folder.join("libH5Zblosc.so"));
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    assert!(maps.contains("memfd:ncz-h5shim"));
    assert_eq!(
        maps.lines().find(|line| line.split(' ').nth(1).is_some_and(|may| may.starts_with("rwx"))),
        None
    );
}

#[test]
fn all_of_hdf5plugin_is_answered_in_one_process() {
    let Some(folder) = package("hdf5plugin") else { return };
    let mut count = 0;
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "so") {
            Plugin::initialised(&path);
            count += 1;
        }
    }
    assert_eq!(count, 12);
    assert!(!is_mapped("libhdf5"));
    nothing_is_global();
}
