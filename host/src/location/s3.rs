//! The URL of a dataset in S3: the ten forms that netcdf-c reads.

mod host;
mod options;
#[cfg(test)]
mod tests;

use std::fmt;

use ncz_store::Key;

use super::url::{Url, decoded};

pub use self::options::{Addressing, S3Options};
#[cfg(feature = "s3")]
pub(super) use self::options::{endpoint, region};

/// Google's storage, which has the S3 protocol.
pub(super) const GOOGLE: &str = "https://storage.googleapis.com";

/// A dataset in S3, or in a service with its protocol.
///
/// `Display` gives one form for all that mean the same: `s3://bucket/key`, else the host of the service with the
/// bucket after it, as in `https://s3.us-west-2.amazonaws.com/bucket/key`; no secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct S3Location {
    /// The bucket.
    pub bucket: String,
    /// What all keys of the dataset begin with, without slashes at its ends; empty for one at the bucket's root.
    pub prefix: String,
    /// The service.
    pub service: Service,
    /// The region that the host's name says.
    pub region: Option<String>,
    /// The position of the bucket in the URL, if that is to be kept.
    pub addressing: Option<Addressing>,
    /// The keys after `#`.
    pub options: S3Options,
}

/// The service that stores a bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Service {
    /// The URL does not say: what the environment says, at last Amazon.
    Unsaid,
    /// Amazon.
    Amazon,
    /// The service at `http[s]://host[:port]`. Plain `http` stays so: netcdf-c makes `https` of it, but services on
    /// one's own machine have no certificates.
    At(String),
}

/// The location of a bucket, according to the host name.
struct Found {
    service: Service,
    region: Option<String>,
    /// The bucket, unless it is in the path.
    bucket: Option<String>,
    /// Whether it is part of the host's name.
    in_host: bool,
}

impl Found {
    /// A service, whose host's name may have the bucket before it.
    fn new(service: Service, region: Option<&str>, bucket: Option<String>) -> Self {
        let in_host = bucket.is_some();
        Self { service, region: region.map(str::to_owned), bucket, in_host }
    }
}

impl S3Location {
    /// Whether the host name is known to be that of S3.
    pub(super) fn is_known_host(url: &Url) -> bool {
        host::google(url).is_some() || host::amazon(url).is_some()
    }

    /// Reads a URL of S3: scheme `s3` or `gs3`, a host that is known for it, or a mode that says so.
    pub(super) fn of(url: &Url, mut options: S3Options, google: bool) -> Result<Self, String> {
        if url.user.is_some() {
            return Err(
                "S3 has no user and password in a URL; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or \
                        name a profile with #aws.profile="
                    .to_owned(),
            );
        }
        if url.query.is_some() {
            return Err("a dataset in S3 has no ?query; write %3F for a ? in a key".to_owned());
        }
        let is_scheme = matches!(url.scheme.as_str(), "s3" | "gs3");
        let https = Url { scheme: "https".to_owned(), ..url.clone() };
        let web = if is_scheme { &https } else { url };
        let found = match (host::google(web), host::amazon(web)) {
            (Some(found), _) => found,
            (None, Some(found)) => found?,
            (None, None) if is_scheme => bare(url, google)?,
            (None, None) => host::other(web),
        };
        let endpoint = options.endpoint.take();
        let service = match (endpoint, found.service) {
            (None, service) => service,
            (Some(endpoint), Service::Unsaid) => Service::At(endpoint),
            (Some(_), _) => {
                return Err(
                    "the URL names the service already; leave aws.endpoint away, or write s3://BUCKET/KEY"
                        .to_owned(),
                );
            }
        };
        if let (Service::Amazon, Some(said), Some(wanted)) =
            (&service, found.region.as_deref(), options.region())
            && said != wanted
        {
            return Err(format!(
                "the host says region {said:?}, aws.region says {wanted:?}; give one of them"
            ));
        }
        let path = decoded(&url.path)?;
        let path = path.trim_end_matches('/');
        let in_host = found.in_host;
        let (bucket, prefix) = match found.bucket {
            Some(bucket) => (bucket, path),
            None => {
                let (bucket, prefix) = path.split_once('/').unwrap_or((path, ""));
                (bucket.to_owned(), prefix)
            }
        };
        if bucket.is_empty() {
            return Err(
                "the bucket is missing; write s3://BUCKET/KEY, or https://HOST/BUCKET/KEY#mode=s3".to_owned()
            );
        }
        if !bucket.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_')) {
            return Err(format!(
                "{bucket:?} is not a bucket name; expected letters, digits, dots and hyphens"
            ));
        }
        if !prefix.is_empty()
            && let Err(error) = Key::parse(prefix)
        {
            return Err(format!("{prefix:?} is not a key of a dataset: {error}"));
        }
        // A certificate for *.host has no names with more dots.
        let is_plain = matches!(&service, Service::At(endpoint) if endpoint.starts_with("http://"));
        let addressing = match in_host {
            true if bucket.contains('.') && !is_plain => Some(Addressing::Path),
            true => Some(Addressing::Virtual),
            false => None,
        };
        let prefix = prefix.to_owned();
        Ok(Self { bucket, prefix, service, region: found.region, addressing, options })
    }

    /// The last part of its key, else the bucket.
    pub(super) fn name(&self) -> String {
        let name = self.prefix.rsplit('/').next().filter(|name| !name.is_empty());
        name.unwrap_or(&self.bucket).to_owned()
    }

    /// Whether its URL needs `mode=s3` to be recognized as S3.
    pub(super) fn needs_mode(&self) -> bool {
        matches!(&self.service, Service::At(endpoint) if endpoint != GOOGLE && !endpoint.contains(".amazonaws.com"))
    }
}

/// `s3://bucket/key` and `gs3://bucket/key`.
fn bare(url: &Url, google: bool) -> Result<Found, String> {
    if url.port.is_some() || url.host.starts_with('[') {
        return Err(format!(
            "expected a bucket after {}://, which has no port; write https://{}/BUCKET/KEY#mode=s3, or http://",
            url.scheme,
            url.port.map_or_else(|| url.host.clone(), |port| format!("{}:{port}", url.host)),
        ));
    }
    let google = google || url.scheme == "gs3";
    let service = if google { Service::At(GOOGLE.to_owned()) } else { Service::Unsaid };
    Ok(Found { service, region: None, bucket: Some(url.host.clone()), in_host: false })
}

impl fmt::Display for S3Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.service, &self.region) {
            (Service::Unsaid, _) => f.write_str("s3://")?,
            (Service::Amazon, Some(region)) => write!(f, "{}/", amazon_endpoint(region))?,
            (Service::Amazon, None) => f.write_str("https://s3.amazonaws.com/")?,
            (Service::At(endpoint), _) => write!(f, "{endpoint}/")?,
        }
        f.write_str(&self.bucket)?;
        if !self.prefix.is_empty() {
            f.write_str("/")?;
        }
        for c in self.prefix.chars() {
            // These would mean something else in a URL; the rest is easier to read as it is.
            match c {
                '%' | '#' | '?' | '\\' => write!(f, "%{:02X}", u32::from(c))?,
                _ => write!(f, "{c}")?,
            }
        }
        Ok(())
    }
}

/// Amazon's host of a region.
pub(super) fn amazon_endpoint(region: &str) -> String {
    let china = if region.starts_with("cn-") { ".cn" } else { "" };
    format!("https://s3.{region}.amazonaws.com{china}")
}
