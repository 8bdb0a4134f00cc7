//! Who answers what a library asks of libhdf5 or libnetcdf, for people.

use super::FileReport;
use crate::known;
use crate::load::Bound;
use crate::symbols::{Asks, Needed};

impl FileReport {
    /// The libraries that the library needs and will not have: the loader does not find them, and this program does
    /// not stand in for them.
    pub fn missing(&self) -> impl Iterator<Item = &str> {
        let replaced = |needed: &&Needed| needed.is_replaceable() && self.is_answered();
        let missing = self.needed.iter().filter(|needed| needed.found.is_none());
        missing.filter(move |needed| !replaced(needed)).map(|needed| needed.name.as_str())
    }

    /// Who answers what the library asks of libhdf5 or libnetcdf; `None` if it asks nothing.
    pub fn answers(&self) -> Option<String> {
        let how = match self.asks {
            Asks::Nothing => return None,
            Asks::Told => "is told by init_filter whom to ask".to_owned(),
            Asks::Anybody => "leaves open whom it asks".to_owned(),
            Asks::Linked => format!("is linked to {}", self.linked()),
        };
        let who = match &self.bound {
            Some(Bound::Hdf5(path)) => format!("the libhdf5 {} answers", path.display()),
            Some(Bound::Netcdf(path)) => format!("the libnetcdf {} answers", path.display()),
            Some(Bound::Shim) => "ncz answers itself".to_owned(),
            Some(Bound::Nobody(why)) => format!("nobody answers: {why}"),
            _ => self.foretold(),
        };
        Some(format!("{how}; {who}"))
    }

    /// Who will answer, by the tables alone.
    fn foretold(&self) -> String {
        let absent = self.absent();
        if !self.unanswered.is_empty() {
            let install: Vec<String> = absent.iter().map(|needed| known::brings(&needed.name)).collect();
            let install = if install.is_empty() { known::brings("libhdf5.so") } else { install.join("; ") };
            return format!("nobody offers {}; {install}", self.unanswered.join(", "));
        }
        match self.asks {
            Asks::Linked if absent.is_empty() => {
                let found = self.needed.iter().filter(|needed| needed.is_replaceable());
                let found: Vec<_> = found.filter_map(|needed| needed.found.as_ref()).collect();
                let found: Vec<_> = found.iter().map(|path| path.display().to_string()).collect();
                format!("found at {}", found.join(", "))
            }
            _ if self.is_answered() => "ncz answers itself".to_owned(),
            _ => "nobody answers on this system".to_owned(),
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
    fn is_answered(&self) -> bool {
        match &self.bound {
            Some(bound) => *bound == Bound::Shim,
            None => crate::symbols::REPLACES && self.unanswered.is_empty(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::file;

    fn linked(found: bool) -> FileReport {
        let needed = Needed {
            name: "libhdf5_serial.so.103".into(),
            found: found.then(|| "/usr/lib/libhdf5_serial.so.103".into()),
        };
        let other = Needed { name: "liblz4.so.1".into(), found: None };
        FileReport { asks: Asks::Linked, needed: vec![needed, other], ..file("/p/libh5lz4.so") }
    }

    #[test]
    fn a_library_that_ncz_stands_in_for_is_not_missed() {
        let replaced = FileReport { bound: Some(Bound::Shim), ..linked(false) };
        assert_eq!(replaced.missing().collect::<Vec<_>>(), ["liblz4.so.1"]);
        assert_eq!(
            replaced.answers().unwrap(),
            "is linked to libhdf5_serial.so.103 (not found); ncz answers itself"
        );
        let nobody = FileReport { bound: Some(Bound::Nobody("no memory".into())), ..linked(false) };
        assert_eq!(nobody.missing().count(), 2);
        assert!(nobody.answers().unwrap().ends_with("nobody answers: no memory"));
    }

    #[test]
    fn the_libhdf5_that_answers_is_named_with_its_place() {
        let bound = FileReport { bound: Some(Bound::Hdf5("/opt/libhdf5.so".into())), ..linked(true) };
        assert_eq!(
            bound.answers().unwrap(),
            "is linked to libhdf5_serial.so.103; the libhdf5 /opt/libhdf5.so answers"
        );
        assert!(linked(true).answers().unwrap().ends_with("; found at /usr/lib/libhdf5_serial.so.103"));
        assert_eq!(file("/p/liba.so").answers(), None);
    }

    #[test]
    fn what_nobody_offers_is_named_with_what_brings_it() {
        let unanswered = FileReport { unanswered: vec!["H5Fopen".into()], ..linked(false) };
        let said = unanswered.answers().unwrap();
        assert!(said.contains("nobody offers H5Fopen; "), "{said}");
        assert!(said.contains("libhdf5-103-1"), "{said}");
        assert_eq!(unanswered.missing().count(), 2);
    }
}
