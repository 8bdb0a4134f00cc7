//! System calls that several modules need, and how they differ between systems.
//!
//! Calls that change something pass a fault point, so that the tests can let any of them fail.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{self, AtFlags, Mode, OFlags, Stat};
use rustix::io::{Errno, retry_on_intr};
use rustix::path::Arg;

type Result<T> = std::result::Result<T, Errno>;

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

pub(crate) fn open_directory(at: impl AsFd, path: impl Arg + Copy) -> Result<OwnedFd> {
    retry_on_intr(|| fs::openat(&at, path, DIRECTORY, Mode::empty()))
}

/// Opens a directory that is one itself, not a symbolic link to one.
pub(crate) fn open_real_directory(at: impl AsFd, path: impl Arg + Copy) -> Result<OwnedFd> {
    retry_on_intr(|| fs::openat(&at, path, DIRECTORY.union(OFlags::NOFOLLOW), Mode::empty()))
}

/// Opens a file for reading. A FIFO does not block, and a terminal does not become ours.
pub(crate) fn open_file(at: impl AsFd, path: impl Arg + Copy) -> Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    retry_on_intr(|| fs::openat(&at, path, flags, Mode::empty()))
}

/// Opens a file or directory for looking at; not what a symbolic link leads to.
pub(crate) fn open_real_file(at: impl AsFd, path: impl Arg + Copy) -> Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW;
    retry_on_intr(|| fs::openat(&at, path, flags, Mode::empty()))
}

/// Opens a file for reading and writing, as [`open_file`] does.
pub(crate) fn open_file_to_write(at: impl AsFd, path: impl Arg + Copy) -> Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    retry_on_intr(|| fs::openat(&at, path, flags, Mode::empty()))
}

/// Creates a file that must not exist; the umask takes its part of the mode.
pub(crate) fn create_file(at: impl AsFd, path: impl Arg + Copy, mode: u32) -> Result<OwnedFd> {
    fault::point()?;
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    retry_on_intr(|| fs::openat(&at, path, flags, Mode::from_raw_mode(mode)))
}

/// Makes a directory; the umask takes its part of the mode.
pub(crate) fn make_directory(at: impl AsFd, path: impl Arg + Copy, mode: u32) -> Result<()> {
    fault::point()?;
    retry_on_intr(|| fs::mkdirat(&at, path, Mode::from_raw_mode(mode)))
}

/// The status of what the path leads to.
pub(crate) fn stat(at: impl AsFd, path: impl Arg + Copy) -> Result<Stat> {
    retry_on_intr(|| fs::statat(&at, path, AtFlags::empty()))
}

/// The status of the entry itself.
pub(crate) fn stat_entry(at: impl AsFd, path: impl Arg + Copy) -> Result<Stat> {
    retry_on_intr(|| fs::statat(&at, path, AtFlags::SYMLINK_NOFOLLOW))
}

/// Whether two statuses are of the same file.
pub(crate) fn same(one: &Stat, other: &Stat) -> bool {
    one.st_dev == other.st_dev && one.st_ino == other.st_ino
}

