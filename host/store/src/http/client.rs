//! The HTTP client of a store.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, Proxy};
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use super::config::HttpConfig;
use super::redact::redact;
use crate::error::StoreError;

/// Bytes of one HTTP/2 stream that may wait unread.
const STREAM_WINDOW: usize = 1 << 20;

/// The most that HTTP/2 knows.
const LARGEST_WINDOW: usize = (1 << 31) - 1;

/// How long an unused connection stays open.
const IDLE_CONNECTION: Duration = Duration::from_secs(60);

/// Makes the client; reads certificates, sends nothing.
pub(super) fn client(config: &HttpConfig) -> Result<Client, StoreError> {
    let location = || redact(&config.url);
    let invalid = |reason: String| StoreError::InvalidOptions { location: location(), reason };
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
        .tls_backend_preconfigured(tls(config)?)
        .redirect(Policy::none())
        .referer(false);
    match config.proxy.as_deref() {
        None => {}
        Some("") => builder = builder.no_proxy(),
        Some(proxy) => {
            let unfit = || invalid(format!("{} is not a proxy: give http[s]://host[:port]", redact(proxy)));
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

/// TLS with the certificates of the system and of the configuration. The cryptography is named here, as the S3 store
/// does: a provider of the whole process is for the program to choose.
fn tls(config: &HttpConfig) -> Result<ClientConfig, StoreError> {
    let invalid = |reason: String| StoreError::InvalidOptions { location: redact(&config.url), reason };
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Some(file) = &config.remote.ca_file {
        let unfit = |what: String| invalid(format!("the certificates of {}: {what}", file.display()));
        let pem = fs::read(file).map_err(|error| unfit(error.to_string()))?;
        let mut found = 0;
        for certificate in CertificateDer::pem_slice_iter(&pem) {
            let certificate = certificate.map_err(|error| unfit(error.to_string()))?;
            roots.add(certificate).map_err(|error| unfit(error.to_string()))?;
            found += 1;
        }
        if found == 0 {
            return Err(unfit("there are none in the file, which must be a PEM text".to_owned()));
        }
    }
    let mut tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| invalid(format!("TLS cannot be set up: {error}")))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(tls)
}
