//! The configuration of a remote store: from the URL, the rc files of netcdf-c, the environment and the AWS profile.

use ncz_store::remote::RemoteOptions;

use super::environment::Environment;
use super::rc::{Asked, Line, Rc};

#[cfg(feature = "http")]
mod http;
#[cfg(feature = "s3")]
mod s3;
#[cfg(test)]
mod tests;

#[cfg(feature = "http")]
pub(super) use self::http::http;
#[cfg(feature = "s3")]
pub(super) use self::s3::s3;

/// What the rc files say of a URL. Applies the lines that hold for every service, and passes the others to `take`,
/// which returns whether it knows the key.
fn from_rc(
    asked: &Asked,
    environment: &dyn Environment,
    mut take: impl FnMut(&Line) -> Result<bool, String>,
) -> Result<RemoteOptions, String> {
    let rc = Rc::read(environment)?;
    let mut remote = RemoteOptions::default();
    for line in rc.lines(asked) {
        let value = line.value.reveal();
        match line.key.as_str() {
            "TIMEOUT" => remote.idle_timeout = line.seconds()?.unwrap_or(remote.idle_timeout),
            "CONNECTTIMEOUT" => remote.connect_timeout = line.seconds()?.unwrap_or(remote.connect_timeout),
            "USERAGENT" if !value.is_empty() => remote.user_agent = Some(value.to_owned()),
            "SSL.CAINFO" if !value.is_empty() => remote.ca_file = Some(value.into()),
            "SSL.VALIDATE" | "SSL.VERIFYPEER" | "SSL.VERIFYHOST" => {
                if matches!(value.to_ascii_lowercase().as_str(), "0" | "false" | "no" | "off") {
                    return Err(line.wrong(format_args!(
                        "{}={value} would trust anybody, and ncz always checks certificates; name the one to trust with \
                         HTTP.SSL.CAINFO=FILE, a file of PEM",
                        line.key
                    )));
                }
            }
            "SSL.CERTIFICATE" | "SSL.KEY" => tracing::warn!(
                "{}",
                line.wrong(format_args!(
                    "{}: certificates of clients are not built, it is not used",
                    line.key
                ))
            ),
            _ => {
                if !take(line)? {
                    line.is_ignored();
                }
            }
        }
    }
    Ok(remote)
}
