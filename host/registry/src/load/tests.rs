//! Records, filter calls and the native table, with plugins made up in this program.
#![expect(clippy::undocumented_unsafe_blocks, reason = "plugins that break rules on purpose")]

use std::ffi::{c_char, c_int, c_uint};

use ncz_codec::abi::native::Plugin;
use ncz_codec::abi::nczarr::error::EINVAL;
use ncz_codec::export::native_face::{self, CodecList};
use ncz_codec::{AnyCoder, CodecType, Container, Dialect, Dtype, Env, Erased, ErrorKind, Kind};
use serde_json::json;

use super::*;

#[path = "../../../../codec-api/tests/faces/rle.rs"]
mod rle;

struct Codecs;

impl CodecList for Codecs {
    const CODECS: &'static [&'static dyn CodecType] = &[&Erased::<rle::Rle>::new()];
}

/// The running program, which exports none of the names.
fn program() -> Arc<Library> {
    Arc::new(Library::with(
        "program".into(),
        RawLibrary::this(),
        Exports::default(),
        (Hdf5Provider::Nothing, None),
        Arc::default(),
    ))
}

fn env(container: Container) -> Env {
    Env { dtype: Dtype::little(Kind::Float, 4), array_shape: vec![100], chunk_shape: vec![10], container }
}

fn native() -> NativeCodec {
    let table = unsafe { Table::take(native_face::plugin::<Codecs>()) }.unwrap();
    NativeCodec::all(&program(), &table).unwrap().remove(0)
}

type Filter =
    unsafe extern "C" fn(c_uint, usize, *const c_uint, usize, *mut usize, *mut *mut c_void) -> usize;

fn class(filter: Filter) -> hdf5::Class2 {
    hdf5::Class2 {
        version: 1,
        id: 40_200,
        encoder_present: 1,
        decoder_present: 1,
        name: c"made up".as_ptr(),
        can_apply: None,
        set_local: None,
        filter: Some(filter),
    }
}

fn codec_record() -> nczarr::Codec {
    unsafe extern "C" fn to_hdf5(json: *const c_char, count: *mut usize, params: *mut *mut c_uint) -> c_int {
        let text = unsafe { CStr::from_ptr(json) }.to_str().unwrap();
        let value: serde_json::Value = serde_json::from_str(text).unwrap();
        assert_eq!(value["id"], "made_up");
        let Some(level) = value["level"].as_u64() else { return EINVAL };
        unsafe {
            *params = libc::malloc(4).cast();
            **params = level as u32;
            // 9 is the level at which it reports a wrong result.
            *count = if level == 9 { 1000 } else { 1 };
        }
        0
    }
    unsafe extern "C" fn to_codec(_: usize, params: *const c_uint, json: *mut *mut c_char) -> c_int {
        let text: &[u8] = match unsafe { *params } {
            0 => b"{\"id\": \"other\"}\0",
            1 => b"{\"id\": \"made_up\", \"level\": 1}\0",
            2 => b"[[[\0",
            // As long as the block, without an end.
            3 => &[b'x'; 24],
            4 => return 0,
            _ => return EINVAL,
        };
        unsafe {
            *json = libc::malloc(text.len()).cast();
            (*json).copy_from_nonoverlapping(text.as_ptr().cast(), text.len());
        }
        0
    }
    nczarr::Codec {
        version: 1,
        sort: 1,
        codecid: c"made_up".as_ptr(),
        hdf5id: 40_200,
        initialize: None,
        finalize: None,
        codec_to_hdf5: Some(to_hdf5),
        hdf5_to_codec: Some(to_codec),
        modify_parameters: None,
    }
}

fn hdf5_half(record: &hdf5::Class2) -> Arc<Hdf5Filter> {
    Arc::new(Hdf5Filter::new(program(), unsafe { Hdf5Record::take(record) }.unwrap()))
}

