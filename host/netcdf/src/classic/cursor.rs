//! Reads the parts of a header from the first bytes of a file.

/// Why a header cannot be read further.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The bytes end here: at least this many bytes of the file are needed.
    Need(u64),
    /// The bytes contradict the format.
    Damaged {
        /// The position in the file.
        at: u64,
        /// What is wrong.
        reason: String,
    },
}

/// A name: UTF-8, or in files from before 2008 possibly Latin-1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) text: String,
    /// Whether the bytes are not UTF-8 and were read as Latin-1.
    pub(super) is_latin1: bool,
}

/// A position in the first bytes of a file.
#[derive(Debug)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Whether counts have 8 bytes, as in CDF-5.
    pub(super) wide: bool,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, wide: false }
    }

    pub(super) fn at(&self) -> u64 {
        self.at as u64
    }

    pub(super) fn damaged<T>(&self, reason: impl Into<String>) -> Result<T, Stop> {
        Err(Stop::Damaged { at: self.at(), reason: reason.into() })
    }

    /// The next bytes.
    pub(super) fn take(&mut self, len: u64) -> Result<&'a [u8], Stop> {
        let Some(end) = self.at().checked_add(len) else {
            return self.damaged(format!("{len} bytes cannot follow"));
        };
        let part = usize::try_from(end).ok().and_then(|end| self.bytes.get(self.at..end));
        let part = part.ok_or(Stop::Need(end))?;
        self.at += part.len();
        Ok(part)
    }

    /// The next bytes, and those up to the next multiple of four, which are padding.
    pub(super) fn padded(&mut self, len: u64) -> Result<&'a [u8], Stop> {
        let part = self.take(len)?;
        self.take(len.wrapping_neg() % 4)?;
        Ok(part)
    }

    pub(super) fn u32(&mut self) -> Result<u32, Stop> {
        Ok(number(self.take(4)?) as u32)
    }

    pub(super) fn u64(&mut self) -> Result<u64, Stop> {
        Ok(number(self.take(8)?))
    }

    /// A count or length: 4 bytes, in CDF-5 8 bytes.
    pub(super) fn count(&mut self) -> Result<u64, Stop> {
        if self.wide { self.u64() } else { self.u32().map(u64::from) }
    }

    /// The number of members of a list, 0 if it is absent. `tag` marks a list of this kind.
    pub(super) fn list(&mut self, tag: u32, what: &str, most: u64) -> Result<u64, Stop> {
        let found = self.u32()?;
        let count = self.count()?;
        match found {
            0 if count == 0 => Ok(0),
            _ if found != tag => {
                self.damaged(format!("expected the list of {what} (tag {tag}), got the tag {found}"))
            }
            _ if count > most => self.damaged(format!("{count} {what} are more than the limit of {most}")),
            _ => Ok(count),
        }
    }

    pub(super) fn name(&mut self, what: &str) -> Result<Name, Stop> {
        let len = self.count()?;
        if len == 0 || len > MOST_NAME {
            return self.damaged(format!("a name of {len} bytes for {what}; names have 1 to {MOST_NAME}"));
        }
        let bytes = self.padded(len)?;
        // Old programs counted NULs at the end (netcdf-c's own `ref_nctest_classic.nc`); netcdf-c leaves them out.
        let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        let bytes = bytes.get(..end).unwrap_or_default();
        if bytes.is_empty() {
            return self.damaged(format!("the name of {what} has only NULs"));
        }
        if bytes.contains(&0) {
            return self.damaged(format!("the name of {what} contains a NUL"));
        }
        Ok(match str::from_utf8(bytes) {
            Ok(text) => Name { text: text.to_owned(), is_latin1: false },
            Err(_) => Name { text: bytes.iter().copied().map(char::from).collect(), is_latin1: true },
        })
    }
}

/// The longest name: netCDF writes 256 bytes (`NC_MAX_NAME`), other programs may write more.
const MOST_NAME: u64 = 4096;

/// A big-endian number of at most 8 bytes.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}
