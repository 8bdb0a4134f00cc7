use std::ffi::c_int;
use std::path::PathBuf;

use ncz_test_support::{Skip, python};
use proptest::prelude::*;

use super::dynamic::{DT_NEEDED, DT_SONAME, Dynamic};
use super::image::{self, Contents};
use super::loader::{self, Place};
use super::rewrite::{Rewritten, rewrite};
use super::{bytes, open_with_shim, unique_name};
use crate::replace::Replace;
use crate::symbols::Symbols;

const HDF5: &str = "libhdf5_serial.so.103";

/// A plugin that is linked against [`HDF5`] with three versions of its symbols.
fn debian() -> Option<Vec<u8>> {
    let path = PathBuf::from("/usr/lib/x86_64-linux-gnu/hdf5/serial/plugins/libh5lz4.so");
    if !path.is_file() {
        let why = format!("{} is not there", path.display());
        let _ = Skip::new("Debian's HDF5 plugins", why, "run tests/support/setup.sh");
        return None;
    }
    Some(std::fs::read(path).unwrap())
}

/// A plugin without versions of libhdf5's symbols, whose dynamic section was changed by another program.
fn wheel() -> Option<Vec<u8>> {
    let folder = python().ok()?.plugin_dir("netCDF4").unwrap();
    Some(std::fs::read(folder.join("lib__nch5zstd.so")).unwrap())
}

fn strings(dynamic: &Dynamic<'_>, tag: u64) -> Vec<String> {
    let entries = dynamic.entries().iter().filter(|entry| entry.tag == tag);
    entries.map(|entry| String::from_utf8(dynamic.string(entry.value).unwrap().to_vec()).unwrap()).collect()
}

/// Names of the libraries whose versions are needed, and the versions.
fn versions(dynamic: &Dynamic<'_>) -> Vec<(String, Vec<String>)> {
    let text = |at: u64| String::from_utf8(dynamic.string(at).unwrap().to_vec()).unwrap();
    let needs = dynamic.version_needs().unwrap();
    needs.iter().map(|need| (text(need.file), need.names.iter().map(|at| text(*at)).collect())).collect()
}

fn stub(versions: &[String]) -> Vec<u8> {
    let functions: Vec<_> = Symbols::Both.functions().into_iter().map(|(name, _)| name).collect();
    let variables = Symbols::Both.variables();
    image::build(&Contents { soname: "@abc", versions, functions: &functions, variables: &variables })
}

#[test]
fn names_differ() {
    let names: std::collections::BTreeSet<String> = (0..1000).map(|_| unique_name()).collect();
    assert_eq!(names.len(), 1000);
}

#[test]
fn the_descriptor_of_a_carrier_stays_open_if_its_plugin_does_not_load() {
    let Some(mut plugin) = debian() else { return };
    let libc = b"libc.so.6\0";
    let at = plugin.windows(libc.len()).position(|bytes| bytes == libc).unwrap();
    plugin[at..at + 4].copy_from_slice(b"none");
    let stubs = || {
        let all = std::fs::read_dir("/proc/self/fd")
            .unwrap()
            .filter_map(|entry| entry.unwrap().path().read_link().ok());
        all.filter(|target| target.to_string_lossy().contains("ncz-h5shim")).count()
    };
    let before = stubs();
    let replace = Replace { needed: &[HDF5], symbols: Symbols::Hdf5, load_first: &[] };
    let error = open_with_shim(&plugin, &replace).unwrap_err();
    assert!(error.to_string().contains("none.so.6"), "{error}");
    // Another file with that number would be mistaken for the stub library.
    assert!(stubs() > before);
}

#[test]
fn a_carrier_is_a_library_with_its_name_and_no_part_that_is_both_written_and_run() {
    let image = stub(&["V1".into(), "V2".into()]);
    let dynamic = Dynamic::read(&image).unwrap();
    assert_eq!(strings(&dynamic, DT_SONAME), ["@abc"]);
    assert_eq!(strings(&dynamic, DT_NEEDED), [""; 0]);
    assert_eq!(dynamic.undefined().unwrap(), [""; 0]);
    let count = u64::from(bytes::u16_at(&image, 56).unwrap());
    for index in 0..count {
        let flags = bytes::u32_at(&image, 64 + index * 56 + 4).unwrap();
        assert_ne!(flags & 3, 3, "segment {index}");
    }
}

