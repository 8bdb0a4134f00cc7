//! What lossy codecs get of the last chunks of an array, and what they must leave as it is.

use std::collections::BTreeMap;
use std::sync::Arc;

use ncz::copy::{Codecs, CopyOptions, VariablePlan, Verified, append, copy};
use ncz::model::{
    Attribute, DataError, Elements, Format, Hierarchy, LossyGuard, NcType, NewFill, Order, Session, Sharding,
    Slab, Value, VariableBuilder,
};
use ncz::store::Store;
use ncz::verify::{VerifyOptions, verify};
use ncz::zarr::Dataset;
use ncz::zarr::metadata::ReadOptions;

use super::helpers::{explained, memory, session, spec, values};

const TOLERANCE: f32 = 1e-3;
const X: u64 = 10;
const Y: u64 = 7;

const FORMATS: [Format; 4] = [Format::NCZARR, Format::Nczarr3, Format::Zarr2, Format::Zarr3];

fn zfp(format: Format) -> &'static str {
    match format.is_v3() {
        true => r#"{"name":"zfp","configuration":{"mode":"fixed_accuracy","tolerance":0.001}}"#,
        false => r#"{"id":"zfpy","mode":4,"tolerance":0.001}"#,
    }
}

/// `/v(time, y, x)` of floats, whose fill value is netCDF's 9.97e36.
struct Layout {
    format: Format,
    records: u64,
    chunks: [u64; 3],
    order: Order,
    shard: Option<[u64; 3]>,
}

impl Layout {
    const fn of(format: Format, records: u64, chunks: [u64; 3]) -> Self {
        Self { format, records, chunks, order: Order::C, shard: None }
    }

    fn create(&self, codecs: &str) -> Dataset {
        let session = session(2);
        let mut hierarchy = Hierarchy::new(self.format);
        for (name, len) in [("time", self.records), ("y", Y), ("x", X)] {
            hierarchy.add_dimension("/", name, len, name == "time").unwrap();
        }
        let mut new = VariableBuilder::new("v", NcType::Float)
            .dimensions(["time", "y", "x"])
            .chunks(self.chunks)
            .order(self.order.clone());
        if let Some(shard) = self.shard {
            new = new.sharding(Sharding::new(shard));
        }
        let variable = hierarchy.add_variable("/", new).unwrap();
        session.define(variable, self.format, &spec(codecs)).unwrap();
        let mut dataset = Dataset::create(memory(), hierarchy, session, false).unwrap();
        dataset.flush().unwrap();
        dataset
    }

    /// The same with all data written.
    fn written(&self, codecs: &str) -> Result<Dataset, DataError> {
        let dataset = self.create(codecs);
        let array = dataset.array("/v")?;
        array.write_bytes(&Slab::whole(array.shape()), Elements::Native, &bytes(&field(0..self.records)))?;
        Ok(dataset)
    }
}

fn reopened(store: Arc<dyn Store>, format: Format) -> Dataset {
    let options = ReadOptions { nczarr3: format == Format::Nczarr3, ..ReadOptions::default() };
    Dataset::open(store, session(1), &options).unwrap_or_else(|error| panic!("{}", explained(&error)))
}

fn value(t: u64, y: u64, x: u64) -> f32 {
    280.0 + 7.0 * (t as f32 * 0.7 + y as f32 * 0.31).sin() + (x as f32 * 0.43).cos()
}

fn field(records: std::ops::Range<u64>) -> Vec<f32> {
    records.flat_map(|t| (0..Y).flat_map(move |y| (0..X).map(move |x| value(t, y, x)))).collect()
}

fn bytes(data: &[f32]) -> Vec<u8> {
    data.iter().copied().flat_map(f32::to_ne_bytes).collect()
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|bytes| f32::from_ne_bytes(bytes.try_into().unwrap())).collect()
}

#[track_caller]
fn assert_near(got: &[f32], want: &[f32], tolerance: f32) {
    assert_eq!(got.len(), want.len());
    for (at, (got, want)) in got.iter().zip(want).enumerate() {
        assert!((got - want).abs() <= tolerance, "element {at}: {got}, not {want}");
    }
}

#[track_caller]
fn assert_padded<T>(result: Result<T, DataError>) {
    let Err(error) = result else { panic!("it is written") };
    let text = explained(&error);
    assert!(text.contains("it holds beyond the end of the array"), "{text}");
    assert!(text.contains("/v") && text.contains("zfp"), "{text}");
}

