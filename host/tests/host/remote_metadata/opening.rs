//! The request budget of opening: the table in the documentation of `ConsolidatedPolicy`.

use ncz::model::{Consolidated, DataError, Format, MetadataError};
use ncz::zarr::metadata::{ConsolidatedPolicy, ReadOptions, ZarrVersion};

use super::far::{Cost, PREFER, explained, far, many, open, options, thirty, written};

/// Opens, and checks that all is there.
fn whole(objects: &super::far::Objects, options: &ReadOptions, variables: usize) -> (Consolidated, Cost) {
    let (dataset, cost) = open(far(objects), options);
    let dataset = dataset.unwrap_or_else(|error| panic!("{}", explained(&error)));
    let hierarchy = dataset.hierarchy();
    assert_eq!(hierarchy.variables().count(), variables);
    assert_eq!(hierarchy.groups().count(), 3);
    assert!(hierarchy.variables().all(|variable| variable.attribute("units").is_some()));
    assert_eq!(hierarchy.unreadable().count(), 0);
    assert!(hierarchy.warnings.is_empty(), "{:?}", hierarchy.warnings);
    (hierarchy.consolidated, cost)
}

#[test]
fn consolidated_datasets_open_with_two_requests_in_one_round_trip() {
    for (format, version) in [(Format::Zarr2, ZarrVersion::V2), (Format::Zarr3, ZarrVersion::V3)] {
        let objects = written(thirty(format), true);
        let (consolidated, cost) = whole(&objects, &PREFER, 30);
        assert_eq!(consolidated, Consolidated::Only);
        assert_eq!(cost, Cost { gets: 2, lists: 0, round_trips: 1 }, "{format:?}");
        let (_, cost) = whole(&objects, &ReadOptions { version: Some(version), ..PREFER }, 30);
        assert_eq!(cost, Cost { gets: 1, lists: 0, round_trips: 1 }, "{format:?}, version known");
    }
}

#[test]
fn that_consolidated_nczarr_is_not_stale_costs_one_request_more() {
    let objects = written(thirty(Format::NCZARR), true);
    let (consolidated, cost) = whole(&objects, &PREFER, 30);
    assert_eq!(consolidated, Consolidated::Only);
    assert_eq!(cost, Cost { gets: 3, lists: 0, round_trips: 2 });
}

#[test]
fn nczarr_costs_one_request_an_object_and_a_round_trip_a_level() {
    for (format, each) in [(Format::NCZARR, 10), (Format::Nczarr3, 10), (Format::NCZARR, 300)] {
        let objects = written(many(format, each), false);
        let options = ReadOptions { nczarr3: format == Format::Nczarr3, ..PREFER };
        let far = far(&objects).with_in_flight(10_000);
        let (dataset, cost) = open(far, &options);
        assert_eq!(dataset.unwrap().hierarchy().variables().count(), 3 * each);
        // There, and not there: .zmetadata and the other version.
        let (probes, first) = if format.is_v3() { (3, 2) } else { (2, 2) };
        assert_eq!(
            cost,
            Cost { gets: objects.len() + probes, lists: 0, round_trips: first + 3 },
            "{format:?}"
        );
    }
}

#[test]
fn as_many_requests_wait_as_the_store_wants() {
    let objects = written(many(Format::NCZARR, 300), false);
    let (_, cost) = whole(&objects, &PREFER, 900);
    let in_level = |documents: u64| documents.div_ceil(64);
    assert_eq!(cost.round_trips, 2 + in_level(602) + in_level(602) + in_level(600));
}

#[test]
fn what_is_listed_costs_a_listing_a_group() {
    let objects = written(thirty(Format::Zarr2), false);
    let (_, cost) = whole(&objects, &PREFER, 30);
    // zarr.json, .zmetadata, .nczarr, and whether the two groups are arrays.
    assert_eq!((cost.gets, cost.lists), (objects.len() + 5, 3));
    let objects = written(thirty(Format::Zarr3), false);
    let (_, cost) = whole(&objects, &PREFER, 30);
    // .zmetadata, .zgroup and .zarray. The root, its version, and a listing and the documents of each level.
    assert_eq!(cost, Cost { gets: objects.len() + 3, lists: 3, round_trips: 2 + 3 * 2 });
}

#[test]
fn the_documents_are_compared_with_consolidated_ones_in_the_same_round_trips() {
    let objects = written(thirty(Format::NCZARR), true);
    let (consolidated, cost) = whole(&objects, &options(ConsolidatedPolicy::Compare), 30);
    assert_eq!(consolidated, Consolidated::Current);
    // Who can write looks for a journal first.
    assert_eq!(cost, Cost { gets: objects.len() + 2, lists: 0, round_trips: 1 + 4 });
}

#[test]
fn both_versions_at_one_location_are_refused() {
    for (v2, v3) in [(true, true), (true, false), (false, false)] {
        let mut objects = written(thirty(Format::Zarr2), v2);
        objects.extend(written(thirty(Format::Zarr3), v3));
        let (dataset, _) = open(far(&objects), &PREFER);
        let error = dataset.unwrap_err();
        assert!(matches!(error, DataError::Metadata(MetadataError::Ambiguous { .. })), "{error:?}");
        for version in [ZarrVersion::V2, ZarrVersion::V3] {
            let (_, _) = whole(&objects, &ReadOptions { version: Some(version), ..PREFER }, 30);
        }
    }
}
