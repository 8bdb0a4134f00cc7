//! The HTTP client of a store.

use std::fs;
use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Certificate, Client, Proxy};

use super::address::shown;
use super::config::HttpConfig;
use crate::error::StoreError;

/// Bytes of one HTTP/2 stream that may wait unread.
const STREAM_WINDOW: usize = 1 << 20;

/// The most that HTTP/2 knows.
const LARGEST_WINDOW: usize = (1 << 31) - 1;

/// How long a connection that nobody uses stays open.
const IDLE_CONNECTION: Duration = Duration::from_secs(60);

/// Makes the client; reads certificates, sends nothing.
pub(super) fn client(config: &HttpConfig) -> Result<Client, StoreError> {
    let place = || shown(&config.url);
    let invalid = |reason: String| StoreError::InvalidOptions { place: place(), reason };
    let remote = &config.remote;
    let agent = concat!("ncz/", env!("CARGO_PKG_VERSION"));
    // What waits for room leaves its bytes unread: all streams together must have their windows, or a connection would
    // be full of them and stop those that have room.
    let connection = STREAM_WINDOW.saturating_mul(remote.in_flight.max(1)).min(LARGEST_WINDOW);
    let mut builder = Client::builder()
        .user_agent(remote.user_agent.as_deref().unwrap_or(agent))
        .connect_timeout(remote.connect_timeout)
        .read_timeout(remote.idle_timeout)
        .pool_idle_timeout(IDLE_CONNECTION)
        .pool_max_idle_per_host(remote.in_flight)
        .http2_initial_stream_window_size(STREAM_WINDOW as u32)
        .http2_initial_connection_window_size(connection as u32)
        // another crate of the program may have switched these on
        .no_gzip()
        .no_brotli()
        .no_zstd()
        .no_deflate()
        .redirect(Policy::none())
        .referer(false);
    if let Some(file) = &remote.ca_file {
        let unfit = |what: String| invalid(format!("the certificates of {}: {what}", file.display()));
        let pem = fs::read(file).map_err(|error| unfit(error.to_string()))?;
        let certificates = Certificate::from_pem_bundle(&pem).map_err(|_| unfit("no PEM text".to_owned()))?;
        if certificates.is_empty() {
            return Err(unfit("there are none in the file, which must be a PEM text".to_owned()));
        }
        builder = certificates.into_iter().fold(builder, |builder, one| builder.add_root_certificate(one));
    }
    match config.proxy.as_deref() {
        None => {}
        Some("") => builder = builder.no_proxy(),
        Some(proxy) => {
            let unfit = || invalid(format!("{} is no proxy: give http[s]://host[:port]", shown(proxy)));
            if !proxy.starts_with("http://") && !proxy.starts_with("https://") {
                return Err(unfit());
            }
            builder = builder.proxy(Proxy::all(proxy).map_err(|_| unfit())?);
        }
    }
    builder.build().map_err(|error| {
        let error = error.without_url();
        let why = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
        invalid(format!("no client can be made for it: {why}"))
    })
}
