//! The names and properties of a codec.

use std::borrow::Cow;
use std::fmt;
use std::mem::{forget, replace};

use crate::dialect::Dialect;
use crate::error::{CodecError, Result};

/// What a codec is called and what it can do.
///
/// A codec states it as a constant:
///
/// ```
/// use ncz_codec::CodecInfo;
///
/// const INFO: CodecInfo = CodecInfo::new("zstd", "general-purpose compression, fast to decode")
///     .filter_id(32015)
///     .numcodecs(&["zstd"])
///     .zarr_v3(&["zstd"])
///     .lossless();
/// assert_eq!(INFO.numcodecs.first(), Some("zstd"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodecInfo {
    /// The human-readable name, also the HDF5 filter name, e.g. `"zstd"`.
    pub name: Cow<'static, str>,
    /// One line that says what it does.
    pub summary: Cow<'static, str>,
    /// The HDF5 filter id (1 to 65535), if the codec has one.
    pub filter_id: Option<u32>,
    /// Its numcodecs ids.
    pub numcodecs: Names,
    /// Its Zarr v3 names.
    pub zarr_v3: Names,
    /// Whether working parameters differ from the stored ones, so that HDF5 needs a `set_local`
    /// and netcdf-c an `NCZ_modify_parameters`.
    pub has_working_params: bool,
    /// Whether the stream carries a checksum over its content, so that damage is always detected.
    pub has_checksum: bool,
    /// Whether decoding can return other values than were encoded, with some configuration or input; `None` if
    /// unknown.
    pub lossy: Option<bool>,
}

/// The names of a codec in one dialect: first the one to write, then others that are accepted.
#[derive(Clone)]
pub struct Names(List);

#[derive(Clone)]
enum List {
    Static(&'static [&'static str]),
    Owned(Vec<String>),
}

impl CodecInfo {
    /// Makes the info of a codec without ids and names, without working parameters and checksum, and not known to
    /// be lossy or lossless.
    pub const fn new(name: &'static str, summary: &'static str) -> Self {
        Self {
            name: Cow::Borrowed(name),
            summary: Cow::Borrowed(summary),
            filter_id: None,
            numcodecs: Names::new(&[]),
            zarr_v3: Names::new(&[]),
            has_working_params: false,
            has_checksum: false,
            lossy: None,
        }
    }

    /// Sets the HDF5 filter id: 1 to 65534 for a plugin.
    #[must_use]
    pub const fn filter_id(mut self, id: u32) -> Self {
        self.filter_id = Some(id);
        self
    }

    /// Sets the numcodecs ids; the first is the one to write.
    #[must_use]
    pub const fn numcodecs(mut self, ids: &'static [&'static str]) -> Self {
        // Only ids that were read at run time are leaked; a constant cannot drop them.
        forget(replace(&mut self.numcodecs, Names::new(ids)));
        self
    }

    /// Sets the Zarr v3 names; the first is the one to write.
    #[must_use]
    pub const fn zarr_v3(mut self, names: &'static [&'static str]) -> Self {
        forget(replace(&mut self.zarr_v3, Names::new(names)));
        self
    }

    /// The working parameters differ from the stored ones: HDF5 and netcdf-c request them before they encode.
    #[must_use]
    pub const fn working_params(mut self) -> Self {
        self.has_working_params = true;
        self
    }

    /// The stream carries a checksum over its content.
    #[must_use]
    pub const fn checksum(mut self) -> Self {
        self.has_checksum = true;
        self
    }

    /// Declares that decoding returns every bit that was encoded, for every configuration and input.
    #[must_use]
    pub const fn lossless(mut self) -> Self {
        self.lossy = Some(false);
        self
    }

    /// Declares that decoding can return other values than were encoded.
    #[must_use]
    pub const fn lossy(mut self) -> Self {
        self.lossy = Some(true);
        self
    }

    /// Returns the names in `dialect`.
    pub const fn names(&self, dialect: Dialect) -> &Names {
        match dialect {
            Dialect::Numcodecs => &self.numcodecs,
            Dialect::ZarrV3 => &self.zarr_v3,
        }
    }

    /// Refuses a dialect in which the codec has no name.
    ///
    /// # Errors
    /// The codec has no name in `dialect`.
    pub fn require_name(&self, dialect: Dialect) -> Result<()> {
        if self.names(dialect).is_empty() {
            return Err(CodecError::unsupported(format!("{} has no name in {dialect}", self.name)));
        }
        Ok(())
    }
}

impl Names {
    /// Makes names that are known at compile time.
    pub const fn new(names: &'static [&'static str]) -> Self {
        Self(List::Static(names))
    }

    /// Returns the name to write, if there is one.
    pub fn first(&self) -> Option<&str> {
        self.iter().next()
    }

    /// Returns all names; the first is the one to write.
    pub fn iter(&self) -> impl Iterator<Item = &str> + Clone {
        let (fixed, owned) = match &self.0 {
            List::Static(names) => (*names, &[][..]),
            List::Owned(names) => (&[][..], names.as_slice()),
        };
        fixed.iter().copied().chain(owned.iter().map(String::as_str))
    }

    /// Whether there is no name.
    pub const fn is_empty(&self) -> bool {
        match &self.0 {
            List::Static(names) => names.is_empty(),
            List::Owned(names) => names.is_empty(),
        }
    }

    /// Whether `name` is one of them.
    pub fn contains(&self, name: &str) -> bool {
        self.iter().any(|known| known == name)
    }

    /// Returns the names that are literals; `None` if they were read at run time.
    pub(crate) const fn literals(&self) -> Option<&'static [&'static str]> {
        match &self.0 {
            List::Static(names) => Some(*names),
            List::Owned(_) => None,
        }
    }
}

impl<S: Into<String>> FromIterator<S> for Names {
    fn from_iter<I: IntoIterator<Item = S>>(names: I) -> Self {
        Self(List::Owned(names.into_iter().map(Into::into).collect()))
    }
}

impl PartialEq for Names {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Names {}

impl fmt::Debug for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
