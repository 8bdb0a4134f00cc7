use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ncz_test_support::{program, python, workspace_root};
use serde_json::Value;

use crate::bench::{command, run};

/// Damaged files of a run, and those of one folder. `NCZ_DAMAGED_PLUGINS` sets another number.
const FILES: usize = 200;
const OF_FOLDER: usize = 25;

/// Valid plugins: one that is compiled here and, if Python is available, some of hdf5plugin.
fn sound(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut paths: Vec<PathBuf> = Vec::new();
    if let Ok(compiler) = program("cc") {
        let library = folder.join("libfaulty.so");
        let source = workspace_root().join("host/registry/tests/isolate/faulty.c");
        let mut cc = Command::new(compiler);
        cc.args(["-std=c99", "-shared", "-fPIC", "-o"]).arg(&library).arg(source);
        assert!(cc.status().unwrap().success());
        paths.push(library);
    }
    if let Ok(python) = python() {
        let plugins = python.plugin_dir("hdf5plugin").unwrap();
        paths.extend(
            ["libh5lz4.so", "libh5bz2.so", "libh5zfp.so", "libh5fcidecomp.so"].map(|name| plugins.join(name)),
        );
    }
    let name = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
    paths.iter().filter_map(|path| Some((name(path), fs::read(path).ok()?))).collect()
}

/// Numbers that are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % most.max(1) as u64) as usize
    }
}

/// Returns the location of the dynamic section of a 64-bit little-endian file.
fn dynamic(bytes: &[u8]) -> Option<(usize, usize)> {
    let word = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?) as usize);
    let headers = word(0x20)?;
    let header = (0..16)
        .map(|number| headers + number * 0x38)
        .find(|&at| bytes.get(at..at + 4) == Some(&[2, 0, 0, 0]))?;
    Some((word(header + 8)?, word(header + 0x20)?))
}

/// Damages a file in one of the ways that a copy, a disk or a memory may.
fn damage(bytes: &mut Vec<u8>, numbers: &mut Numbers) {
    let len = bytes.len();
    let (start, size) = dynamic(bytes).unwrap_or((0, len));
    for _ in 0..1 << numbers.below(4) {
        let at = match numbers.below(6) {
            // The header, the program headers, the dynamic section, the tables before the code, anywhere.
            0 => numbers.below(64),
            1 => 64 + numbers.below(0x38 * 9),
            2 => start + numbers.below(size),
            3 => numbers.below(len.min(16_384)),
            4 => numbers.below(len),
            _ => {
                if numbers.below(8) == 0 {
                    bytes.truncate(numbers.below(len));
                }
                continue;
            }
        };
        match (numbers.below(4), bytes.get_mut(at..)) {
            (0, Some([byte, ..])) => *byte ^= 1 << numbers.below(8),
            (1, Some([byte, ..])) => *byte = numbers.below(256) as u8,
            (2, Some(rest)) => rest.iter_mut().take(8).for_each(|byte| *byte = numbers.below(256) as u8),
            (_, Some(rest)) => rest.iter_mut().take(numbers.below(64)).for_each(|byte| *byte = 0),
            (_, None) => {}
        }
    }
}

