//! Options to open and create datasets.

use std::ffi::OsString;
use std::fmt;

use crate::error::StoreError;
use crate::store::Store;

/// What a dataset is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reading; nothing is changed.
    Read,
    /// Reading and writing.
    ReadWrite,
}

/// What written data survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// A power failure: a replaced object is the old or the new one, and what was written before
    /// [`Store::sync`] or [`Store::publish`] returned stays.
    #[default]
    PowerLoss,
    /// The end of this process, also by a crash. Nothing waits for the disk, so a power failure may leave
    /// empty objects.
    Process,
}

/// Options to create a dataset.
#[derive(Default)]
pub struct CreateOptions {
    pub(crate) replace_if: Option<Predicate>,
    pub(crate) durability: Durability,
    pub(crate) permissions: FilePermissions,
}

pub(crate) type Predicate = Box<dyn Fn(&dyn Store) -> Result<bool, StoreError> + Send + Sync>;

impl CreateOptions {
    /// Options that refuse anything that exists at the target.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Replaces what exists at the target, as a whole when it is published, if `is_dataset` returns true
    /// for it. A directory replaces only a directory, an archive only an archive. Anything else is
    /// refused, and so are a symbolic link and an archive with other files beside the folder of the
    /// dataset. `is_dataset` is called when creating and again when publishing.
    #[must_use]
    pub fn replace_if(
        mut self,
        is_dataset: impl Fn(&dyn Store) -> Result<bool, StoreError> + Send + Sync + 'static,
    ) -> Self {
        self.replace_if = Some(Box::new(is_dataset));
        self
    }

    /// What the new dataset survives; by default a power failure.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// The permissions of new files and directories; by default all that the umask leaves. An archive is
    /// one file.
    #[must_use]
    pub fn permissions(mut self, permissions: FilePermissions) -> Self {
        self.permissions = permissions;
        self
    }
}

impl fmt::Debug for CreateOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CreateOptions")
            .field("replace", &self.replace_if.is_some())
            .field("durability", &self.durability)
            .field("permissions", &self.permissions)
            .finish()
    }
}

/// The permissions of new files and directories, before the umask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilePermissions {
    /// Of directories.
    pub directory: u32,
    /// Of files.
    pub file: u32,
}

impl Default for FilePermissions {
    /// Everything that the umask leaves, as other programs do: 0777 and 0666.
    fn default() -> Self {
        Self { directory: 0o777, file: 0o666 }
    }
}

impl FilePermissions {
    /// What netcdf-c gives its directories and files: 0770 and 0660.
    pub const NETCDF: Self = Self { directory: 0o770, file: 0o660 };

    /// The variable from which netcdf-c takes the permissions of directories.
    pub const DIRECTORY_VARIABLE: &str = "NC_DEFAULT_DIR_PERMS";

    /// The variable from which netcdf-c takes the permissions of files.
    pub const FILE_VARIABLE: &str = "NC_DEFAULT_CREATE_PERMS";

    /// These permissions, except for what the environment variables of netcdf-c say.
    ///
    /// Like netcdf-c it reads the values as *decimal* numbers, so that `432` is 0660. A value that
    /// somebody wrote in octal would give an unreadable dataset: one with a leading zero, one above
    /// 0777 or one that locks out the owner is refused. An empty variable counts as none.
    ///
    /// ```
    /// use ncz_store::FilePermissions;
    /// let from = |value: &'static str| FilePermissions::default()
    ///     .with_variables(|name| (name == FilePermissions::FILE_VARIABLE).then(|| value.into()));
    /// assert_eq!(from("432")?.file, 0o660);
    /// assert!(from("660").is_err());
    /// # Ok::<(), ncz_store::StoreError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`StoreError::InvalidPermissions`], which names the variable.
    pub fn from_environment(self) -> Result<Self, StoreError> {
        self.with_variables(|name| std::env::var_os(name))
    }

    /// [`from_environment`](Self::from_environment) with variables from elsewhere.
    ///
    /// # Errors
    ///
    /// [`StoreError::InvalidPermissions`], which names the variable.
    pub fn with_variables(self, variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, StoreError> {
        let read = |name, least, default| match variable(name) {
            Some(value) if !value.is_empty() => parse_mode(name, &value.to_string_lossy(), least),
            _ => Ok(default),
        };
        Ok(Self {
            directory: read(Self::DIRECTORY_VARIABLE, 0o700, self.directory)?,
            file: read(Self::FILE_VARIABLE, 0o600, self.file)?,
        })
    }
}

fn parse_mode(variable: &'static str, value: &str, least: u32) -> Result<u32, StoreError> {
    let digits = value.trim();
    let octal = digits.len() > 1 && digits.starts_with('0');
    match digits.parse::<u32>() {
        Ok(mode) if !octal && mode <= 0o777 && mode & least == least => Ok(mode),
        _ => Err(StoreError::InvalidPermissions { variable, value: value.to_owned(), least }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permissions_are_read_as_netcdf_c_does_unless_they_are_plainly_octal() {
        let from = |directory: &'static str, file: &'static str| {
            FilePermissions::NETCDF.with_variables(move |name| match name {
                FilePermissions::DIRECTORY_VARIABLE => Some(directory.into()),
                FilePermissions::FILE_VARIABLE => Some(file.into()),
                _ => None,
            })
        };
        assert_eq!(from("", "").unwrap(), FilePermissions::NETCDF);
        assert_eq!(from("511", " 420 ").unwrap(), FilePermissions { directory: 0o777, file: 0o644 });
        for octal in ["0770", "770", "0644", "644", "777", "0", "rwx", "-1", "99999999999", "0432", "288"] {
            let error = from("511", octal).unwrap_err().to_string();
            assert!(error.contains("NC_DEFAULT_CREATE_PERMS") && error.contains(octal), "{error}");
            let error = from(octal, "420").unwrap_err();
            assert!(error.to_string().contains("NC_DEFAULT_DIR_PERMS"), "{error}");
            assert_eq!(error.netcdf_code(), -36);
        }
    }
}
