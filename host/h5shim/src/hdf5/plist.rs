//! `H5P*`: the creation property list.

use std::ffi::{c_char, c_uint, c_void};

use super::{FAIL, put, put_all, take_all, text};
use crate::constants;
use crate::dataset::{Dataset, FilterEntry};
use crate::guard::{Function, guard};
use crate::session::{self, Session};

pub(super) fn functions() -> Vec<Function> {
    vec![
        ("H5Pexist", exist as *const ()),
        ("H5Pfill_value_defined", fill_value_defined as *const ()),
        ("H5Pget", get as *const ()),
        ("H5Pget_chunk", chunk as *const ()),
        ("H5Pget_fill_value", fill_value as *const ()),
        ("H5Pget_filter2", filter as *const ()),
        ("H5Pget_filter_by_id1", filter_by_id1 as *const ()),
        ("H5Pget_filter_by_id2", filter_by_id2 as *const ()),
        ("H5Pget_nfilters", nfilters as *const ()),
        ("H5Pinsert2", insert as *const ()),
        ("H5Pisa_class", isa_class as *const ()),
        ("H5Pmodify_filter", modify_filter as *const ()),
        ("H5Premove_filter", remove_filter as *const ()),
        ("H5Pset", set as *const ()),
        ("H5Pset_filter", set_filter as *const ()),
    ]
}

/// HDF5 takes a larger capacity for a variable that is not set.
const MOST_CAPACITY: usize = 256;
/// `H5Z_MAX_NFILTERS`.
const MOST_FILTERS: usize = 32;
/// `H5Z_FILTER_MAX`.
const HIGHEST_ID: i32 = 65_535;
/// A pipeline message counts parameters in 16 bits.
const MOST_VALUES: usize = 65_535;
/// The two bytes of flags that a caller may pass.
const FLAGS: u32 = 0xff;
/// `H5Z_FILTER_CONFIG_ENCODE_ENABLED | H5Z_FILTER_CONFIG_DECODE_ENABLED`.
const ENCODES_AND_DECODES: c_uint = 3;
const LONGEST_NAME: usize = 256;
const LARGEST_PROPERTY: usize = 1 << 16;
const MOST_PROPERTIES: usize = 64;

/// The output pointers for the parts of a filter's entry; each may be NULL.
#[derive(Clone, Copy)]
struct Out {
    flags: *mut c_uint,
    /// In: the capacity of `values`. Out: how many there are.
    count: *mut usize,
    values: *mut c_uint,
    name_len: usize,
    name: *mut c_char,
    config: *mut c_uint,
}

unsafe extern "C" fn filter_by_id2(
    plist: i64,
    id: i32,
    flags: *mut c_uint,
    count: *mut usize,
    values: *mut c_uint,
    name_len: usize,
    name: *mut c_char,
    config: *mut c_uint,
) -> i32 {
    let out = Out { flags, count, values, name_len, name, config };
    guard(FAIL, || {
        session::plist(plist, |session| {
            let entry = session.dataset.filter(id)?;
            // SAFETY: HDF5's contract for these arguments is the one of `write`.
            unsafe { out.write(entry) }.map(|()| 0)
        })
    })
}

unsafe extern "C" fn filter_by_id1(
    plist: i64,
    id: i32,
    flags: *mut c_uint,
    count: *mut usize,
    values: *mut c_uint,
    name_len: usize,
    name: *mut c_char,
) -> i32 {
    // SAFETY: the caller's arguments, and a NULL that is allowed.
    unsafe { filter_by_id2(plist, id, flags, count, values, name_len, name, std::ptr::null_mut()) }
}

unsafe extern "C" fn filter(
    plist: i64,
    index: c_uint,
    flags: *mut c_uint,
    count: *mut usize,
    values: *mut c_uint,
    name_len: usize,
    name: *mut c_char,
    config: *mut c_uint,
) -> i32 {
    let out = Out { flags, count, values, name_len, name, config };
    guard(FAIL, || {
        session::plist(plist, |session| {
            let entry = session.dataset.filters.get(index as usize)?;
            // SAFETY: HDF5's contract for these arguments is the one of `write`.
            unsafe { out.write(entry) }?;
            i32::try_from(entry.id).ok()
        })
    })
}

