//! The system's loader, and private files for it.

use std::ffi::{CStr, CString, c_void};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::error::Error;

/// The location of an image for the loader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// In memory, without a name in any folder.
    Memory,
    /// In a private folder for as long as loading takes.
    Folder,
}

/// A library that is never unloaded.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) handle: *mut c_void,
    /// Opening this path again returns the same library.
    pub(super) path: &'static CStr,
    pub(super) place: Place,
}

/// Loads a library of the file system, with its names kept to itself.
pub(super) fn open_file(path: &Path) -> Result<(), Error> {
    let path = CString::new(path.as_os_str().as_bytes())
        .map_err(|_| Error::Refused(format!("{}: the path has a byte 0", path.display())))?;
    open(&path).map(drop)
}

/// Loads an image.
pub(super) fn open_image(image: &[u8], place: Place) -> Result<Loaded, Error> {
    check_limit(image.len() as u64).map_err(Error::NoFile)?;
    match place {
        Place::Memory => from_memory(image),
        Place::Folder => from_folder(image),
    }
}

/// The address of a symbol; `None` if the library has none of that name.
pub(super) fn symbol(handle: *mut c_void, name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the handle is of a library that is never closed, and the name is a C string.
    let address = unsafe { libc::dlsym(handle, name.as_ptr()) };
    (!address.is_null()).then_some(address)
}

fn from_memory(image: &[u8]) -> Result<Loaded, Error> {
    let mut file = memory_file().map_err(Error::NoFile)?;
    file.write_all(image).map_err(Error::NoFile)?;
    // A process that finds the descriptor cannot change what is mapped from it. Without seals it works as well.
    // SAFETY: the descriptor is open, and sealing takes an int.
    unsafe {
        let seals = libc::F_SEAL_SEAL | libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_WRITE;
        libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals);
    }
    // The loader compares names before files. If the descriptor number was used for an earlier library and closed, its
    // name would return that library: then another number is taken. This descriptor is never closed, and so never
    // reused.
    loop {
        let descriptor = file.as_raw_fd();
        let path = CString::new(format!("/proc/self/fd/{descriptor}")).unwrap_or_default();
        if !is_loaded(&path) {
            let handle = open(&path)?;
            let path = Box::leak(path.into_boxed_c_str());
            let _ = file.into_raw_fd();
            return Ok(Loaded { handle, path, place: Place::Memory });
        }
        let next = file.try_clone().map_err(Error::NoFile)?;
        let _ = std::mem::replace(&mut file, next).into_raw_fd();
    }
}

fn from_folder(image: &[u8]) -> Result<Loaded, Error> {
    let folder = tempfile::Builder::new().prefix("ncz-").tempdir().map_err(Error::NoFile)?;
    // The name is as unique as the folder's; it stays the library's name when the file is gone.
    let path = folder.path().join("library.so");
    std::fs::write(&path, image).map_err(Error::NoFile)?;
    let path = CString::new(path.into_os_string().into_encoded_bytes())
        .map_err(|error| Error::NoFile(error.into()))?;
    let handle = open(&path)?;
    Ok(Loaded { handle, path: Box::leak(path.into_boxed_c_str()), place: Place::Folder })
}

/// A file in memory that may be executed and sealed, and that programs started later do not get.
fn memory_file() -> io::Result<File> {
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    let create = |flags| {
        // SAFETY: the name is a C string.
        let descriptor = unsafe { libc::memfd_create(c"ncz-h5shim".as_ptr(), flags) };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was just created and has no other owner.
        Ok(unsafe { File::from_raw_fd(descriptor) })
    };
    // Linux before 6.3 does not know the flag, and makes such files executable without it.
    create(flags | libc::MFD_EXEC).or_else(|error| match error.raw_os_error() {
        Some(libc::EINVAL) => create(flags),
        _ => Err(error),
    })
}

/// Whether this process may make a file of `len` bytes. One over the limit, also in memory, would end it by a signal.
fn check_limit(len: u64) -> io::Result<()> {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the function writes to the pointer that it gets.
    unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit) };
    if limit.rlim_cur == libc::RLIM_INFINITY || len <= limit.rlim_cur {
        return Ok(());
    }
    let text = format!(
        "{len} bytes are over the limit of {} on files (RLIMIT_FSIZE); raise it with ulimit -f",
        limit.rlim_cur
    );
    Err(io::Error::new(io::ErrorKind::FileTooLarge, text))
}

/// Tests whether the loader knows a library by this name.
fn is_loaded(path: &CStr) -> bool {
    // SAFETY: a C string; with this flag nothing is loaded, so no code runs.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    if handle.is_null() {
        return false;
    }
    // SAFETY: the handle counts one use more, which is given back.
    unsafe { libc::dlclose(handle) };
    true
}

/// The handle is never closed: plugins leave threads and exit handlers running.
fn open(path: &CStr) -> Result<*mut c_void, Error> {
    // SAFETY: a C string. Opening runs the library's constructors: a stub library has none; a plugin and what it
    // needs are loaded because the user put them on the search path.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if handle.is_null() { Err(Error::Refused(last_error())) } else { Ok(handle) }
}

fn last_error() -> String {
    // SAFETY: NULL or a C string that stays until this thread's next call of the loader.
    unsafe {
        let text = libc::dlerror();
        if text.is_null() {
            return "no reason given".to_owned();
        }
        CStr::from_ptr(text).to_string_lossy().into_owned()
    }
}