#[test]
fn a_copy_needs_the_stub_instead_of_the_replaced_library() {
    let Some(plugin) = debian() else { return };
    let before = Dynamic::read(&plugin).unwrap();
    let needed = strings(&before, DT_NEEDED);
    assert!(needed.iter().any(|name| name == HDF5));
    let Rewritten { image, versions: found } = rewrite(&plugin, &before, &[HDF5], "@new").unwrap();
    let after = Dynamic::read(&image).unwrap();
    let expected: Vec<_> =
        needed.iter().map(|name| if name == HDF5 { "@new".to_owned() } else { name.clone() }).collect();
    assert_eq!(strings(&after, DT_NEEDED), expected);
    let mut sorted = found.clone();
    sorted.sort();
    assert_eq!(sorted, ["HDF5_SERIAL_1.8.13", "HDF5_SERIAL_1.8.15", "HDF5_SERIAL_1.8.7"]);
    assert!(versions(&after).contains(&("@new".to_owned(), found)));
    assert!(versions(&after).iter().all(|(file, _)| file != HDF5));
    // Of what the file holds only its header changed, and the name's number in the needed versions.
    let changed: Vec<usize> = (0..plugin.len()).filter(|at| plugin[*at] != image[*at]).collect();
    assert!(changed.iter().filter(|at| **at >= 64).count() <= 4, "{changed:?}");
    assert_eq!(after.undefined().unwrap(), before.undefined().unwrap());
}

#[test]
fn a_copy_has_no_name_of_its_own() {
    let image = stub(&[]);
    let Rewritten { image, .. } = rewrite(&image, &Dynamic::read(&image).unwrap(), &[], "@new").unwrap();
    let after = Dynamic::read(&image).unwrap();
    assert_eq!(strings(&after, DT_SONAME), [""; 0]);
    assert_eq!(strings(&after, DT_NEEDED), ["@new"]);
}

#[test]
fn what_says_where_the_program_headers_are_says_where_the_new_ones_are() {
    let mut plugin = stub(&[]);
    // Some linkers write such a header; here it is made from the header that only describes the stack.
    let stack = 64 + 3 * 56;
    bytes::put(&mut plugin, stack, &6u32.to_le_bytes()).unwrap();
    let Rewritten { image, .. } = rewrite(&plugin, &Dynamic::read(&plugin).unwrap(), &[], "@new").unwrap();
    let after = Dynamic::read(&image).unwrap();
    let headers = bytes::u64_at(&image, 32).unwrap();
    let at = headers + 3 * 56;
    assert_eq!(bytes::u32_at(&image, at), Some(6));
    let address = bytes::u64_at(&image, at + 16).unwrap();
    assert_eq!(after.segments().place(address).unwrap().0, headers);
    assert_eq!(bytes::u64_at(&image, at + 40), Some(6 * 56));
}

#[test]
fn a_library_is_added_in_front() {
    let Some(plugin) = wheel() else { return };
    let before = Dynamic::read(&plugin).unwrap();
    let Rewritten { image, versions } = rewrite(&plugin, &before, &[], "@new").unwrap();
    let mut expected = strings(&before, DT_NEEDED);
    expected.insert(0, "@new".to_owned());
    assert_eq!((strings(&Dynamic::read(&image).unwrap(), DT_NEEDED), versions.len()), (expected, 0));
}

/// A library with one function that is not ours, and the answer of a slot's function.
extern "C" fn seven() -> c_int {
    7
}

fn small(soname: &str) -> Vec<u8> {
    image::build(&Contents { soname, versions: &[], functions: &["ncz_seven"], variables: &[] })
}

fn fill_and_call(handle: *mut std::ffi::c_void) -> c_int {
    let slots = loader::symbol(handle, image::SLOTS).unwrap().cast::<*const ()>();
    // SAFETY: the table of a library with one function.
    unsafe { slots.write(seven as *const ()) };
    let stub = loader::symbol(handle, c"ncz_seven").unwrap();
    // SAFETY: the stub jumps to a function of this type.
    let stub: extern "C" fn() -> c_int = unsafe { std::mem::transmute(stub) };
    stub()
}

#[test]
fn where_files_in_memory_are_forbidden_a_private_folder_serves() {
    let loaded = loader::open_image(&small("@folder"), Place::Folder).unwrap();
    assert_eq!(fill_and_call(loaded.handle), 7);
    let path = PathBuf::from(loaded.path.to_str().unwrap());
    assert!(!path.exists() && !path.parent().unwrap().exists());
    // A plugin can still open it by its name.
    // SAFETY: a C string; the library has no constructors.
    let again = unsafe { libc::dlopen(loaded.path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_LOCAL) };
    assert_eq!(again, loaded.handle);
}

#[test]
fn a_descriptor_that_named_another_library_once_is_not_used() {
    let first = loader::open_image(&small("@first"), Place::Memory).unwrap();
    let number: c_int = first.path.to_str().unwrap().rsplit('/').next().unwrap().parse().unwrap();
    // SAFETY: it is the library's own descriptor, which nothing else uses.
    assert_eq!(unsafe { libc::close(number) }, 0);
    // The next file gets the number, unless another thread was quicker.
    let second = loader::open_image(&small("@second"), Place::Memory).unwrap();
    assert_ne!(first.handle, second.handle);
    assert_ne!(first.path, second.path);
    assert_eq!(fill_and_call(second.handle), 7);
}

