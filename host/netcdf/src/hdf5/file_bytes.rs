//! Reading a file at its addresses.

use std::sync::Arc;

use super::cursor::{Cursor, Malformed, Widths};
use super::error::Hdf5Error;
use crate::source::Source;

/// The bytes of a file, and how its addresses are encoded.
#[derive(Debug)]
pub(crate) struct FileBytes {
    pub(crate) source: Arc<Source>,
    pub(crate) widths: Widths,
    /// The offset of address 0.
    pub(super) base: u64,
}

impl FileBytes {
    pub(crate) fn cursor<'a>(&self, bytes: &'a [u8]) -> Cursor<'a> {
        Cursor::new(bytes, self.widths)
    }

    /// The offset in the file of an address.
    pub(crate) fn offset(&self, address: u64) -> Option<u64> {
        self.base.checked_add(address)
    }

    /// Reads metadata at an address.
    pub(crate) fn read(&self, address: u64, len: u64, what: &'static str) -> Result<Vec<u8>, Hdf5Error> {
        Ok(self.source.read(self.checked_offset(address, what)?, len, what)?)
    }

    /// Reads metadata at an address, fewer bytes if the file ends.
    pub(crate) fn read_up_to(
        &self,
        address: u64,
        most: u64,
        what: &'static str,
    ) -> Result<Vec<u8>, Hdf5Error> {
        Ok(self.source.read_up_to(self.checked_offset(address, what)?, most, what)?)
    }

    /// Reads nodes of an index in one round, each cut where the file ends.
    pub(crate) fn read_nodes(
        &self,
        nodes: impl IntoIterator<Item = (u64, u64)>,
        what: &'static str,
    ) -> Result<Vec<Vec<u8>>, Hdf5Error> {
        let ranges = nodes
            .into_iter()
            .map(|(address, len)| {
                let offset = self.checked_offset(address, what)?;
                // A node at the end of the file may be allocated shorter than its largest size.
                let have = self.source.len().saturating_sub(offset).max(1);
                Ok((offset, len.min(have)))
            })
            .collect::<Result<Vec<_>, Hdf5Error>>()?;
        Ok(self.source.read_many(&ranges, what)?)
    }

    pub(crate) fn error(&self, error: Malformed, what: &'static str, address: u64) -> Hdf5Error {
        error.at(self.source.key().as_str(), what, self.base.saturating_add(address))
    }

    fn checked_offset(&self, address: u64, what: &'static str) -> Result<u64, Hdf5Error> {
        self.offset(address).ok_or_else(|| self.error("its address is past the end".into(), what, address))
    }
}