impl Out {
    /// `None` for what HDF5 refuses; then nothing is written.
    ///
    /// # Safety
    /// Each pointer is NULL or may be written to: `values` with `*count` elements, `name` with `name_len`.
    unsafe fn write(self, entry: &FilterEntry) -> Option<()> {
        let mut capacity = 0;
        if !self.count.is_null() {
            // SAFETY: it is not NULL, and it is an in-out argument.
            capacity = unsafe { self.count.read() };
            if capacity > MOST_CAPACITY || (capacity > 0 && self.values.is_null()) {
                return None;
            }
        }
        // SAFETY: by the contract; of `values` no more than the capacity that came in, 0 with no count.
        unsafe {
            put(self.flags, entry.flags);
            put_all(self.values, capacity, &entry.values);
            put(self.count, entry.values.len());
            put(self.config, ENCODES_AND_DECODES);
        }
        let mut name: Vec<c_char> = entry.name.bytes().map(|byte| byte as c_char).collect();
        // Like strncpy: a truncated name is not terminated.
        name.push(0);
        // SAFETY: by the contract.
        unsafe { put_all(self.name, self.name_len, &name) };
        Some(())
    }
}

extern "C" fn nfilters(plist: i64) -> i32 {
    guard(FAIL, || session::plist(plist, |session| i32::try_from(session.dataset.filters.len()).ok()))
}

unsafe extern "C" fn modify_filter(
    plist: i64,
    id: i32,
    flags: c_uint,
    count: usize,
    values: *const c_uint,
) -> i32 {
    guard(FAIL, || {
        // SAFETY: HDF5's contract: NULL, or `count` elements.
        let values = unsafe { parameters(flags, count, values) }?;
        session::plist(plist, |session| {
            let entry = session.dataset.filter_mut(id)?;
            entry.flags = flags;
            entry.values = values;
            session.modified = true;
            Some(0)
        })
    })
}

unsafe extern "C" fn set_filter(
    plist: i64,
    id: i32,
    flags: c_uint,
    count: usize,
    values: *const c_uint,
) -> i32 {
    guard(FAIL, || {
        let id = u32::try_from(id).ok().filter(|id| *id <= HIGHEST_ID as u32)?;
        // SAFETY: HDF5's contract: NULL, or `count` elements.
        let values = unsafe { parameters(flags, count, values) }?;
        session::plist(plist, |session| {
            let filters = &mut session.dataset.filters;
            (filters.len() < MOST_FILTERS).then(|| {
                filters.push(FilterEntry { id, flags, values, name: String::new() });
                0
            })
        })
    })
}

/// # Safety
/// `values` is NULL, or points to `count` elements.
unsafe fn parameters(flags: c_uint, count: usize, values: *const c_uint) -> Option<Vec<u32>> {
    if flags & !FLAGS != 0 || count > MOST_VALUES {
        return None;
    }
    // SAFETY: by the contract.
    unsafe { take_all(values, count) }
}

/// Number 0 means all filters.
extern "C" fn remove_filter(plist: i64, id: i32) -> i32 {
    guard(FAIL, || {
        session::plist(plist, |session| {
            let filters = &mut session.dataset.filters;
            if id == 0 {
                filters.clear();
                return Some(0);
            }
            let at = filters.iter().position(|entry| i32::try_from(entry.id) == Ok(id))?;
            filters.remove(at);
            Some(0)
        })
    })
}

unsafe extern "C" fn chunk(plist: i64, most: i32, lengths: *mut u64) -> i32 {
    guard(FAIL, || {
        session::plist(plist, |session| {
            let chunk = &session.dataset.chunk;
            // SAFETY: HDF5's contract: NULL, or `most` elements.
            unsafe { put_all(lengths, usize::try_from(most).unwrap_or(0), chunk) };
            i32::try_from(chunk.len()).ok()
        })
    })
}

/// 1 is the default, which is all zeros; 2 one that was set.
unsafe extern "C" fn fill_value_defined(plist: i64, status: *mut i32) -> i32 {
    guard(FAIL, || {
        session::plist(plist, |session| {
            // SAFETY: HDF5's contract: one int, or NULL.
            unsafe { put(status, if session.dataset.fill.is_some() { 2 } else { 1 }) };
            Some(0)
        })
    })
}

