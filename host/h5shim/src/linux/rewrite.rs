//! A copy of a plugin that needs a stub library in place of other libraries.
//!
//! The copy gets one more segment after all others, with a longer table of strings (the stub library's name at its
//! end), a new dynamic section and new program headers. So nothing in the file has to move: not the name of the
//! replaced library, whose bytes a symbol may share because linkers merge strings with equal ends; and not the dynamic
//! section, after which some linkers leave no spare entry. The copy is as well formed as the file was.

use super::bytes::put;
use super::dynamic::{DT_NEEDED, DT_NULL, DT_SONAME, DT_STRSZ, DT_STRTAB, Dynamic, VersionNeed};
use super::segments::{self, HEADER_LEN, PAGE, Segments};
use crate::error::Error;

/// A copy, and what its stub library must define.
#[derive(Debug)]
pub(super) struct Rewritten {
    pub(super) image: Vec<u8>,
    /// The versions that the copy needs of the stub library.
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
    for name in replaced {
        let is_it = |offset: u64| dynamic.string(offset) == Some(name.as_bytes());
        if !dynamic.entries().iter().any(|entry| entry.tag == DT_NEEDED && is_it(entry.value)) {
            return Err(Error::NotNeeded((*name).to_owned()));
        }
    }
    let needs = dynamic.version_needs()?;
    let needs: Vec<&VersionNeed> = needs.iter().filter(|need| is_replaced(need.file)).collect();

    let mut strings = dynamic.strings().to_vec();
    let new_name = u32::try_from(strings.len()).map_err(|_| TOO_LARGE)?;
    strings.extend_from_slice(name.as_bytes());
    strings.push(0);

    let mut image = plugin.to_vec();
    for need in &needs {
        put(&mut image, need.file_at, &new_name.to_le_bytes()).ok_or(CHANGED)?;
    }
    image.resize(image.len().next_multiple_of(PAGE as usize), 0);
    let place = image.len() as u64;
    let address = dynamic.segments().free_address().ok_or(TOO_LARGE)?;
    // Program headers, dynamic section, strings.
    let headers_len = (dynamic.segments().count() as u64 + 1) * HEADER_LEN;
    let mut entries: Vec<(u64, u64)> = Vec::new();
    if replaced.is_empty() {
        entries.push((DT_NEEDED, new_name.into()));
    }
    for entry in dynamic.entries() {
        match entry.tag {
            DT_NEEDED if is_replaced(entry.value) => entries.push((DT_NEEDED, new_name.into())),
            // Code that needs the plugin itself must not get this copy.
            DT_SONAME => {}
            // They follow below.
            DT_STRTAB | DT_STRSZ => {}
            tag => entries.push((tag, entry.value)),
        }
    }
    let dynamic_len = (entries.len() as u64 + 3) * 16;
    let strings_address = address.checked_add(headers_len + dynamic_len).ok_or(TOO_LARGE)?;
    entries.extend([(DT_STRTAB, strings_address), (DT_STRSZ, strings.len() as u64), (DT_NULL, 0)]);

    let added = segments::Added { place, address, len: headers_len + dynamic_len + strings.len() as u64 };
    let headers = dynamic.segments().with(&added, headers_len, dynamic_len).ok_or(TOO_LARGE)?;
    debug_assert_eq!(headers.len() as u64, headers_len);
    image.extend(headers);
    for (tag, value) in entries {
        image.extend(tag.to_le_bytes());
        image.extend(value.to_le_bytes());
    }
    image.extend(strings);
    Segments::place_headers(&mut image, place, dynamic.segments().count() + 1).ok_or(TOO_LARGE)?;
    Ok(Rewritten { versions: versions(dynamic, &needs)?, image })
}

const CHANGED: Error = Error::Damaged("the needed versions are not within the file");
const TOO_LARGE: Error = Error::Damaged("its addresses leave no room for another segment");

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
