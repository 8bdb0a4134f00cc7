use std::path::PathBuf;

use crate::Skip;

/// The path of a program of the system, found on `PATH`.
///
/// # Errors
///
/// A [`Skip`] that names the Debian package if the program is not there.
pub fn program(name: &str) -> Result<PathBuf, Skip> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file()).ok_or_else(
        || {
            let remedy = match debian_package(name) {
                Some(package) => format!("apt-get install {package}, or run tests/support/setup.sh"),
                None => format!("install {name}"),
            };
            Skip::new(name, "it is not on PATH", remedy)
        },
    )
}

fn debian_package(program: &str) -> Option<&'static str> {
    Some(match program {
        "h5dump" | "h5repack" | "h5ls" | "h5diff" => "hdf5-tools",
        "nm" | "objdump" => "binutils",
        "ncdump" | "ncgen" | "nccopy" => "netcdf-bin",
        "gcc" | "cc" => "gcc",
        "g++" | "c++" => "g++",
        "strace" => "strace",
        "python3" => "python3-venv",
        _ => return None,
    })
}