fn nczarr_codec(record: &nczarr::Codec) -> Arc<NczarrCodec> {
    Arc::new(NczarrCodec::new(program(), unsafe { CodecRecord::take(record) }.unwrap()))
}

/// The first parameter selects its behaviour.
unsafe extern "C" fn odd(
    flags: c_uint,
    count: usize,
    params: *const c_uint,
    nbytes: usize,
    size: *mut usize,
    buf: *mut *mut c_void,
) -> usize {
    assert!(unsafe { *size } >= nbytes);
    let mode = if count == 0 { 0 } else { unsafe { *params } };
    match mode {
        // In place.
        0 => {
            let bytes = unsafe { std::slice::from_raw_parts_mut((*buf).cast::<u8>(), nbytes) };
            bytes.iter_mut().for_each(|byte| *byte ^= 0x55);
            nbytes
        }
        1 => 0,
        2 => usize::MAX,
        // An error code of zstd.
        3 => (-20_isize) as usize,
        4 => {
            unsafe {
                libc::free(*buf);
                *buf = std::ptr::null_mut();
                *size = 0;
            }
            0
        }
        5 => 1 << 40,
        // Grows, without an update of `*size`.
        6 => unsafe {
            let factor = if flags & hdf5::FLAG_REVERSE == 0 { 3 } else { 1 };
            let new = libc::calloc(nbytes, factor);
            libc::free(*buf);
            *buf = new;
            nbytes * factor
        },
        // Reads parameters that it was not given.
        7 => 1 + unsafe { *params.add(6) } as usize,
        _ => unreachable!(),
    }
}

fn run(mode: u32, input: &[u8], room: usize) -> Result<Vec<u8>, ncz_codec::CodecError> {
    let coder = ForeignCodec::new(Some(hdf5_half(&class(odd))), None).coder(&[mode]).unwrap();
    let mut output = vec![0; room];
    let len = coder.encode(&mut coder.scratch(), input, &mut output)?;
    output.truncate(len);
    Ok(output)
}

#[test]
fn a_record_that_breaks_a_rule_is_a_reason() {
    let take = |change: fn(&mut hdf5::Class2)| {
        let mut record = class(odd);
        change(&mut record);
        unsafe { Hdf5Record::take(&record) }.map(|record| record.facts.id)
    };
    assert_eq!(take(|_| {}), Ok(40_200));
    assert_eq!(take(|r| r.version = 2), Err(RecordError::NewerThanNcz { version: 2, known: 1 }));
    assert_eq!(take(|r| r.id = 0), Err(RecordError::IdOutOfRange(0)));
    assert_eq!(take(|r| r.id = -1), Err(RecordError::IdOutOfRange(-1)));
    assert_eq!(take(|r| r.id = 65_536), Err(RecordError::IdOutOfRange(65_536)));
    assert_eq!(take(|r| r.id = 65_535), Ok(65_535));
    assert_eq!(take(|r| r.name = std::ptr::null()), Ok(40_200));
    assert_eq!(take(|r| r.name = c"\xff".as_ptr()), Err(RecordError::BadName("name")));
    assert_eq!(take(|r| r.filter = None), Err(RecordError::NoFunction("filter")));
    assert_eq!(unsafe { Hdf5Record::take(std::ptr::null()) }.unwrap_err(), RecordError::NoRecord);

    let take = |change: fn(&mut nczarr::Codec)| {
        let mut record = codec_record();
        change(&mut record);
        unsafe { CodecRecord::take(&record) }.map(|record| record.facts.codec_id)
    };
    assert_eq!(take(|_| {}), Ok("made_up".to_owned()));
    assert_eq!(take(|r| r.version = 3), Err(RecordError::NewerThanNcz { version: 3, known: 1 }));
    assert_eq!(take(|r| r.sort = 2), Err(RecordError::UnknownSort(2)));
    assert_eq!(take(|r| r.hdf5id = 1 << 31), Err(RecordError::IdOutOfRange(1 << 31)));
    assert_eq!(take(|r| r.codecid = c"".as_ptr()), Err(RecordError::BadName("codec id")));
    assert_eq!(take(|r| r.codecid = std::ptr::null()), Err(RecordError::BadName("codec id")));
    assert_eq!(take(|r| r.codec_to_hdf5 = None), Err(RecordError::NoFunction("codec_to_hdf5")));
    assert_eq!(take(|r| r.hdf5_to_codec = None), Err(RecordError::NoFunction("hdf5_to_codec")));

    let records = [&raw const *Box::leak(Box::new(codec_record())), std::ptr::null()];
    let all = unsafe { CodecRecord::take_all(records.as_ptr()) };
    assert!(matches!(&all[..], [Ok(record)] if record.facts.filter_id == 40_200));
}

