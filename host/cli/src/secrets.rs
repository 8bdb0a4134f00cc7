//! Removes the secrets of the command line and the environment from everything that this program prints.
//!
//! Locations, stores and errors hide their own secrets; this is a second line of defence.

use std::env;
use std::sync::OnceLock;

use ncz::location::Secrets;

/// Variables whose values are secrets.
const VALUES: [&str; 4] =
    ["AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN", "AWS_CONTAINER_AUTHORIZATION_TOKEN"];

/// Variables whose values are URLs, which can contain a password.
const URLS: [&str; 8] = [
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_S3",
    "ALL_PROXY",
    "all_proxy",
    "HTTPS_PROXY",
    "https_proxy",
    "HTTP_PROXY",
    "http_proxy",
];

/// The secrets of this run of the program.
static SECRETS: OnceLock<Secrets> = OnceLock::new();

/// Returns a text with its secrets replaced.
pub(crate) fn hide(text: &str) -> String {
    SECRETS.get_or_init(of_this_process).hide(text)
}

/// Returns the command line without secrets.
pub(crate) fn command_line() -> String {
    let arguments: Vec<String> =
        env::args_os().map(|argument| ncz::location::redacted(&argument.to_string_lossy())).collect();
    hide(&arguments.join(" "))
}

fn of_this_process() -> Secrets {
    let mut secrets = Secrets::default();
    env::args_os().for_each(|argument| secrets.add_url(&argument.to_string_lossy()));
    let variable = |name: &str| env::var_os(name).map(|value| value.to_string_lossy().into_owned());
    VALUES.into_iter().filter_map(variable).for_each(|value| secrets.add(&value));
    URLS.into_iter().filter_map(variable).for_each(|url| secrets.add_url(&url));
    secrets
}
