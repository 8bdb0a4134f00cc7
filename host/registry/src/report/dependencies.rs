//! The libraries that a library needs, and the provider of the functions of libhdf5 and libnetcdf that it calls.

use serde::Serialize;

use crate::known;
use crate::load::Hdf5Provider;
use crate::symbols::{Hdf5Imports, Needed};

/// The dependencies of a library.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(into = "DependenciesText")]
pub struct Dependencies {
    /// The libraries that it needs.
    pub needed: Vec<Needed>,
    /// The functions and variables of libhdf5 that it expects from elsewhere.
    pub undefined_h5: Vec<String>,
    /// How it gets the functions of libhdf5 and libnetcdf.
    pub hdf5_imports: Hdf5Imports,
    /// Those of `undefined_h5` that no library provides.
    pub unanswered: Vec<String>,
    /// The provider of the functions of libhdf5 or libnetcdf, once it is open.
    pub hdf5_provider: Option<Hdf5Provider>,
}

/// [`Dependencies`] in reports.
#[derive(Serialize)]
struct DependenciesText {
    needed: Vec<Needed>,
    undefined_h5: Vec<String>,
    asks: String,
    unanswered: Vec<String>,
    bound: Option<String>,
    answers: Option<String>,
}

impl From<Dependencies> for DependenciesText {
    fn from(dependencies: Dependencies) -> Self {
        Self {
            answers: dependencies.describe_hdf5_provider(),
            bound: dependencies.hdf5_provider.as_ref().map(ToString::to_string),
            asks: dependencies.hdf5_imports.to_string(),
            needed: dependencies.needed,
            undefined_h5: dependencies.undefined_h5,
            unanswered: dependencies.unanswered,
        }
    }
}

impl Dependencies {
    /// Returns the needed libraries that are missing: the loader does not find them, and this program does not replace
    /// them.
    pub fn missing(&self) -> impl Iterator<Item = &str> {
        let replaced = |needed: &&Needed| needed.is_replaceable() && self.is_provided();
        let missing = self.needed.iter().filter(|needed| needed.found.is_none());
        missing.filter(move |needed| !replaced(needed)).map(|needed| needed.name.as_str())
    }

    /// Returns the provider of libhdf5's or libnetcdf's functions; `None` if the library uses none.
    pub fn describe_hdf5_provider(&self) -> Option<String> {
        let how = match self.hdf5_imports {
            Hdf5Imports::None => return None,
            Hdf5Imports::ByInitFilter => "the plugin exports init_filter".to_owned(),
            Hdf5Imports::Unlinked => "the plugin leaves the functions undefined".to_owned(),
            Hdf5Imports::Linked => format!("the plugin is linked to {}", self.linked()),
        };
        let who = match &self.hdf5_provider {
            Some(Hdf5Provider::Hdf5(path)) => format!("the libhdf5 {} provides them", path.display()),
            Some(Hdf5Provider::Netcdf(path)) => format!("the libnetcdf {} provides them", path.display()),
            Some(Hdf5Provider::Shim) => "ncz provides the HDF5 functions".to_owned(),
            Some(Hdf5Provider::Unavailable(why)) => format!("nothing provides them: {why}"),
            _ => self.predicted_provider(),
        };
        Some(format!("{how}; {who}"))
    }

    /// Returns the expected provider, from the tables only.
    fn predicted_provider(&self) -> String {
        let absent = self.absent();
        if !self.unanswered.is_empty() {
            let install: Vec<String> = absent.iter().map(|needed| known::brings(&needed.name)).collect();
            let install = if install.is_empty() { known::brings("libhdf5.so") } else { install.join("; ") };
            return format!("no library provides {}; {install}", self.unanswered.join(", "));
        }
        match self.hdf5_imports {
            Hdf5Imports::Linked if absent.is_empty() => {
                let found = self.needed.iter().filter(|needed| needed.is_replaceable());
                let found: Vec<_> = found.filter_map(|needed| needed.found.as_ref()).collect();
                let found: Vec<_> = found.iter().map(|path| path.display().to_string()).collect();
                format!("found at {}", found.join(", "))
            }
            _ if self.is_provided() => "ncz provides the HDF5 functions".to_owned(),
            _ => "nothing provides them on this system".to_owned(),
        }
    }

    /// The libhdf5 and libnetcdf that it names.
    fn linked(&self) -> String {
        let one = |needed: &Needed| match &needed.found {
            Some(_) => needed.name.clone(),
            None => format!("{} (not found)", needed.name),
        };
        let linked = self.needed.iter().filter(|needed| needed.is_replaceable());
        linked.map(one).collect::<Vec<_>>().join(", ")
    }

    fn absent(&self) -> Vec<&Needed> {
        let absent = |needed: &&Needed| needed.is_replaceable() && needed.found.is_none();
        self.needed.iter().filter(absent).collect()
    }

    /// Whether this program answers, or will.
    fn is_provided(&self) -> bool {
        match &self.hdf5_provider {
            Some(hdf5_provider) => *hdf5_provider == Hdf5Provider::Shim,
            None => crate::symbols::REPLACES && self.unanswered.is_empty(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn linked(found: bool) -> Dependencies {
        let needed = Needed {
            name: "libhdf5_serial.so.103".into(),
            found: found.then(|| "/usr/lib/libhdf5_serial.so.103".into()),
        };
        let other = Needed { name: "liblz4.so.1".into(), found: None };
        Dependencies {
            hdf5_imports: Hdf5Imports::Linked,
            needed: vec![needed, other],
            ..Dependencies::default()
        }
    }

    #[test]
    fn a_library_that_ncz_replaces_is_not_missing() {
        let replaced = Dependencies { hdf5_provider: Some(Hdf5Provider::Shim), ..linked(false) };
        assert_eq!(replaced.missing().collect::<Vec<_>>(), ["liblz4.so.1"]);
        assert_eq!(
            replaced.describe_hdf5_provider().unwrap(),
            "the plugin is linked to libhdf5_serial.so.103 (not found); ncz provides the HDF5 functions"
        );
        let unavailable = Dependencies {
            hdf5_provider: Some(Hdf5Provider::Unavailable("no memory".into())),
            ..linked(false)
        };
        assert_eq!(unavailable.missing().count(), 2);
        assert!(unavailable.describe_hdf5_provider().unwrap().ends_with("nothing provides them: no memory"));
    }

    #[test]
    fn the_libhdf5_that_answers_is_named_with_its_path() {
        let hdf5_provider = Dependencies {
            hdf5_provider: Some(Hdf5Provider::Hdf5("/opt/libhdf5.so".into())),
            ..linked(true)
        };
        assert_eq!(
            hdf5_provider.describe_hdf5_provider().unwrap(),
            "the plugin is linked to libhdf5_serial.so.103; the libhdf5 /opt/libhdf5.so provides them"
        );
        assert!(
            linked(true)
                .describe_hdf5_provider()
                .unwrap()
                .ends_with("; found at /usr/lib/libhdf5_serial.so.103")
        );
        assert_eq!(Dependencies::default().describe_hdf5_provider(), None);
    }

    #[test]
    fn missing_libraries_are_named_with_the_package_that_has_them() {
        let unanswered = Dependencies { unanswered: vec!["H5Fopen".into()], ..linked(false) };
        let said = unanswered.describe_hdf5_provider().unwrap();
        assert!(said.contains("no library provides H5Fopen; "), "{said}");
        assert!(said.contains("libhdf5-103-1"), "{said}");
        assert_eq!(unanswered.missing().count(), 2);
    }
}
