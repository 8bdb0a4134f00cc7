//! Where a dataset is in S3, and as whom to ask for it.

use std::fmt;

use crate::remote::RemoteOptions;
use crate::secret::Secret;

/// Behind these signs secrets stand in a URL; an endpoint has none of them.
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
    /// What all keys of the dataset begin with, without slashes at its ends; empty for a dataset at the bucket's root.
    pub prefix: String,
    /// `http[s]://host[:port]` of the service; `None`: Amazon's in the region.
    pub endpoint: Option<String>,
    /// The region; `None`: what the profile or the environment say, at last `us-east-1`.
    pub region: Option<String>,
    /// Where the bucket stands in a request.
    pub addressing: Addressing,
    /// As whom to ask.
    pub credentials: Credentials,
    /// Which checksums go with requests.
    pub checksums: Checksums,
    /// How patiently, and how much at a time.
    pub remote: RemoteOptions,
    /// Objects above this size are written in several parts, each of this size or less; 256 MiB by default, so that
    /// an ordinary chunk is one request.
    pub part_size: u64,
}

/// Where the bucket stands in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Addressing {
    /// In the path: `https://host/bucket/key`, which every service takes.
    #[default]
    Path,
    /// In the host's name: `https://bucket.host/key`.
    Virtual,
}

/// As whom to ask.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Credentials {
    /// What the standard chain finds (environment, profile files, web identity, container and instance roles), with
    /// this profile if one is named. Where there are none at all, anonymously.
    #[default]
    Chain,
    /// The profile of this name in the files, and nothing else.
    Profile(String),
    /// Nobody: for public data.
    Anonymous,
    /// These.
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
    /// A CRC with each write, and a check of each read that has one.
    #[default]
    WhenSupported,
    /// Only where S3 requires them: for services that know no others.
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

    /// The same at another service.
    #[must_use]
    pub fn with_endpoint(mut self, endpoint: impl Into<String>) -> Self {
        self.endpoint = Some(endpoint.into());
        self
    }

    /// The same asked for with these credentials.
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
