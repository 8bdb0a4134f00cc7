//! How patiently, and how much at a time, a service is asked.

use std::path::PathBuf;
use std::time::Duration;

/// How a store asks its service.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemoteOptions {
    /// Requests at the same time, at least 1.
    pub in_flight: usize,
    /// Bytes of objects on their way at the same time, reading and writing; a single larger object is transferred when nothing else is.
    pub bytes_in_flight: u64,
    /// The most attempts of a request, at least 1. The pauses between them grow, with jitter. There are at most two
    /// attempts if the service never answered before and refuses connections or has no address, or if
    /// [`idle_timeout`](Self::idle_timeout) passes.
    pub attempts: u32,
    /// The longest pause before the second try; the bound doubles with each further one, up to 20 s.
    pub first_pause: Duration,
    /// How long to wait for a connection.
    pub connect_timeout: Duration,
    /// How long a response may pause before it counts as lost. A body that brings fewer than 100 bytes a second
    /// is abandoned after three times as long.
    pub idle_timeout: Duration,
    /// Certificates (PEM) of authorities to trust, besides those of the system.
    pub ca_file: Option<PathBuf>,
    /// The header `User-Agent`.
    pub user_agent: Option<String>,
}

impl Default for RemoteOptions {
    fn default() -> Self {
        Self {
            in_flight: 64,
            bytes_in_flight: 256 << 20,
            attempts: 5,
            first_pause: Duration::from_millis(200),
            connect_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(30),
            ca_file: None,
            user_agent: None,
        }
    }
}
