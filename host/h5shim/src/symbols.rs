//! The names of the functions that the stub library offers.

use crate::guard::Function;
use crate::{constants, hdf5, netcdf};

/// The set of functions that a plugin is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Symbols {
    /// Those of libhdf5.
    Hdf5,
    /// Those of libnetcdf.
    Netcdf,
    /// Those of both.
    Both,
}

/// Those of `undefined` that the shim does not offer, in their order.
///
/// ```
/// assert_eq!(ncz_h5shim::missing(&["H5Tget_size", "H5Fopen", "nc_inq_var"]), ["H5Fopen"]);
/// ```
pub fn missing<'a>(undefined: &[&'a str]) -> Vec<&'a str> {
    Symbols::Both.missing(undefined.iter().copied())
}

impl Symbols {
    /// The functions.
    pub(crate) fn functions(self) -> Vec<Function> {
        let mut all = Vec::new();
        if self != Self::Netcdf {
            all.extend(hdf5::functions());
        }
        if self != Self::Hdf5 {
            all.extend(netcdf::functions());
        }
        all
    }

    /// The variables.
    pub(crate) fn variables(self) -> Vec<constants::Variable> {
        if self == Self::Netcdf { Vec::new() } else { constants::variables() }
    }

    /// Those of `names` that are not offered.
    pub(crate) fn missing<'a>(self, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
        let functions = self.functions();
        let variables = self.variables();
        let is_offered = |name: &str| {
            functions.iter().any(|(known, _)| *known == name)
                || variables.iter().any(|(known, _)| known == name)
        };
        names.into_iter().filter(|name| !is_offered(name)).collect()
    }
}
