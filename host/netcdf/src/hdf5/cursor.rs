//! Reads numbers and bytes of an encoded structure one after the other.

use std::borrow::Cow;

/// What is wrong with an encoded structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Malformed(pub(crate) Cow<'static, str>);

impl From<&'static str> for Malformed {
    fn from(reason: &'static str) -> Self {
        Self(Cow::Borrowed(reason))
    }
}

impl From<String> for Malformed {
    fn from(reason: String) -> Self {
        Self(Cow::Owned(reason))
    }
}

pub(crate) type Decoded<T> = Result<T, Malformed>;

/// The bytes of addresses and of lengths in a file (HDF5 file format, "superblock").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Widths {
    pub(crate) offset: u8,
    pub(crate) length: u8,
}

/// A position in encoded bytes.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
    all: usize,
    widths: Widths,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8], widths: Widths) -> Self {
        Self { rest: bytes, all: bytes.len(), widths }
    }

    /// The number of bytes that were taken.
    pub(crate) fn position(&self) -> usize {
        self.all - self.rest.len()
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn take(&mut self, len: usize) -> Decoded<&'a [u8]> {
        let Some((taken, rest)) = self.rest.split_at_checked(len) else {
            return Err(format!("it has {} bytes and ends within its fields", self.all).into());
        };
        self.rest = rest;
        Ok(taken)
    }

    pub(crate) fn skip(&mut self, len: usize) -> Decoded<()> {
        self.take(len).map(drop)
    }

    /// An unsigned number of 1 to 8 bytes, little-endian.
    pub(crate) fn uint(&mut self, len: usize) -> Decoded<u64> {
        if len > 8 {
            return Err("a number in it has more than 8 bytes".into());
        }
        Ok(self.take(len)?.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }

    pub(crate) fn u8(&mut self) -> Decoded<u8> {
        Ok(self.take(1)?.first().copied().unwrap_or_default())
    }

    pub(crate) fn u16(&mut self) -> Decoded<u16> {
        Ok(self.uint(2)? as u16)
    }

    pub(crate) fn u32(&mut self) -> Decoded<u32> {
        Ok(self.uint(4)? as u32)
    }

    /// A length in bytes.
    pub(crate) fn length(&mut self) -> Decoded<u64> {
        self.uint(usize::from(self.widths.length))
    }

    /// An address; `None` if it is undefined: all bits are 1.
    pub(crate) fn address(&mut self) -> Decoded<Option<u64>> {
        let width = usize::from(self.widths.offset);
        let undefined = u64::MAX >> (64 - 8 * width.clamp(1, 8));
        Ok(Some(self.uint(width)?).filter(|address| *address != undefined))
    }

    /// An address that must be defined.
    pub(crate) fn defined(&mut self) -> Decoded<u64> {
        self.address()?.ok_or_else(|| "an address in it is undefined".into())
    }

    /// Checks the signature and version of a structure.
    pub(crate) fn signature(&mut self, signature: &[u8; 4], version: u8) -> Decoded<()> {
        let found = self.take(4)?;
        if found != signature {
            return Err(format!(
                "it begins with {:?} where {:?} is expected",
                String::from_utf8_lossy(found),
                String::from_utf8_lossy(signature)
            )
            .into());
        }
        match self.u8()? {
            found if found == version => Ok(()),
            found => Err(format!("its version is {found}, known is {version}").into()),
        }
    }

    /// Text up to a NUL, which is taken too, or to the end.
    pub(crate) fn text(&mut self) -> &'a [u8] {
        let end = self.rest.iter().position(|byte| *byte == 0).unwrap_or(self.rest.len());
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest.get(1..).unwrap_or_default();
        text
    }
}

/// The text in a string of a fixed length with this `padding` (HDF5 file format, IV.A.2.d): before a NUL, or before the
/// NULs at its end. Blanks at its end are kept, as netCDF does.
pub(crate) fn before_padding(bytes: &[u8], padding: u8) -> &[u8] {
    if padding == 0 {
        return before_nul(bytes);
    }
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    bytes.get(..end).unwrap_or_default()
}

/// The bytes before the first NUL.
pub(crate) fn before_nul(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == 0).next().unwrap_or_default()
}
