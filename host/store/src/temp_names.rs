//! The names of temporary and hidden files, which are not keys.

use std::ffi::{OsStr, OsString};
use std::hash::{BuildHasher, RandomState};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::key::Key;

/// The lock file of writers in the root of a dataset.
pub(crate) const WRITER: &str = ".ncz-writer";

const OBJECT: &[u8] = b".ncz-";
const DIGITS: usize = 16;
const BOOT_DIGITS: usize = 8;
const ASIDE: &[u8] = b"old-";

/// A source of names that no other writer uses. Files are created under them only if new, so a clash
/// costs a second try and nothing more.
#[derive(Debug, Default)]
pub(crate) struct TempNames {
    seed: RandomState,
    count: AtomicU64,
}

impl TempNames {
    /// A temporary path in the directory of `key`, on the stack.
    pub(crate) fn beside(&self, key: Key<'_>) -> TempPath {
        let mut path = TempPath { bytes: [0; TempPath::ROOM], len: 0 };
        let parent = key.parent();
        if !parent.is_root() {
            path.push(parent.as_str().as_bytes());
            path.push(b"/");
        }
        path.push(OBJECT);
        path.push(&self.digits());
        path
    }

    /// A name for the hidden directory or archive beside `target`. Its first digits say in which start of the system it
    /// was made, where that is known.
    pub(crate) fn stage(&self, target: &OsStr) -> OsString {
        let mut name = stage_start(target);
        let mut digits = self.digits();
        if let (Some(boot), Some(first)) = (boot_digits(), digits.first_chunk_mut()) {
            *first = boot;
        }
        name.extend_from_slice(&digits);
        OsString::from_vec(name)
    }

    /// A name under which the old dataset at `target` is set aside; no other program removes it.
    pub(crate) fn aside(&self, target: &OsStr) -> OsString {
        let mut name = stage_start(target);
        name.extend_from_slice(ASIDE);
        name.extend_from_slice(&self.digits());
        OsString::from_vec(name)
    }

    fn digits(&self) -> [u8; DIGITS] {
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        let mut number = self.seed.hash_one((count, std::process::id()));
        let mut digits = [0; DIGITS];
        for digit in digits.iter_mut().rev() {
            let nibble = (number & 0xf) as u8;
            *digit = if nibble < 10 { b'0' + nibble } else { b'a' + nibble - 10 };
            number >>= 4;
        }
        digits
    }
}

/// The name of the journal beside the archive `target`.
pub(crate) fn journal(target: &OsStr) -> OsString {
    let mut name = stage_start(target);
    name.extend_from_slice(b"journal");
    OsString::from_vec(name)
}

/// Whether `name` is that of a temporary object.
pub(crate) fn is_temporary_object(name: &[u8]) -> bool {
    name.strip_prefix(OBJECT).is_some_and(is_digits)
}

/// Whether `name` is that of a hidden directory beside `target`.
pub(crate) fn is_stage_of(name: &[u8], target: &OsStr) -> bool {
    name.strip_prefix(stage_start(target).as_slice()).is_some_and(is_digits)
}

/// Whether a stage, of whatever target, was made in this start of the system: then locks say whether its writer lives.
pub(crate) fn is_of_this_boot(name: &[u8]) -> bool {
    let digits = name.len().checked_sub(DIGITS).and_then(|start| name.get(start..));
    boot_digits().is_some_and(|boot| digits.is_some_and(|digits| digits.starts_with(&boot)))
}

/// Whether `name` is that of an old dataset that was set aside at `target`.
pub(crate) fn is_aside_of(name: &[u8], target: &OsStr) -> bool {
    let rest = name.strip_prefix(stage_start(target).as_slice());
    rest.and_then(|rest| rest.strip_prefix(ASIDE)).is_some_and(is_digits)
}

/// Digits that differ from one start of the system to the next; `None` where the system has no such number.
fn boot_digits() -> Option<[u8; BOOT_DIGITS]> {
    let id = std::fs::read("/proc/sys/kernel/random/boot_id").ok()?;
    let text = format!("{:08x}", crc32fast::hash(id.trim_ascii()));
    text.as_bytes().first_chunk().copied()
}

/// A path on the stack.
pub(crate) struct TempPath {
    bytes: [u8; Self::ROOM],
    len: usize,
}

impl TempPath {
    const ROOM: usize = Key::MAX_LEN + 1 + OBJECT.len() + DIGITS;

    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    // There is room for every key; were there not, the path would be too short and its file would
    // not be found, which is an error of the system.
    fn push(&mut self, part: &[u8]) {
        if let Some(room) = self.bytes.get_mut(self.len..self.len + part.len()) {
            room.copy_from_slice(part);
            self.len += part.len();
        }
    }
}

/// `.NAME.ncz-`, with as much of the name as an entry has room for.
fn stage_start(target: &OsStr) -> Vec<u8> {
    let name = target.as_bytes();
    let room = Key::MAX_SEGMENT - 1 - OBJECT.len() - 4 - DIGITS;
    let mut start = vec![b'.'];
    start.extend_from_slice(name.get(..room).unwrap_or(name));
    start.extend_from_slice(OBJECT);
    start
}

fn is_digits(text: &[u8]) -> bool {
    text.len() == DIGITS && text.iter().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::is_reserved;

    #[test]
    fn own_names_are_told_from_keys_and_fit_an_entry() {
        let names = TempNames::default();
        let long = "x".repeat(255);
        for target in ["a.zarr", long.as_str(), ".hidden"] {
            let target = OsStr::new(target);
            let stage = names.stage(target);
            assert!(stage.len() <= 255 && names.aside(target).len() <= 255);
            assert!(is_reserved(stage.to_str().unwrap()));
            assert!(is_stage_of(stage.as_bytes(), target));
            assert!(!is_stage_of(names.aside(target).as_bytes(), target));
            assert!(is_aside_of(names.aside(target).as_bytes(), target));
            assert!(!is_aside_of(stage.as_bytes(), target));
            assert_eq!(is_of_this_boot(stage.as_bytes()), boot_digits().is_some());
            assert_ne!(stage, names.stage(target));
            let journal = journal(target);
            assert!(is_reserved(journal.to_str().unwrap()) && journal.len() <= 255);
            assert!(!is_stage_of(journal.as_bytes(), target));
        }
        assert!(!is_stage_of(names.stage(OsStr::new("b.zarr")).as_bytes(), OsStr::new("a.zarr")));
        let key = format!("{}/{}", vec!["d".repeat(255); 3].join("/"), "k".repeat(255));
        let path = names.beside(Key::parse(&key).unwrap());
        let name = path.as_bytes().rsplit(|b| *b == b'/').next().unwrap();
        assert!(is_temporary_object(name) && is_reserved(std::str::from_utf8(name).unwrap()));
        assert_ne!(names.digits(), names.digits());
    }
}
