//! The part of a URL after `#`, or in brackets before it: `key=value&key=value`.

use ncz_registry::known::closest;

use super::mode::{self, Mode};
use super::s3::S3Options;

/// All that the keys say.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Fragment {
    pub(super) mode: Mode,
    /// `gs3`: S3's protocol, at Google.
    pub(super) is_google: bool,
    pub(super) s3: S3Options,
}

/// Keys of netcdf-c that have no meaning here, with what to do instead.
const REFUSED: [(&str, &str); 2] = [
    ("log", "a log is printed with -v, and requests to services with -vv; leave it out"),
    ("show", "requests are printed with -vv; leave it out"),
];

impl Fragment {
    /// Whether a text is meant so, and not part of a file's name.
    pub(super) fn is_meant(text: &str) -> bool {
        let has_key = |item: &str| {
            item.split_once('=').is_some_and(|(key, _)| key.eq_ignore_ascii_case("mode") || is_key(key))
        };
        // A known key is enough, even with a mistyped one; words must all be known, since they might be part of a
        // file name.
        text.split('&').any(has_key) || (!text.is_empty() && text.split('&').all(mode::is_word))
    }

    /// Reads items such as `mode=zarr,s3`, `aws.profile=me` and `zarr`.
    pub(super) fn parse<'a>(items: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let mut fragment = Self::default();
        let mut words = mode::Words::default();
        for item in items.into_iter().filter(|item| !item.is_empty()) {
            let (key, value) = match item.split_once('=') {
                Some((key, value)) => (key.trim(), Some(value)),
                None => (item.trim(), None),
            };
            if let Some((_, instead)) = REFUSED.iter().find(|(refused, _)| key.eq_ignore_ascii_case(refused))
            {
                return Err(format!("key {key:?} of netcdf-c has no meaning here: {instead}"));
            }
            match value {
                Some(value) if key.eq_ignore_ascii_case("mode") => {
                    for word in value.split(',') {
                        words.take(word)?;
                    }
                }
                Some(value) => {
                    if !fragment.s3.take(key, value)? {
                        return Err(unknown(key));
                    }
                }
                None if is_key(key) => return Err(format!("{key} has no value; write {key}=...")),
                None => words.take_single(key)?,
            }
        }
        fragment.mode = words.mode()?;
        fragment.is_google = words.is_google;
        Ok(fragment)
    }
}

fn is_key(key: &str) -> bool {
    let is = |known: &str| key.eq_ignore_ascii_case(known);
    S3Options::KEYS.into_iter().any(is)
        || ["awsprofile", "aws.default_region", "aws.endpoint_url"].into_iter().any(is)
        || REFUSED.into_iter().any(|(known, _)| is(known))
}

fn unknown(key: &str) -> String {
    let known = || S3Options::KEYS.into_iter().chain(["mode"]);
    let close = match closest(key, known().chain(["awsprofile"])) {
        Some(close) => format!("did you mean {close:?}? "),
        None => String::new(),
    };
    format!(
        "key {key:?} is not known here; {close}known after # are mode= with {}, and for S3 {}",
        mode::KNOWN,
        S3Options::KEYS.join(", ")
    )
}
