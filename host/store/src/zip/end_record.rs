//! What the end of an archive claims, looked at before anybody takes memory for it.

use std::fs::File;
use std::ops::Range;

use rustix::io::Errno;

use super::format::{END_MAGIC, LARGE_END, LARGE_END_MAGIC, LOCATOR, LOCATOR_MAGIC, u64_at};
use crate::error::{ObjectLocation, StoreError};
use crate::sys;

/// The most entries that an archive may have. The index is some times as large as the directory,
/// and so the memory that opening takes is in proportion to what is really in the file.
pub(super) const MAX_ENTRIES: usize = 10_000_000;

/// Where the end is: a locator, the end record and the longest comment, with a little in hand.
const TAIL: u64 = 66_000;

/// How far the zip64 end record may be from its locator: what is before the archive is between
/// them, so far as the locator can tell.
const FARTHEST: u64 = 1 << 30;

/// The longest zip64 end record. No program writes more than its fields.
const LONGEST: u64 = 1 << 20;

const PIECE: usize = 64 * 1024;

/// Refuses more than [`MAX_ENTRIES`]. The crate `zip` reserves memory for as many as are claimed,
/// and for an end record of any length; a file with a hole in it has room for claims without end.
/// Without zip64 there are at most 65535, and no lengths to lie about.
pub(super) fn check_claims(file: &File, len: u64, location: &str) -> Result<(), StoreError> {
    let failed = |error: Errno| StoreError::from_io("read", ObjectLocation::store(location), error.into());
    let start = len.saturating_sub(TAIL);
    let mut tail = vec![0; usize::try_from(len - start).unwrap_or(0)];
    let filled = sys::read_at(file, &mut tail, start).map_err(failed)?;
    tail.truncate(filled);
    for at in find(&tail, LOCATOR_MAGIC) {
        if tail.get(at + LOCATOR..).is_none_or(|next| !next.starts_with(&END_MAGIC)) {
            continue;
        }
        let locator = start + at as u64;
        let record = u64_at(&tail, at + 8).unwrap_or(u64::MAX);
        if record >= locator {
            continue; // no record at all, and refused as such
        }
        if locator - record > FARTHEST {
            return Err(bad(location, None, "its end records are too far apart"));
        }
        check_records(file, record..locator, location, failed)?;
    }
    Ok(())
}

pub(super) fn bad(location: &str, entry: Option<String>, reason: impl Into<String>) -> StoreError {
    StoreError::BadArchive { location: location.to_owned(), entry, reason: reason.into() }
}

/// Looks at everything in a range that can be taken for a zip64 end record.
fn check_records(
    file: &File,
    range: Range<u64>,
    location: &str,
    failed: impl Fn(Errno) -> StoreError,
) -> Result<(), StoreError> {
    let mut position = range.start;
    let mut piece = vec![0; PIECE + LARGE_END];
    while position < range.end {
        let filled = sys::read_at(file, &mut piece, position).map_err(&failed)?;
        let piece = piece.get(..filled).unwrap_or_default();
        for at in find(piece, LARGE_END_MAGIC).filter(|at| position + (*at as u64) < range.end) {
            let number = |field| u64_at(piece, at + field).unwrap_or(0);
            if number(4) > LONGEST {
                return Err(bad(location, None, "its end record is too long"));
            }
            if number(32) > MAX_ENTRIES as u64 {
                return Err(StoreError::TooManyEntries {
                    at: ObjectLocation::store(location),
                    limit: MAX_ENTRIES,
                });
            }
        }
        // a record at the border is whole in the next piece
        position += PIECE as u64;
    }
    Ok(())
}

fn find(bytes: &[u8], magic: [u8; 4]) -> impl Iterator<Item = usize> {
    bytes.windows(4).enumerate().filter(move |(_, buffered_file)| *buffered_file == magic).map(|(at, _)| at)
}
