//! Verdicts on libraries that the C compiler makes, and on damaged copies of them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

const PLUGIN: &str = "int H5PLget_plugin_type(void){return 0;}\n\
     const void* H5PLget_plugin_info(void){return 0;}\n\
     const void* NCZ_get_codec_info(void){return 0;}\n";

/// Compiles `source` to `name` in `folder`; these tests need the C compiler that the codecs need too.
pub(crate) fn compile(folder: &Path, name: &str, source: &str, flags: &[&str]) -> PathBuf {
    let (input, output) = (folder.join("source.c"), folder.join(name));
    fs::write(&input, source).unwrap();
    let status = Command::new("cc")
        .args(["-shared", "-fPIC", "-nostdlib", "-o"])
        .arg(&output)
        .arg(&input)
        .args(flags)
        .status()
        .unwrap();
    assert!(status.success());
    output
}

fn look(path: &Path) -> Result<Symbols, Unsuitable> {
    inspect(path, &mut LibraryFinder::system())
}

fn refusal(path: &Path) -> String {
    look(path).unwrap_err().to_string()
}

fn write(folder: &TempDir, bytes: &[u8]) -> PathBuf {
    let path = folder.path().join("libfile.so");
    fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn exported_names_determine_the_kinds_with_either_hash_table() {
    let folder = tempfile::tempdir().unwrap();
    for style in ["gnu", "sysv", "both"] {
        let path = compile(folder.path(), "libx.so", PLUGIN, &[&format!("-Wl,--hash-style={style}")]);
        let exports = look(&path).unwrap().exports;
        assert_eq!(exports.names(), ["H5PLget_plugin_type", "H5PLget_plugin_info", "NCZ_get_codec_info"]);
        assert!(exports.has_hdf5() && exports.has_codec() && !exports.has_native());
        assert!(!exports.has_codec_defaults() && !exports.has_draft_codec());
    }
}

#[test]
fn every_name_is_found_among_many_others() {
    let folder = tempfile::tempdir().unwrap();
    let mut source: String = (0..3000).map(|i| format!("int other_{i}(void){{return {i};}}\n")).collect();
    for name in names::ALL {
        source.push_str(&format!("int {name}(void){{return 0;}}\n"));
    }
    let path = compile(folder.path(), "libx.so", &source, &[]);
    assert_eq!(look(&path).unwrap().exports.names(), names::ALL);
}

#[test]
fn hidden_and_undefined_names_do_not_count() {
    let folder = tempfile::tempdir().unwrap();
    let hidden = compile(folder.path(), "libhidden.so", PLUGIN, &["-fvisibility=hidden"]);
    assert_eq!(refusal(&hidden), "exports no plugin entry point");
    let source = "int H5PLget_plugin_type(void); const void* H5PLget_plugin_info(void);\n\
                  int f(void){return H5PLget_plugin_type() + (H5PLget_plugin_info() != 0);}";
    assert_eq!(refusal(&compile(folder.path(), "libuser.so", source, &[])), "exports no plugin entry point");
}

#[test]
fn one_symbol_of_a_pair_is_not_enough_and_the_missing_one_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = compile(folder.path(), "libx.so", "int H5PLget_plugin_type(void){return 0;}", &[]);
    assert_eq!(refusal(&path), "exports no plugin entry point (H5PLget_plugin_info is missing)");
}

#[test]
fn draft_records_are_distinguished_from_current_ones() {
    let exports = Exports::of(["NCZ_get_codec_info", "NCZ_codec_type"]);
    assert!(exports.has_draft_codec() && !exports.has_codec() && exports.is_plugin());
    let exports = Exports::of(["H5Z_plugin_type", "H5Z_get_plugin_info"]);
    assert!(exports.has_hdf5() && !exports.has_draft_codec());
}