#[test]
fn beyond_a_fixed_end_the_last_elements_are_repeated_for_a_codec_that_refuses_fill() {
    let layouts = [
        Layout::of(Format::NCZARR, 3, [1, 4, 4]),
        Layout::of(Format::NCZARR, 3, [3, 16, 16]),
        Layout::of(Format::Nczarr3, 3, [1, 4, 4]),
        Layout { order: Order::F, ..Layout::of(Format::Nczarr3, 3, [3, 4, 16]) },
        Layout { shard: Some([2, 8, 8]), ..Layout::of(Format::Nczarr3, 4, [1, 4, 4]) },
    ];
    for layout in layouts {
        let dataset =
            layout.written(zfp(layout.format)).unwrap_or_else(|error| panic!("{}", explained(&error)));
        let dataset = reopened(dataset.store().clone(), layout.format);
        let array = dataset.array("/v").unwrap();
        assert_near(&floats(&values(&array)), &field(0..layout.records), TOLERANCE);
        let report = verify(&dataset, &VerifyOptions::default(), &()).unwrap();
        assert!(report.findings.is_empty(), "{:#?}", report.findings);
        if layout.order != Order::C {
            continue;
        }
        let [_, rows, columns] = layout.chunks;
        let (mut chunk, mut worker) = (vec![0; array.chain().chunk_len()], array.worker());
        let index = [0, (Y - 1) / rows, (X - 1) / columns];
        array.read_chunk(&mut worker, &index, &mut chunk).unwrap().unwrap();
        let want: Vec<f32> = (0..layout.chunks[0])
            .flat_map(|t| (0..rows * columns).map(move |at| (t, at / columns, at % columns)))
            .map(|(t, y, x)| value(t, (index[1] * rows + y).min(Y - 1), (index[2] * columns + x).min(X - 1)))
            .collect();
        assert_near(&floats(&chunk), &want, TOLERANCE);
    }
}

#[test]
fn beyond_an_end_that_can_grow_there_is_fill_and_the_codec_refuses() {
    // Time is unlimited; arrays of Zarr grow along every dimension.
    assert_padded(Layout::of(Format::NCZARR, 3, [2, 4, 4]).written(zfp(Format::NCZARR)));
    for format in FORMATS {
        assert_padded(Layout::of(format, 3, [2, Y, X]).written(zfp(format)));
        let whole = Layout::of(format, 3, [3, Y, X]).written(zfp(format)).unwrap();
        assert_near(&floats(&values(&whole.array("/v").unwrap())), &field(0..3), TOLERANCE);
        if !format.is_nczarr() {
            assert_padded(Layout::of(format, 3, [1, 4, 4]).written(zfp(format)));
        }
    }
}

#[test]
fn a_codec_that_takes_fill_gets_it() {
    let bitround = r#"{"id":"bitround","keepbits":10}"#;
    let dataset = Layout::of(Format::NCZARR, 1, [1, 4, 4]).written(bitround).unwrap();
    let array = dataset.array("/v").unwrap();
    let mut chunk = vec![0; 64];
    array.read_chunk(&mut array.worker(), &[0, 1, 2], &mut chunk).unwrap().unwrap();
    let chunk = floats(&chunk);
    assert!(chunk[0] < 300.0 && chunk[2] > 9e36 && chunk[15] > 9e36, "{chunk:?}");
}

#[test]
fn a_dimension_that_was_made_longer_counts_as_one_that_may_be_again() {
    let mut dataset = Layout::of(Format::NCZARR, 1, [1, Y, X]).written(zfp(Format::NCZARR)).unwrap();
    let row: Vec<f32> = (0..X).map(|x| value(0, Y, x)).collect();
    assert_padded(dataset.append("/v", 1, Elements::Native, &bytes(&row)));
    let rows = field(1..2);
    dataset.append("/v", 1, Elements::Native, &bytes(&rows)).unwrap();
    // From now on nothing but fill follows its end, and nothing else is looked for.
    dataset.resize("/v", &[1, 2 * Y + 1, X]).unwrap();
    let last = Slab::new(vec![0, 2 * Y, 0], vec![1, 1, X]);
    assert_padded(dataset.array("/v").unwrap().write_bytes(&last, Elements::Native, &bytes(&row)));
    dataset.flush().unwrap();
    let array = reopened(dataset.store().clone(), Format::NCZARR).array("/v").unwrap();
    assert_eq!(array.shape(), [1, 2 * Y + 1, X]);
    let want = [field(0..1), rows, vec![9.969_21e36; X as usize]].concat();
    for (at, (got, want)) in floats(&values(&array)).into_iter().zip(want).enumerate() {
        assert!((got - want).abs() <= TOLERANCE.max(want * 1e-6), "element {at}: {got}, not {want}");
    }
}

