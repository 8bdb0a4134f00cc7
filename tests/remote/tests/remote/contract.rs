//! The contract of stores, held against those in S3: the claims of `ncz-store`, on a service of this process.

#![expect(clippy::unwrap_used, reason = "test code, helpers included")]

#[path = "../../../../host/store/tests/contract/concurrency.rs"]
mod concurrency; // readers and writers at once
#[path = "../../../../host/store/tests/contract/model.rs"]
mod model; // any sequence of operations against a map
#[allow(clippy::duplicate_mod, reason = "two sets of stores are held against it")]
#[path = "../../../../host/store/tests/contract/objects.rs"]
mod objects; // what each operation promises
mod stores; // the stores that the contract is held against