#[test]
fn needed_libraries_are_found_by_rpath_runpath_and_the_system_and_the_missing_are_named() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("deps")).unwrap();
    let at = |name: &str| folder.path().join(name);
    for (name, folder) in [("libnear.so", at("deps")), ("libgone.so", at("."))] {
        compile(&folder, name, "int one(void){return 1;}", &[&format!("-Wl,-soname,{name}")]);
    }
    let source = format!(
        "{PLUGIN} int H5open(void); extern long H5E_PLINE_g; extern long H5;\n\
                          long f(void){{return H5open() + H5E_PLINE_g + H5;}}"
    );
    let deps = at("deps");
    for tags in ["-Wl,--enable-new-dtags", "-Wl,--disable-new-dtags"] {
        let flags = [
            "-Wl,--no-as-needed",
            "-L",
            deps.to_str().unwrap(),
            "-lnear",
            "-L",
            folder.path().to_str().unwrap(),
            "-lgone",
            "-lc",
            tags,
            "-Wl,-rpath,$ORIGIN/deps",
        ];
        let path = compile(folder.path(), "libx.so", &source, &flags);
        fs::rename(at("libgone.so"), at("elsewhere")).unwrap();
        let symbols = look(&path).unwrap();
        fs::rename(at("elsewhere"), at("libgone.so")).unwrap();
        assert_eq!(symbols.missing().collect::<Vec<_>>(), ["libgone.so"], "{tags}");
        assert_eq!(symbols.needed[0].found, Some(at("deps").join("libnear.so")));
        let libc = symbols.needed.iter().find(|needed| needed.name.starts_with("libc")).unwrap();
        assert!(libc.found.is_some(), "{libc:?}");
        assert_eq!(symbols.undefined_h5, ["H5E_PLINE_g", "H5open"]);
    }
}

#[test]
fn files_that_are_not_libraries_are_named_by_their_kind() {
    let folder = tempfile::tempdir().unwrap();
    let verdict = |bytes: &[u8]| refusal(&write(&folder, bytes));
    assert_eq!(verdict(b""), "not a shared library: the file is empty");
    assert_eq!(
        verdict(b"/* GNU ld script */ GROUP ( libx.so.1 )\n"),
        "not a shared library: text, perhaps a linker script"
    );
    assert_eq!(verdict(b"!<arch>\n0123456789abcdef"), "not a shared library: a static library (archive)");
    assert_eq!(verdict(&[7; 4000]), "not a shared library: neither ELF, Mach-O nor PE");
    assert_eq!(verdict(b"\x7fELF\x02\x01\x01"), "not a shared library: an ELF file cut off in its header");
    let object = compile(folder.path(), "x.o", PLUGIN, &["-c"]);
    // `-c` with `-shared` makes an object file.
    assert_eq!(refusal(&object), "not a shared library: an object file (.o)");
    assert_eq!(refusal(&std::env::current_exe().unwrap()), "not a shared library: a program");
    assert_eq!(refusal(&folder.path().join("none")), "cannot be read");
}

#[test]
fn another_machine_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = compile(folder.path(), "libx.so", PLUGIN, &[]);
    let good = fs::read(&path).unwrap();
    let mut patched = good.clone();
    // e_machine; 243 is RISC-V, which no test machine of ours is yet.
    patched[18..20].copy_from_slice(&243u16.to_ne_bytes());
    let text = refusal(&write(&folder, &patched));
    let host = std::env::consts::ARCH;
    assert!(text.starts_with("built for another architecture: ELF for riscv"), "{text}");
    assert!(text.ends_with(&format!("this program is ELF for {host}")), "{text}");
    let mac = Target { format: Format::MachO, ..Target::host() };
    let text = inspect_for(&path, &mut LibraryFinder::system(), mac).unwrap_err().to_string();
    assert!(text.contains(&format!("ELF for {host}; this program is Mach-O for {host}")), "{text}");
}

#[test]
fn every_truncation_of_a_library_is_refused_or_read_right() {
    let folder = tempfile::tempdir().unwrap();
    for style in ["gnu", "sysv"] {
        let path = compile(folder.path(), "libx.so", PLUGIN, &[&format!("-Wl,--hash-style={style}"), "-s"]);
        let good = fs::read(&path).unwrap();
        let whole = look(&path).unwrap();
        for len in (0..512).step_by(8).chain((512..good.len()).step_by(97)) {
            // The section headers at the end are not needed.
            if let Ok(symbols) = look(&write(&folder, &good[..len])) {
                assert_eq!(symbols, whole, "{len} bytes");
            }
        }
    }
}

