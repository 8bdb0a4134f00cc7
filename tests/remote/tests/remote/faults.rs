//! Services that fail: temporary failures are retried and give the right result, all others give one clear error,
//! and data are never wrong, filled in, partly visible or lost.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests fail the test")]

mod http;
mod lasting;
mod operations;
mod passing;
mod refused;

use std::error::Error;

use ncz::store::StoreError;
use ncz_remote_tests::explained;

/// What an operation ends in.
type Outcome = Result<(), Box<dyn Error>>;

/// The error of a store in the sources of an error.
fn store_error<'a>(error: &'a (dyn Error + 'static)) -> &'a StoreError {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return found;
        }
        if let Some(found) = error.downcast_ref::<Box<StoreError>>() {
            return found;
        }
        next = error.source();
    }
    panic!("no store is to blame for: {}", explained(error));
}