/// Only in the dataset's own type, or that of the other byte order.
unsafe extern "C" fn fill_value(plist: i64, ty: i64, value: *mut c_void) -> i32 {
    guard(FAIL, || {
        let ty = session::datatype(ty)?;
        session::plist(plist, |session| {
            let own = &session.dataset.ty;
            let mut bytes = match &session.dataset.fill {
                Some(fill) if fill.len() == own.size => fill.clone(),
                Some(_) => return None,
                None => vec![0; ty.size],
            };
            if session.dataset.fill.is_some() && own.swaps_to(&ty)? {
                ty.swap(&mut bytes);
            }
            if value.is_null() {
                return None;
            }
            // SAFETY: HDF5's contract: room for an element of the type, whose size `bytes` has.
            unsafe { put_all(value.cast::<u8>(), ty.size, &bytes) };
            Some(0)
        })
    })
}

extern "C" fn isa_class(plist: i64, class: i64) -> i32 {
    guard(FAIL, || session::plist(plist, |_| Some(i32::from(class == constants::DATASET_CREATE))))
}

unsafe extern "C" fn exist(plist: i64, name: *const c_char) -> i32 {
    guard(FAIL, || {
        // SAFETY: HDF5's contract: a C string.
        let name = unsafe { text(name, LONGEST_NAME) }?;
        session::plist(plist, |session| Some(i32::from(session.property(&name).is_some())))
    })
}

unsafe extern "C" fn get(plist: i64, name: *const c_char, value: *mut c_void) -> i32 {
    guard(FAIL, || {
        // SAFETY: HDF5's contract: a C string.
        let name = unsafe { text(name, LONGEST_NAME) }?;
        session::plist(plist, |session| {
            let stored = session.property(&name)?;
            // SAFETY: HDF5's contract: room for the value, whose size the inserter gave.
            unsafe { put_all(value.cast::<u8>(), stored.len(), stored) };
            Some(0)
        })
    })
}

unsafe extern "C" fn set(plist: i64, name: *const c_char, value: *const c_void) -> i32 {
    guard(FAIL, || {
        // SAFETY: HDF5's contract: a C string.
        let name = unsafe { text(name, LONGEST_NAME) }?;
        session::plist(plist, |session| {
            let stored = session.property(&name)?;
            // SAFETY: HDF5's contract: a value of the size that the inserter gave.
            *stored = unsafe { take_all(value.cast::<u8>(), stored.len()) }?;
            Some(0)
        })
    })
}

/// The six functions that HDF5 would call when the value is copied or closed never are: the property list
/// ends before anybody could copy it.
unsafe extern "C" fn insert(
    plist: i64,
    name: *const c_char,
    size: usize,
    value: *const c_void,
    _set: *const c_void,
    _get: *const c_void,
    _delete: *const c_void,
    _copy: *const c_void,
    _compare: *const c_void,
    _close: *const c_void,
) -> i32 {
    guard(FAIL, || {
        // SAFETY: HDF5's contract: a C string.
        let name = unsafe { text(name, LONGEST_NAME) }?;
        if size > LARGEST_PROPERTY {
            return None;
        }
        // SAFETY: HDF5's contract: NULL, or a value of `size` bytes.
        let value = unsafe { take_all(value.cast::<u8>(), size) }?;
        session::plist(plist, |session| {
            if session.property(&name).is_some() || session.properties.len() >= MOST_PROPERTIES {
                return None;
            }
            session.properties.push((name, value));
            Some(0)
        })
    })
}

impl Dataset {
    /// The first entry of an id, as HDF5 finds it.
    fn filter(&self, id: i32) -> Option<&FilterEntry> {
        self.filters.iter().find(|entry| i32::try_from(entry.id) == Ok(id))
    }

    fn filter_mut(&mut self, id: i32) -> Option<&mut FilterEntry> {
        self.filters.iter_mut().find(|entry| i32::try_from(entry.id) == Ok(id))
    }
}

impl Session {
    fn property(&mut self, name: &[u8]) -> Option<&mut Vec<u8>> {
        self.properties.iter_mut().find(|(known, _)| known == name).map(|(_, value)| value)
    }
}
