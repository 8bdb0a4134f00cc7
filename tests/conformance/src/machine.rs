//! The machine of a run.

use std::process::{Command, Stdio};

use crate::results::Machine;

impl Machine {
    /// This machine.
    pub fn this() -> Self {
        let system = rustix::system::uname();
        let text = |part: &std::ffi::CStr| part.to_string_lossy().into_owned();
        Self {
            system: format!("{} {}", text(system.sysname()), text(system.release())),
            architecture: std::env::consts::ARCH,
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
            c_library: c_library(),
        }
    }
}

/// The system's C library.
fn c_library() -> Option<String> {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.trim().to_owned()).filter(|text| output.status.success() && !text.is_empty())
}
