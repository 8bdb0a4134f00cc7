//! The configuration of a dataset in S3.

use std::fmt;

use crate::remote::RemoteOptions;
use crate::secret::Secret;

/// The characters that separate secrets in a URL; an endpoint must not contain them.
pub(super) const SECRETIVE: [char; 3] = ['@', '?', '#'];

/// A dataset in S3. `Display` names it as a URL, without secrets.
///
/// ```
/// use ncz_store::s3::S3Config;
///
/// let config = S3Config::new("bucket", "ocean/2024.zarr").with_endpoint("http://127.0.0.1:9000");
/// assert_eq!(config.to_string(), "http://127.0.0.1:9000/bucket/ocean/2024.zarr");
/// assert_eq!(S3Config::new("bucket", "a").to_string(), "s3://bucket/a");
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct S3Config {
    /// The bucket.
    pub bucket: String,
    /// The prefix of all keys of the dataset, without slashes at its ends; empty for a dataset at the bucket's root.
    pub prefix: String,
    /// `http[s]://host[:port]` of the service; `None`: Amazon's in the region.
    pub endpoint: Option<String>,
    /// The region; `None`: that of the profile or the environment, otherwise `us-east-1`.
    pub region: Option<String>,
    /// Where requests name the bucket.
    pub addressing: Addressing,
    /// The credentials.
    pub credentials: Credentials,
    /// Which checksums go with requests.
    pub checksums: Checksums,
    /// Timeouts, attempts and limits.
    pub remote: RemoteOptions,
    /// Objects above this size are written in several parts, each of this size or less; 256 MiB by default, so that
    /// an ordinary chunk is one request.
    pub part_size: u64,
}

/// Where requests name the bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Addressing {
    /// In the path: `https://host/bucket/key`, which every service takes.
    #[default]
    Path,
    /// In the host's name: `https://bucket.host/key`.
    Virtual,
}

/// The credentials of requests.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Credentials {
    /// The standard chain: environment, profile files, web identity, container and instance roles. If it finds none,
    /// anonymous.
    #[default]
    Chain,
    /// Only the profile of this name in the profile files.
    Profile(String),
    /// Anonymous: for public data.
    Anonymous,
    /// Static keys.
    Keys {
        /// The access key's id.
        id: String,
        /// The secret access key.
        secret: Secret,
        /// A session token.
        token: Option<Secret>,
    },
}

/// Which checksums go with requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Checksums {
    /// Each write has a CRC, and each read whose object has one checks it.
    #[default]
    WhenSupported,
    /// Only where S3 requires them: for services that do not support others.
    WhenRequired,
}

impl S3Config {
    /// A dataset in Amazon's S3, unless an endpoint is given.
    pub fn new(bucket: impl Into<String>, prefix: impl AsRef<str>) -> Self {
        Self {
            bucket: bucket.into(),
            prefix: prefix.as_ref().trim_matches('/').to_owned(),
            endpoint: None,
            region: None,
            addressing: Addressing::default(),
            credentials: Credentials::default(),
            checksums: Checksums::default(),
            remote: RemoteOptions::default(),
            part_size: 256 << 20,
        }
    }

    /// Whether requests sign the hash of what they write. TLS and a CRC protect it too, at a fraction of the time; AWS's
    /// other SDKs decide alike.
    pub(super) fn signs_payload(&self) -> bool {
        let is_plain = self.endpoint.as_deref().is_some_and(|endpoint| !endpoint.starts_with("https:"));
        is_plain || self.checksums == Checksums::WhenRequired
    }

    /// Sets the endpoint of another service.
    #[must_use]
    pub fn with_endpoint(mut self, endpoint: impl Into<String>) -> Self {
        self.endpoint = Some(endpoint.into());
        self
    }

    /// Sets the credentials.
    #[must_use]
    pub fn with_credentials(mut self, credentials: Credentials) -> Self {
        self.credentials = credentials;
        self
    }
}

impl fmt::Display for S3Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.endpoint {
            None => write!(f, "s3://{}", self.bucket)?,
            Some(endpoint) => write!(f, "{}/{}", shown(endpoint).trim_end_matches('/'), self.bucket)?,
        }
        if !self.prefix.is_empty() {
            write!(f, "/{}", self.prefix)?;
        }
        Ok(())
    }
}

impl fmt::Debug for S3Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bucket, prefix, endpoint, region, addressing, credentials, checksums, remote, part_size } =
            self;
        f.debug_struct("S3Config")
            .field("bucket", bucket)
            .field("prefix", prefix)
            .field("endpoint", &endpoint.as_deref().map(shown))
            .field("region", region)
            .field("addressing", addressing)
            .field("credentials", credentials)
            .field("checksums", checksums)
            .field("remote", remote)
            .field("part_size", part_size)
            .finish()
    }
}

/// An endpoint for messages; nothing of one that may have secrets, which is refused.
fn shown(endpoint: &str) -> &str {
    if endpoint.contains(SECRETIVE) { "(an endpoint with credentials)" } else { endpoint }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_in_an_endpoint_are_not_seen() {
        for endpoint in ["http://me:hunter2@h:9000", "me:hunter2@h", "http://h?t=hunter2", "h#hunter2"] {
            let config = S3Config::new("air", "a").with_endpoint(endpoint);
            let error = crate::s3::S3Store::open(config.clone(), crate::Access::Read).map(drop).unwrap_err();
            let seen = format!("{config} {config:?} {error} {error:?}");
            assert!(!seen.contains("hunter2"), "{seen}");
            assert!(seen.contains("given apart"), "{seen}");
        }
    }
}
