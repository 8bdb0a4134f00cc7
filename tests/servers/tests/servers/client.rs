use std::fmt::Debug;
use std::future::Future;

use aws_sdk_s3::Client;
use aws_sdk_s3::config::retry::RetryConfig;
use aws_sdk_s3::config::{BehaviorVersion, Builder, Credentials, Region};
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_smithy_http_client::proxy::ProxyConfig;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_smithy_http_client::tls::{Provider, TlsContext, TrustStore};
use ncz_test_servers::S3Server;

/// Runs a future to its end.
pub(crate) fn block<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// A client for an endpoint, in path style, that tries once.
pub(crate) fn config(endpoint: &str) -> Builder {
    anonymous(endpoint).credentials_provider(Credentials::new("test", "testtest", None, None, "test"))
}

/// The same without credentials.
pub(crate) fn anonymous(endpoint: &str) -> Builder {
    aws_sdk_s3::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .endpoint_url(endpoint)
        .region(Region::new("us-east-1"))
        .force_path_style(true)
        .http_client(http_client(None, None))
        .retry_config(RetryConfig::disabled())
}

pub(crate) fn client(server: &S3Server) -> Client {
    Client::from_conf(config(&server.endpoint()).build())
}

/// A client that trusts an authority (PEM), and asks a proxy for everything if one is given.
pub(crate) fn http_client(
    authority: Option<String>,
    proxy: Option<String>,
) -> aws_sdk_s3::config::SharedHttpClient {
    aws_smithy_http_client::Builder::new().build_with_connector_fn(move |_, _| {
        let mut trusted = TrustStore::default();
        if let Some(pem) = &authority {
            trusted = trusted.with_pem_certificate(pem.as_bytes());
        }
        let context = TlsContext::builder().with_trust_store(trusted).build().unwrap();
        let proxy =
            proxy.as_ref().map_or_else(ProxyConfig::disabled, |proxy| ProxyConfig::http(proxy).unwrap());
        aws_smithy_http_client::Connector::builder()
            .proxy_config(proxy)
            .tls_provider(Provider::Rustls(CryptoMode::Ring))
            .tls_context(context)
            .build()
    })
}

/// How a request ended: `ok`, or status and code of the refusal, or `lost`.
pub(crate) fn outcome<T, E: ProvideErrorMetadata + Debug>(result: &Result<T, SdkError<E>>) -> String {
    match result {
        Ok(_) => "ok".to_owned(),
        Err(error) => match error.raw_response() {
            Some(answer) => {
                let code = error.as_service_error().and_then(|error| error.code()).unwrap_or("-");
                format!("{} {code}", answer.status().as_u16())
            }
            None => "lost".to_owned(),
        },
    }
}

/// A client of HTTP servers without a proxy.
pub(crate) fn http() -> reqwest::ClientBuilder {
    // another test may have installed it first
    let _ = tokio_rustls::rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy()
}