#[test]
fn copies_and_records_after_them_are_verified() {
    for format in [Format::NCZARR, Format::Nczarr3] {
        let source = Layout::of(format, 3, [1, 4, 4]).written("[]").unwrap();
        for chunks in [None, Some(vec![1, 5, 3])] {
            let plan =
                VariablePlan { codecs: Codecs::Spec(spec(zfp(format))), chunks, ..VariablePlan::default() };
            let variables = BTreeMap::from([("/v".to_owned(), plan)]);
            let options = CopyOptions { variables, verify: true, ..CopyOptions::default() };
            let store = memory();
            let summary = copy(&source, store.clone(), &options, &())
                .unwrap_or_else(|error| panic!("{}", explained(&error)));
            let verified = summary.variables[0].verified.as_ref();
            assert!(matches!(verified, Some(Verified::Repeated { .. })), "{verified:?}");

            let options = CopyOptions { verify: true, ..CopyOptions::default() };
            append(&source, reopened(store.clone(), format), "time", &options, &())
                .unwrap_or_else(|error| panic!("{}", explained(&error)));
            let array = reopened(store, format).array("/v").unwrap();
            let twice = [field(0..3), field(0..3)].concat();
            assert_near(&floats(&values(&array)), &twice, TOLERANCE);
        }
    }
}

#[test]
fn records_come_after_others_whose_edges_were_repeated() {
    for layout in [
        Layout { shard: Some([2, 8, 8]), ..Layout::of(Format::Nczarr3, 3, [1, 4, 4]) },
        // Four records and four of fill, each in blocks of their own.
        Layout::of(Format::NCZARR, 4, [8, 4, 4]),
    ] {
        let store = layout.written(zfp(layout.format)).unwrap().store().clone();
        let mut dataset = reopened(store.clone(), layout.format);
        assert!(verify(&dataset, &VerifyOptions::default(), &()).unwrap().findings.is_empty());
        let more = field(layout.records..2 * layout.records);
        if layout.shard.is_none() {
            let error = dataset.append("/v", 0, Elements::Native, &bytes(&more[..70])).map(drop).unwrap_err();
            assert!(explained(&error).contains("tolerance"), "{}", explained(&error));
            dataset = reopened(store.clone(), layout.format);
        }
        dataset
            .append("/v", 0, Elements::Native, &bytes(&more))
            .unwrap_or_else(|error| panic!("{}", explained(&error)));
        dataset.flush().unwrap();
        let dataset = reopened(store, layout.format);
        assert_near(
            &floats(&values(&dataset.array("/v").unwrap())),
            &field(0..2 * layout.records),
            TOLERANCE,
        );
        assert!(verify(&dataset, &VerifyOptions::default(), &()).unwrap().findings.is_empty());
    }
}

#[test]
fn repeated_elements_do_not_come_along_to_where_they_might_be_seen() {
    let source = Layout::of(Format::NCZARR, 3, [1, 4, 4]).written(zfp(Format::NCZARR)).unwrap();
    for format in [Format::NCZARR, Format::Zarr2] {
        let codecs = Codecs::Spec(spec(r#"{"id":"zstd"}"#));
        let options = CopyOptions {
            format: Some(format),
            variables: BTreeMap::from([(
                "/v".to_owned(),
                VariablePlan { codecs, chunks: None, ..VariablePlan::default() },
            )]),
            verify: true,
            ..CopyOptions::default()
        };
        let store = memory();
        copy(&source, store.clone(), &options, &()).unwrap_or_else(|error| panic!("{}", explained(&error)));
        let copy = reopened(store, format);
        let report = verify(&copy, &VerifyOptions::default(), &()).unwrap();
        assert!(report.findings.is_empty(), "{:#?}", report.findings);
        let array = copy.array("/v").unwrap();
        let mut chunk = vec![0; 64];
        array.read_chunk(&mut array.worker(), &[0, 1, 2], &mut chunk).unwrap().unwrap();
        assert!(floats(&chunk)[2] > 9e36, "{:?}", floats(&chunk));
    }
}

#[test]
fn what_clamps_or_puts_one_number_for_another_makes_none_missing() {
    let session = session(1);
    let written = |missing: f32, data: f32| {
        let mut hierarchy = Hierarchy::new(Format::Zarr3);
        hierarchy.add_dimension("/", "x", 8, false).unwrap();
        let new = VariableBuilder::new("v", NcType::Float)
            .dimensions(["x"])
            .fill(NewFill::Value(Value::from(7_f32)));
        let new = new.attribute(Attribute::new("missing_value", Value::from(missing)));
        let variable = hierarchy.add_variable("/", new).unwrap();
        let codecs = r#"{"name":"cast_value","configuration":{"data_type":"uint8","rounding":"nearest-even",
            "out_of_range":"clamp","scalar_map":{"encode":[["NaN",0]],"decode":[[0,"NaN"]]}}}"#;
        session.define(variable, Format::Zarr3, &spec(codecs)).unwrap();
        let dataset = Dataset::create(memory(), hierarchy, session.clone(), false).unwrap();
        let array = dataset.array("/v").unwrap();
        array
            .write_bytes(&Slab::whole(array.shape()), Elements::Native, &bytes(&[data; 8]))
            .map_err(|error| explained(&error))
    };
    written(255.0, 250.2).unwrap();
    for (missing, data, text) in [
        (255.0, 400.0, "400.0 would be read as its missing_value 255.0"),
        (f32::NAN, 0.3, "0.3 would be read as its missing_value NaN"),
    ] {
        let error = written(missing, data).unwrap_err();
        assert!(error.contains(text), "{error}");
    }
}