#[test]
fn a_sparse_file_with_absurd_tables_takes_no_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = compile(folder.path(), "libx.so", PLUGIN, &[]);
    let mut bytes = fs::read(&path).unwrap();
    // The dynamic segment gets a length of 1 TiB, and so does the file.
    let phoff = u64::from_le_bytes(bytes[32..40].try_into().unwrap()) as usize;
    let count = u16::from_le_bytes(bytes[56..58].try_into().unwrap()) as usize;
    for at in (0..count).map(|i| phoff + i * 56) {
        if bytes[at..at + 4] == 2u32.to_le_bytes() {
            bytes[at + 32..at + 40].copy_from_slice(&(1u64 << 40).to_le_bytes());
        }
    }
    let path = write(&folder, &bytes);
    fs::File::options().write(true).open(&path).unwrap().set_len((1 << 40) + 65536).unwrap();
    assert!(refusal(&path).starts_with("damaged"), "{}", refusal(&path));
}

#[test]
fn a_pipe_instead_of_a_file_does_not_block() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("libx.so");
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();
    assert_eq!(refusal(&path), "not a shared library: not a regular file");
}

/// A 64-bit Mach-O library with one text segment and a symbol table (Apple, "Mach-O File Format").
fn mach_o(cpu: u32, symbols: &[&str]) -> Vec<u8> {
    let mut strings = vec![0u8];
    let mut table = Vec::new();
    for symbol in symbols {
        let defined = !symbol.starts_with("H5T");
        table.extend((strings.len() as u32).to_le_bytes());
        table.extend([if defined { 0x0f } else { 0x01 }, u8::from(defined), 0, 0]);
        table.extend([0; 8]);
        strings.extend(format!("_{symbol}\0").bytes());
    }
    let mut bytes = Vec::new();
    let words = |bytes: &mut Vec<u8>, list: &[u32]| list.iter().for_each(|w| bytes.extend(w.to_le_bytes()));
    let commands = (72 + 80) + 24;
    words(&mut bytes, &[0xfeed_facf, cpu, 0, 6, 2, commands, 0, 0]);
    words(&mut bytes, &[0x19, 72 + 80]);
    bytes.extend(*b"__TEXT\0\0\0\0\0\0\0\0\0\0");
    bytes.extend([0; 32]);
    words(&mut bytes, &[5, 5, 1, 0]);
    bytes.extend(*b"__text\0\0\0\0\0\0\0\0\0\0__TEXT\0\0\0\0\0\0\0\0\0\0");
    bytes.extend([0; 48]);
    let start = 32 + commands;
    words(
        &mut bytes,
        &[2, 24, start, symbols.len() as u32, start + table.len() as u32, strings.len() as u32],
    );
    bytes.extend(table);
    bytes.extend(strings);
    bytes
}

#[test]
fn mach_o_libraries_are_read_for_macos_and_refused_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let arm = 0x0100_000c;
    let path = write(&folder, &mach_o(arm, &["H5PLget_plugin_type", "H5PLget_plugin_info", "H5Tget_size"]));
    let mac = Target { format: Format::MachO, architecture: "aarch64", big_endian: false };
    let finder = &mut LibraryFinder::system();
    let symbols = inspect_for(&path, finder, mac).unwrap();
    assert!(symbols.exports.has_hdf5() && !symbols.exports.has_codec());
    assert_eq!(symbols.undefined_h5, ["H5Tget_size"]);
    let intel = Target { architecture: "x86_64", ..mac };
    assert!(matches!(inspect_for(&path, finder, intel), Err(Unsuitable::OtherMachine { .. })));
    let linux = Target { format: Format::Elf, architecture: "x86_64", big_endian: false };
    let text = inspect_for(&path, finder, linux).unwrap_err().to_string();
    assert_eq!(text, "built for another architecture: Mach-O for aarch64; this program is ELF for x86_64");
}