#[test]
fn what_the_loader_says_is_passed_on() {
    let error = loader::open_file(std::path::Path::new("/nowhere/libx.so")).unwrap_err();
    assert!(error.to_string().contains("/nowhere/libx.so"), "{error}");
}

fn survives(plugin: &[u8], needed: &[&str]) {
    let Ok(dynamic) = Dynamic::read(plugin) else { return };
    let _ = dynamic.undefined();
    let Ok(Rewritten { image, .. }) = rewrite(plugin, &dynamic, needed, "@new") else { return };
    assert!(image.len() > plugin.len());
    // A file that passes the checks for copying gives a valid copy.
    assert!(Dynamic::read(&image).is_ok());
}

/// Files to be damaged: one from a linker, one from this code.
fn files() -> Vec<(Vec<u8>, Vec<&'static str>)> {
    let mut all = vec![(stub(&["V1".into(), "V2".into()]), vec![])];
    all.extend(debian().map(|plugin| (plugin, vec![HDF5])));
    all
}

/// The locations of the structures that are read: the headers, and the targets of the dynamic section.
fn places(plugin: &[u8]) -> Vec<usize> {
    let dynamic = Dynamic::read(plugin).unwrap();
    let mut all: Vec<usize> = (0..1024).collect();
    for entry in dynamic.entries() {
        let value = entry.value as usize;
        if value < plugin.len() && value > 1024 {
            all.extend(value..(value + 96).min(plugin.len()));
        }
    }
    let (address, len) = dynamic.segments().dynamic().unwrap();
    let (place, _) = dynamic.segments().place(address).unwrap();
    all.extend(place as usize..(place + len) as usize);
    all
}

#[test]
fn every_single_byte_of_the_tables_may_be_damaged() {
    for (plugin, needed) in files() {
        for at in places(&plugin) {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut damaged = plugin.clone();
                damaged[at] = value;
                survives(&damaged, &needed);
            }
        }
    }
}

proptest! {
    #[test]
    fn any_damage_is_survived(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        for (mut plugin, needed) in files() {
            let places = places(&plugin);
            for (place, value) in &changes {
                plugin[places[place.index(places.len())]] = *value;
            }
            if let Some(cut) = cut {
                plugin.truncate(cut.index(plugin.len()));
            }
            survives(&plugin, &needed);
        }
    }
}

/// Whether each return address of the stack is in the stub library.
extern "C" fn look_up_the_stack(found: *mut Vec<bool>, stub: usize) -> usize {
    let mut addresses = [std::ptr::null_mut(); 64];
    // SAFETY: room for this many addresses.
    let count = unsafe { libc::backtrace(addresses.as_mut_ptr(), 64) };
    let lies_there = |address: &*mut std::ffi::c_void| {
        // SAFETY: any address may be queried; plain pointers may be zero.
        unsafe {
            let mut info: libc::Dl_info = std::mem::zeroed();
            libc::dladdr(*address, &raw mut info) != 0 && info.dli_fbase as usize == stub
        }
    };
    // SAFETY: the test's own vector.
    unsafe { &mut *found }.extend(addresses[..count as usize].iter().map(lies_there));
    usize::MAX - 3
}

#[test]
fn who_is_called_finds_the_carrier_on_the_stack_and_the_test_after_it() {
    let path = super::shim_path().unwrap();
    // SAFETY: with this flag nothing is loaded; the name is a C string.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    let stub = loader::symbol(handle, c"H5Pmodify_filter").unwrap();
    // SAFETY: as above.
    let stub = unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        assert_ne!(libc::dladdr(stub, &raw mut info), 0);
        assert_eq!(std::ffi::CStr::from_ptr(info.dli_fname), path);
        info.dli_fbase as usize
    };
    let mut found = Vec::new();
    let arguments = [(&raw mut found) as usize, stub, 0, 0, 0, 0];
    // SAFETY: a function of two words.
    let result = unsafe { crate::Caller::new().unwrap().call(look_up_the_stack as *const (), arguments) };
    assert_eq!(result, usize::MAX - 3);
    let at = found.iter().position(|there| *there).unwrap();
    assert_eq!(found.iter().filter(|there| **there).count(), 1);
    // The thread's own start is many frames up: the walk did not end at the stub library.
    assert!(found.len() > at + 5, "{found:?}");
}

extern "C" fn six(a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> usize {
    ((((a * 10 + b) * 10 + c) * 10 + d) * 10 + e) * 10 + f
}

#[test]
fn six_arguments_arrive_in_order() {
    // SAFETY: a function of six words.
    let result = unsafe { crate::Caller::new().unwrap().call(six as *const (), [1, 2, 3, 4, 5, 6]) };
    assert_eq!(result, 123_456);
}