const RATE: &str = r#"{"id":"zfpy","mode":2,"rate":8}"#;
const PRECISION: &str = r#"{"id":"zfpy","mode":3,"precision":32}"#;

/// `field` in one chunk, in which `missing` is in a corner.
fn masked(
    codecs: &str,
    attribute: Option<f32>,
    missing: f32,
    field: impl Fn(u64) -> f32,
) -> Result<Vec<f32>, String> {
    let session = session(1);
    let mut hierarchy = Hierarchy::new(Format::NCZARR);
    hierarchy.add_dimension("/", "y", 16, false).unwrap();
    hierarchy.add_dimension("/", "x", 16, false).unwrap();
    let mut new = VariableBuilder::new("v", NcType::Float).dimensions(["y", "x"]).chunks([16, 16]);
    if let Some(value) = attribute {
        new = new.attribute(Attribute::new("missing_value", Value::from(value)));
    }
    let variable = hierarchy.add_variable("/", new).unwrap();
    session.define(variable, Format::NCZARR, &spec(codecs)).map_err(|error| explained(&error))?;
    let dataset = Dataset::create(memory(), hierarchy, session, false).unwrap();
    let array = dataset.array("/v").unwrap();
    let is_missing = |at: u64| at % 16 < 3 && at / 16 < 2;
    let data: Vec<f32> = (0..256).map(|at| if is_missing(at) { missing } else { field(at) }).collect();
    array
        .write_bytes(&Slab::whole(array.shape()), Elements::Native, &bytes(&data))
        .map_err(|error| explained(&error))?;
    Ok(floats(&values(&array)))
}

#[test]
fn without_the_guard_the_library_stores_what_the_codec_makes() {
    let session = Session { lossy_guard: LossyGuard::Off, ..session(1) };
    let mut hierarchy = Hierarchy::new(Format::NCZARR);
    hierarchy.add_dimension("/", "x", 64, false).unwrap();
    let new = VariableBuilder::new("v", NcType::Float).dimensions(["x"]).fill(NewFill::Default);
    let variable = hierarchy.add_variable("/", new).unwrap();
    session.define(variable, Format::NCZARR, &spec(RATE)).unwrap();
    let dataset = Dataset::create(memory(), hierarchy, session, false).unwrap();
    let array = dataset.array("/v").unwrap();
    let mut data = vec![15.0; 64];
    data[3] = 9.969_21e36;
    array.write_bytes(&Slab::whole(&[64]), Elements::Native, &bytes(&data)).unwrap();
    // As with every other program, the fill value leaves no bits for the values near it.
    let chain = array.chain();
    let (mut scratch, mut made) = (chain.scratch(), vec![0; chain.chunk_len()]);
    let stored = chain.encode(&mut scratch, &bytes(&data)).unwrap().to_vec();
    chain.decode(0, &mut scratch, &stored, &mut made).unwrap();
    assert_eq!(values(&array), made);
    assert_ne!(floats(&made)[0], 15.0);
    dataset.discard();
}

