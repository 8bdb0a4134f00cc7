//! The locations in a plan, and that of the plan.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use ncz_store::{StoreError, StoreExt};

use super::staging::{ENDING, PLAN};
use super::{PartsError, PartsPlan};
use crate::location::{DatasetUrl, Mode, redacted};

/// The longest plan that is read.
const LONGEST: u64 = 4 << 30;

impl PartsPlan {
    /// Reads a plan: a file, also one in S3 or on an HTTP server.
    ///
    /// # Errors
    /// It cannot be read, and those of [`from_json`](Self::from_json).
    pub fn load(file: &DatasetUrl) -> Result<Self, PartsError> {
        let text = match file.location.path() {
            Some(path) => {
                let failed =
                    |source| PartsError::Io { action: "read the plan", path: path.to_owned(), source };
                read(path).map_err(failed)?
            }
            None => {
                let (store, key) = file.open_file_store()?;
                let bytes = store.read_vec(key.as_key(), LONGEST).map_err(PartsError::store(&store))?;
                let gone = || StoreError::NotFound { location: file.location.to_string() };
                let bytes = bytes.ok_or_else(|| PartsError::store(&store)(gone()))?;
                String::from_utf8(bytes).map_err(|_| PartsError::Edited)?
            }
        };
        Self::from_json(&text)
    }

    /// Where the plan is kept until the copy is finished: a path or URL for [`load`](Self::load).
    ///
    /// # Errors
    /// The target is not a location.
    pub fn kept(&self) -> Result<String, PartsError> {
        if let Some((folder, _)) = self.staging()?.paths() {
            return Ok(folder.join(PLAN).display().to_string());
        }
        // Before # a backslash for the shell may be left.
        let (target, options) = match self.body.target.split_once('#') {
            Some((target, options)) => (target.trim_end_matches('\\'), format!("#{options}")),
            None => (self.body.target.as_str(), String::new()),
        };
        Ok(format!("{}{ENDING}/{PLAN}{options}", target.trim_end_matches('/')))
    }
}

fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(LONGEST).read_to_string(&mut text)?;
    Ok(text)
}

/// A location that means the same in every folder, whatever exists there.
pub(super) fn portable(text: &str) -> Result<String, PartsError> {
    if redacted(text) != text {
        return Err(PartsError::Secret { location: redacted(text) });
    }
    let url = DatasetUrl::parse(text)?;
    let Some(path) = url.location.path() else { return Ok(text.to_owned()) };
    let at = |source| PartsError::Io { action: "find", path: path.to_owned(), source };
    let absolute = std::path::absolute(path).map_err(at)?;
    let absolute = absolute.to_str().ok_or_else(|| at(ErrorKind::InvalidFilename.into()))?;
    if url.mode == Mode::default() && !absolute.contains('#') {
        return Ok(absolute.to_owned());
    }
    // The mode is what follows the last #, or in brackets before the URL.
    let mode = match url.mode == Mode::default() {
        true => "",
        false => text.rsplit_once('#').map_or("", |(_, mode)| mode),
    };
    let scheme = text.split_once("://").map_or("", |(scheme, _)| scheme);
    let brackets = scheme.rfind(']').and_then(|end| scheme.get(..=end)).unwrap_or("");
    Ok(format!("{brackets}file://{absolute}#{mode}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_means_the_same_elsewhere() {
        let folder = tempfile::Builder::new().prefix("a#b").tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        std::fs::write(path("c#zarr"), "").unwrap();
        for (text, location, mode) in [
            (path("x"), path("x"), ""),
            (path("x#mode=nczarr,v2"), path("x"), "#mode=nczarr,v2"),
            (path("x#zarr"), path("x"), "#zarr"),
            (path("c#zarr"), path("c#zarr"), ""),
            (format!("[mode=zarr]file://{}#", path("x")), path("x"), "#zarr"),
            (format!("file://{}", path("x#mode=bytes")), path("x"), "#mode=bytes"),
        ] {
            let wanted = DatasetUrl::parse(&format!("/x{mode}")).unwrap().mode;
            let portable = portable(&text).unwrap();
            let moved = portable.replace(folder.path().to_str().unwrap(), "/no#where");
            for (text, location) in [
                (&portable, location.clone()),
                (&moved, location.replace(folder.path().to_str().unwrap(), "/no#where")),
            ] {
                let url = DatasetUrl::parse(text).unwrap();
                assert_eq!((url.location.to_string(), url.mode), (location, wanted), "{text}");
            }
        }
    }
}
