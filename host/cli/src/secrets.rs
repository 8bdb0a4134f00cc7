//! What nothing that this program says may hold: the secrets of its command line and its environment.
//!
//! Places, stores and errors do not show secrets of themselves; this is the second wall behind theirs.

use std::env;
use std::sync::OnceLock;

use ncz::place::Secrets;

/// Variables whose values are secrets.
const VALUES: [&str; 4] =
    ["AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN", "AWS_CONTAINER_AUTHORIZATION_TOKEN"];

/// Variables whose values are URLs, perhaps with a password.
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

/// A text without secrets.
pub(crate) fn hide(text: &str) -> String {
    SECRETS.get_or_init(of_this_process).hide(text)
}

/// The command line, for people.
pub(crate) fn command_line() -> String {
    let arguments: Vec<String> =
        env::args_os().map(|argument| ncz::place::shown(&argument.to_string_lossy())).collect();
    hide(&arguments.join(" "))
}

fn of_this_process() -> Secrets {
    let mut secrets = Secrets::default();
    env::args_os().for_each(|argument| secrets.add_place(&argument.to_string_lossy()));
    let variable = |name: &str| env::var_os(name).map(|value| value.to_string_lossy().into_owned());
    VALUES.into_iter().filter_map(variable).for_each(|value| secrets.add(&value));
    URLS.into_iter().filter_map(variable).for_each(|url| secrets.add_place(&url));
    secrets
}
