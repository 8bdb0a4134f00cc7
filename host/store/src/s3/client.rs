//! The SDK's client. The first request creates it, since that may read files.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock};

use aws_sdk_s3::Client;
use aws_sdk_s3::config::retry::RetryConfig;
use aws_sdk_s3::config::timeout::TimeoutConfig;
use aws_sdk_s3::config::{
    AppName, BehaviorVersion, Region, RequestChecksumCalculation, ResponseChecksumValidation,
    SharedHttpClient, StalledStreamProtectionConfig,
};
use aws_smithy_http_client::proxy::ProxyConfig;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_smithy_http_client::tls::{Provider, TlsContext, TrustStore};
use aws_smithy_http_client::{Builder, Connector};
use tokio::sync::OnceCell;

use super::answer_limit::AnswerLimit;
use super::config::{Addressing, Checksums, S3Config, SECRETIVE};
use super::credentials;
use super::failure::Failure;
use crate::error::StoreError;

/// S3 takes no parts below this size but the last one.
pub(super) const LEAST_PART: u64 = 5 << 20;

/// S3 takes no more bytes in one request.
pub(super) const MOST_AT_ONCE: u64 = 5 << 30;

/// The connection to the service.
pub(super) struct Connection {
    http: SharedHttpClient,
    made: OnceCell<Made>,
    /// The client for the region to which the service redirected.
    moved: RwLock<Option<(Client, String)>>,
    answered: AtomicBool,
}

struct Made {
    client: Client,
    who: String,
}

impl Connection {
    /// Checks what can be checked without a request.
    pub(super) fn new(config: &S3Config) -> Result<Self, StoreError> {
        check(config)?;
        Ok(Self {
            http: http_client(config)?,
            made: OnceCell::new(),
            moved: RwLock::default(),
            answered: AtomicBool::new(false),
        })
    }

    /// Returns the client.
    pub(super) async fn client(&self, config: &S3Config) -> Result<Client, Failure> {
        if let Some((client, _)) = &*self.moved.read().unwrap_or_else(PoisonError::into_inner) {
            return Ok(client.clone());
        }
        Ok(self.made.get_or_try_init(|| make(config, &self.http)).await?.client.clone())
    }

    /// Whether the service has ever answered.
    pub(super) fn has_answered(&self) -> bool {
        self.answered.load(Ordering::Relaxed)
    }

    /// Notes that the service has answered.
    pub(super) fn note_answer(&self) {
        self.answered.store(true, Ordering::Relaxed);
    }

    /// Describes the credentials, for messages.
    pub(super) fn who(&self) -> &str {
        self.made.get().map_or("anonymously", |made| &made.who)
    }

    /// The region of requests.
    pub(super) fn region(&self) -> String {
        if let Some((_, region)) = &*self.moved.read().unwrap_or_else(PoisonError::into_inner) {
            return region.clone();
        }
        self.made.get().map(|made| region_of(&made.client)).unwrap_or_default()
    }

    /// Switches to the region to which the service redirected; returns whether the next attempt goes to another region
    /// than `asked`.
    pub(super) fn follow(&self, asked: &str, region: Option<&str>) -> bool {
        if self.region() != asked {
            // another request has been faster
            return true;
        }
        let (Some(made), Some(region)) = (self.made.get(), region.filter(|region| *region != asked)) else {
            return false;
        };
        let config = made.client.config().to_builder().region(Region::new(region.to_owned())).build();
        let moved = (Client::from_conf(config), region.to_owned());
        *self.moved.write().unwrap_or_else(PoisonError::into_inner) = Some(moved);
        true
    }
}

/// The region of a client.
pub(super) fn region_of(client: &Client) -> String {
    client.config().region().map(ToString::to_string).unwrap_or_default()
}

