//! One contract, every store: what a caller of [`ncz_store::Store`] may rely on.
//!
//! A new backend adds a line to `stores()` in `contract/stores.rs`.

#![expect(clippy::unwrap_used, reason = "test code, helpers included")]

#[path = "contract/concurrency.rs"]
mod concurrency; // readers and writers at once
#[path = "contract/disk.rs"]
mod disk; // a full disk, a killed process
#[path = "contract/model.rs"]
mod model; // any sequence of operations against a map
#[path = "contract/objects.rs"]
mod objects; // what each operation promises
#[path = "contract/stores.rs"]
mod stores;
#[path = "contract/zmap.rs"]
mod zmap; // the same, with the keys and error numbers of netcdf-c // the stores that the contract is held against
