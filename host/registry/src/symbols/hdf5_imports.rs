//! How a library gets the functions of libhdf5 and libnetcdf that it calls, according to its tables.

use std::fmt;

use super::{Needed, Symbols, names};

/// How a library gets the functions of libhdf5 and libnetcdf that it calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Hdf5Imports {
    /// It calls none.
    #[default]
    None,
    /// Its function `init_filter` takes the path of a libhdf5.
    ByInitFilter,
    /// It leaves them undefined, for the program that loads it to provide.
    Unlinked,
    /// It names the libraries.
    Linked,
}

impl fmt::Display for Hdf5Imports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::None => "nothing",
            Self::ByInitFilter => "path by init_filter",
            Self::Unlinked => "undefined",
            Self::Linked => "linked",
        })
    }
}

impl Symbols {
    /// How the library gets the functions of libhdf5 and libnetcdf that it calls.
    pub fn hdf5_imports(&self) -> Hdf5Imports {
        if self.exports.has(names::INIT_FILTER) {
            Hdf5Imports::ByInitFilter
        } else if self.needed.iter().any(Needed::is_replaceable) {
            Hdf5Imports::Linked
        } else if self.undefined_h5.is_empty() {
            Hdf5Imports::None
        } else {
            Hdf5Imports::Unlinked
        }
    }

    /// The functions and variables of libhdf5 that the library expects from elsewhere and no library provides: no
    /// libhdf5 that it names is found, and this program has none of that name.
    pub fn unanswered(&self) -> Vec<String> {
        let expects = match self.hdf5_imports() {
            Hdf5Imports::Unlinked => true,
            Hdf5Imports::Linked => {
                self.needed.iter().any(|needed| needed.is_replaceable() && needed.found.is_none())
            }
            Hdf5Imports::None | Hdf5Imports::ByInitFilter => false,
        };
        if !expects {
            return Vec::new();
        }
        let undefined: Vec<&str> = self.undefined_h5.iter().map(String::as_str).collect();
        let missing = if REPLACES { ncz_h5shim::missing(&undefined) } else { undefined };
        missing.into_iter().map(str::to_owned).collect()
    }
}

/// Whether this program can replace a libhdf5 that is not there.
pub(crate) const REPLACES: bool = cfg!(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"));

impl Needed {
    /// Tests whether it is a libhdf5 or libnetcdf of any version.
    pub fn is_replaceable(&self) -> bool {
        ["libhdf5", "libnetcdf"].iter().any(|family| self.name.starts_with(family))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Exports;
    use super::*;

    fn symbols(exports: &[&str], needed: &[(&str, bool)], undefined: &[&str]) -> Symbols {
        let needed = needed.iter().map(|(name, found)| Needed {
            name: (*name).to_owned(),
            found: found.then(|| format!("/lib/{name}").into()),
        });
        Symbols {
            exports: Exports::of(exports.iter().copied()),
            needed: needed.collect(),
            undefined_h5: undefined.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    #[test]
    fn the_four_kinds_are_distinguished() {
        assert_eq!(symbols(&[], &[("libm.so.6", true)], &[]).hdf5_imports(), Hdf5Imports::None);
        assert_eq!(symbols(&["init_filter"], &[], &[]).hdf5_imports(), Hdf5Imports::ByInitFilter);
        assert_eq!(symbols(&[], &[("libm.so.6", true)], &["H5open"]).hdf5_imports(), Hdf5Imports::Unlinked);
        assert_eq!(
            symbols(&[], &[("libhdf5_serial.so.103", true)], &["H5open"]).hdf5_imports(),
            Hdf5Imports::Linked
        );
        assert_eq!(
            symbols(&[], &[("libnetcdf-3622e713.so.22", false)], &[]).hdf5_imports(),
            Hdf5Imports::Linked
        );
    }

    #[test]
    fn only_functions_without_a_provider_are_unanswered() {
        let undefined = ["H5Fopen", "H5Tget_size"];
        assert!(symbols(&[], &[("libhdf5.so.310", true)], &undefined).unanswered().is_empty());
        assert!(symbols(&["init_filter"], &[], &undefined).unanswered().is_empty());
        for needed in [&[("libhdf5.so.310", false)][..], &[]] {
            let unanswered = symbols(&[], needed, &undefined).unanswered();
            if REPLACES {
                assert_eq!(unanswered, ["H5Fopen"], "{needed:?}");
            } else {
                assert_eq!(unanswered, undefined, "{needed:?}");
            }
        }
    }
}
