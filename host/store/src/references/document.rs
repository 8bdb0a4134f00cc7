//! The references of a dataset by key, within limits.

use std::collections::BTreeMap;

use super::Sources;

/// The most bytes of a document (1 GiB).
pub(super) const MOST_BYTES: u64 = 1 << 30;

/// The most references.
pub(super) const MOST_REFERENCES: usize = 16 << 20;

/// The most bytes of a URL.
pub(super) const MOST_URL: usize = 8 << 10;

/// The most bytes of all URLs together, templates replaced, and of all generated keys (256 MiB).
const MOST_URLS: usize = 256 << 20;

/// References by key.
#[derive(Debug, Default)]
pub(super) struct Document {
    pub(super) references: BTreeMap<String, Reference>,
    /// The URLs, without templates; `None` is the target that the opener gives.
    pub(super) urls: Vec<Option<String>>,
    pub(super) sources: Sources,
    url_bytes: usize,
    generated_key_bytes: usize,
}

/// What a key stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reference {
    Inline(Box<[u8]>),
    /// The object with this number.
    Whole(u32),
    Range {
        url: u32,
        offset: u64,
        len: u64,
    },
}

impl Document {
    /// Counts the bytes of a key that a rule makes.
    pub(super) fn count_key(&mut self, key: &str) -> Result<(), String> {
        self.generated_key_bytes += key.len();
        match self.generated_key_bytes > MOST_URLS {
            true => Err(format!("its keys have more than {MOST_URLS} bytes")),
            false => Ok(()),
        }
    }

    /// Adds a URL without templates. Returns its number.
    pub(super) fn add_url(&mut self, url: Option<String>) -> Result<u32, String> {
        self.url_bytes += url.as_ref().map_or(0, String::len);
        if self.url_bytes > MOST_URLS {
            return Err(format!("its URLs have more than {MOST_URLS} bytes"));
        }
        let number = u32::try_from(self.urls.len()).map_err(|_| "it has too many URLs")?;
        self.urls.push(url);
        Ok(number)
    }
}