#[test]
fn nothing_that_a_filter_returns_is_believed() {
    let input: Vec<u8> = (0..100).collect();
    let flipped: Vec<u8> = input.iter().map(|byte| byte ^ 0x55).collect();
    assert_eq!(run(0, &input, 100).unwrap(), flipped);
    for (mode, code) in [(1, 0), (2, -1), (3, -20), (4, 0), (5, 1 << 40)] {
        assert_eq!(run(mode, &input, 100).unwrap_err().kind(), &ErrorKind::Plugin { code }, "mode {mode}");
    }
    assert_eq!(run(6, &input, 300).unwrap(), [0; 300]);
    assert_eq!(run(6, &input, 299).unwrap_err().kind(), &ErrorKind::OutputFull { need: Some(300) });
    assert_eq!(run(7, &input, 100).unwrap(), [0]);
    assert_eq!(run(0, &[], 100).unwrap_err().kind(), &ErrorKind::Truncated);
}

#[test]
fn json_of_an_nczarr_codec_is_checked() {
    let half = nczarr_codec(&codec_record());
    let params = |value: serde_json::Value| half.to_params(value.as_object().unwrap());
    assert_eq!(params(json!({"level": 5})).unwrap(), [5]);
    // An id in the configuration does not replace the codec's own.
    assert_eq!(params(json!({"id": "x", "level": 5})).unwrap(), [5]);
    assert_eq!(params(json!({})).unwrap_err().kind(), &ErrorKind::Plugin { code: EINVAL.into() });
    assert!(params(json!({"level": 9})).unwrap_err().to_string().contains("1000 parameters"));

    assert_eq!(serde_json::Value::Object(half.to_json(&[1]).unwrap()), json!({"level": 1}));
    assert!(half.to_json(&[0]).unwrap_err().to_string().contains("other"));
    assert!(half.to_json(&[2]).unwrap_err().to_string().contains("JSON"));
    assert!(half.to_json(&[3]).unwrap_err().to_string().contains("without a terminating zero"));
    assert!(half.to_json(&[4]).unwrap_err().to_string().contains("no JSON"));
    assert_eq!(half.to_json(&[5]).unwrap_err().kind(), &ErrorKind::Plugin { code: EINVAL.into() });
}

#[test]
fn a_missing_half_is_named_when_it_is_needed() {
    let filter = ForeignCodec::new(Some(hdf5_half(&class(odd))), None);
    assert_eq!((filter.info().name.as_ref(), filter.info().filter_id), ("made up", Some(40_200)));
    let config = filter.parse_params(&[0]).unwrap();
    assert!(config.to_json(Dialect::Numcodecs).unwrap_err().to_string().contains("no NCZarr codec"));
    let codec = ForeignCodec::new(None, Some(nczarr_codec(&codec_record())));
    assert_eq!(codec.info().numcodecs.first(), Some("made_up"));
    let env = env(Container::NczarrV2);
    let error = codec.parse_params(&[1]).unwrap().bind(&env.chunk(), &env).unwrap_err();
    assert!(error.to_string().contains("40200"), "{error}");
    assert!(codec.parse_json(Dialect::ZarrV3, &serde_json::Map::new(), &mut Vec::new()).is_err());
}

