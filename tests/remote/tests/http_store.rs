//! `HttpStore` against a server with the manners of real ones, good and bad, and against a foreign one.

#![expect(clippy::unwrap_used, clippy::panic, reason = "test code, helpers included")]

// What every store promises of reads.
#[path = "http_store/contract.rs"]
mod contract;
// Answers that do not end, or hardly come.
#[path = "http_store/endless.rs"]
mod endless;
// Temporary and permanent failures of the network.
#[path = "http_store/faults.rs"]
mod faults;
// How much is on its way at the same time, on which threads.
#[path = "http_store/flight.rs"]
mod flight;
// Python's own server of files.
#[path = "http_store/foreign.rs"]
mod foreign;
// Servers that answer otherwise than one would wish.
#[path = "http_store/manners.rs"]
mod manners;
// Passwords and tokens: where they are sent, and where they never appear.
#[path = "http_store/secrets.rs"]
mod secrets;
#[path = "http_store/setup.rs"]
mod setup;