#[test]
fn missing_values_are_kept_and_do_not_damage_their_neighbours() {
    const FILL: f32 = 9.969_21e36;
    let waves = |at: u64| 15.0 + (at as f32 / 9.0).sin();
    // Nothing is missing, or what looks like it means nothing.
    for codec in [RATE, PRECISION, zfp(Format::NCZARR)] {
        let read = masked(codec, None, 15.0, waves).unwrap();
        assert!(read.iter().all(|value| (13.0..17.0).contains(value)), "{codec}: {read:?}");
    }
    masked(RATE, None, -9999.0, waves).unwrap();
    // Next to the fill value, none of the eight bits of a number are left.
    let error = masked(RATE, None, FILL, waves).unwrap_err();
    assert!(error.contains("missing values") && error.contains("after the codec zfpy"), "{error}");
    let error = masked(PRECISION, None, FILL, waves).unwrap_err();
    assert!(error.contains("would be read as") && error.contains("missing values"), "{error}");
    // A tolerance is kept or refused, but a missing value within it is none any more.
    let error = masked(zfp(Format::NCZARR), None, FILL, waves).unwrap_err();
    assert!(error.contains("tolerance"), "{error}");
    let coarse = r#"{"id":"zfpy","mode":4,"tolerance":0.7}"#;
    let error = masked(coarse, Some(-9998.7), -9998.7, waves).unwrap_err();
    assert!(error.contains("missing_value -9998.7 would be read as -999"), "{error}");
    // Nor may data become missing, whether some are or not; zeros are numbers like any other.
    let pressure = |at: u64| if at == 200 { 998.7 } else { 1013.0 + (at % 16) as f32 };
    let whole = r#"{"id":"quantize","digits":0,"dtype":"<f4"}"#;
    for missing in [999.0, 1013.0] {
        let error = masked(whole, Some(999.0), missing, pressure).unwrap_err();
        assert!(error.contains("998.7 would be read as its missing_value 999.0"), "{error}");
    }
    let read = masked(whole, Some(-999.0), -999.0, |at| if at == 200 { -700.4 } else { -0.3 }).unwrap();
    assert_eq!((read[200], read[201]), (-700.0, 0.0));
    assert_eq!(masked(whole, Some(0.0), 0.0, |_| 0.3).unwrap()[200], 0.0);
    // A large number elsewhere excuses nothing: drizzle in the west, a cloudburst in the east.
    let rain = |at: u64| match at % 16 {
        0..8 => 0.1 + (at as f32 * 0.7).sin().abs() / 10.0,
        _ => 400.0 + 800.0 * (at as f32 / 9.0).sin().abs(),
    };
    let fine = r#"{"id":"zfpy","mode":2,"rate":12}"#;
    assert!(masked(fine, None, 0.15, rain).unwrap()[3] > 0.0);
    let error = masked(fine, None, FILL, rain).unwrap_err();
    assert!(error.contains("missing values"), "{error}");
    // A number near zero can be lost next to one that shifts the grid, by no more than others.
    let crossing = |at: u64| if at == 100 { 0.006 } else { 30.0 * ((at * at) as f32 / 5.0).sin() };
    let read = masked("6,0,2", Some(-999.0), -999.0, crossing).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(read[0], -999.0);
    assert!((read[100] - 0.006).abs() >= 0.003, "it is lost: {}", read[100]);
    assert_near(&read[40..], &(40..256).map(crossing).collect::<Vec<_>>(), 0.0051);
    // What rounds number by number keeps them, and zeros by a tolerance are zeros without them too.
    let bitround = r#"{"id":"bitround","keepbits":6}"#;
    let read = masked(bitround, None, FILL, waves).unwrap();
    assert_eq!((read[0], read[18], read[3] < 17.0), (FILL, FILL, true));
    let overflow = |at: u64| if at == 100 { f32::MAX } else { waves(at) };
    assert_eq!(masked("32032,6", None, FILL, overflow).unwrap()[100], f32::INFINITY);
    let in_blocks = |at: u64| if at % 16 < 4 && at / 16 < 4 { FILL } else { 1e-6 };
    let read = masked(zfp(Format::NCZARR), None, FILL, in_blocks).unwrap();
    assert_eq!((read[0], read[255] < 1e-3), (FILL, true));
}

#[test]
fn a_fixed_rate_has_its_bits_for_the_data_after_an_end_that_stays() {
    let dataset = Layout::of(Format::NCZARR, 1, [1, 4, 4]).written(RATE).unwrap();
    assert_near(&floats(&values(&dataset.array("/v").unwrap())), &field(0..1), 8.0);
    let refused = Layout::of(Format::NCZARR, 1, [2, 4, 4]).written(RATE).map(drop);
    let text = explained(&refused.unwrap_err());
    assert!(text.contains("it holds beyond the end of the array"), "{text}");
}
