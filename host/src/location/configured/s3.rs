//! The configuration of a dataset in S3.

use ncz_store::StoreError;
use ncz_store::s3::{Addressing, Checksums, Credentials, S3Config};

use super::super::environment::Environment;
use super::super::profile::Profile;
use super::super::s3::{self, GOOGLE, S3Location, S3Options, Service};
use super::{Asked, from_rc};

/// The profile names that mean anonymous access: that of netcdf-c, and a common one.
const ANONYMOUS: [&str; 2] = ["no", "none"];

/// All that there is to know before the first request.
///
/// The URL comes first, then the rc files, then what the SDK's own chain finds; see the README for the order of each.
pub(in crate::location) fn s3(
    location: &S3Location,
    environment: &dyn Environment,
) -> Result<S3Config, StoreError> {
    configured(location, environment)
        .map_err(|reason| StoreError::InvalidOptions { location: location.to_string(), reason })
}

fn configured(location: &S3Location, environment: &dyn Environment) -> Result<S3Config, String> {
    let by_url = &location.options;
    let of_environment = environment_endpoint(environment)?;
    let host = match (&location.service, &of_environment) {
        (Service::At(endpoint), _) | (Service::Unsaid, Some(endpoint)) => endpoint.clone(),
        (Service::Unsaid | Service::Amazon, _) => "https://s3.amazonaws.com".to_owned(),
    };
    let mut by_rc = S3Options::default();
    let asked = Asked::of(&format!("{host}/{}/{}", location.bucket, location.prefix));
    let mut config = S3Config::new(&location.bucket, &location.prefix);
    config.remote = from_rc(&asked, environment, |line| {
        let known = by_rc.take(&line.key, line.value.reveal()).map_err(|reason| line.wrong(reason))?;
        if line.key == "PROXY.SERVER" || line.key == "PROXY_SERVER" {
            tracing::warn!("{}", line.wrong("the proxy for S3 is that of HTTPS_PROXY; this one is not used"));
        }
        Ok(known || line.key.starts_with("CREDENTIALS.") || line.key.starts_with("PROXY"))
    })?;
    if config.remote.ca_file.is_none() {
        config.remote.ca_file = environment.variable("AWS_CA_BUNDLE").map(Into::into);
    }

    let named = match credentials(by_url, &by_rc, environment)? {
        Some(found) => Some(found),
        None => credentials(&by_rc, &S3Options::default(), environment)?,
    };
    let (found, section) = named.unwrap_or((Credentials::Chain, None));
    let region = by_url.region().or(location.region.as_deref()).or(by_rc.region());
    config.region = region.map(str::to_owned);
    if config.region.is_none()
        && let Some(region) = section.as_ref().and_then(|section| section.value("region"))
    {
        config.region = Some(s3::region(region.reveal())?);
    }
    config.endpoint = match &location.service {
        Service::At(endpoint) => Some(endpoint.clone()),
        Service::Amazon => None,
        Service::Unsaid => match by_rc.endpoint.or(of_environment) {
            Some(endpoint) => Some(endpoint),
            None => profile_endpoint(&found, section.as_ref(), environment)?,
        },
    };
    config.credentials = found;
    config.addressing = match by_url.addressing.or(by_rc.addressing).or(location.addressing) {
        Some(s3::Addressing::Virtual) => Addressing::Virtual,
        Some(s3::Addressing::Path) | None => Addressing::Path,
    };
    let required = by_url.checksums_when_required.or(by_rc.checksums_when_required);
    let required = required.or_else(|| {
        let value = environment.variable("AWS_REQUEST_CHECKSUM_CALCULATION")?;
        Some(value.eq_ignore_ascii_case("when_required"))
    });
    // Google accepts no checksums after a body.
    let is_google = config.endpoint.as_deref() == Some(GOOGLE);
    config.checksums = match required.unwrap_or(is_google) {
        true => Checksums::WhenRequired,
        false => Checksums::WhenSupported,
    };
    Ok(config)
}

/// The credentials, if `options` have them, and the profile that they name. `others` may name the file of the profile.
fn credentials(
    options: &S3Options,
    others: &S3Options,
    environment: &dyn Environment,
) -> Result<Option<(Credentials, Option<Profile>)>, String> {
    match (&options.access_key_id, &options.secret_access_key) {
        (Some(id), Some(secret)) => {
            let token = options.session_token.clone();
            let keys = Credentials::Keys { id: id.clone(), secret: secret.clone(), token };
            return Ok(Some((keys, None)));
        }
        (Some(_), None) => return Err("aws.access_key_id needs aws.secret_access_key beside it".to_owned()),
        (None, Some(_)) => return Err("aws.secret_access_key needs aws.access_key_id beside it".to_owned()),
        (None, None) => {}
    }
    let file = options.config_file.as_ref().or(others.config_file.as_ref());
    let name = match (&options.profile, &options.config_file) {
        (Some(name), _) => name.clone(),
        (None, Some(_)) => environment.variable("AWS_PROFILE").unwrap_or_else(|| "default".to_owned()),
        (None, None) => return Ok(None),
    };
    if ANONYMOUS.contains(&name.to_ascii_lowercase().as_str()) {
        return Ok(Some((Credentials::Anonymous, None)));
    }
    let Some(file) = file else { return Ok(Some((Credentials::Profile(name), None))) };
    let section = Profile::in_file(&name, file, environment)?;
    let value = |key: &str| section.value(key).cloned();
    match (section.value("aws_access_key_id"), value("aws_secret_access_key")) {
        (Some(id), Some(secret)) => {
            let (id, token) = (id.reveal().to_owned(), value("aws_session_token"));
            Ok(Some((Credentials::Keys { id, secret, token }, Some(section))))
        }
        _ => Err(format!(
            "the profile {name:?} in {} has no aws_access_key_id and aws_secret_access_key; for other kinds of \
             credentials set AWS_CONFIG_FILE in the environment",
            file.display()
        )),
    }
}

/// The service that `AWS_ENDPOINT_URL_S3` or `AWS_ENDPOINT_URL` name.
fn environment_endpoint(environment: &dyn Environment) -> Result<Option<String>, String> {
    if ignores_endpoints(environment) {
        return Ok(None);
    }
    for name in ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"] {
        if let Some(value) = environment.variable(name) {
            return s3::endpoint(&value).map(Some).map_err(|reason| format!("{name}: {reason}"));
        }
    }
    Ok(None)
}

/// The service that the profile names, which may be that of the environment or `default`.
fn profile_endpoint(
    found: &Credentials,
    section: Option<&Profile>,
    environment: &dyn Environment,
) -> Result<Option<String>, String> {
    let usual;
    let section = match (found, section) {
        (_, Some(section)) => section,
        (Credentials::Anonymous | Credentials::Keys { .. }, None) => return Ok(None),
        _ if ignores_endpoints(environment) => return Ok(None),
        (Credentials::Profile(name), None) => {
            usual = Profile::usual(name, environment);
            &usual
        }
        (Credentials::Chain, None) => {
            let name = environment.variable("AWS_PROFILE").unwrap_or_else(|| "default".to_owned());
            usual = Profile::usual(&name, environment);
            &usual
        }
    };
    match section.value("endpoint_url") {
        Some(value) => s3::endpoint(value.reveal()).map(Some).map_err(|reason| format!("profile: {reason}")),
        None => Ok(None),
    }
}

fn ignores_endpoints(environment: &dyn Environment) -> bool {
    environment
        .variable("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS")
        .is_some_and(|value| value.eq_ignore_ascii_case("true"))
}
