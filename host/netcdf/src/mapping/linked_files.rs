//! The files that external links lead to.

use std::collections::BTreeMap;
use std::sync::Arc;

use ncz_store::KeyBuf;

use crate::hdf5::{File, Hdf5Error};
use crate::source::{ReadError, Source};

/// The most files of one dataset.
const MOST: usize = 64;

/// The file that is opened, and those that its external links lead to, each opened once.
///
/// Links are followed to files in the folder of the file that is opened and below it. A link in a file from elsewhere could
/// otherwise name any file that its reader may read.
pub(super) struct LinkedFiles {
    /// The key of the file that is opened.
    main: String,
    opened: Vec<Arc<File>>,
    /// By key: the position of a file, or why it cannot be opened.
    found: BTreeMap<String, Result<usize, String>>,
}

impl LinkedFiles {
    pub(super) fn new(main: &Arc<File>) -> Self {
        let key = main.source.key().as_str().to_owned();
        let found = BTreeMap::from([(key.clone(), Ok(0))]);
        Self { main: key, opened: vec![Arc::clone(main)], found }
    }

    /// All files that were opened; the number of each is its position.
    pub(super) fn into_opened(self) -> Vec<Arc<File>> {
        self.opened
    }

    /// Opens the file that a link in `from` names. The inner error says why the link is not followed.
    pub(super) fn open(&mut self, from: &File, name: &str) -> Result<Result<Arc<File>, String>, Hdf5Error> {
        if !from.source.store().capabilities().local {
            return Ok(Err("links to other files are followed only between local files".to_owned()));
        }
        let key = match resolve(&self.main, from.source.key().as_str(), name) {
            Ok(key) => key,
            Err(reason) => return Ok(Err(reason)),
        };
        let found = match self.found.get(key.as_str()) {
            Some(found) => found.clone(),
            None => {
                let found = self.open_new(from, &key)?;
                self.found.insert(key.as_str().to_owned(), found.clone());
                found
            }
        };
        let file = found.map(|position| self.opened.get(position).cloned());
        Ok(file.and_then(|file| file.ok_or_else(|| "it is not open".to_owned())))
    }

    fn open_new(&mut self, from: &File, key: &KeyBuf) -> Result<Result<usize, String>, Hdf5Error> {
        if self.opened.len() >= MOST {
            return Ok(Err(format!("its links lead to more than {MOST} files")));
        }
        let source = match Source::open(Arc::clone(from.source.store()), key.clone()) {
            Ok(source) => source,
            Err(ReadError::Missing { .. }) => return Ok(Err("that file does not exist".to_owned())),
            Err(error) => return Err(error.into()),
        };
        match File::open(Arc::new(source), self.opened.len()) {
            Ok(file) => {
                self.opened.push(Arc::new(file));
                Ok(Ok(self.opened.len() - 1))
            }
            Err(error) if error.is_of_store() => Err(error),
            Err(error) => Ok(Err(error.line())),
        }
    }
}

/// The key of the file that a link names in the file at `from`, which is not above the folder of the file at `main`.
fn resolve(main: &str, from: &str, name: &str) -> Result<KeyBuf, String> {
    let outside = || "only links to files in the same folder or below it are followed".to_owned();
    if name.starts_with('/') || name.contains(['\\', ':']) {
        return Err(outside());
    }
    let folder =
        |key: &'_ str| key.rsplit_once('/').map_or_else(String::new, |(folder, _)| folder.to_owned());
    let (top, folder) = (folder(main), folder(from));
    let is_name = |part: &&str| !part.is_empty() && *part != ".";
    let top = top.split('/').filter(is_name).count();
    let mut path: Vec<&str> = folder.split('/').filter(is_name).collect();
    for part in name.split('/').filter(is_name) {
        match part {
            ".." if path.len() <= top => return Err(outside()),
            ".." => drop(path.pop()),
            part => path.push(part),
        }
    }
    KeyBuf::parse(path.join("/")).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_leads_to_the_folder_of_its_file_and_below() {
        let key = |from, name| resolve("x/main.h5", from, name).map(|key| key.as_str().to_owned());
        assert_eq!(resolve("a.h5", "a.h5", "b.h5").unwrap().as_str(), "b.h5");
        assert_eq!(key("x/a.h5", "./y//b.h5").unwrap(), "x/y/b.h5");
        assert_eq!(key("x/a.h5", "y/../b.h5").unwrap(), "x/b.h5");
        assert_eq!(key("x/y/a.h5", "../b.h5").unwrap(), "x/b.h5");
        for name in ["../b.h5", "y/../../b.h5", "../x/b.h5", "/etc/b.h5", "http://host/b.h5", "C:\\b.h5"] {
            assert!(key("x/a.h5", name).is_err(), "{name}");
        }
        assert!(resolve("a.h5", "a.h5", ".").is_err());
    }
}
