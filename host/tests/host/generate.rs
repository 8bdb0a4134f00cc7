//! Datasets from CDL, and back.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail the test")]

mod helpers;

// What was generated prints as the text that it was generated from.
mod fixed_point;
// netcdf-c's ncgen makes the same of the same text.
mod oracles;
// Errors of a text are reported with their position, and no text crashes the reader.
mod faults;
// Texts of any shape.
mod random;
