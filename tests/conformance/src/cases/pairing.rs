//! How hosts use the library without any other.

mod serves;

use std::fs;

use ncz_codec::CodecType;
use ncz_registry::known;
use ncz_registry::spec::NUMCODECS_PREFIX;

use crate::check::{Check, Scope};
use crate::outcome::Ending;
use crate::trial::Trial;

/// The checks of this group.
pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "pairing.state",
        level: 1,
        scope: Scope::Library,
        about: "by itself in a folder it is usable: for HDF5, for NCZarr in netcdf-c, for ncz",
        run: serves::check,
    },
    Check {
        id: "pairing.name",
        level: 2,
        scope: Scope::Library,
        about: "its names do not belong to another filter or codec",
        run: name,
    },
];

/// A name by which datasets find a codec, and the HDF5 id that it has here.
struct Named {
    part: &'static str,
    name: String,
    id: Option<u32>,
}

fn name(trial: &mut Trial) -> Result<(), Ending> {
    let subject = trial.subject()?;
    let halves = subject.codecs().map(|half| Named {
        part: "NCZarr codec",
        name: half.codec_id().to_owned(),
        id: Some(half.filter_id()),
    });
    let natives = subject.native().iter().map(|codec| codec.info()).flat_map(|info| {
        info.numcodecs.iter().chain(info.zarr_v3.iter()).map(|name| Named {
            part: "native codec",
            name: name.to_string(),
            id: info.filter_id,
        })
    });
    let all: Vec<Named> = halves.chain(natives).collect();
    if all.is_empty() {
        return Err(Ending::skipped("it has no names: HDF5 goes by the id"));
    }
    for named in &all {
        match taken(named) {
            Some(Clash::Filter(filter)) => {
                return Err(Ending::failed(format!(
                    "its {} is called {:?}, which is the common name of the HDF5 filter {} with id {}; its own id is {}: choose \
                     another name",
                    named.part,
                    named.name,
                    filter.name,
                    filter.id,
                    named.id.map_or_else(|| "none".to_owned(), |id| id.to_string())
                )));
            }
            Some(Clash::Numcodecs) => trial.warn(format!(
                "its {} is called {:?}; numcodecs has a codec of that name, which has no HDF5 id: zarr-python will read the \
                 streams as its own, so they must be the same to the byte",
                named.part, named.name
            )),
            None => {}
        }
    }
    Ok(())
}

/// The other owner of a name.
enum Clash {
    Filter(&'static known::Filter),
    Numcodecs,
}

fn taken(named: &Named) -> Option<Clash> {
    match known::by_name(&named.name) {
        Some(filter) if named.id == Some(filter.id) => None,
        Some(filter) => Some(Clash::Filter(filter)),
        None => {
            let spelling = format!("{NUMCODECS_PREFIX}{}", named.name);
            (named.id.is_some() && known::is_in_zarr_python(&spelling)).then_some(Clash::Numcodecs)
        }
    }
}

/// A folder that holds nothing but a link to the library.
fn alone(trial: &Trial) -> std::io::Result<(tempfile::TempDir, std::path::PathBuf)> {
    let path = trial.path().canonicalize()?;
    let folder = tempfile::tempdir()?;
    let name = path.file_name().unwrap_or_default();
    // Another name than hosts look for is the matter of another check.
    let link = match ncz_registry::search_path::Platform::current().matches(name) {
        true => folder.path().join(name),
        false => folder.path().join(format!("lib{}{}", name.display(), std::env::consts::DLL_SUFFIX)),
    };
    #[cfg(unix)]
    std::os::unix::fs::symlink(&path, &link)?;
    #[cfg(not(unix))]
    fs::copy(&path, &link)?;
    let _ = fs::metadata(&link)?;
    Ok((folder, link))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_other_codecs_are_known() {
        let clash = |name: &str, id| match taken(&Named { part: "NCZarr codec", name: name.to_owned(), id }) {
            None => "free",
            Some(Clash::Filter(filter)) => filter.name,
            Some(Clash::Numcodecs) => "numcodecs",
        };
        assert_eq!(clash("zstd", Some(32_015)), "free");
        assert_eq!(clash("zstd", Some(40_000)), "Zstandard");
        assert_eq!(clash("zstd", None), "Zstandard");
        assert_eq!(clash("zlib", Some(1)), "free");
        assert_eq!(clash("lz4", Some(32_004)), "numcodecs");
        assert_eq!(clash("gzip", None), "free");
        assert_eq!(clash("ncz_tiny", Some(40_200)), "free");
    }
}
