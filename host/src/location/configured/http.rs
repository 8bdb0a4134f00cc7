//! The configuration of a dataset on an HTTP server.

use std::path::PathBuf;

use ncz_store::Secret;
use ncz_store::StoreError;
use ncz_store::http::HttpConfig;

use super::super::HttpLocation;
use super::super::environment::Environment;
use super::{Asked, from_rc};

/// All that there is to know before the first request.
pub(in crate::location) fn http(
    location: &HttpLocation,
    environment: &dyn Environment,
) -> Result<HttpConfig, StoreError> {
    configured(location, environment)
        .map_err(|reason| StoreError::InvalidOptions { location: location.to_string(), reason })
}

fn configured(location: &HttpLocation, environment: &dyn Environment) -> Result<HttpConfig, String> {
    let url = match &location.query {
        Some(query) => format!("{}?{}", location.url, query.reveal()),
        None => location.url.clone(),
    };
    let mut config = HttpConfig::new(url);
    let (mut name, mut password, mut both, mut netrc) = (None, None, None, None);
    let asked = Asked::of(&location.url);
    config.remote = from_rc(&asked, environment, |line| {
        let value = line.value.reveal();
        match line.key.as_str() {
            _ if value.is_empty() => {}
            "PROXY.SERVER" | "PROXY_SERVER" => config.proxy = Some(value.to_owned()),
            "CREDENTIALS.USER" | "CREDENTIALS.USERNAME" => name = Some(value.to_owned()),
            "CREDENTIALS.PASSWORD" => password = Some(Secret::new(value)),
            "CREDENTIALS.USERPASSWORD" => {
                let (user, password) = value
                    .split_once(':')
                    .ok_or_else(|| line.wrong("CREDENTIALS.USERPASSWORD is USER:PASSWORD"))?;
                both = Some((user.to_owned(), Secret::new(password)));
            }
            "NETRC" => netrc = Some((line.clone(), PathBuf::from(value))),
            key => return Ok(key.starts_with("AWS.")),
        }
        Ok(true)
    })?;
    let by_url = location.user.clone();
    let by_rc = match (name, password) {
        (Some(name), password) => Some((name, password.unwrap_or_else(|| Secret::new("")))),
        (None, _) => both,
    };
    config.user = by_url.or(by_rc);
    if let (None, Some((line, path))) = (&config.user, netrc) {
        let text = environment
            .file(&path)
            .map_err(|error| line.wrong(format_args!("NETRC cannot be read: {error}")))?;
        let text = text.ok_or_else(|| line.wrong("NETRC names a file that does not exist"))?;
        config.user = of_netrc(&text, asked.host());
    }
    Ok(config)
}

/// The user of a host in a file of `machine HOST login USER password PASSWORD`, else that of `default`.
fn of_netrc(text: &str, host: &str) -> Option<(String, Secret)> {
    let mut words = text.split_whitespace();
    let (mut is_ours, mut user, mut password) = (false, None, None);
    while let Some(word) = words.next() {
        match word {
            "machine" | "default" => {
                if is_ours && user.is_some() {
                    break;
                }
                is_ours =
                    word == "default" || words.next().is_some_and(|name| name.eq_ignore_ascii_case(host));
                (user, password) = (None, None);
            }
            "login" if is_ours => user = words.next().map(str::to_owned),
            "password" if is_ours => password = words.next().map(Secret::new),
            "login" | "password" | "account" => {
                words.next();
            }
            // The rest are macros of ftp.
            "macdef" => break,
            _ => {}
        }
    }
    let user = user.filter(|_| is_ours)?;
    Some((user, password.unwrap_or_else(|| Secret::new(""))))
}