/// Answers by its first parameter, as filters do; sees what HDF5 would show it only through handles.
fn answering(set_local: ncz_codec::abi::hdf5::SetLocal) -> ForeignCodec {
    let mut record = class(odd);
    record.set_local = Some(set_local);
    ForeignCodec::new(Some(hdf5_half(&record)), None)
}

fn bind(codec: &ForeignCodec, container: Container) -> Result<ncz_codec::BoundStage, ncz_codec::CodecError> {
    let env = env(container);
    codec.parse_params(&[0]).unwrap().bind(&env.chunk(), &env)
}

#[test]
fn a_filter_that_sets_nothing_and_says_so_by_0_or_less_is_refused() {
    unsafe extern "C" fn fails(_: i64, _: i64, _: i64) -> c_int {
        -1
    }
    unsafe extern "C" fn does_nothing(_: i64, _: i64, _: i64) -> c_int {
        0
    }
    unsafe extern "C" fn is_content(_: i64, _: i64, _: i64) -> c_int {
        1
    }
    let failed = bind(&answering(fails), Container::ZarrV2).unwrap_err();
    assert_eq!(failed.kind(), &ErrorKind::Plugin { code: -1 });
    let shape = "4-byte floating-point numbers in chunks of 10";
    assert!(failed.to_string().contains(shape), "{failed}");
    let idle = bind(&answering(does_nothing), Container::ZarrV2).unwrap_err();
    assert!(
        idle.to_string().contains(&format!("made up returns no working parameters for {shape}")),
        "{idle}"
    );
    assert_eq!(bind(&answering(is_content), Container::ZarrV2).unwrap().working, [0]);
}

#[test]
fn can_apply_is_asked_first_and_0_is_a_refusal() {
    unsafe extern "C" fn no(_: i64, _: i64, _: i64) -> c_int {
        0
    }
    unsafe extern "C" fn never(_: i64, _: i64, _: i64) -> c_int {
        unreachable!()
    }
    let mut record = class(odd);
    record.can_apply = Some(no);
    record.set_local = Some(never);
    let codec = ForeignCodec::new(Some(hdf5_half(&record)), None);
    let error = bind(&codec, Container::ZarrV2).unwrap_err();
    assert!(error.to_string().contains("made up does not support 4-byte"), "{error}");
}

#[test]
fn recorded_parameters_decode_as_they_are_and_encode_if_the_filter_makes_the_same() {
    unsafe extern "C" fn refuses(_: i64, _: i64, _: i64) -> c_int {
        -1
    }
    unsafe extern "C" fn agrees(_: i64, _: i64, _: i64) -> c_int {
        1
    }
    let both = |stage: ncz_codec::BoundStage| {
        let mut room = [0; 4];
        let encoded = stage.coder.encode(&mut stage.coder.scratch(), b"abcd", &mut room);
        let decoded = stage.coder.decode(&mut stage.coder.scratch(), b"abcd", &mut room);
        (encoded.is_ok(), decoded.is_ok())
    };
    assert_eq!(both(bind(&answering(refuses), Container::Hdf5).unwrap()), (false, true));
    assert_eq!(both(bind(&answering(agrees), Container::Hdf5).unwrap()), (true, true));
}

#[test]
#[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
fn a_caller_that_could_not_be_made_is_made_the_next_time_and_kept() {
    let library = program();
    let refused = || Err(ncz_h5shim::Error::Refused("no file is left".into()));
    assert_eq!(
        library.caller_made(refused).unwrap_err().to_string(),
        "the loader refuses it: no file is left"
    );
    assert!(library.caller_made(Caller::new).unwrap().is_some());
    assert!(library.caller_made(refused).unwrap().is_some());
}

