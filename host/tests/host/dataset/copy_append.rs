//! Records appended to those of another dataset: both sides must go together, and a crash leaves the old length or the
//! new.

use std::collections::BTreeMap;
use std::sync::Arc;

use ncz::copy::{CopyError, CopyOptions, CopySummary, Indices, Selection, append};
use ncz::model::{
    Attribute, ByteOrder, DataError, DimensionRef, Elements, Format, Hierarchy, NcType, NewFill, Slab, Value,
    VariableBuilder,
};
use ncz::store::testing::{Fault, Faulty};
use ncz::store::{Depth, EntryKind, MemoryStore, Prefix, Store, StoreExt, WriteMode};
use ncz::zarr::Dataset;

use super::helpers::{explained, faults_of, memory, objects, open, session, spec, values};

const FILL: i32 = -1;

/// How one side is made.
#[derive(Clone)]
pub(crate) struct Side {
    pub(crate) format: Format,
    pub(crate) records: std::ops::Range<i32>,
    pub(crate) units: &'static str,
    pub(crate) chunk: u64,
    pub(crate) codec: &'static str,
    pub(crate) order: ByteOrder,
    pub(crate) x: [i32; 3],
    pub(crate) unlimited: bool,
    pub(crate) with_q: bool,
    pub(crate) consolidated: bool,
}

pub(crate) fn side(records: std::ops::Range<i32>) -> Side {
    Side {
        format: Format::NCZARR,
        records,
        units: "K",
        chunk: 2,
        codec: r#"{"id":"zstd"}"#,
        order: ByteOrder::Little,
        x: [10, 20, 30],
        unlimited: true,
        with_q: true,
        consolidated: true,
    }
}

impl Side {
    /// `/x(x)`, `/time(time)`, `/t(time, x)` and `/g/q(time)`.
    pub(crate) fn make(&self, store: Arc<dyn Store>) -> Result<(), DataError> {
        let session = session(1);
        let mut hierarchy = Hierarchy::new(self.format);
        let len = self.records.len() as u64;
        hierarchy.add_dimension("/", "time", len, self.unlimited)?;
        hierarchy.add_dimension("/", "x", 3, false)?;
        hierarchy.add_group("/", "g")?;
        let mut variables = vec![
            ("/", "x", vec!["x"], vec![3]),
            ("/", "time", vec!["time"], vec![3]),
            ("/", "t", vec!["time", "x"], vec![self.chunk, 2]),
        ];
        if self.with_q {
            variables.push(("/g", "q", vec!["time"], vec![self.chunk]));
        }
        for (group, name, dimensions, chunks) in variables {
            let new = VariableBuilder::new(name, NcType::Int)
                .dimensions(dimensions)
                .chunks(chunks)
                .byte_order(self.order)
                .attribute(Attribute::new("units", self.units))
                .fill(NewFill::Value(Value::from(FILL)));
            let variable = hierarchy.add_variable(group, new)?;
            session.define(variable, self.format, &spec(self.codec))?;
        }
        let dataset = Dataset::create(store, hierarchy, session, self.consolidated)?;
        let put = |path: &str, data: Vec<i32>| {
            let array = dataset.array(path)?;
            let bytes: Vec<u8> = data.into_iter().flat_map(i32::to_ne_bytes).collect();
            array.write_bytes(&Slab::whole(array.shape()), Elements::Native, &bytes)
        };
        put("/x", self.x.to_vec())?;
        put("/time", self.records.clone().collect())?;
        put("/t", self.records.clone().flat_map(|t| (0..3).map(move |x| t * 3 + x)).collect())?;
        if self.with_q {
            put("/g/q", self.records.clone().map(|t| -t).collect())?;
        }
        dataset.finish()
    }

    pub(crate) fn dataset(&self) -> Dataset {
        open(self.store(), &session(1))
    }

    pub(crate) fn store(&self) -> Arc<MemoryStore> {
        let store = memory();
        self.make(store.clone()).unwrap_or_else(|error| panic!("{}", explained(&error)));
        store
    }
}

fn append_to(
    target: Arc<dyn Store>,
    source: &Dataset,
    options: &CopyOptions,
) -> Result<CopySummary, CopyError> {
    let target = Dataset::open(target, session(1), &Default::default())?;
    append(source, target, "time", options, &())
}

pub(crate) fn ints(dataset: &Dataset, path: &str) -> Vec<i32> {
    let array = dataset.array(path).unwrap_or_else(|error| panic!("{}", explained(&error)));
    values(&array).chunks_exact(4).map(|bytes| i32::from_ne_bytes(bytes.try_into().unwrap())).collect()
}

