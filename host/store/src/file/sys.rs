//! The calls to the system that more than one place needs, with their differences between systems.
//!
//! Calls that change something pass a fault point, so that the tests can let any of them fail.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{self, AtFlags, Mode, OFlags, Stat};
use rustix::io::{Errno, retry_on_intr};
use rustix::path::Arg;

type Result<T> = std::result::Result<T, Errno>;

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

pub(super) fn open_directory(at: impl AsFd, path: impl Arg + Copy) -> Result<OwnedFd> {
    retry_on_intr(|| fs::openat(&at, path, DIRECTORY, Mode::empty()))
}

/// Opens a directory that is one itself, not a symbolic link to one.
pub(super) fn open_real_directory(at: impl AsFd, path: impl Arg + Copy) -> Result<OwnedFd> {
    retry_on_intr(|| fs::openat(&at, path, DIRECTORY.union(OFlags::NOFOLLOW), Mode::empty()))
}

/// Opens a file for reading. A FIFO does not block, and a terminal does not become ours.
pub(super) fn open_file(at: impl AsFd, path: impl Arg + Copy) -> Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    retry_on_intr(|| fs::openat(&at, path, flags, Mode::empty()))
}

/// Creates a file that must not exist; the mode is what the umask leaves.
pub(super) fn create_file(at: impl AsFd, path: impl Arg + Copy) -> Result<OwnedFd> {
    fault::point()?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    retry_on_intr(|| fs::openat(&at, path, flags, Mode::from_raw_mode(0o666)))
}

pub(super) fn make_directory(at: impl AsFd, path: impl Arg + Copy) -> Result<()> {
    fault::point()?;
    retry_on_intr(|| fs::mkdirat(&at, path, Mode::from_raw_mode(0o777)))
}

/// The status of what the path leads to.
pub(super) fn stat(at: impl AsFd, path: impl Arg + Copy) -> Result<Stat> {
    retry_on_intr(|| fs::statat(&at, path, AtFlags::empty()))
}

/// The status of the entry itself.
pub(super) fn stat_entry(at: impl AsFd, path: impl Arg + Copy) -> Result<Stat> {
    retry_on_intr(|| fs::statat(&at, path, AtFlags::SYMLINK_NOFOLLOW))
}

pub(super) fn write_all(file: impl AsFd, mut bytes: &[u8]) -> Result<()> {
    while !bytes.is_empty() {
        fault::point()?;
        let part = bytes.get(..fault::MOST_BYTES).unwrap_or(bytes);
        match retry_on_intr(|| rustix::io::write(&file, part))? {
            0 => return Err(Errno::IO),
            n => bytes = bytes.get(n..).unwrap_or_default(),
        }
    }
    Ok(())
}

/// Waits until the bytes of a file are on the disk.
pub(super) fn sync_file(file: impl AsFd) -> Result<()> {
    fault::point()?;
    #[cfg(target_vendor = "apple")]
    return retry_on_intr(|| fs::fcntl_fullfsync(&file));
    #[cfg(not(target_vendor = "apple"))]
    retry_on_intr(|| fs::fsync(&file))
}

/// Waits until everything written to the file system of `directory` is on the disk.
pub(super) fn sync_file_system(directory: impl AsFd) -> Result<()> {
    fault::point()?;
    #[cfg(any(target_os = "linux", target_os = "android"))]
    return retry_on_intr(|| fs::syncfs(&directory));
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    {
        fs::sync();
        sync_file(directory)
    }
}

pub(super) fn remove_file(at: impl AsFd, path: impl Arg + Copy) -> Result<()> {
    fault::point()?;
    retry_on_intr(|| fs::unlinkat(&at, path, AtFlags::empty()))
}

/// Removes an empty directory.
pub(super) fn remove_directory(at: impl AsFd, path: impl Arg + Copy) -> Result<()> {
    fault::point()?;
    retry_on_intr(|| fs::unlinkat(&at, path, AtFlags::REMOVEDIR))
}

/// Renames over whatever file is there.
pub(super) fn rename(at: impl AsFd, from: impl Arg + Copy, to: impl Arg + Copy) -> Result<()> {
    fault::point()?;
    retry_on_intr(|| fs::renameat(&at, from, &at, to))
}

/// Renames where nothing is there, else fails with `EXIST`. `None`: this file system cannot.
pub(super) fn rename_new(at: impl AsFd, from: impl Arg + Copy, to: impl Arg + Copy) -> Result<Option<()>> {
    fault::point()?;
    rename_with(at, from, to, Special::NoReplace)
}