/// A DLL for x86-64 with one section that holds an export table (Microsoft, "PE Format").
fn dll(exports: &[&str]) -> Vec<u8> {
    const SECTION: u32 = 0x1000;
    let count = exports.len() as u32;
    let (functions, names) = (SECTION + 40, SECTION + 40 + 4 * count);
    let ordinals = names + 4 * count;
    let text = ordinals + 2 * count;
    let mut section = Vec::new();
    let words = |bytes: &mut Vec<u8>, list: &[u32]| list.iter().for_each(|w| bytes.extend(w.to_le_bytes()));
    words(&mut section, &[0, 0, 0, text, 1, count, count, functions, names, ordinals]);
    exports.iter().for_each(|_| words(&mut section, &[SECTION + 0x800]));
    let mut strings = b"x.dll\0".to_vec();
    for name in exports {
        words(&mut section, &[text + strings.len() as u32]);
        strings.extend(format!("{name}\0").bytes());
    }
    (0..count as u16).for_each(|i| section.extend(i.to_le_bytes()));
    section.extend(strings);
    section.resize(0x1000, 0);

    let mut bytes = b"MZ".to_vec();
    bytes.resize(0x3c, 0);
    words(&mut bytes, &[0x40]);
    bytes.extend(*b"PE\0\0\x64\x86\x01\0");
    bytes.extend([0; 12]);
    bytes.extend([240, 0, 0x22, 0x20]);
    let optional = bytes.len();
    bytes.resize(optional + 240, 0);
    let mut put = |at: usize, value: u32, len: usize| {
        bytes[optional + at..optional + at + len].copy_from_slice(&value.to_le_bytes()[..len]);
    };
    for (at, value, len) in [
        (0, 0x20b, 2),
        (32, 0x1000, 4),
        (36, 0x200, 4),
        (56, 0x2000, 4),
        (60, 0x200, 4),
        (108, 16, 4),
        (112, SECTION, 4),
        (116, 0x600, 4),
    ] {
        put(at, value, len);
    }
    bytes.extend(*b".edata\0\0");
    words(&mut bytes, &[0x1000, SECTION, 0x1000, 0x200, 0, 0, 0, 0x4000_0040]);
    bytes.resize(0x200, 0);
    bytes.extend(section);
    bytes
}

#[test]
fn dlls_are_read_for_windows_and_refused_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder, &dll(&["H5PLget_plugin_info", "H5PLget_plugin_type", "NCZ_get_codec_info"]));
    let windows = Target { format: Format::Pe, architecture: "x86_64", big_endian: false };
    let finder = &mut LibraryFinder::system();
    let exports = inspect_for(&path, finder, windows).unwrap().exports;
    assert!(exports.has_hdf5() && exports.has_codec());
    let linux = Target { format: Format::Elf, ..windows };
    let text = inspect_for(&path, finder, linux).unwrap_err().to_string();
    assert_eq!(text, "built for another architecture: PE for x86_64; this program is ELF for x86_64");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// Hostile tables always give some verdict: no panic, no endless loop, no exhausted memory.
    #[test]
    fn damaged_libraries_never_break_the_scan(
        kind in 0..4usize,
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        near_front: bool,
    ) {
        thread_local! {
            static GOOD: (TempDir, [Vec<u8>; 4]) = {
                let folder = tempfile::tempdir().unwrap();
                let elf = |style: &str| {
                    let flag = format!("-Wl,--hash-style={style}");
                    fs::read(compile(folder.path(), "libx.so", PLUGIN, &[&flag])).unwrap()
                };
                let all = [elf("gnu"), elf("sysv"), mach_o(0x0100_0007, &names::ALL), dll(&names::ALL)];
                (folder, all)
            };
        }
        GOOD.with(|(folder, all)| {
            let mut bytes = all[kind].clone();
            let reach = if near_front { bytes.len().min(0x400) } else { bytes.len() };
            for (at, value) in damage {
                bytes[at.index(reach)] = value;
            }
            let path = write(folder, &bytes);
            let format = [Format::Elf, Format::Elf, Format::MachO, Format::Pe][kind];
            let target = Target { format, architecture: "x86_64", big_endian: false };
            let _ = inspect_for(&path, &mut LibraryFinder::default(), target);
        });
    }
}