/// Checks that every variable has its records 0 to `len`.
#[track_caller]
pub(crate) fn check(dataset: &Dataset, len: i32) {
    assert_eq!(ints(dataset, "/time"), (0..len).collect::<Vec<_>>());
    assert_eq!(ints(dataset, "/t"), (0..3 * len).collect::<Vec<_>>());
    assert_eq!(ints(dataset, "/g/q"), (0..len).map(|t| -t).collect::<Vec<_>>());
    assert_eq!(ints(dataset, "/x"), [10, 20, 30]);
}

#[test]
fn records_go_after_those_that_are_there_whatever_format_chunks_and_codecs() {
    let formats = [Format::NCZARR, Format::Zarr2, Format::Zarr3];
    for to in formats {
        for from in formats {
            let target = Side { format: to, chunk: 3, codec: "[]", ..side(0..5) }.store();
            let order = if from.is_v3() { ByteOrder::Little } else { ByteOrder::Big };
            let source = Side { format: from, order, ..side(5..12) }.dataset();
            let options = CopyOptions { verify: true, ..CopyOptions::default() };
            let summary = append_to(target.clone(), &source, &options)
                .unwrap_or_else(|error| panic!("{from:?} to {to:?}: {}", explained(&error)));
            assert_eq!(summary.variables.len(), 3, "only what grows is written");
            check(&open(target, &session(1)), 12);
        }
    }
}

#[test]
fn a_slab_of_the_source_is_what_comes() {
    let target = side(0..4).store();
    let source = side(0..12).dataset();
    let time = DimensionRef { group: "/".to_owned(), name: "time".to_owned() };
    let slabs = BTreeMap::from([(time, Indices { start: 4, count: 5, step: 1 })]);
    let selection = Selection { slabs, ..Selection::default() };
    append_to(target.clone(), &source, &CopyOptions { selection, ..CopyOptions::default() }).unwrap();
    check(&open(target, &session(1)), 9);
}

#[test]
fn sides_that_do_not_go_together_are_refused_and_nothing_is_written() {
    let refused = |target: Side, source: Side, wanted: &str| {
        let store = target.store();
        let before = [objects(&*store, true), objects(&*store, false)];
        let error = append_to(store.clone(), &source.dataset(), &CopyOptions::default()).unwrap_err();
        let text = explained(&error);
        assert!(text.contains(wanted), "{text}");
        assert_eq!([objects(&*store, true), objects(&*store, false)], before, "{wanted}");
    };
    refused(
        side(0..2),
        Side { units: "degC", ..side(2..4) },
        r#"its attribute "units" is "degC" in the source"#,
    );
    refused(
        side(0..2),
        Side { x: [10, 20, 31], ..side(2..4) },
        "\"/x\" cannot be appended to: its values differ",
    );
    refused(
        side(0..2),
        Side { with_q: false, ..side(2..4) },
        "\"/g/q\" cannot be appended to: no records come",
    );
    refused(
        Side { with_q: false, ..side(0..2) },
        side(2..4),
        "\"/g/q\" cannot be appended to: it is not in the target",
    );
    for (old, new, reason) in [
        (0..5, 3..5, "the source begins with 3, and the target ends with 4"),
        (0..1, 0..2, "the source begins with 0, and the target ends with 0"),
        (-2..1, -3..9, "the source begins with -3, and the target ends with 0"),
    ] {
        refused(side(old), side(new), &format!("the coordinate \"/time\" would not be in order: {reason}"));
    }
    refused(Side { unlimited: false, ..side(0..2) }, side(2..4), "\"/time\" of the target is fixed, at 2");
    let target = open(side(0..2).store(), &session(1));
    let error = append(&side(2..4).dataset(), target, "depth", &CopyOptions::default(), &()).unwrap_err();
    assert!(matches!(error, CopyError::NoSuchDimension { .. }), "{error:?}");
}

pub(crate) fn copy_of(store: &MemoryStore) -> Arc<MemoryStore> {
    let copy = memory();
    for entry in store.list(Prefix::ROOT, Depth::All, 10_000).unwrap().entries {
        if entry.kind == EntryKind::Object {
            let bytes = store.read_vec(entry.key.as_key(), 1 << 20).unwrap().unwrap();
            copy.write(entry.key.as_key(), &bytes, WriteMode::Replace).unwrap();
        }
    }
    copy
}