async fn make(config: &S3Config, http: &SharedHttpClient) -> Result<Made, Failure> {
    let identity = credentials::find(config, http).await?;
    // The tries and the time of an answer are counted by this store, which also tries bodies again.
    let stalled = StalledStreamProtectionConfig::enabled()
        .upload_enabled(false)
        .grace_period(config.remote.idle_timeout)
        .build();
    let (request, response) = match config.checksums {
        Checksums::WhenSupported => {
            (RequestChecksumCalculation::WhenSupported, ResponseChecksumValidation::WhenSupported)
        }
        Checksums::WhenRequired => {
            (RequestChecksumCalculation::WhenRequired, ResponseChecksumValidation::WhenRequired)
        }
    };
    let mut builder = aws_sdk_s3::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .http_client(http.clone())
        .region(identity.region)
        .force_path_style(config.addressing == Addressing::Path)
        .retry_config(RetryConfig::disabled())
        .timeout_config(TimeoutConfig::builder().connect_timeout(config.remote.connect_timeout).build())
        .stalled_stream_protection(stalled)
        .interceptor(AnswerLimit::Errors)
        .request_checksum_calculation(request)
        .response_checksum_validation(response);
    if let Some(endpoint) = &config.endpoint {
        builder = builder.endpoint_url(endpoint);
    }
    if let Some(name) = &config.remote.user_agent {
        builder.set_app_name(AppName::new(app_name(name)).ok());
    }
    builder = match identity.provider {
        Some(provider) => builder.credentials_provider(provider),
        None => builder.allow_no_auth(),
    };
    Ok(Made { client: Client::from_conf(builder.build()), who: identity.who })
}

/// The characters that the SDK takes in the name of a program.
fn app_name(name: &str) -> String {
    name.chars()
        .map(|c| if c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c) { c } else { '-' })
        .collect()
}

fn http_client(config: &S3Config) -> Result<SharedHttpClient, StoreError> {
    let mut trusted = TrustStore::default();
    if let Some(file) = &config.remote.ca_file {
        let problem =
            |what: String| invalid(config, format!("the certificates in {} {what}", file.display()));
        let pem = fs::read(file).map_err(|error| problem(format!("cannot be read: {error}")))?;
        if !String::from_utf8_lossy(&pem).contains("-----BEGIN CERTIFICATE-----") {
            return Err(problem(
                "are none: the file must hold PEM, with \"-----BEGIN CERTIFICATE-----\"".to_owned(),
            ));
        }
        trusted = trusted.with_pem_certificate(pem);
    }
    let context = TlsContext::builder()
        .with_trust_store(trusted)
        .build()
        .map_err(|error| invalid(config, format!("TLS cannot be set up: {error}")))?;
    let idle = config.remote.in_flight;
    Ok(Builder::new().pool_max_idle_per_host(idle).build_with_connector_fn(move |settings, components| {
        let mut builder =
            Connector::builder().pool_max_idle_per_host(idle).proxy_config(ProxyConfig::from_env());
        if let Some(settings) = settings {
            builder = builder.connector_settings(settings.clone());
        }
        if let Some(sleep) = components.and_then(|components| components.sleep_impl()) {
            builder = builder.sleep_impl(sleep);
        }
        builder.tls_provider(Provider::Rustls(CryptoMode::Ring)).tls_context(context.clone()).build()
    }))
}

fn check(config: &S3Config) -> Result<(), StoreError> {
    let problem = |reason: &str| Err(invalid(config, reason.to_owned()));
    if config.bucket.is_empty() || config.bucket.contains('/') {
        return problem("a bucket has a name, and no slash in it");
    }
    if let Some(endpoint) = &config.endpoint {
        let rest = endpoint.strip_prefix("http://").or_else(|| endpoint.strip_prefix("https://"));
        if endpoint.contains(SECRETIVE) {
            return problem("an endpoint is http[s]://host[:port]; credentials are given apart from it");
        }
        if rest.is_none_or(|rest| rest.is_empty() || rest.starts_with('/')) {
            return problem("an endpoint is http://host[:port] or https://host[:port]");
        }
    }
    if !(LEAST_PART..=MOST_AT_ONCE).contains(&config.part_size) {
        return problem("parts have from 5 MiB to 5 GiB");
    }
    if config.remote.in_flight == 0 || config.remote.attempts == 0 {
        return problem("at least one request is in flight, and tried once");
    }
    Ok(())
}

fn invalid(config: &S3Config, reason: String) -> StoreError {
    StoreError::InvalidOptions { location: config.to_string(), reason }
}
