//! Servers for tests, in this process: they count, wait and fail on demand.
//!
//! * [`S3Server`]: an S3 service with its buckets in memory.
//! * [`HttpServer`]: a file server with the manners of real ones, good and bad.
//! * [`Control`]: what every server counts ([`Request`], [`Operation`]), and how it fails ([`Rule`], [`Fault`]); the
//!   servers deref to it.
//! * [`Authority`]: signs the certificates of servers with https.

#![forbid(unsafe_code)]

mod authority;
mod body;
mod checksum;
mod connection;
mod control;
mod fault;
mod folder;
mod http;
mod listener;
mod operation;
mod s3;

pub use authority::Authority;
pub use control::{Control, Request};
pub use fault::{Fault, Refusal, Rule};
pub use http::{Gzip, HttpOptions, HttpServer, Missing, Ranges};
pub use operation::Operation;
pub use s3::{Credentials, Limits, S3Options, S3Server};
