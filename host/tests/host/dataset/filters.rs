//! The filter functions of netCDF on variables that are being defined.

use std::sync::Arc;

use ncz::model::json::{Json, json};
use ncz::model::{
    BloscFilter, Elements, FilterDefinition, FilterError, Format, Hierarchy, NcType, Phase, QuantizeMode,
    Session, Slab, Storage, SzipFilter, VariableBuilder,
};
use ncz::registry::Registry;
use ncz::zarr::Dataset;

use super::helpers::{explained, memory, open, session, values};

fn dataset(format: Format) -> Hierarchy {
    let mut dataset = Hierarchy::new(format);
    dataset.add_dimension("/", "x", 10, false).unwrap();
    dataset.add_dimension("/", "t", 0, true).unwrap();
    for (name, nc_type, dimensions) in [
        ("f", NcType::Float, &["x"][..]),
        ("d", NcType::Double, &["x", "x"]),
        ("i", NcType::Int, &["x"]),
        ("s", NcType::String, &["x"]),
        ("tx", NcType::Float, &["t", "x"]),
        ("xt", NcType::Float, &["x", "t"]),
        ("scalar", NcType::Float, &[]),
    ] {
        let new = VariableBuilder::new(name, nc_type).dimensions(dimensions.iter().copied());
        dataset.add_variable("/", new).unwrap();
    }
    dataset
}

