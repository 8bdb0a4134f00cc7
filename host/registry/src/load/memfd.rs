//! Libraries in sealed files in memory: the bytes that were checked are those that are loaded, even if the file
//! changes.

use std::io;
use std::path::PathBuf;

use crate::allow_list::Admitted;

/// Returns a path for the bytes that is valid for the rest of the process. The same bytes have the same path, so the
/// loader recognizes the library.
///
/// # Errors
/// The system has no files in memory that can be sealed, or none is left.
#[cfg(target_os = "linux")]
pub(super) fn path_of(admitted: &Admitted) -> io::Result<PathBuf> {
    use std::fs::File;
    use std::io::Write;
    use std::os::fd::IntoRawFd;
    use std::sync::{Mutex, PoisonError};

    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

    use crate::allow_list::Content;
    use crate::file_limit;

    type Copies = Vec<((PathBuf, Content), PathBuf)>;
    static COPIES: Mutex<Copies> = Mutex::new(Vec::new());

    let mut copies = COPIES.lock().unwrap_or_else(PoisonError::into_inner);
    let key = (admitted.path.clone(), admitted.content);
    if let Some((_, path)) = copies.iter().find(|(known, _)| *known == key) {
        return Ok(path.clone());
    }
    file_limit::check(admitted.bytes.len() as u64)?;
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    // Kernels before 6.3 do not know MFD_EXEC, and do not need it.
    let made =
        memfd_create(c"ncz-plugin", flags | MemfdFlags::EXEC).or_else(|_| memfd_create(c"ncz-plugin", flags));
    let mut file = File::from(made?);
    file.write_all(&admitted.bytes)?;
    fcntl_add_seals(&file, SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL)?;
    // Never closed: the loader distinguishes libraries by name first, and the number would be reused.
    let path = PathBuf::from(format!("/proc/self/fd/{}", file.into_raw_fd()));
    copies.push((key, path.clone()));
    Ok(path)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn path_of(_: &Admitted) -> io::Result<PathBuf> {
    let text = "allow-lists are not supported on this system: it has no files in memory";
    Err(io::Error::new(io::ErrorKind::Unsupported, text))
}
