use std::path::Path;
use std::process::Command;

use crate::Skip;

/// A file system in memory that is soon full, unmounted when dropped.
#[derive(Debug)]
pub struct SmallDisk {
    folder: tempfile::TempDir,
}

impl SmallDisk {
    /// Mounts a file system of `size`, such as `900k`.
    ///
    /// # Errors
    ///
    /// A [`Skip`] if the test must not mount a file system, which needs root privileges.
    pub fn mount(size: &str) -> Result<Self, Skip> {
        let refused = |why: String| Skip::new("a small disk", why, "run the tests as root");
        let folder = tempfile::tempdir().map_err(|error| refused(error.to_string()))?;
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"]).arg(folder.path());
        let output = command.output().map_err(|error| refused(error.to_string()))?;
        if !output.status.success() {
            return Err(refused(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
        }
        Ok(Self { folder })
    }

    /// The folder at which it is mounted.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        drop(Command::new("umount").arg(self.path()).status());
    }
}