#[test]
fn one_library_runs_one_call_at_a_time() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static INSIDE: AtomicUsize = AtomicUsize::new(0);
    unsafe extern "C" fn slow(
        _: c_uint,
        _: usize,
        _: *const c_uint,
        nbytes: usize,
        _: *mut usize,
        _: *mut *mut c_void,
    ) -> usize {
        let alone = INSIDE.fetch_add(1, Ordering::SeqCst) == 0;
        std::thread::sleep(std::time::Duration::from_millis(2));
        INSIDE.fetch_sub(1, Ordering::SeqCst);
        if alone { nbytes } else { 0 }
    }
    let codec = ForeignCodec::new(Some(hdf5_half(&class(slow))), None);
    let coder = codec.coder(&[]).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..5 {
                    coder.decode(&mut coder.scratch(), b"abcd", &mut [0; 4]).unwrap();
                }
            });
        }
    });
}

#[test]
fn the_native_face_says_what_the_codec_says() {
    let (direct, native) = (Erased::<rle::Rle>::new(), native());
    assert_eq!(native.info(), direct.info());
    let map = json!({"mode": 1, "unknown": 2});
    let mut notes = Vec::new();
    let config = native.parse_json(Dialect::Numcodecs, map.as_object().unwrap(), &mut notes).unwrap();
    assert_eq!(notes, ["unknown key \"unknown\" is ignored"]);
    assert_eq!(config.to_params().unwrap(), [1, 0]);
    assert_eq!(
        serde_json::Value::Object(config.to_json(Dialect::ZarrV3).unwrap()),
        json!({"mode": 1, "elementsize": 0})
    );
    let env = env(Container::NczarrV2);
    let bound = config.bind(&env.chunk(), &env).unwrap();
    let expected = direct.parse_params(&[1]).unwrap().bind(&env.chunk(), &env).unwrap();
    assert_eq!((&bound.working, &bound.output), (&expected.working, &expected.output));
    assert_eq!(bound.stored.to_params().unwrap(), [1, 4]);

    for words in [&[9][..], &[0, 0, 0]] {
        assert_eq!(native.parse_params(words).unwrap_err(), direct.parse_params(words).unwrap_err());
        assert_eq!(native.coder(words).unwrap_err(), direct.coder(words).unwrap_err());
    }
    let map = json!({"mode": "x".repeat(2000)});
    let error = native.parse_json(Dialect::ZarrV3, map.as_object().unwrap(), &mut notes).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Config { key: "mode".to_owned() });
    assert_eq!(error.detail().len(), 1024 - "mode".len());
}

#[test]
fn native_coders_round_trip_and_fail_as_the_codec_does() {
    let native = native();
    let coder = native.coder(&[1]).unwrap();
    assert_eq!((coder.max_encoded_len(10), coder.max_encoded_len(usize::MAX)), (Some(28), None));
    let mut scratch = coder.scratch();
    let mut stream = [0; 28];
    let len = coder.encode(&mut scratch, &[7; 10], &mut stream).unwrap();
    assert_eq!(coder.decoded_len(&stream[..len]).unwrap(), Some(10));
    let mut output = [0; 20];
    assert_eq!(coder.decode(&mut scratch, &stream[..len], &mut output).unwrap(), 10);
    assert_eq!(output[..10], [7; 10]);
    let full = coder.decode(&mut scratch, &stream[..len], &mut output[..9]).unwrap_err();
    assert_eq!(full.kind(), &ErrorKind::OutputFull { need: None });
    assert_eq!(coder.decode(&mut scratch, &[1], &mut output).unwrap_err().detail(), "no length");

    let silent = native.coder(&[0]).unwrap();
    assert_eq!(silent.decoded_len(&stream).unwrap(), None);
    let foreign = silent.encode(&mut scratch, &[7], &mut stream).unwrap_err();
    assert!(foreign.detail().contains("another coder"));

    for mode in [rle::Mode::Panics, rle::Mode::PanicsTwice] {
        let coder = native.coder(&[mode as u32]).unwrap();
        let mut scratch = coder.scratch();
        for _ in 0..2 {
            let error = coder.encode(&mut scratch, &[7], &mut stream).unwrap_err();
            assert_eq!(error.kind(), &ErrorKind::Panicked);
        }
    }
    let claims = native.coder(&[rle::Mode::Claims as u32]).unwrap();
    assert!(
        claims
            .encode(&mut claims.scratch(), &[7], &mut stream)
            .unwrap_err()
            .detail()
            .contains("reports more")
    );
}

