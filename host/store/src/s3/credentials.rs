//! Finds credentials and region in the environment, the profile files and the cloud's metadata service.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use aws_config::default_provider::credentials::DefaultCredentialsChain;
use aws_config::profile::ProfileFileCredentialsProvider;
use aws_config::profile::region::ProfileFileRegionProvider;
use aws_config::provider_config::ProviderConfig;
use aws_config::{imds, meta::region::ProvideRegion};
use aws_credential_types::Credentials as Keys;
use aws_credential_types::provider::error::CredentialsError;
use aws_credential_types::provider::{self, ProvideCredentials, SharedCredentialsProvider, future};
use aws_sdk_s3::config::{Region, SharedHttpClient};

use super::config::{Credentials, S3Config};
use super::failure::{Failure, Kind, chain};

/// The region if none is configured.
const DEFAULT_REGION: &str = "us-east-1";

/// How long to wait for the metadata service of a cloud; most machines have none.
const CLOUD_TIMEOUT: Duration = Duration::from_secs(1);

/// Credentials and region of requests.
pub(super) struct Identity {
    /// `None`: anonymous.
    pub(super) provider: Option<SharedCredentialsProvider>,
    pub(super) region: Region,
    /// Describes the credentials in messages.
    pub(super) who: String,
}

/// Finds credentials and region. It may read files, and ask the metadata service of the cloud.
pub(super) async fn find(config: &S3Config, http: &SharedHttpClient) -> Result<Identity, Failure> {
    let sources = ProviderConfig::without_region().with_http_client(http.clone());
    let region = region(config, &sources).await;
    let sources = sources.with_region(Some(region.clone()));
    let (provider, who) = match &config.credentials {
        Credentials::Anonymous => (None, "anonymously, as configured".to_owned()),
        Credentials::Keys { id, secret, token } => {
            let token = token.as_ref().map(|token| token.reveal().to_owned());
            let keys = Keys::new(id, secret.reveal(), token, None, "ncz");
            (Some(SharedCredentialsProvider::new(keys)), "with the given keys".to_owned())
        }
        Credentials::Profile(name) => {
            let provider =
                ProfileFileCredentialsProvider::builder().profile_name(name).configure(&sources).build();
            match provider.provide_credentials().await {
                Ok(first) => (Some(known(first, provider)), format!("with the profile {name:?}")),
                Err(error) => {
                    let text = format!(
                        "the profile {name:?} gives no credentials: {}; see ~/.aws/config and ~/.aws/credentials, or AWS_CONFIG_FILE and AWS_SHARED_CREDENTIALS_FILE; public data can be read anonymously (#aws.profile=no)",
                        chain(&error)
                    );
                    return Err(Failure::new(Kind::NoCredentials, text));
                }
            }
        }
        Credentials::Chain => in_the_chain(sources, region.clone()).await?,
    };
    Ok(Identity { provider, region, who })
}

async fn in_the_chain(
    sources: ProviderConfig,
    region: Region,
) -> Result<(Option<SharedCredentialsProvider>, String), Failure> {
    let cloud = imds::Client::builder()
        .configure(&sources)
        .max_attempts(2)
        .connect_timeout(CLOUD_TIMEOUT)
        .read_timeout(CLOUD_TIMEOUT)
        .operation_timeout(2 * CLOUD_TIMEOUT)
        .build();
    let provider =
        DefaultCredentialsChain::builder().configure(sources).region(region).imds_client(cloud).build().await;
    match provider.provide_credentials().await {
        Ok(first) => Ok((Some(known(first, provider)), "with the credentials of the environment".to_owned())),
        Err(error) if is_none(&error) => {
            let who = "anonymously, since no credentials were found (looked for in AWS_ACCESS_KEY_ID, profile files, AWS_WEB_IDENTITY_TOKEN_FILE, the container's and the machine's roles)";
            Ok((None, who.to_owned()))
        }
        Err(error) => {
            let text = format!(
                "the credentials that are set up cannot be used: {}; public data can be read anonymously (#aws.profile=no)",
                chain(&error)
            );
            Err(Failure::new(Kind::NoCredentials, text))
        }
    }
}

/// Whether there are no credentials: the last that is asked, the metadata service of the cloud, has none or does not answer.
fn is_none(error: &CredentialsError) -> bool {
    if matches!(error, CredentialsError::CredentialsNotLoaded(_) | CredentialsError::ProviderTimedOut(_)) {
        return true;
    }
    let mut cause = Some(error as &(dyn std::error::Error + 'static));
    while let Some(error) = cause {
        if error.is::<imds::client::error::ImdsError>() {
            return true;
        }
        cause = error.source();
    }
    false
}

async fn region(config: &S3Config, sources: &ProviderConfig) -> Region {
    if let Some(region) = &config.region {
        return Region::new(region.clone());
    }
    let environment = || {
        let set = |name| std::env::var(name).ok().filter(|region| !region.is_empty());
        Some(Region::new(set("AWS_REGION").or_else(|| set("AWS_DEFAULT_REGION"))?))
    };
    let file = ProfileFileRegionProvider::builder().configure(sources);
    let found = match &config.credentials {
        Credentials::Profile(name) => file.profile_name(name).build().region().await.or_else(environment),
        Credentials::Chain => match environment() {
            None => file.build().region().await,
            set => set,
        },
        Credentials::Anonymous | Credentials::Keys { .. } => environment(),
    };
    found.unwrap_or(Region::from_static(DEFAULT_REGION))
}

/// A provider whose first credentials were already loaded, so that they are not requested twice.
#[derive(Debug)]
struct FirstKnown<P> {
    first: Mutex<Option<Keys>>,
    then: P,
}

fn known(first: Keys, then: impl ProvideCredentials + 'static) -> SharedCredentialsProvider {
    SharedCredentialsProvider::new(FirstKnown { first: Mutex::new(Some(first)), then })
}

impl<P: ProvideCredentials> ProvideCredentials for FirstKnown<P> {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        match self.first.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(first) => future::ProvideCredentials::ready(provider::Result::Ok(first)),
            None => self.then.provide_credentials(),
        }
    }
}
