//! The keys `aws.*` after `#` and in rc files.

use std::path::PathBuf;

use super::super::Secret;

/// What the keys `aws.*` say of a dataset in S3.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct S3Options {
    /// `aws.profile`: a section of the AWS files; `no` or `none` ask anonymously.
    pub profile: Option<String>,
    /// `aws.region`.
    pub region: Option<String>,
    /// `aws.default_region`: used if there is no `aws.region`.
    pub default_region: Option<String>,
    /// `aws.endpoint`: `http[s]://host[:port]` of the service.
    pub endpoint: Option<String>,
    /// `aws.config_file`: the file with the profile.
    pub config_file: Option<PathBuf>,
    /// `aws.access_key_id`.
    pub access_key_id: Option<String>,
    /// `aws.secret_access_key`.
    pub secret_access_key: Option<Secret>,
    /// `aws.session_token`.
    pub session_token: Option<Secret>,
    /// `aws.addressing_style`: `path` or `virtual`.
    pub addressing: Option<Addressing>,
    /// `aws.request_checksum_calculation`: `when_required` (true) or `when_supported`.
    pub checksums_when_required: Option<bool>,
}

/// The position of the bucket in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Addressing {
    /// `https://host/bucket/key`.
    Path,
    /// `https://bucket.host/key`.
    Virtual,
}

impl S3Options {
    /// The keys, for messages. Any case will do.
    pub(in crate::location) const KEYS: [&'static str; 9] = [
        "aws.profile",
        "aws.region",
        "aws.endpoint",
        "aws.config_file",
        "aws.access_key_id",
        "aws.secret_access_key",
        "aws.session_token",
        "aws.addressing_style",
        "aws.request_checksum_calculation",
    ];

    /// The region; that of the weaker key if the other one is missing.
    #[must_use]
    pub fn region(&self) -> Option<&str> {
        self.region.as_deref().or(self.default_region.as_deref())
    }

    /// Takes the value of a key; false for a key that is not known.
    pub(in crate::location) fn take(&mut self, key: &str, value: &str) -> Result<bool, String> {
        let key = key.to_ascii_lowercase();
        let text = || match value.trim() {
            "" => Err(format!("{key} has no value")),
            value => Ok(value.to_owned()),
        };
        let secret = || text().map(Secret::new);
        match key.as_str() {
            "aws.profile" | "awsprofile" => once(&mut self.profile, text()?, &key)?,
            "aws.region" => once(&mut self.region, region(&text()?)?, &key)?,
            "aws.default_region" => once(&mut self.default_region, region(&text()?)?, &key)?,
            "aws.endpoint" | "aws.endpoint_url" => once(&mut self.endpoint, endpoint(&text()?)?, &key)?,
            "aws.config_file" => once(&mut self.config_file, PathBuf::from(text()?), &key)?,
            "aws.access_key_id" => once(&mut self.access_key_id, text()?, &key)?,
            "aws.secret_access_key" => once(&mut self.secret_access_key, secret()?, &key)?,
            "aws.session_token" => once(&mut self.session_token, secret()?, &key)?,
            "aws.addressing_style" => {
                let style = match text()?.to_ascii_lowercase().as_str() {
                    "path" => Addressing::Path,
                    "virtual" => Addressing::Virtual,
                    other => return Err(format!("{key}={other}: it is path or virtual")),
                };
                once(&mut self.addressing, style, &key)?;
            }
            "aws.request_checksum_calculation" => {
                let required = match text()?.to_ascii_lowercase().as_str() {
                    "when_required" => true,
                    "when_supported" => false,
                    other => return Err(format!("{key}={other}: it is when_required or when_supported")),
                };
                once(&mut self.checksums_when_required, required, &key)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Takes `value`; two that differ are a contradiction, whose values may be secret.
fn once<T: PartialEq>(slot: &mut Option<T>, value: T, key: &str) -> Result<(), String> {
    match slot.replace(value) {
        Some(before) if slot.as_ref() != Some(&before) => Err(format!("{key} is given twice; give one")),
        _ => Ok(()),
    }
}

/// A region, which becomes part of a host's name.
pub(in crate::location) fn region(text: &str) -> Result<String, String> {
    match text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_')) {
        true => Ok(text.to_owned()),
        false => Err(format!("{text:?} is not a region; write it as in us-east-1")),
    }
}

/// The address of a service, without a slash at its end.
pub(in crate::location) fn endpoint(text: &str) -> Result<String, String> {
    let wrong = || "an endpoint is http://HOST or https://HOST, with :PORT if need be".to_owned();
    let (scheme, rest) = text.split_once("://").ok_or_else(wrong)?;
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return Err(wrong());
    }
    let url = super::super::url::Url::parse(scheme, rest).map_err(|reason| format!("endpoint: {reason}"))?;
    if url.user.is_some() || url.query.is_some() || url.path.contains(['#', '%']) {
        return Err(wrong());
    }
    let path = url.path.trim_end_matches('/');
    let origin = url.origin(&url.host);
    Ok(if path.is_empty() { origin } else { format!("{origin}/{path}") })
}
