//! What `NCZ_LOG` prints: the environment is read once per process, so a child process makes the calls.

use std::ffi::CStr;
use std::process::{Command, Output};

use ncz_codec::abi::hdf5::{Class2, FLAG_REVERSE};
use ncz_codec::abi::nczarr::Codec;
use ncz_codec::export::{hdf5_face, nczarr_face};

use crate::rle::{Mode, Rle};

/// The environment variable that marks the child process.
const CHILD: &str = "NCZ_LOG_CHILD";
const CALLER: &str = "log::a_trace_has_a_whole_line_for_each_call";
const THREADS: usize = 4;
const CALLS: usize = 200;

/// The calls whose lines the tests read, made in a child process that runs [`CALLER`] again.
fn calls_of_the_child() {
    assert_eq!(filter(0, &[1], &[7; 1000]), 16);
    assert_eq!(filter(FLAG_REVERSE, &[0], &[9, 7]), 9);
    assert_eq!(filter(FLAG_REVERSE, &[0; 40], &[9, 7]), 0);
    assert_eq!(filter(0, &[Mode::Panics as u32], b"a secret of the user"), 0);
    codec_to_hdf5(c"{\"id\": \"rle\", \"mode\": 1, \"secret\n\": \"\x07\"}");
    codec_to_hdf5(c"{\"id\": \"rle\", \"mode\": 1}");
    assert_eq!(unsafe { (*record()).set_local.unwrap()(1, 2, 3) }, -1);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || (0..CALLS).for_each(|_| assert!(filter(0, &[0], &[1; 700 + 7]) > thread)));
        }
    });
}

#[test]
fn a_trace_has_a_whole_line_for_each_call() {
    if std::env::var_os(CHILD).is_some() {
        return calls_of_the_child();
    }
    let path = std::env::temp_dir().join(format!("ncz-trace-{}", std::process::id()));
    // stderr has a lock in each plugin, a file does not
    let stderr = child(&[("NCZ_LOG", "trace")]).stderr;
    child(&[("NCZ_LOG", "2"), ("NCZ_LOG_FILE", path.to_str().unwrap())]);
    let file = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    for printed in [&stderr, &file] {
        assert!(!String::from_utf8_lossy(printed).contains("a secret of the user"));
        check(&lines(printed));
    }
}

fn check(lines: &[String]) {
    let expected = [
        "H5PLget_plugin_info -> filter 40100",
        "encode flags=0x0 cd_values=[1] nbytes=1000 buf_size=1000 -> 16 bytes, buf_size=1000",
        "H5PLget_plugin_info -> filter 40100",
        "decode flags=0x100 cd_values=[0] nbytes=2 buf_size=2 -> 9 bytes, buf_size=9, another block",
        "H5PLget_plugin_info -> filter 40100",
        "decode flags=0x100 cd_values=[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
         0, 0, 0, 0, 0, ... 40 words] nbytes=2 buf_size=2 -> failed: configuration key \"cd_values\" is not usable: rle \
         takes 0 to 2 parameters, got 40",
        "H5PLget_plugin_info -> filter 40100",
        "encode flags=0x0 cd_values=[2] nbytes=20 buf_size=20 -> failed: the codec panicked, which is a bug in the \
         codec: the test wants it",
        "NCZ_get_codec_info -> codec for filter 40100",
        "NCZ_codec_to_hdf5 {\"id\": \"rle\", \"mode\": 1, \"secret\\n\": \"\\u{7}\"} -> failed: not supported: not JSON: ",
        "NCZ_get_codec_info -> codec for filter 40100",
        "NCZ_codec_to_hdf5 {\"id\": \"rle\", \"mode\": 1} -> [1, 0]",
        "H5PLget_plugin_info -> filter 40100",
        "set_local -> failed: not supported: the library that called set_local has no H5get_libversion",
    ];
    for (line, expected) in lines.iter().zip(expected) {
        let text = line.strip_prefix("ncz: rle: ").unwrap_or(line);
        assert!(text.starts_with(expected), "{text}\n{expected}");
        // the codec is statically linked into the test program, so its caller is the C library
        let end = line.rsplit_once(" (").unwrap().1;
        assert!(end.contains(" us, called by /") && end.ends_with(')'), "{line}");
    }
    let rest = &lines[expected.len()..];
    assert_eq!(rest.len(), 2 * THREADS * CALLS);
    let whole = |line: &&String| {
        line.starts_with("ncz: rle: encode flags=0x0 cd_values=[0] nbytes=707 buf_size=707 -> 6 bytes")
            && line.ends_with(')')
    };
    assert_eq!(rest.iter().filter(whole).count(), THREADS * CALLS);
}

#[test]
fn only_failures_can_be_logged_to_a_file_and_the_default_is_nothing() {
    let path = std::env::temp_dir().join(format!("ncz-log-{}", std::process::id()));
    let output = child(&[("NCZ_LOG", "1"), ("NCZ_LOG_FILE", path.to_str().unwrap())]);
    let printed = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let failures = lines(&printed);
    assert_eq!(failures.len(), 4, "{failures:#?}");
    assert!(failures.iter().all(|line| line.contains(" -> failed: ")), "{failures:#?}");
    assert!(lines(&output.stderr).is_empty());

    for variables in [&[][..], &[("NCZ_LOG", "off")], &[("NCZ_LOG_FILE", path.to_str().unwrap())]] {
        assert!(lines(&child(variables).stderr).is_empty(), "{variables:?}");
    }
    assert!(!path.exists());
    let unknown = lines(&child(&[("NCZ_LOG", "yes")]).stderr);
    assert_eq!(unknown.len(), 5, "{unknown:#?}");
    assert!(
        unknown[0].starts_with("ncz: NCZ_LOG=\"yes\" is interpreted as error; it can be"),
        "{unknown:#?}"
    );
}

/// Runs [`calls_of_the_child`] in a child process.
fn child(variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([CALLER, "--exact", "--nocapture"]).env(CHILD, "1");
    command.env_remove("NCZ_LOG").env_remove("NCZ_LOG_FILE").envs(variables.iter().copied());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

/// Returns our lines; a panic prints some of its own.
fn lines(printed: &[u8]) -> Vec<String> {
    let text = String::from_utf8(printed.to_vec()).unwrap();
    text.lines().filter(|line| line.contains("ncz: ")).map(str::to_owned).collect()
}

fn record() -> *const Class2 {
    hdf5_face::plugin_info::<Rle>().cast()
}

/// Returns the result of the filter for `bytes` in a block from malloc.
fn filter(flags: u32, words: &[u32], bytes: &[u8]) -> usize {
    unsafe {
        let mut size = bytes.len();
        let mut block = libc::malloc(size);
        block.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), size);
        let run = (*record()).filter.unwrap();
        let len = run(flags, words.len(), words.as_ptr(), bytes.len(), &raw mut size, &raw mut block);
        libc::free(block);
        len
    }
}

fn codec_to_hdf5(json: &CStr) {
    unsafe {
        let record: *const Codec = nczarr_face::codec_info::<Rle>().cast();
        let (mut count, mut params) = (0, std::ptr::null_mut());
        (*record).codec_to_hdf5.unwrap()(json.as_ptr(), &raw mut count, &raw mut params);
        libc::free(params.cast());
    }
}