#[test]
fn whichever_operation_is_the_last_the_target_has_its_old_or_its_new_records() {
    const OLD: i32 = 3;
    const NEW: i32 = 8;
    for (turn, format) in [Format::NCZARR, Format::Zarr2, Format::Zarr3].into_iter().enumerate() {
        let original = Side { format, ..side(0..OLD) }.store();
        let source = side(OLD..NEW).dataset();
        let attempt = |fault| {
            let store = copy_of(&original);
            let faulty = Arc::new(Faulty::new(store.clone(), fault));
            let result = append_to(faulty.clone(), &source, &CopyOptions::default());
            (store, result, faulty.operations())
        };
        let (store, result, total) = attempt(Fault::Never);
        result.unwrap();
        assert!(total > 30, "{total}");
        check(&open(store, &session(1)), NEW);
        for fault in faults_of(total, turn) {
            let (store, result, _) = attempt(fault);
            let dataset = open(store.clone(), &session(1));
            let lens: Vec<u64> =
                ["/time", "/t", "/g/q"].map(|path| dataset.array(path).unwrap().shape()[0]).to_vec();
            // What a variable has beyond the end of one that is shorter is its own, or fill.
            for (path, len) in ["/time", "/t", "/g/q"].into_iter().zip(&lens) {
                assert!([OLD as u64, NEW as u64].contains(len), "{fault:?}, {path}: {len}");
                let found = ints(&dataset, path);
                let row = if path == "/t" { 3 } else { 1 };
                for (at, value) in found.iter().enumerate() {
                    let wanted = if path == "/g/q" { -(at as i32) } else { at as i32 };
                    let is_old = at < OLD as usize * row;
                    assert!(
                        *value == wanted || !is_old && *value == FILL,
                        "{fault:?}, {path}[{at}]: {value}"
                    );
                }
            }
            assert!(result.is_err() || lens == [NEW as u64; 3], "{fault:?}: {lens:?}");
            if lens == [OLD as u64; 3] {
                append_to(store.clone(), &source, &CopyOptions::default())
                    .unwrap_or_else(|error| panic!("{fault:?}: {}", explained(&error)));
                check(&open(store, &session(1)), NEW);
            }
        }
    }
}

#[test]
fn an_append_that_fails_leaves_no_chunks_after_the_end() {
    let target = side(0..4).store();
    let before = objects(&*target, false);
    let source = side(4..12).store();
    // The last chunk of the source is damaged: the others are written by then.
    let key = ncz::store::Key::parse("g/q/3").unwrap();
    source.write(key, b"no zstd", WriteMode::Replace).unwrap();
    let source = open(source, &session(1));
    append_to(target.clone(), &source, &CopyOptions::default()).unwrap_err();
    assert_eq!(objects(&*target, false).keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
    check(&open(target, &session(1)), 4);
}

#[test]
fn a_resumed_copy_keeps_existing_records_and_is_complete() {
    let source = side(0..9).dataset();
    let resumes = CopyOptions { resume: true, ..CopyOptions::default() };
    let attempt = |store: &Arc<MemoryStore>, fault| {
        let faulty = Arc::new(Faulty::new(store.clone(), fault));
        let result = ncz::copy::copy(&source, faulty.clone(), &resumes, &());
        (result, faulty.operations())
    };
    let total = attempt(&memory(), Fault::Never).1;
    for fault in (0..total).flat_map(|n| [Fault::From(n), Fault::Once(n), Fault::AfterDoing(n)]) {
        let store = memory();
        attempt(&store, fault).0.unwrap_err();
        let chunks = objects(&*store, false);
        let (result, _) = attempt(&store, Fault::Never);
        result.unwrap_or_else(|error| panic!("{fault:?}: {}", explained(&error)));
        check(&open(store.clone(), &session(1)), 9);
        let now = objects(&*store, false);
        assert!(chunks.iter().all(|(key, bytes)| now[key] == *bytes), "{fault:?}");
    }
    // Existing records are kept without a check: the caller knows that they are from this source.
    let store = memory();
    attempt(&store, Fault::Never).0.unwrap();
    let key = ncz::store::Key::parse("t/0.0").unwrap();
    store.write(key, b"from before", WriteMode::Replace).unwrap();
    attempt(&store, Fault::Never).0.unwrap();
    assert_eq!(store.read_vec(key, 1 << 20).unwrap().unwrap(), b"from before");
    // Metadata of another plan are refused.
    let other = Side { chunk: 4, ..side(0..9) }.dataset();
    let error = ncz::copy::copy(&other, store, &resumes, &()).unwrap_err();
    assert!(matches!(error, CopyError::Data(DataError::Changed { .. })), "{error:?}");
}
