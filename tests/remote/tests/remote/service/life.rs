//! The life of a dataset: created, grown, replaced, deleted.

use std::sync::Arc;

use ncz::zarr::Dataset;
use ncz_remote_tests::client::{create, open, open_to_change};
use ncz_remote_tests::{Sample, explained};
use ncz_store::{Access, s3::S3Store};

use super::stores::Place;

#[test]
fn a_dataset_is_created_grown_replaced_and_deleted() {
    for sample in Sample::ALL {
        let Some(place) = Place::new() else { return };
        eprintln!("{sample:?} in {}", place.0);
        let dataset = |place: &Place| -> Dataset {
            let store = S3Store::open(place.0.clone(), Access::ReadWrite).unwrap();
            open(Arc::new(store)).unwrap_or_else(|error| panic!("{}", explained(&error)))
        };
        sample.create(create(place.0.clone(), false).unwrap()).unwrap();
        sample.check(&dataset(&place)).unwrap();

        let store = S3Store::open(place.0.clone(), Access::ReadWrite).unwrap();
        let mut growing = open_to_change(Arc::new(store)).unwrap();
        sample.grow(&mut growing).unwrap();
        drop(growing);
        sample.check_grown(&dataset(&place)).unwrap();

        let refused = create(place.0.clone(), false).expect_err("there is a dataset");
        assert!(explained(&refused).contains("exists"), "{}", explained(&refused));
        let other = sample.with_seed(1);
        other.create(create(place.0.clone(), true).unwrap()).unwrap();
        other.check(&dataset(&place)).unwrap();

        assert!(place.remove() >= 10);
        let store = S3Store::open(place.0.clone(), Access::ReadWrite).unwrap();
        assert!(open(Arc::new(store)).is_err(), "it is still there");
    }
}
