//! A copy of a plugin that needs a carrier in place of other libraries.
//!
//! The carrier's name has to stand somewhere in the copy. Best is where the name of a replaced library
//! stood: then the copy is as well formed as the file was. That is done only if no symbol, version or path
//! shares these bytes (linkers let one string be the end of another), and if the name fits. Otherwise it
//! goes behind the entry that ends the dynamic section, where most linkers leave room that nobody reads,
//! and the string table is made to reach there. Pointing at some other string that the plugin has would
//! do as well, but two copies could then need different carriers by one name.

use super::bytes::put;
use super::dynamic::{DT_NEEDED, DT_NULL, DT_SONAME, DT_STRSZ, Dynamic, Entry, VersionNeed};
use crate::error::Error;

/// `DT_DEBUG`: says nothing in a library.
const DT_NOTHING: u64 = 21;

/// A copy, and what its carrier must define.
#[derive(Debug)]
pub(super) struct Rewritten {
    pub(super) image: Vec<u8>,
    /// The versions that the copy needs of the carrier.
    pub(super) versions: Vec<String>,
}

/// Makes the copy: the library `name` instead of those that are called `replaced`; if that is none, `name`
/// in addition.
pub(super) fn rewrite(
    plugin: &[u8],
    dynamic: &Dynamic<'_>,
    replaced: &[&str],
    name: &str,
) -> Result<Rewritten, Error> {
    let is_replaced = |offset: u64| {
        dynamic.string(offset).is_some_and(|text| replaced.iter().any(|name| name.as_bytes() == text))
    };
    let needed: Vec<&Entry> =
        dynamic.entries().iter().filter(|e| e.tag == DT_NEEDED && is_replaced(e.value)).collect();
    for name in replaced {
        if !needed.iter().any(|entry| dynamic.string(entry.value) == Some(name.as_bytes())) {
            return Err(Error::NotNeeded((*name).to_owned()));
        }
    }
    let all_needs = dynamic.version_needs()?;
    let needs: Vec<&VersionNeed> = all_needs.iter().filter(|need| is_replaced(need.file)).collect();

    let mut copy = Copy { image: plugin.to_vec(), dynamic };
    if replaced.is_empty() {
        let [end, spare, room, ..] = dynamic.rest() else { return Err(NO_ROOM) };
        if spare.tag != DT_NULL {
            return Err(NO_ROOM);
        }
        let offset = copy.write_behind_the_end(room, name)?;
        copy.put_u64(end.at, DT_NEEDED)?;
        copy.put_u64(end.at + 8, offset.into())?;
    } else {
        let files = dynamic.entries().iter().filter(|e| e.tag == DT_NEEDED).map(|e| e.value);
        let files = files.chain(all_needs.iter().map(|need| need.file));
        let mut others = dynamic.other_strings()?;
        others.extend(files.filter(|offset| !is_replaced(*offset)));
        let own = needed.iter().map(|entry| entry.value).find(|at| copy.is_free(*at, name, &others));
        let offset = match own {
            Some(offset) => copy.write_over(offset, name)?,
            None => copy.write_behind_the_end(dynamic.rest().get(1).ok_or(NO_ROOM)?, name)?,
        };
        for entry in needed {
            copy.put_u64(entry.at + 8, offset.into())?;
        }
        for need in &needs {
            copy.put(need.file_at, &offset.to_le_bytes())?;
        }
    }
    // Nobody who needs the plugin itself shall be given this copy.
    for entry in dynamic.entries().iter().filter(|entry| entry.tag == DT_SONAME) {
        copy.put_u64(entry.at, DT_NOTHING)?;
    }
    Ok(Rewritten { versions: versions(dynamic, &needs)?, image: copy.image })
}

const NO_ROOM: Error = Error::Rigid("its dynamic section has no room for the name of another library");
const CHANGED: Error = Error::Damaged("the dynamic section is not within the file");

struct Copy<'a> {
    image: Vec<u8>,
    dynamic: &'a Dynamic<'a>,
}

impl Copy<'_> {
    /// Whether the name can stand where a replaced one stands, at an offset of the strings.
    fn is_free(&self, offset: u64, name: &str, others: &[u64]) -> bool {
        let Some(old) = self.dynamic.string(offset) else { return false };
        let taken = offset..offset + old.len() as u64;
        name.len() <= old.len()
            && self.dynamic.begins(offset)
            && !others.iter().any(|other| taken.contains(other))
    }

    fn write_over(&mut self, offset: u64, name: &str) -> Result<u32, Error> {
        let len = self.dynamic.string(offset).map_or(0, <[u8]>::len);
        let mut bytes = name.as_bytes().to_vec();
        bytes.resize(len, 0);
        self.put(self.dynamic.strings_at + offset, &bytes)?;
        u32::try_from(offset).map_err(|_| CHANGED)
    }

    /// Writes the name into an entry that follows the terminating one.
    fn write_behind_the_end(&mut self, room: &Entry, name: &str) -> Result<u32, Error> {
        let len = name.len() as u64 + 1;
        if room.tag != 0 || room.value != 0 || len > 16 {
            return Err(NO_ROOM);
        }
        let address = self.dynamic.address(room.at).ok_or(CHANGED)?;
        let offset = address.checked_sub(self.dynamic.strings_address);
        let offset = offset.and_then(|offset| u32::try_from(offset).ok()).ok_or(NO_ROOM)?;
        self.put(room.at, name.as_bytes())?;
        for entry in self.dynamic.entries().iter().filter(|entry| entry.tag == DT_STRSZ) {
            self.put_u64(entry.at + 8, entry.value.max(u64::from(offset) + len))?;
        }
        Ok(offset)
    }

    fn put_u64(&mut self, at: u64, value: u64) -> Result<(), Error> {
        self.put(at, &value.to_le_bytes())
    }

    fn put(&mut self, at: u64, bytes: &[u8]) -> Result<(), Error> {
        put(&mut self.image, at, bytes).ok_or(CHANGED)
    }
}

/// The names of the versions, each once.
fn versions(dynamic: &Dynamic<'_>, needs: &[&VersionNeed]) -> Result<Vec<String>, Error> {
    let mut found: Vec<String> = Vec::new();
    for offset in needs.iter().flat_map(|need| &need.names) {
        let name = dynamic.string(*offset).and_then(|name| std::str::from_utf8(name).ok());
        let name = name.ok_or(Error::Damaged("the name of a version is not within the strings"))?;
        if !found.iter().any(|known| known == name) {
            found.push(name.to_owned());
        }
    }
    Ok(found)
}
