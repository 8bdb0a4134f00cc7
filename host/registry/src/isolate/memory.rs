//! Memory that a host and a worker both have: a file without a name that can grow but not shrink, mapped by both.
//! Nothing that a worker does to the file makes the host's mapping fault.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::NonNull;

use rustix::fs::{FallocateFlags, MemfdFlags, SealFlags};
use rustix::mm::{MapFlags, MremapFlags, ProtFlags};

use crate::file_limit;

/// The mapping grows in steps of this.
const STEP: usize = 1 << 20;
/// The memory that an idle worker keeps after its longest call.
const KEPT: usize = 64 << 20;
/// The alignment of the output after the input.
const ALIGN: usize = 4096;

/// One side's mapping.
pub(super) struct Shared {
    file: OwnedFd,
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the mapping belongs to the value and is reached only through it; no thread is bound to it.
unsafe impl Send for Shared {}

impl Shared {
    /// A new one, for the host.
    pub(super) fn create() -> io::Result<Self> {
        let file = rustix::fs::memfd_create("ncz-worker", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        rustix::fs::fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::SEAL)?;
        let mut shared = Self::of(file);
        shared.grow(STEP)?;
        Ok(shared)
    }

    /// The one that a host made, for the worker; nothing is mapped yet.
    pub(super) fn of(file: OwnedFd) -> Self {
        Self { file, start: NonNull::dangling(), len: 0 }
    }

    /// The file, for the worker.
    pub(super) fn file(&self) -> io::Result<OwnedFd> {
        self.file.try_clone()
    }

    /// The mapped length.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Returns the offset of the output for an input of this length.
    pub(super) fn output_at(input: usize) -> Option<usize> {
        input.checked_next_multiple_of(ALIGN)
    }

    /// Makes at least `len` bytes: only the host does this.
    pub(super) fn grow(&mut self, len: usize) -> io::Result<()> {
        if len <= self.len {
            return Ok(());
        }
        // Twice as much, so that slowly growing chunks do not grow the file each time. Pages come when touched.
        let in_steps = |len: usize| len.checked_next_multiple_of(STEP).ok_or(io::ErrorKind::OutOfMemory);
        let (enough, roomy) = (in_steps(len)?, in_steps(len.max(2 * self.len))?);
        let len = if file_limit::check(roomy as u64).is_ok() { roomy } else { enough };
        file_limit::check(len as u64)?;
        rustix::fs::ftruncate(&self.file, len as u64)?;
        self.map(len)
    }

    /// Maps the first `len` bytes, which the file has.
    pub(super) fn map(&mut self, len: usize) -> io::Result<()> {
        if len <= self.len {
            return Ok(());
        }
        let size = rustix::fs::fstat(&self.file)?.st_size;
        if usize::try_from(size).is_ok_and(|size| size < len) {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the shared memory is shorter than stated",
            ));
        }
        let start = if self.len == 0 {
            let (access, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
            // SAFETY: a new mapping at an address of the system's choice.
            unsafe { rustix::mm::mmap(std::ptr::null_mut(), len, access, flags, self.file.as_fd(), 0) }?
        } else {
            // SAFETY: `start` and `len` are those of the mapping; all references into it ended with the borrows of
            // `self` that they came from, so it may move.
            unsafe { rustix::mm::mremap(self.start.as_ptr().cast(), self.len, len, MremapFlags::MAYMOVE) }?
        };
        self.start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        self.len = len;
        Ok(())
    }

    /// Writes `bytes` to the start; as much as fits.
    pub(super) fn write(&mut self, bytes: &[u8]) {
        let len = bytes.len().min(self.len);
        // SAFETY: the mapping holds that many bytes and the file cannot shrink; `bytes` is elsewhere, as nothing
        // outside this file has references into the host's mapping.
        unsafe { self.start.copy_from_nonoverlapping(NonNull::from(bytes).cast(), len) }
    }

    /// Fills `bytes` from offset `at`. Returns whether that range is mapped.
    pub(super) fn read(&self, at: usize, bytes: &mut [u8]) -> bool {
        if at.checked_add(bytes.len()).is_none_or(|end| end > self.len) {
            return false;
        }
        // SAFETY: the line above keeps within the mapping, the file cannot shrink, and `bytes` lies elsewhere. A
        // worker that writes meanwhile, which none does that has answered, only changes the values of the bytes.
        unsafe { NonNull::from(&mut *bytes).cast().copy_from_nonoverlapping(self.start.add(at), bytes.len()) }
        true
    }

    /// The input and the room for the output, in the worker. None if they overlap or are not mapped.
    pub(super) fn regions(&mut self, input: usize, output: (usize, usize)) -> Option<(&[u8], &mut [u8])> {
        let (at, len) = output;
        let end = at.checked_add(len)?;
        if input > at || end > self.len {
            return None;
        }
        // SAFETY: both are within the mapping and do not overlap, as checked; the host touches neither between its request and
        // the answer, and the borrow of `self` excludes other users in this process.
        unsafe {
            let input = std::slice::from_raw_parts(self.start.as_ptr(), input);
            Some((input, std::slice::from_raw_parts_mut(self.start.as_ptr().add(at), len)))
        }
    }

    /// Releases memory that only a long call needed; `used` is the length that was touched.
    pub(super) fn trim(&self, used: usize) {
        if used > KEPT {
            let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            // Memory that stays is not a fault of the call.
            let _ = rustix::fs::fallocate(&self.file, flags, KEPT as u64, (self.len - KEPT) as u64);
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if self.len > 0 {
            // SAFETY: the mapping is this value's, and no references into it are left.
            let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.len) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_side_writes_the_other_reads_also_after_growing() {
        let mut host = Shared::create().unwrap();
        let mut worker = Shared::of(host.file().unwrap());
        for len in [10, 3 << 20, 70 << 20] {
            let at = Shared::output_at(len).unwrap();
            host.grow(at + len).unwrap();
            host.write(&vec![5; len]);
            worker.map(host.len()).unwrap();
            let (input, output) = worker.regions(len, (at, len)).unwrap();
            assert!(input == vec![5; len]);
            output.fill(9);
            let mut back = vec![0; len];
            assert!(host.read(at, &mut back));
            assert!(back == vec![9; len]);
            assert!(!host.read(host.len() - len + 1, &mut back));
            assert!(worker.regions(len, (len - 1, 1)).is_none());
            assert!(worker.regions(0, (at, usize::MAX)).is_none());
        }
        let pages = || rustix::fs::fstat(&host.file).unwrap().st_blocks * 512;
        assert!(pages() > 130 << 20);
        host.trim(140 << 20);
        assert!(pages() <= 64 << 20);
    }

    #[test]
    fn the_file_cannot_shrink_and_what_it_lacks_is_not_mapped() {
        let host = Shared::create().unwrap();
        assert!(rustix::fs::ftruncate(&host.file, 0).is_err());
        assert!(rustix::fs::fcntl_add_seals(&host.file, SealFlags::WRITE).is_err());
        let mut worker = Shared::of(host.file().unwrap());
        assert!(worker.map(host.len() + 1).is_err());
    }
}
