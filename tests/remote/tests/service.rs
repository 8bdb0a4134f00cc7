//! A real service: the contract of stores, and the life of a dataset, below a prefix of their own that is removed at
//! the end. `NCZARR_S3_TEST_HOST` and `NCZARR_S3_TEST_BUCKET` name it; without them it is moto, so that nothing is
//! left out. See README.md.

#![expect(clippy::unwrap_used, clippy::panic, reason = "test code, helpers included")]

#[path = "service/life.rs"]
mod life; // created, grown, replaced, deleted
#[path = "peers/moto.rs"]
mod moto; // an S3 service that others wrote
#[path = "../../../host/store/tests/contract/objects.rs"]
mod objects; // what each operation promises
#[path = "service/stores.rs"]
mod stores; // the service, and locations in it