/// Lets two entries change their names. `None`: this file system cannot.
pub(super) fn exchange(at: impl AsFd, one: impl Arg + Copy, other: impl Arg + Copy) -> Result<Option<()>> {
    fault::point()?;
    rename_with(at, one, other, Special::Exchange)
}

/// Gives a file a second name, which must be new.
pub(super) fn link_new(at: impl AsFd, from: impl Arg + Copy, to: impl Arg + Copy) -> Result<()> {
    fault::point()?;
    retry_on_intr(|| fs::linkat(&at, from, &at, to, AtFlags::empty()))
}

/// Whether the error says that a call is not known here, not that it failed.
pub(super) fn is_unsupported(error: Errno) -> bool {
    matches!(error, Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP)
}

enum Special {
    NoReplace,
    Exchange,
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn rename_with(
    at: impl AsFd,
    from: impl Arg + Copy,
    to: impl Arg + Copy,
    special: Special,
) -> Result<Option<()>> {
    let flags = match special {
        Special::NoReplace => fs::RenameFlags::NOREPLACE,
        Special::Exchange => fs::RenameFlags::EXCHANGE,
    };
    if fault::without_special_renames() {
        return Ok(None);
    }
    match retry_on_intr(|| fs::renameat_with(&at, from, &at, to, flags)) {
        Ok(()) => Ok(Some(())),
        Err(error) if is_unsupported(error) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn rename_with(_: impl AsFd, _: impl Arg + Copy, _: impl Arg + Copy, special: Special) -> Result<Option<()>> {
    let (Special::NoReplace | Special::Exchange) = special;
    Ok(None)
}

/// Called when the length of an object was asked and its bytes are not yet read.
#[inline(always)]
pub(super) fn between_length_and_bytes() {
    fault::interfere();
}

/// Where the tests of this crate let the system fail; nothing elsewhere.
#[cfg(not(test))]
mod fault {
    pub(super) const MOST_BYTES: usize = usize::MAX;

    #[inline(always)]
    pub(super) fn point() -> super::Result<()> {
        Ok(())
    }

    #[inline(always)]
    pub(super) fn without_special_renames() -> bool {
        false
    }

    #[inline(always)]
    pub(super) fn interfere() {}
}

/// Where the tests of this crate let the system fail.
#[cfg(test)]
pub(crate) mod fault {
    use std::cell::{Cell, RefCell};

    use rustix::io::Errno;

    /// Objects are written in small pieces, so that a fault can come between them.
    pub(super) const MOST_BYTES: usize = 1000;

    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) enum Plan {
        /// Only the n-th changing call fails (the first is 0): a full disk.
        Once(u64),
        /// The n-th and all that follow fail: the process has died.
        From(u64),
    }

    thread_local! {
        static PLAN: Cell<Option<Plan>> = const { Cell::new(None) };
        static CALLS: Cell<u64> = const { Cell::new(0) };
        static PLAIN: Cell<bool> = const { Cell::new(false) };
        static INTERFERENCE: RefCell<Option<Box<dyn FnOnce()>>> = const { RefCell::new(None) };
    }

    /// Runs `action` on this thread with faults; gives its answer and the number of calls made.
    pub(crate) fn with<T>(plan: Option<Plan>, action: impl FnOnce() -> T) -> (T, u64) {
        PLAN.set(plan);
        CALLS.set(0);
        let answer = action();
        PLAN.set(None);
        (answer, CALLS.get())
    }

    /// Runs `action` on this thread as on a file system without exchange and rename-if-new.
    pub(crate) fn plainly<T>(action: impl FnOnce() -> T) -> T {
        PLAIN.set(true);
        let answer = action();
        PLAIN.set(false);
        answer
    }

    /// Runs `action` once on this thread, between the look at an object's length and its reading.
    pub(crate) fn interfere_by(action: impl FnOnce() + 'static) {
        INTERFERENCE.set(Some(Box::new(action)));
    }

    pub(super) fn interfere() {
        if let Some(action) = INTERFERENCE.take() {
            action();
        }
    }

    pub(super) fn point() -> super::Result<()> {
        let call = CALLS.get();
        CALLS.set(call + 1);
        match PLAN.get() {
            Some(Plan::Once(n)) if call == n => Err(Errno::NOSPC),
            Some(Plan::From(n)) if call >= n => Err(Errno::NOSPC),
            _ => Ok(()),
        }
    }

    pub(super) fn without_special_renames() -> bool {
        PLAIN.get()
    }
}