/// A 64-bit ELF library of one segment that starts at address 0, and another (type, address, length in the file and in
/// memory), with these entries in the dynamic section, and `tables` at 0x400. The file has to be made `len` bytes long.
fn elf_library(segment: [u64; 4], entries: &[[u64; 2]], tables: &[u64], len: u64) -> Vec<u8> {
    let words = |bytes: &mut Vec<u8>, list: &[u64]| list.iter().for_each(|w| bytes.extend(w.to_le_bytes()));
    let mut bytes = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0\x01\0\0\0".to_vec();
    words(&mut bytes, &[0, 64, 0]);
    bytes.extend([0, 0, 0, 0, 64, 0, 56, 0, 3, 0, 0, 0, 0, 0, 0, 0]);
    let dynamic = 16 * (entries.len() as u64 + 5);
    for [kind, address, in_file, in_memory] in [[1, 0, len, len], [2, 0x200, dynamic, dynamic], segment] {
        // With all permissions, and at the same offset in the file as in memory.
        words(&mut bytes, &[(7 << 32) | kind, address, address, address, in_file, in_memory, 1]);
    }
    bytes.resize(0x200, 0);
    // The old hash table, the strings and their length, the symbols.
    let own: [[u64; 2]; 4] = [[4, 0x3c0], [5, 0x3f8], [10, 1], [6, 0x3d0]];
    for entry in own.iter().chain(entries).chain(&[[0, 0]]) {
        words(&mut bytes, entry);
    }
    bytes.resize(0x3c0, 0);
    // One bucket and one symbol.
    words(&mut bytes, &[(1 << 32) | 1]);
    bytes.resize(0x400, 0);
    words(&mut bytes, tables);
    bytes
}

#[test]
fn what_the_loader_takes_for_granted_is_refused_only_where_it_matters() {
    const NONE: [u64; 4] = [0; 4];
    const FAR: u64 = 1 << 40;
    let folder = tempfile::tempdir().unwrap();
    let verdict = |segment: [u64; 4], entries: &[[u64; 2]], tables: &[u64], len: u64| {
        let path = write(&folder, &elf_library(segment, entries, tables, len));
        fs::File::options().write(true).open(&path).unwrap().set_len(len).unwrap();
        let Ok((file, len)) = open_regular(&path) else { return "not opened".to_owned() };
        let cache = read::cache(file, len);
        let checked = elf::check_any(read::Bounded(&cache));
        checked.map_or_else(|error| error.to_string(), |()| "sound".to_owned())
    };
    let expect = |said: &str, want: &str| assert!(said.contains(want), "{said}; not {want}");
    let segment = |segment| verdict(segment, &[], &[], 0x800);
    expect(&segment(NONE), "sound");
    // Zero-initialized thread-local variables are not in the file.
    expect(&segment([7, FAR, 0, 8]), "sound");
    expect(&segment([7, FAR, 8, 8]), "a table is outside");
    expect(&segment([0x6474_e552, FAR, 0, 0]), "sound");
    expect(&segment([0x6474_e552, FAR, 0, 8]), "PT_GNU_RELRO is not inside one writable segment");
    // A constructor, and relocations without a type: few, and more than are read.
    let relocated = |size: u64| {
        let entries = [[25, 0x400], [27, 8], [7, 0x1000], [8, size], [9, 24]];
        verdict(NONE, &entries, &[0x400], 0x1000 + size)
    };
    expect(&relocated(24), "a constructor or destructor address has no relocation");
    expect(&relocated(24 << 20), "sound");
    expect(&verdict(NONE, &[[9, 16]], &[], 0x800), "a table has an unexpected entry size");
    expect(&verdict(NONE, &[[20, 8], [23, 0x400]], &[], 0x800), "DT_PLTREL is neither REL nor RELA");
    // One needed version, with the largest possible count: only the links matter.
    let versions = |next: u64| {
        verdict(NONE, &[[0x6fff_fffe, 0x400], [0x6fff_ffff, 1]], &[0xffff_0001, 16, 0, next << 32], 0x800)
    };
    expect(&versions(0), "sound");
    expect(&versions(0x1000), "a table is outside");
}

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
#[test]
fn what_the_loader_takes_for_granted_holds_for_the_libraries_of_this_system() {
    let folders = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"];
    let files = folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten();
    let paths = files.map(|file| file.unwrap().path()).filter(|path| path.to_string_lossy().contains(".so"));
    let mut seen = 0;
    for path in paths.take(std::env::var("NCZ_CASES").map_or(150, |cases| cases.parse().unwrap())) {
        let Ok((file, len)) = open_regular(&path) else { continue };
        let cache = read::cache(file, len);
        if FileKind::parse(read::Bounded(&cache)).is_ok_and(|kind| kind == FileKind::Elf64) {
            elf::check_any(read::Bounded(&cache))
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            seen += 1;
        }
    }
    println!("{seen} libraries");
}
