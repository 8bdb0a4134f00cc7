//! The libraries and names that a plugin needs from elsewhere.

use std::collections::{BTreeSet, VecDeque};
use std::path::PathBuf;

use ncz_registry::symbols::{self, LibraryFinder, Needed};

use super::image::Image;
use super::symbols::{count, some};
use crate::outcome::Ending;
use crate::trial::Trial;

/// Beginnings of the file names of libraries that hosts bring themselves, each in its own version.
const HOSTS: [(&str, &str); 2] = [("libhdf5", "libhdf5"), ("libnetcdf", "libnetcdf")];

/// More libraries are not followed.
const FOLLOWED_MAX: usize = 200;

pub(super) fn check(trial: &mut Trial) -> Result<(), Ending> {
    let mut finder = LibraryFinder::system();
    let path = trial.path().to_owned();
    let needed = symbols::needed(&path, &mut finder).map_err(|error| Ending::skipped(error.to_string()))?;
    let image = Image::read(&path).map_err(|error| Ending::skipped(error.to_string()))?;
    trial.figure("needs", needed.iter().map(|needed| needed.name.clone()).collect::<Vec<_>>());

    // Libraries of other systems than ELF's are not always files.
    let missing: Vec<&str> =
        needed.iter().filter(|needed| needed.found.is_none()).map(|needed| needed.name.as_str()).collect();
    if !missing.is_empty() && image.elf.is_some() {
        return Err(Ending::failed(format!(
            "needs {}, which the loader does not find; link such libraries statically, or ship them next to the plugin and \
             link with -Wl,-rpath,'$ORIGIN'",
            missing.join(", ")
        )));
    }
    for (prefix, name) in HOSTS {
        let by_host: Vec<&str> = needed
            .iter()
            .map(|needed| needed.name.as_str())
            .filter(|needed| needed.starts_with(prefix))
            .collect();
        if !by_host.is_empty() {
            trial.warn(format!(
                "needs {}: in a host with another {name} it does not load, or talks to the wrong one; leave it out and look \
                 functions of the host up when called",
                by_host.join(", "),
            ));
        }
    }
    unresolved(&image, needed, &mut finder)
}

/// Looks for every name in the libraries that are needed, and in those that these need.
fn unresolved(image: &Image, needed: Vec<Needed>, finder: &mut LibraryFinder) -> Result<(), Ending> {
    let is_elf = image.elf.is_some();
    let mut wanted: BTreeSet<&str> =
        image.imports.iter().filter(|import| !import.weak).map(|import| import.name.as_str()).collect();
    wanted.retain(|name| !image.exports.contains(*name));
    let mut queue: VecDeque<PathBuf> = needed.into_iter().filter_map(|needed| needed.found).collect();
    let mut seen = BTreeSet::new();
    while let Some(path) = queue.pop_front() {
        if wanted.is_empty() || !is_elf {
            return Ok(());
        }
        if !seen.insert(path.clone()) || seen.len() > FOLLOWED_MAX {
            continue;
        }
        // A library that cannot be read may have the rest; the loader decides.
        let Ok(library) = Image::read(&path) else { return Ok(()) };
        wanted.retain(|name| !library.exports.contains(*name));
        let Ok(further) = symbols::needed(&path, finder) else { return Ok(()) };
        for needed in further {
            match needed.found {
                Some(path) => queue.push_back(path),
                // The loader may find it, such as in the folders of a library that needs this one.
                None => return Ok(()),
            }
        }
    }
    if wanted.is_empty() || !is_elf {
        return Ok(());
    }
    let wanted: Vec<&str> = wanted.into_iter().collect();
    let of_host = |name: &&str| ["H5", "nc_", "NC_", "ncaux_"].iter().any(|prefix| name.starts_with(prefix));
    let remedy = if wanted.iter().any(of_host) {
        "it loads only in programs that were linked with libhdf5 or libnetcdf, not in Python; look the host's functions up when \
         called"
    } else {
        "it loads only if another library has loaded them; name the library that has them when linking, such as -lm, and \
         link with -Wl,-z,defs"
    };
    Err(Ending::failed(format!(
        "expects {} that no library it needs has: {}; {remedy}",
        count(wanted.len(), "name"),
        some(&wanted)
    )))
}
