//! Tests of the servers with third-party clients.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

/// Clients and runtimes for the others.
mod client;
/// The same questions to this S3 service and to moto.
mod comparison;
/// What the file server does on demand.
mod files;
/// Faults on demand, counters, and delays.
mod on_demand;
/// The program that starts the servers.
mod program;
/// Credentials, addresses, encryption.
mod who;
