//! Verifying distinguishes what a lossy codec changed from what a fault of another codec destroyed.

use std::collections::BTreeMap;

use ncz::copy::{Codecs, CopyError, CopyOptions, CopySummary, VariablePlan, Verified, append, copy};
use ncz::model::{
    DataError, Elements, Format, Hierarchy, NcType, NewFill, Session, Slab, Value, VariableBuilder,
};
use ncz::zarr::Dataset;
use proptest::prelude::*;

use super::generated::{MadeUp, Spoils};
use super::helpers::{explained, memory, objects, open, session, spec, values};

/// Always stores zeros instead of the data, and declares that it is lossless, or nothing.
#[derive(Clone, Debug)]
struct Forgets<const IS_KNOWN: bool>;

impl<const IS_KNOWN: bool> Spoils for Forgets<IS_KNOWN> {
    const NAMES: &'static [&'static str] = &[if IS_KNOWN { "forgets" } else { "forgets_mutely" }];
    const LOSSY: Option<bool> = if IS_KNOWN { Some(false) } else { None };

    fn spoilt(_: u8) -> u8 {
        0
    }
}

ncz::codec::register!(MadeUp<Forgets<true>>);
ncz::codec::register!(MadeUp<Forgets<false>>);

const BITROUND: &str = r#"{"id":"bitround","keepbits":3}"#;
const ZFP: &str = r#"{"id":"zfpy","mode":4,"tolerance":0.5}"#;
const ZSTD: &str = r#"{"id":"zstd","level":1}"#;
const SHUFFLE: &str = r#"{"id":"shuffle","elementsize":4}"#;
const FORGETS: [&str; 2] = [r#"{"id":"forgets"}"#, r#"{"id":"forgets_mutely"}"#];

/// `/v(time, x)` of floats, in chunks of 4 records.
fn floats(format: Format, session: &Session, codecs: &str, data: &[f32]) -> Dataset {
    const X: u64 = 5;
    let mut hierarchy = Hierarchy::new(format);
    hierarchy.add_dimension("/", "time", data.len() as u64 / X, true).unwrap();
    hierarchy.add_dimension("/", "x", X, false).unwrap();
    let new = VariableBuilder::new("v", NcType::Float).dimensions(["time", "x"]).chunks([4, 3]);
    let variable = hierarchy.add_variable("/", new.fill(NewFill::Value(Value::from(0f32)))).unwrap();
    session.define(variable, format, &spec(codecs)).unwrap();
    let mut dataset = Dataset::create(memory(), hierarchy, session.clone(), false).unwrap();
    let array = dataset.array("/v").unwrap();
    let bytes: Vec<u8> = data.iter().copied().flat_map(f32::to_ne_bytes).collect();
    array.write_bytes(&Slab::whole(array.shape()), Elements::Native, &bytes).unwrap();
    dataset.flush().unwrap();
    dataset
}

/// Values that lossy codecs change.
fn waves(records: std::ops::Range<u64>) -> Vec<f32> {
    (records.start * 5..records.end * 5).map(|at| 100.0 * (at as f32 / 7.0).sin() + 0.01).collect()
}

/// The same chunks, and others.
const CHUNKS: [Option<[u64; 2]>; 2] = [None, Some([3, 5])];

fn verified(source: &Dataset, codecs: &str, chunks: Option<[u64; 2]>) -> Result<CopySummary, CopyError> {
    let plan = VariablePlan {
        codecs: Codecs::Spec(spec(codecs)),
        chunks: chunks.map(Vec::from),
        ..VariablePlan::default()
    };
    let variables = BTreeMap::from([("/v".to_owned(), plan)]);
    copy(source, memory(), &CopyOptions { variables, verify: true, ..CopyOptions::default() }, &())
}

fn list(codecs: &[&str]) -> String {
    format!("[{}]", codecs.join(","))
}

#[test]
fn what_another_codec_destroys_each_time_is_found_after_and_ahead_of_a_lossy_one() {
    let session = session(2);
    let source = floats(Format::NCZARR, &session, "[]", &waves(0..10));
    for forgets in FORGETS {
        for chain in [
            &[forgets][..],
            &[BITROUND, forgets],
            &[BITROUND, SHUFFLE, forgets, ZSTD],
            &[ZFP, forgets],
            &[forgets, BITROUND],
            &[forgets, BITROUND, ZSTD],
            &[BITROUND, BITROUND, forgets],
        ] {
            for chunks in CHUNKS {
                let error = verified(&source, &list(chain), chunks).expect_err(&list(chain));
                // Of zeroes zfp itself says that they are not a stream of its own, at the latest of those of the fill
                // value.
                let found = matches!(
                    error,
                    CopyError::Verify { .. }
                        | CopyError::Data(DataError::Chunk { .. } | DataError::Unsupported { .. })
                );
                assert!(found, "{chain:?}: {error:?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn identical_values_are_distinguished_from_repeated_errors(
        lossy in prop::sample::select(vec![BITROUND, ZFP]),
        is_ahead in any::<bool>(),
        chunks in prop::sample::select(&CHUNKS[..]),
        flat in any::<bool>(),
        format in prop::sample::select(vec![Format::NCZARR, Format::Zarr2]),
    ) {
        let session = session(2);
        // Numbers of few bits lose nothing; zfp has those of a chunk beyond the end as neighbours, which are fill.
        let still = if lossy == ZFP { 0.0 } else { 1.5 };
        let data = if flat { vec![still; 50] } else { waves(0..10) };
        let source = floats(format, &session, "[]", &data);
        let chain = match is_ahead && lossy == BITROUND {
            true => list(&[lossy, SHUFFLE, ZSTD]),
            false => list(&[lossy, ZSTD]),
        };
        let summary = verified(&source, &chain, chunks).unwrap_or_else(|error| panic!("{}", explained(&error)));
        match summary.variables[0].verified {
            Some(Verified::Same) => prop_assert!(flat, "{chain} changes waves"),
            Some(Verified::Repeated { boxes, of }) => prop_assert!(!flat && (1..=of).contains(&boxes)),
            None => prop_assert!(false, "it was requested"),
        }
    }
}

#[test]
fn records_after_whole_chunks_of_a_lossy_codec_are_verified_and_others_refused_before_anything_is_written() {
    let session = session(1);
    let options = CopyOptions { verify: true, ..CopyOptions::default() };
    for codecs in [list(&[BITROUND, ZSTD]), list(&[ZFP])] {
        let source = floats(Format::NCZARR, &session, ZSTD, &waves(8..17));
        let target = |records| floats(Format::NCZARR, &session, &codecs, &waves(0..records));

        let store = target(8).store().clone();
        let summary = append(&source, open(store.clone(), &session), "time", &options, &())
            .unwrap_or_else(|error| panic!("{codecs}: {}", explained(&error)));
        assert!(matches!(summary.variables[0].verified, Some(Verified::Repeated { .. })), "{summary:?}");
        // The oracle: a dataset that was written at once.
        let whole = floats(Format::NCZARR, &session, &codecs, &waves(0..17));
        let of = |dataset: &Dataset| values(&dataset.array("/v").unwrap());
        assert_eq!(of(&open(store, &session)), of(&whole));

        let store = target(7).store().clone();
        let before = [objects(&*store, true), objects(&*store, false)];
        let error = append(&source, open(store.clone(), &session), "time", &options, &()).unwrap_err();
        assert!(matches!(error, CopyError::Unverifiable { len: 7, chunk: 4, .. }), "{error:?}");
        assert!(error.to_string().contains("append without verifying"), "{error}");
        assert_eq!([objects(&*store, true), objects(&*store, false)], before);
        append(&source, open(store, &session), "time", &CopyOptions::default(), &()).unwrap();
    }
    // Of a codec that destroys records after whole chunks nothing is kept.
    let store =
        floats(Format::NCZARR, &session, &list(&[BITROUND, FORGETS[0]]), &waves(0..8)).store().clone();
    let source = floats(Format::NCZARR, &session, ZSTD, &waves(8..17));
    let error = append(&source, open(store.clone(), &session), "time", &options, &()).unwrap_err();
    assert!(matches!(error, CopyError::Verify { .. }), "{error:?}");
    assert_eq!(open(store, &session).array("/v").unwrap().shape(), [8, 5]);
}
