//! Memory between two guard pages, which trap every access.

use std::io;
use std::ptr::NonNull;

/// Bytes whose end (and, for whole pages, whose start) borders on a guard page.
///
/// A read or write after the end is a `SIGSEGV` at once.
#[derive(Debug)]
pub struct Guarded {
    start: NonNull<u8>,
    mapped: usize,
    data: NonNull<u8>,
    len: usize,
}

/// [`Guarded`] bytes on which a write traps too.
#[derive(Debug)]
pub(super) struct ReadOnly(Guarded);

impl Guarded {
    /// Allocates `len` zero bytes that end at a guard page.
    ///
    /// # Errors
    /// The system has no memory for it.
    pub fn zeroed(len: usize) -> io::Result<Self> {
        let page = page_size();
        let room = len.div_ceil(page).max(1).checked_mul(page);
        let mapped = room.and_then(|room| room.checked_add(2 * page)).ok_or(io::ErrorKind::OutOfMemory)?;
        // SAFETY: a new private mapping at an address of the system's choice.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                mapped,
                libc::PROT_NONE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let Some(start) = NonNull::new(start.cast::<u8>()) else {
            return Err(io::ErrorKind::OutOfMemory.into());
        };
        // SAFETY: the mapping has `room` bytes between its first and its last page, so everything is inside.
        let data = unsafe { start.add(mapped - page - len) };
        let guarded = Self { start, mapped, data, len };
        guarded.protect(libc::PROT_READ | libc::PROT_WRITE)?;
        Ok(guarded)
    }

    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: `len` bytes of the mapping, readable since it was made, and borrowed with `self`.
        unsafe { std::slice::from_raw_parts(self.data.as_ptr(), self.len) }
    }

    /// The bytes, to be written to.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as in `as_slice`; `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.data.as_ptr(), self.len) }
    }

    /// Sets what may be done with all pages but the guards.
    fn protect(&self, how: i32) -> io::Result<()> {
        let page = page_size();
        // SAFETY: the pages between the first and the last of our own mapping.
        let failed =
            unsafe { libc::mprotect(self.start.add(page).as_ptr().cast(), self.mapped - 2 * page, how) };
        if failed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

impl ReadOnly {
    /// A copy of `bytes` that can only be read.
    ///
    /// # Errors
    /// The system has no memory for it.
    pub(super) fn new(bytes: &[u8]) -> io::Result<Self> {
        let mut guarded = Guarded::zeroed(bytes.len())?;
        guarded.as_mut_slice().copy_from_slice(bytes);
        guarded.protect(libc::PROT_READ)?;
        Ok(Self(guarded))
    }

    /// Words as bytes.
    ///
    /// # Errors
    /// As [`ReadOnly::new`].
    pub(super) fn of_words(words: &[u32]) -> io::Result<Self> {
        Self::new(&words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<_>>())
    }

    /// The bytes.
    pub(super) fn as_slice(&self) -> &[u8] {
        self.0.as_slice()
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: our own mapping, and nothing borrows it.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.mapped) };
    }
}

// SAFETY: plain memory that belongs only to the value.
unsafe impl Send for Guarded {}
// SAFETY: shared borrows only read.
unsafe impl Sync for Guarded {}

/// Returns the number of bytes from malloc in use in this process; `None` if the C library does not report it.
pub fn heap_in_use() -> Option<usize> {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        type Mallinfo2 = unsafe extern "C" fn() -> libc::mallinfo2;
        // Looked up, not linked: glibc has it since 2.33, and the program also runs with older ones.
        // SAFETY: the function of this name has this type; it only reads the allocator's books.
        let info = unsafe { libloading::os::unix::Library::this().get::<Mallinfo2>(b"mallinfo2").ok()?() };
        Some(info.uordblks + info.hblkhd)
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    None
}

/// Makes malloc fill new memory with (the complement of) `byte` from now on, if the C library can: code that reads
/// unwritten memory then gets other bytes than with another fill. 0 ends it.
pub fn fill_fresh_memory(byte: u8) {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: only sets a number in the allocator's books.
    unsafe {
        libc::mallopt(libc::M_PERTURB, byte.into());
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    let _ = byte;
}

fn page_size() -> usize {
    rustix::param::page_size()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_end_at_the_guard() {
        for len in [0, 1, 4095, 4096, 10_000] {
            let guarded = Guarded::zeroed(len).unwrap();
            let end = guarded.as_slice().as_ptr() as usize + len;
            assert_eq!((guarded.as_slice().len(), end % page_size()), (len, 0));
        }
        assert_eq!(ReadOnly::new(b"abc").unwrap().as_slice(), b"abc");
    }
}