#[test]
fn native_coders_run_in_many_threads() {
    let coder = native().coder(&[0]).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4_u8 {
            let coder: &dyn AnyCoder = coder.as_ref();
            scope.spawn(move || {
                let mut scratch = coder.scratch();
                let (mut stream, mut output) = ([0; 2008], [0; 1000]);
                for round in 0..200_u8 {
                    let input = [thread ^ round; 1000];
                    let len = coder.encode(&mut scratch, &input, &mut stream).unwrap();
                    assert_eq!(coder.decode(&mut scratch, &stream[..len], &mut output).unwrap(), 1000);
                    assert_eq!(output, input);
                }
            });
        }
    });
}

#[test]
fn a_table_of_another_version_or_with_holes_is_refused() {
    let take = |change: fn(&mut Plugin)| {
        let mut table = unsafe { native_face::plugin::<Codecs>().read() };
        change(&mut table);
        unsafe { Table::take(&table) }.map(|_| ())
    };
    assert_eq!(take(|_| {}), Ok(()));
    // A later minor version only adds at the end.
    assert_eq!(
        take(|t| {
            t.api_version += 7;
            t.size += 64;
        }),
        Ok(())
    );
    assert!(matches!(take(|t| t.api_version += 1 << 16), Err(RecordError::OtherApi(_))));
    assert!(matches!(take(|t| t.size = 15), Err(RecordError::BadTable(_))));
    assert!(matches!(take(|t| t.size -= 8), Err(RecordError::BadTable(_))));
    // The tables of 1.0 end before the version.
    let first = |t: &mut Plugin| {
        t.api_version &= !0xffff;
        t.size = std::mem::offset_of!(Plugin, version);
    };
    assert_eq!(take(first), Ok(()));
    assert!(matches!(take(|t| t.codec_count = u32::MAX), Err(RecordError::BadTable(_))));
    assert_eq!(take(|t| t.decode = None), Err(RecordError::NoFunction("decode")));
    assert_eq!(unsafe { Table::take(std::ptr::null()) }.map(|_| ()), Err(RecordError::NoRecord));
}

#[test]
fn a_plugin_states_its_version_and_that_of_the_interface() {
    unsafe extern "C" fn stated() -> *const c_char {
        c"1.2.3-rc.1".as_ptr()
    }
    unsafe extern "C" fn nothing() -> *const c_char {
        std::ptr::null()
    }
    unsafe extern "C" fn empty() -> *const c_char {
        c"".as_ptr()
    }
    unsafe extern "C" fn loose() -> *const c_char {
        c"1.2".as_ptr()
    }
    unsafe extern "C" fn steers_a_terminal() -> *const c_char {
        c"1.2.0\x1b[31m".as_ptr()
    }
    let take = |version: Option<ncz_codec::abi::native::Version>| {
        let mut table = unsafe { native_face::plugin::<Codecs>().read() };
        table.version = version;
        unsafe { Table::take(&table) }.map(|table| table.version.map(|version| version.to_string()))
    };
    assert_eq!(take(Some(stated)), Ok(Some("1.2.3-rc.1".to_owned())));
    for none in [None, Some(nothing as _), Some(empty as _)] {
        assert_eq!(take(none), Ok(None));
    }
    assert_eq!(take(Some(loose)), Err(RecordError::BadVersion("1.2".to_owned())));
    assert_eq!(take(Some(steers_a_terminal)), Err(RecordError::BadName("version")));
    let table = unsafe { Table::take(native_face::plugin::<Codecs>()) }.unwrap();
    assert_eq!((table.version, table.interface.to_string()), (None, "1.1.0".to_owned()));
}
