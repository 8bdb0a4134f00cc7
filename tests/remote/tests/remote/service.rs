//! A real service: the contract of stores, and the life of a dataset, below a prefix of their own that is removed at
//! the end. `NCZARR_S3_TEST_HOST` and `NCZARR_S3_TEST_BUCKET` name it; without them it is moto, so that nothing is
//! left out. See README.md.

#![expect(clippy::unwrap_used, clippy::panic, reason = "test code, helpers included")]

mod life; // created, grown, replaced, deleted
#[allow(clippy::duplicate_mod, reason = "two sets of stores are held against it")]
#[path = "../../../../host/store/tests/contract/objects.rs"]
mod objects; // what each operation promises
mod stores; // the service, and locations in it