#[test]
fn damaged_files_never_end_the_program_that_looks_at_them() {
    let count = std::env::var("NCZ_DAMAGED_PLUGINS").map_or(FILES, |count| count.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let sound = sound(folder.path());
    if sound.is_empty() {
        return;
    }
    let mut numbers = Numbers(7);
    let mut verdicts = std::collections::BTreeMap::<String, usize>::new();
    for first in (0..count).step_by(OF_FOLDER) {
        let plugins = folder.path().join(format!("plugins{first}"));
        fs::create_dir(&plugins).unwrap();
        for number in first..count.min(first + OF_FOLDER) {
            let (name, bytes) = &sound[number % sound.len()];
            let mut bytes = bytes.clone();
            damage(&mut bytes, &mut numbers);
            fs::write(plugins.join(format!("{name}-{number}.so")), bytes).unwrap();
        }
        let mut ncz = command();
        ncz.env("XDG_CACHE_HOME", folder.path().join("cache"));
        ncz.args(["plugins", "list", "--json", "--worker-time", "2", "--plugin-path"]).arg(&plugins);
        let run = run(&mut ncz);
        assert!([0, 1].contains(&run.code), "{}: {run:#?}", plugins.display());
        // What libraries print comes first.
        let report: Value = serde_json::from_str(&run.stdout[run.stdout.find("{\n").unwrap_or(0)..]).unwrap();
        assert_eq!(report["notes"], Value::Array(Vec::new()), "a file was opened untested");
        let files = report["folders"][0]["files"].as_array().unwrap();
        assert_eq!(files.len(), count.min(first + OF_FOLDER) - first);
        for file in files {
            let reason = file["reason"].as_str().unwrap();
            let sort = reason.split(['(', ';', ':', '/']).next().unwrap();
            *verdicts.entry(format!("{}: {sort}", file["verdict"].as_str().unwrap())).or_default() += 1;
        }
        fs::remove_dir_all(&plugins).unwrap();
    }
    println!("{verdicts:#?}");
    assert!(verdicts.contains_key("refused: damaged"), "{verdicts:?}");
}

#[test]
fn a_library_that_fails_while_it_is_opened_is_refused_and_a_good_one_is_tested_once() {
    let Ok(compiler) = program("cc") else { return };
    let folder = tempfile::tempdir().unwrap();
    let plugins = folder.path().join("plugins");
    fs::create_dir(&plugins).unwrap();
    let source = folder.path().join("plugin.c");
    fs::write(
        &source,
        r#"#include <stdio.h>
        #include <stdlib.h>
        #include <unistd.h>
        __attribute__((unused)) static void late(void) { abort(); }
        __attribute__((constructor)) static void opened(void) {
            FILE *mark = fopen(MARK, "a");
            if (mark) { fputs("x", mark); fclose(mark); }
            FAIL;
        }
        int H5PLget_plugin_type(void) { return 0; }
        const void *H5PLget_plugin_info(void) { return 0; }
        "#,
    )
    .unwrap();
    let mark = folder.path().join("mark");
    let compile = |name: &str, fail: &str| {
        let mut cc = Command::new(&compiler);
        cc.args(["-shared", "-fPIC", "-o"]).arg(plugins.join(name)).arg(&source);
        cc.arg(format!("-DMARK=\"{}\"", mark.display())).arg(format!("-DFAIL={fail}"));
        assert!(cc.status().unwrap().success());
    };
    compile("libcrashes.so", "*(volatile int *)8 = 1");
    compile("libexits.so", "_exit(3)");
    compile("libgood.so", "(void)0");
    compile("libspins.so", "for (;;) {}");
    compile("liblate.so", "atexit(late)");
    let list = |cache: &Path| {
        let _ = fs::remove_file(&mark);
        let mut ncz = command();
        ncz.env("XDG_CACHE_HOME", cache)
            .args(["plugins", "list", "--worker-time", "0.3", "--plugin-path"])
            .arg(&plugins);
        let run = run(&mut ncz).ends(1);
        (run.stdout, fs::read_to_string(&mark).unwrap().len())
    };
    let cache = folder.path().join("cache");
    let (said, opened) = list(&cache);
    for reason in [
        "opening it ended a test process with SIGSEGV; the file is damaged",
        "opening it ended a test process with exit status 3",
        "closing it ended a test process with SIGABRT",
        "opening it in a test process failed: it took more than 300ms of processor time",
    ] {
        assert!(said.contains(reason), "{said}");
    }
    // Once for each of those that fail, and in both processes for the good one.
    assert_eq!(opened, 6, "{said}");
    assert_eq!(list(&cache).1, 5, "what is known good is opened at once");
    // Another file, a damaged cache, a folder that cannot be written: it is tested again.
    compile("libgood.so", "(void)1");
    assert_eq!(list(&cache).1, 6);
    assert_eq!(list(&cache).1, 5);
    fs::write(cache.join("ncz/good-plugins.json"), "{").unwrap();
    assert_eq!(list(&cache).1, 6);
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    assert_eq!([list(&file).1, list(&file).1], [6, 6]);
}

#[test]
fn without_the_worker_program_a_note_says_once_that_files_were_opened_untested() {
    let Ok(compiler) = program("cc") else { return };
    let folder = tempfile::tempdir().unwrap();
    for name in ["libone.so", "libtwo.so"] {
        let mut cc = Command::new(&compiler);
        cc.args(["-std=c99", "-shared", "-fPIC", "-o"]).arg(folder.path().join(name));
        cc.arg(workspace_root().join("host/registry/tests/isolate/faulty.c"));
        assert!(cc.status().unwrap().success());
    }
    let mut ncz = command();
    ncz.env("XDG_CACHE_HOME", folder.path().join("cache"));
    ncz.args(["plugins", "list", "--worker-program", "/nowhere", "--plugin-path"]).arg(folder.path());
    let said = run(&mut ncz).ends(0).stdout;
    let note = "2 plugins were opened without a test in a separate process";
    assert_eq!(said.matches(note).count(), 1, "{said}");
    assert!(said.contains("the worker program /nowhere cannot be started"), "{said}");
    // They are not taken for tested.
    assert!(!folder.path().join("cache/ncz").exists());
}
