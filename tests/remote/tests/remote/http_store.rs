//! `HttpStore` against a server with the manners of real ones, good and bad, and against a foreign one.

#![expect(clippy::unwrap_used, clippy::panic, reason = "test code, helpers included")]

// What every store promises of reads.
mod contract;
// Answers that do not end, or hardly come.
mod endless;
// Temporary and permanent failures of the network.
mod faults;
// How much is on its way at the same time, on which threads.
mod flight;
// Python's own server of files.
mod foreign;
// Servers that answer otherwise than one would wish.
mod manners;
// Passwords and tokens: where they are sent, and where they never appear.
mod secrets;
mod setup;