/// Calls `change` on `/f` of a new dataset; what it returns, and the chain then.
fn defined(change: impl FnOnce(&mut FilterDefinition<'_>) -> Result<(), FilterError>) -> (i32, Vec<Json>) {
    on("/f", change)
}

fn on(
    path: &str,
    change: impl FnOnce(&mut FilterDefinition<'_>) -> Result<(), FilterError>,
) -> (i32, Vec<Json>) {
    let session = session(1);
    let mut dataset = dataset(Format::NCZARR);
    let result = change(&mut session.define_filters(&mut dataset, path).unwrap());
    let code = result.map_or_else(|error| error.netcdf_code(), |()| 0);
    (code, dataset.variable(path).unwrap().filters.clone())
}

fn zlib(level: u32) -> Json {
    json!({"id": "zlib", "level": level})
}

fn shuffle(size: u32) -> Json {
    json!({"id": "shuffle", "elementsize": size})
}

#[test]
fn an_existing_filter_keeps_its_position_however_it_is_named() {
    let (code, chain) = defined(|filters| {
        filters.deflate(true, Some(5))?;
        filters.fletcher32(true)?;
        filters.define(1, &[9])?;
        assert_eq!(filters.filters()?.ids()?, [2, 1, 3]);
        filters.define_text(r#"{"id":"zlib","level":2}"#)?;
        filters.define_text("deflate,3")?;
        filters.define_text("307,4")
    });
    assert_eq!(code, 0);
    let bzip2 = json!({"id": "bz2", "level": 4});
    assert_eq!(chain, [shuffle(4), zlib(3), json!({"id": "fletcher32"}), bzip2]);
}

#[test]
fn what_is_switched_off_is_gone() {
    let (code, chain) = defined(|filters| {
        filters.deflate(true, Some(5))?;
        filters.fletcher32(true)?;
        filters.deflate(false, None)?;
        assert_eq!(filters.filters()?.ids()?, [3]);
        filters.fletcher32(false)?;
        filters.fletcher32(false)?;
        filters.define(307, &[1])?;
        filters.zstandard(-5)?;
        filters.remove(307)
    });
    assert_eq!((code, chain), (0, vec![json!({"id": "zstd", "level": -5})]));
    let (code, chain) = defined(|filters| {
        filters.zstandard(1)?;
        filters.remove(307)
    });
    assert_eq!((code, chain.len()), (-136, 1));
}

#[test]
fn a_call_that_fails_changes_nothing() {
    let (code, chain) = defined(|filters| {
        filters.define(307, &[4])?;
        filters.deflate(true, Some(10))
    });
    assert_eq!((code, chain), (-36, vec![json!({"id": "bz2", "level": 4})]));
}

#[test]
fn parameters_are_checked_in_netcdf_order() {
    let one = |id: u32, params: &[u32]| defined(|filters| filters.define(id, params)).0;
    assert_eq!(one(1, &[]), -132);
    assert_eq!(one(1, &[1, 2]), -132);
    assert_eq!(one(1, &[10]), -36);
    assert_eq!(one(1, &[u32::MAX]), -36);
    assert_eq!(one(4, &[32]), -132);
    assert_eq!(one(4, &[32, 7]), -36);
    assert_eq!(one(4, &[32, 34]), -36);
    assert_eq!(one(4, &[32, 12]), -36, "more pixels than the chunk has elements");
    assert_eq!(one(4, &[32, 10]), 0);
    assert_eq!(one(0, &[]), -36);
    assert_eq!(one(65_535, &[]), -36);
    assert_eq!(one(u32::MAX, &[]), -36);
    assert_eq!(one(65_534, &[]), -136);
    // The codec's own word, for which netcdf-c has none.
    assert_eq!(one(307, &[77]), -132);
    assert_eq!(one(2, &[9]), -132);
    assert_eq!(defined(|filters| filters.define_text("no-such-codec")).0, -136);
    assert_eq!(defined(|filters| filters.define_text("2|1,6")).0, -132);
    assert_eq!(defined(|filters| filters.define_text("{")).0, -132);
}

#[test]
fn parameters_of_a_filter_that_is_there_are_checked_too() {
    let (code, chain) = defined(|filters| {
        filters.define(1, &[5])?;
        filters.define(1, &[77])
    });
    assert_eq!((code, chain), (-36, vec![zlib(5)]));
}

#[test]
fn szip_and_deflate_are_not_combined() {
    let szip = SzipFilter { mask: 32, pixels_per_block: 8 };
    for first_is_szip in [true, false] {
        let (code, chain) = defined(|filters| {
            if first_is_szip {
                filters.szip(szip)?;
                filters.define_text("zlib")
            } else {
                filters.deflate(false, Some(1))?;
                filters.szip(szip)
            }
        });
        assert_eq!((code, chain.len()), (-36, 1));
    }
}

#[test]
fn szip_where_the_last_dimension_grows_is_refused() {
    let szip =
        |filters: &mut FilterDefinition<'_>| filters.szip(SzipFilter { mask: 32, pixels_per_block: 2 });
    assert_eq!(on("/xt", szip).0, -36);
    assert_eq!(on("/tx", szip).0, 0);
}

#[test]
fn the_named_functions_check_their_arguments() {
    let code = |change: &dyn Fn(&mut FilterDefinition<'_>) -> Result<(), FilterError>| defined(change).0;
    for (level, expected) in [(0, -36), (1, 0), (9, 0), (10, -36)] {
        assert_eq!(code(&|filters| filters.bzip2(level)), expected);
    }
    for (level, expected) in [(-131_073, -36), (-131_072, 0), (22, 0), (23, -36)] {
        assert_eq!(code(&|filters| filters.zstandard(level)), expected);
    }
    let good = BloscFilter { subcompressor: 5, level: 9, blocksize: 4096, shuffle: 2 };
    for (blosc, expected) in [
        (good, 0),
        (BloscFilter { subcompressor: 6, ..good }, -36),
        (BloscFilter { level: 10, ..good }, -36),
        (BloscFilter { blocksize: 1 << 31, ..good }, -36),
        (BloscFilter { shuffle: 3, ..good }, -36),
    ] {
        assert_eq!(code(&|filters| filters.blosc(blosc)), expected, "{blosc:?}");
    }
}

#[test]
fn what_was_defined_is_reported() {
    let session = session(1);
    let mut dataset = dataset(Format::NCZARR);
    let mut definition = session.define_filters(&mut dataset, "/d").unwrap();
    assert_eq!(definition.filters().unwrap().first().unwrap(), None);
    let blosc = BloscFilter { subcompressor: 5, level: 7, blocksize: 4096, shuffle: 2 };
    let szip = SzipFilter { mask: 4, pixels_per_block: 16 };
    definition.shuffle(true).unwrap();
    definition.szip(szip).unwrap();
    definition.bzip2(3).unwrap();
    definition.zstandard(-7).unwrap();
    definition.blosc(blosc).unwrap();
    definition.fletcher32(true).unwrap();
    definition.quantize(Some((QuantizeMode::BitRound, 9))).unwrap();
    let filters = session.filters(&dataset, "/d").unwrap();
    assert_eq!(filters.ids().unwrap(), [2, 4, 307, 32_015, 32_001, 3]);
    assert_eq!(filters.params(32_001).unwrap(), [0, 0, 0, 4096, 7, 2, 5]);
    assert_eq!(filters.params(1).unwrap_err().netcdf_code(), -136);
    assert_eq!(filters.params(0).unwrap_err().netcdf_code(), -136);
    assert_eq!(filters.first().unwrap().unwrap().0, 2);
    assert!(filters.shuffle().unwrap() && filters.fletcher32().unwrap());
    assert_eq!(filters.deflate().unwrap(), None);
    assert_eq!(filters.szip().unwrap(), Some(szip));
    assert_eq!(filters.bzip2().unwrap(), Some(3));
    assert_eq!(filters.zstandard().unwrap(), Some(-7));
    assert_eq!(filters.blosc().unwrap(), Some(blosc));
    let quantize = filters.quantize().unwrap().unwrap();
    assert_eq!((quantize.mode(), quantize.significant()), (QuantizeMode::BitRound, 9));
    assert!(filters.codecs().starts_with(r#"[{"id": "shuffle", "elementsize": 8},"#), "{}", filters.codecs());
}

#[test]
fn a_codec_that_is_not_found_is_reported_as_0_and_can_be_cleared() {
    let session = session(1);
    let mut dataset = dataset(Format::NCZARR);
    let unknown = json!({"id": "unknown_codec", "x": 1});
    dataset.variable_mut("/f").unwrap().filters = vec![unknown, zlib(1)];
    let filters = session.filters(&dataset, "/f").unwrap();
    assert_eq!(filters.ids().unwrap(), [0, 1]);
    assert_eq!(filters.first().unwrap(), Some((0, Vec::new())));
    assert_eq!(filters.deflate().unwrap(), Some(1));
    let mut definition = session.define_filters(&mut dataset, "/f").unwrap();
    let error = definition.fletcher32(true).unwrap_err();
    assert_eq!(error.netcdf_code(), -136);
    assert!(explained(&error).contains("unknown_codec"), "{}", explained(&error));
    definition.clear().unwrap();
    definition.fletcher32(true).unwrap();
}

#[test]
fn what_is_not_available_is_said_before_anything_else() {
    let empty = Arc::new(Registry::builder().no_plugins(true).builtins(false).build());
    let session = Session { registry: empty, ..session(1) };
    let mut dataset = dataset(Format::NCZARR);
    let mut filters = session.define_filters(&mut dataset, "/scalar").unwrap();
    assert_eq!(filters.bzip2(77).unwrap_err().netcdf_code(), -136);
    assert_eq!(filters.zstandard(77).unwrap_err().netcdf_code(), -136);
    assert_eq!(filters.filters().unwrap().blosc().unwrap_err().netcdf_code(), -136);
    for (id, code) in [(1, -136), (0, -36), (65_535, -36)] {
        assert_eq!(session.filter_available(id).unwrap_err().netcdf_code(), code);
    }
}

#[test]
fn scalars_have_no_filters_but_can_be_quantized() {
    let codes = [
        on("/scalar", |filters| filters.define(1, &[77])).0,
        on("/scalar", |filters| filters.deflate(true, None)).0,
        on("/scalar", |filters| filters.fletcher32(true)).0,
        on("/scalar", |filters| filters.deflate(false, None)).0,
        on("/scalar", |filters| filters.quantize(Some((QuantizeMode::BitGroom, 3)))).0,
    ];
    assert_eq!(codes, [-36, -36, -36, 0, 0]);
}

#[test]
fn quantizing_is_for_floating_point_and_one_algorithm_at_a_time() {
    use QuantizeMode::{BitGroom, BitRound};
    assert_eq!(on("/i", |filters| filters.quantize(Some((BitGroom, 3)))).0, -36);
    assert_eq!(on("/i", |filters| filters.quantize(None)).0, 0);
    assert_eq!(on("/f", |filters| filters.quantize(Some((BitGroom, 7)))).0, -36);
    assert_eq!(on("/d", |filters| filters.quantize(Some((BitGroom, 7)))).0, 0);
    let session = session(1);
    let mut dataset = dataset(Format::NCZARR);
    let mut filters = session.define_filters(&mut dataset, "/f").unwrap();
    filters.quantize(Some((BitGroom, 3))).unwrap();
    filters.quantize(Some((BitRound, 9))).unwrap();
    assert_eq!(filters.filters().unwrap().quantize().unwrap().unwrap().mode(), BitRound);
    filters.quantize(None).unwrap();
    assert!(dataset.variable("/f").unwrap().attributes.is_empty());
}

#[test]
fn after_the_definition_nothing_changes() {
    let session = session(1);
    let mut dataset = dataset(Format::NCZARR);
    let codes = |dataset: &mut Hierarchy, phase: Phase| -> Vec<i32> {
        let mut filters = session.define_filters(dataset, "/f").unwrap().in_phase(phase);
        let results = [
            filters.define(1, &[77]),
            filters.deflate(true, Some(77)),
            filters.fletcher32(true),
            filters.bzip2(1),
            filters.quantize(Some((QuantizeMode::BitGroom, 99))),
            filters.remove(1),
            filters.clear(),
        ];
        results.into_iter().map(|result| result.map_or_else(|error| error.netcdf_code(), |()| 0)).collect()
    };
    let store = memory();
    session.define_filters(&mut dataset, "/f").unwrap().fletcher32(true).unwrap();
    Dataset::create(store.clone(), dataset, session.clone(), false).unwrap().finish().unwrap();
    let mut opened = open(store, &session).hierarchy().clone();
    // As netcdf-c: what does not start with the filter says first that it is too late.
    assert_eq!(codes(&mut opened, Phase::Data), [-39, -123, -123, -39, -123, -39, -39]);
    assert_eq!(codes(&mut opened, Phase::Definition), [-123; 7]);
    assert_eq!(opened.variable("/f").unwrap().filters, [json!({"id": "fletcher32"})]);
    assert_eq!(session.define_filters(&mut opened, "/none").unwrap_err().netcdf_code(), -49);
}

#[test]
fn outside_of_definition_a_variable_that_is_not_written_stays_as_it_is() {
    let session = session(1);
    let mut dataset = dataset(Format::NCZARR);
    let mut filters = session.define_filters(&mut dataset, "/f").unwrap().in_phase(Phase::Data);
    let code = |result: Result<(), FilterError>| result.unwrap_err().netcdf_code();
    assert_eq!(code(filters.quantize(Some((QuantizeMode::BitGroom, 3)))), -39);
    assert_eq!(code(filters.quantize(None)), -39);
    assert_eq!(code(filters.deflate(true, Some(5))), -39);
    assert_eq!(code(filters.clear()), -39);
    assert_eq!(filters.filters().unwrap().quantize().unwrap(), None);
}

#[test]
fn in_a_dataset_that_is_there_new_variables_get_filters_and_old_ones_keep_theirs() {
    let session = session(1);
    let mut dataset = Dataset::create(memory(), dataset(Format::NCZARR), session.clone(), false).unwrap();
    let late = dataset.change(|hierarchy| {
        session.define_filters(hierarchy, "/f")?.fletcher32(true)?;
        Ok(())
    });
    assert_eq!(late.unwrap_err().netcdf_code(), -123);
    dataset
        .change(|hierarchy| {
            hierarchy.add_variable("/", VariableBuilder::new("new", NcType::Float).dimensions(["x"]))?;
            session.define_filters(hierarchy, "/new")?.fletcher32(true)?;
            Ok(())
        })
        .unwrap();
    let filters = |path| session.filters(dataset.hierarchy(), path).unwrap().ids().unwrap();
    assert_eq!((filters("/f"), filters("/new")), (vec![], vec![3]));
}

#[test]
fn zarr_version_3_has_the_same_functions() {
    let session = session(1);
    let mut dataset = dataset(Format::Zarr3);
    let mut filters = session.define_filters(&mut dataset, "/f").unwrap();
    filters.deflate(true, Some(1)).unwrap();
    filters.zstandard(-5).unwrap();
    filters.deflate(true, Some(2)).unwrap();
    assert_eq!(filters.filters().unwrap().ids().unwrap(), [2, 1, 32_015]);
    assert_eq!(filters.filters().unwrap().deflate().unwrap(), Some(2));
    filters.deflate(false, None).unwrap();
    assert_eq!(filters.filters().unwrap().ids().unwrap(), [32_015]);
    let store = memory();
    let created = Dataset::create(store.clone(), dataset, session.clone(), false).unwrap();
    let slab = Slab::whole(&[10]);
    created.array("/f").unwrap().write_bytes(&slab, Elements::Native, &[7; 40]).unwrap();
    created.finish().unwrap();
    assert_eq!(values(&open(store, &session).array("/f").unwrap()), [7; 40]);
}

#[test]
fn a_variable_with_filters_is_chunked() {
    let session = session(1);
    let mut dataset = dataset(Format::NCZARR);
    let new = VariableBuilder::new("c", NcType::Int).dimensions(["x"]).storage(Storage::Contiguous);
    dataset.add_variable("/", new).unwrap();
    let mut filters = session.define_filters(&mut dataset, "/c").unwrap();
    assert!(filters.define(1, &[77]).is_err());
    assert_eq!(filters.filters().unwrap().ids().unwrap(), [0; 0]);
    filters.define(1, &[7]).unwrap();
    assert_eq!(dataset.variable("/c").unwrap().storage, Storage::Chunked);
}

#[test]
fn strings_are_filtered_but_not_shuffled_in_nczarr() {
    assert_eq!(on("/s", |filters| filters.deflate(true, Some(1))), (-132, Vec::new()));
    let session = session(1);
    let mut dataset = dataset(Format::NCZARR);
    session.define_filters(&mut dataset, "/s").unwrap().deflate(false, Some(1)).unwrap();
    let store = memory();
    let created = Dataset::create(store.clone(), dataset, session.clone(), false).unwrap();
    let mut data = vec![0; 10 * 128];
    data[..5].copy_from_slice(b"hello");
    created.array("/s").unwrap().write_bytes(&Slab::whole(&[10]), Elements::Native, &data).unwrap();
    created.finish().unwrap();
    let opened = open(store, &session);
    assert_eq!(values(&opened.array("/s").unwrap()), data);
}

#[test]
fn plain_zarr_has_the_same_functions() {
    let session = session(1);
    let mut dataset = dataset(Format::Zarr2);
    let mut filters = session.define_filters(&mut dataset, "/f").unwrap();
    filters.deflate(true, Some(1)).unwrap();
    // Here the element size means what it says.
    filters.define(2, &[2]).unwrap();
    assert_eq!(filters.filters().unwrap().params(2).unwrap(), [2]);
}