pub(crate) fn write_all(file: impl AsFd, mut bytes: &[u8]) -> Result<()> {
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

/// Writes at an offset of a file; several threads may do so at once.
pub(crate) fn write_all_at(file: impl AsFd, mut bytes: &[u8], mut offset: u64) -> Result<()> {
    while !bytes.is_empty() {
        fault::point()?;
        let part = bytes.get(..fault::MOST_BYTES).unwrap_or(bytes);
        match retry_on_intr(|| rustix::io::pwrite(&file, part, offset))? {
            0 => return Err(Errno::IO),
            n => {
                bytes = bytes.get(n..).unwrap_or_default();
                offset += n as u64;
            }
        }
    }
    Ok(())
}

/// Reads from an offset of a file as much as there is, at most all of `out`.
pub(crate) fn read_at(file: impl AsFd, mut out: &mut [u8], mut offset: u64) -> Result<usize> {
    let wanted = out.len();
    while !out.is_empty() {
        let n = retry_on_intr(|| rustix::io::pread(&file, &mut *out, offset))?;
        if n == 0 {
            break;
        }
        fault::count_read(n);
        out = out.get_mut(n..).unwrap_or_default();
        offset += n as u64;
    }
    Ok(wanted - out.len())
}

/// Copies a part of a file to an offset in another one, without its bytes passing through this process
/// where the system can.
pub(crate) fn copy(
    from: impl AsFd,
    mut offset: u64,
    to: impl AsFd,
    mut target: u64,
    mut len: u64,
) -> Result<()> {
    let mut buffer = Vec::new();
    while len > 0 {
        fault::point()?;
        let part = usize::try_from(len).unwrap_or(usize::MAX).min(COPY_AT_ONCE);
        #[cfg(any(target_os = "linux", target_os = "android"))]
        if buffer.is_empty() {
            let (mut source, mut sink) = (offset, target);
            let copied =
                retry_on_intr(|| fs::copy_file_range(&from, Some(&mut source), &to, Some(&mut sink), part));
            match copied {
                Ok(n @ 1..) => {
                    (offset, target, len) = (offset + n as u64, target + n as u64, len - n as u64);
                    continue;
                }
                // some file systems say nothing was copied where they cannot
                Ok(0) => {}
                Err(error) if is_unsupported(error) || error == Errno::XDEV || error == Errno::IO => {}
                Err(error) => return Err(error),
            }
        }
        buffer.resize(part.min(COPY_BUFFER), 0);
        let n = read_at(&from, &mut buffer, offset)?;
        // the file is shorter than it was
        let bytes = buffer.get(..n).filter(|bytes| !bytes.is_empty()).ok_or(Errno::IO)?;
        write_all_at(&to, bytes, target)?;
        (offset, target, len) = (offset + n as u64, target + n as u64, len - n as u64);
    }
    Ok(())
}

const COPY_AT_ONCE: usize = 1 << 30;
const COPY_BUFFER: usize = 1 << 20;

/// Sets the length of a file.
pub(crate) fn set_len(file: impl AsFd, len: u64) -> Result<()> {
    fault::point()?;
    retry_on_intr(|| fs::ftruncate(&file, len))
}

/// Waits until the bytes of a file are on the disk.
pub(crate) fn sync_file(file: impl AsFd) -> Result<()> {
    fault::point()?;
    #[cfg(target_vendor = "apple")]
    return retry_on_intr(|| fs::fcntl_fullfsync(&file));
    #[cfg(not(target_vendor = "apple"))]
    retry_on_intr(|| fs::fsync(&file))
}

/// Waits until everything written to the file system of `directory` is on the disk.
pub(crate) fn sync_file_system(directory: impl AsFd) -> Result<()> {
    fault::point()?;
    #[cfg(any(target_os = "linux", target_os = "android"))]
    return retry_on_intr(|| fs::syncfs(&directory));
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    {
        fs::sync();
        sync_file(directory)
    }
}

pub(crate) fn remove_file(at: impl AsFd, path: impl Arg + Copy) -> Result<()> {
    fault::point()?;
    retry_on_intr(|| fs::unlinkat(&at, path, AtFlags::empty()))
}

/// Removes an empty directory.
pub(crate) fn remove_directory(at: impl AsFd, path: impl Arg + Copy) -> Result<()> {
    fault::point()?;
    retry_on_intr(|| fs::unlinkat(&at, path, AtFlags::REMOVEDIR))
}

/// Renames over whatever file is there.
pub(crate) fn rename(at: impl AsFd, from: impl Arg + Copy, to: impl Arg + Copy) -> Result<()> {
    fault::point()?;
    retry_on_intr(|| fs::renameat(&at, from, &at, to))
}

/// Renames where nothing is there, else fails with `EXIST`. `None`: this file system cannot.
pub(crate) fn rename_new(at: impl AsFd, from: impl Arg + Copy, to: impl Arg + Copy) -> Result<Option<()>> {
    fault::point()?;
    rename_with(at, from, to, Special::NoReplace)
}

/// Lets two entries change their names. `None`: this file system cannot.
pub(crate) fn exchange(at: impl AsFd, one: impl Arg + Copy, other: impl Arg + Copy) -> Result<Option<()>> {
    fault::point()?;
    rename_with(at, one, other, Special::Exchange)
}

/// Gives a file a second name, which must be new.
pub(crate) fn link_new(at: impl AsFd, from: impl Arg + Copy, to: impl Arg + Copy) -> Result<()> {
    fault::point()?;
    retry_on_intr(|| fs::linkat(&at, from, &at, to, AtFlags::empty()))
}

/// Whether the error says that a call is not known here, not that it failed.
pub(crate) fn is_unsupported(error: Errno) -> bool {
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
pub(crate) fn between_length_and_bytes() {
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

    #[inline(always)]
    pub(super) fn count_read(_: usize) {}
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
        static BYTES_READ: Cell<u64> = const { Cell::new(0) };
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

    /// Runs `action` on this thread and gives the number of bytes that it read by [`super::read_at`].
    pub(crate) fn counting_reads<T>(action: impl FnOnce() -> T) -> (T, u64) {
        BYTES_READ.set(0);
        let answer = action();
        (answer, BYTES_READ.get())
    }

    pub(super) fn count_read(n: usize) {
        BYTES_READ.set(BYTES_READ.get() + n as u64);
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
