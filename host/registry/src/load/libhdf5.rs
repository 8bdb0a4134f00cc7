//! A real libhdf5, found through a plugin that is linked to it: the objects that the plugin queries are created in it.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};

use libloading::os::unix::Library as RawLibrary;
use ncz_codec::abi::hdf5::Hid;
use ncz_codec::{CodecError, Kind, Result};
use ncz_h5shim::Order;

use super::c_faces::Variable;
use super::hdf5_filter::Hdf5Filter;
use super::set_local::{self, Answer};
use super::{address, symbol};

/// The default error stack.
const STACK: Hid = 0;
/// `H5Z_FILTER_RESERVED`: filters below are libhdf5's own.
const RESERVED: u32 = 256;
/// `H5T_OPAQUE` and `H5T_COMPOUND`.
const OPAQUE: c_int = 5;
const COMPOUND: c_int = 6;
/// More texts of an error stack than this are not read.
const TEXTS_MAX: usize = 16;

macro_rules! functions {
    ($($field:ident = $name:literal: fn($($argument:ty),*) -> $result:ty;)*) => {
        /// The functions of one libhdf5 that are used here.
        #[derive(Clone, Copy)]
        struct Functions { $($field: unsafe extern "C" fn($($argument),*) -> $result,)* }

        impl Functions {
            /// Looks them up; the error is the name of one that is not there.
            fn of(raw: &RawLibrary) -> Result<Self, &'static CStr> {
                // SAFETY: the interface gives functions of this name these types in HDF5 since 1.8.15.
                Ok(Self { $($field: unsafe { symbol(raw, $name) }.ok_or($name)?,)* })
            }
        }
    };
}

functions! {
    open = c"H5open": fn() -> c_int;
    version = c"H5get_libversion": fn(*mut c_uint, *mut c_uint, *mut c_uint) -> c_int;
    is_threadsafe = c"H5is_library_threadsafe": fn(*mut c_uint) -> c_int;
    get_auto = c"H5Eget_auto2": fn(Hid, *mut *mut c_void, *mut *mut c_void) -> c_int;
    set_auto = c"H5Eset_auto2": fn(Hid, *mut c_void, *mut c_void) -> c_int;
    clear = c"H5Eclear2": fn(Hid) -> c_int;
    walk = c"H5Ewalk2": fn(Hid, c_int, Walker, *mut c_void) -> c_int;
    get_loading = c"H5PLget_loading_state": fn(*mut c_uint) -> c_int;
    set_loading = c"H5PLset_loading_state": fn(c_uint) -> c_int;
    filter_avail = c"H5Zfilter_avail": fn(c_int) -> c_int;
    register = c"H5Zregister": fn(*const c_void) -> c_int;
    create_plist = c"H5Pcreate": fn(Hid) -> Hid;
    close_plist = c"H5Pclose": fn(Hid) -> c_int;
    set_chunk = c"H5Pset_chunk": fn(Hid, c_int, *const u64) -> c_int;
    set_filter = c"H5Pset_filter": fn(Hid, c_int, c_uint, usize, *const c_uint) -> c_int;
    set_fill_value = c"H5Pset_fill_value": fn(Hid, Hid, *const c_void) -> c_int;
    get_filter = c"H5Pget_filter_by_id2":
        fn(Hid, c_int, *mut c_uint, *mut usize, *mut c_uint, usize, *mut c_char, *mut c_uint) -> c_int;
    copy_type = c"H5Tcopy": fn(Hid) -> Hid;
    create_type = c"H5Tcreate": fn(c_int, usize) -> Hid;
    insert = c"H5Tinsert": fn(Hid, *const c_char, usize, Hid) -> c_int;
    set_tag = c"H5Tset_tag": fn(Hid, *const c_char) -> c_int;
    set_fields = c"H5Tset_fields": fn(Hid, usize, usize, usize, usize, usize) -> c_int;
    set_size = c"H5Tset_size": fn(Hid, usize) -> c_int;
    set_ebias = c"H5Tset_ebias": fn(Hid, usize) -> c_int;
    close_type = c"H5Tclose": fn(Hid) -> c_int;
    create_space = c"H5Screate_simple": fn(c_int, *const u64, *const u64) -> Hid;
    close_space = c"H5Sclose": fn(Hid) -> c_int;
}

/// `H5E_walk2_t`
type Walker = unsafe extern "C" fn(c_uint, *const StackEntry, *mut c_void) -> c_int;

/// `H5E_error2_t`
#[repr(C)]
struct StackEntry {
    class: Hid,
    major: Hid,
    minor: Hid,
    line: c_uint,
    function: *const c_char,
    file: *const c_char,
    text: *const c_char,
}

/// One libhdf5. Every call needs the lock of all its users.
pub(super) struct Libhdf5 {
    call: Functions,
    is_threadsafe: bool,
}

/// A libhdf5, and the handle for looking up its constants.
struct Asked<'a> {
    call: &'a Functions,
    raw: &'a RawLibrary,
    libhdf5: &'a Libhdf5,
}

/// A handle that is closed in the end.
struct Handle(Hid, unsafe extern "C" fn(Hid) -> c_int);

/// A setting that is switched off temporarily.
struct Quiet {
    call: Functions,
    auto: (*mut c_void, *mut c_void),
    loading: Option<c_uint>,
}

impl Libhdf5 {
    /// The libhdf5 that is reached through `raw`.
    pub(super) fn new(raw: &RawLibrary) -> Result<Self, String> {
        let call = Functions::of(raw)
            .map_err(|name| format!("its libhdf5 has no function {}", name.to_string_lossy()))?;
        let (mut major, mut minor, mut release) = (0, 0, 0);
        // A byte since 1.10, an int before.
        let mut is_threadsafe: c_uint = 0;
        // SAFETY: the output pointers are valid and large enough; `H5open` may be called at any time.
        let code = unsafe {
            (call.version)(&raw mut major, &raw mut minor, &raw mut release)
                | (call.is_threadsafe)(&raw mut is_threadsafe)
                | (call.open)()
        };
        if code < 0 {
            return Err("its libhdf5 does not start".to_owned());
        }
        // Handles have had 64 bits since then.
        if (major, minor) < (1, 10) {
            return Err(format!(
                "its libhdf5 is of version {major}.{minor}; 1.10 is the oldest supported version"
            ));
        }
        Ok(Self { call, is_threadsafe: is_threadsafe.to_ne_bytes()[0] != 0 })
    }

    /// Whether it lets several threads in.
    pub(super) fn is_threadsafe(&self) -> bool {
        self.is_threadsafe
    }

    /// Makes a property list, a type and a space in this libhdf5, which is reached through `raw`, and runs the
    /// filter's two functions on them.
    pub(super) fn ask(
        &self,
        raw: &RawLibrary,
        half: &Hdf5Filter,
        given: &[u32],
        variable: &Variable,
    ) -> Result<Answer> {
        Asked { call: &self.call, raw, libhdf5: self }.ask(half, given, variable)
    }

    /// Clears the error stack.
    pub(super) fn clear(&self) {
        // SAFETY: the default stack is always there.
        unsafe { (self.call.clear)(STACK) };
    }

    /// The texts on the error stack, the innermost first, which it then forgets.
    pub(super) fn said(&self) -> Vec<String> {
        let mut texts: Vec<String> = Vec::new();
        // SAFETY: the walker has the right type and gets the pointer that it expects, which outlives the call.
        unsafe { (self.call.walk)(STACK, 0, note, (&raw mut texts).cast()) };
        self.clear();
        texts
    }
}

impl Asked<'_> {
    fn ask(&self, half: &Hdf5Filter, given: &[u32], variable: &Variable) -> Result<Answer> {
        let quiet = Quiet::new(*self.call);
        let dcpl = self.plist(half, given, variable)?;
        let ty = self.type_of(variable)?;
        let size = variable.dtype.size;
        if let Some(fill) = variable.fill.as_ref().filter(|fill| fill.len() == size) {
            // SAFETY: handles of this libhdf5, and one element of the type.
            let code = unsafe { (self.call.set_fill_value)(dcpl.0, ty.0, fill.as_ptr().cast()) };
            self.check(code, "H5Pset_fill_value")?;
        }
        let shape = set_local::shape_of(variable);
        // SAFETY: as many lengths as there are dimensions; a null means the same lengths again.
        let space = unsafe { (self.call.create_space)(rank(&shape)?, shape.as_ptr(), std::ptr::null()) };
        let space = self.handle(space, self.call.close_space, "H5Screate_simple")?;
        // SAFETY: the default stack is always there.
        unsafe { (self.call.clear)(STACK) };
        let (can_apply, set_local) = set_local::call(half, [dcpl.0, ty.0, space.0]);
        let said = self.libhdf5.said();
        let after = self.values(dcpl.0, half.id());
        drop(quiet);
        // A `set_local` that only confirms the existing parameters cannot be distinguished from one that does nothing.
        Ok(Answer { can_apply, set_local, after, modified: true, said })
    }

    /// A property list with chunks and this filter.
    fn plist(&self, half: &Hdf5Filter, given: &[u32], variable: &Variable) -> Result<Handle> {
        let id = half.id() as c_int;
        // SAFETY: any number may be queried. With loading switched off no folder is searched.
        let is_known = unsafe { (self.call.filter_avail)(id) } > 0;
        // Unless it is known, `H5Pset_filter` searches the plugin path and opens what it finds there.
        // SAFETY: the record that the library gave, which lives as long as the library.
        if !is_known && half.id() >= RESERVED && unsafe { (self.call.register)(half.class().cast()) } < 0 {
            return Err(self.failed("H5Zregister"));
        }
        let class = self.constant(c"H5P_CLS_DATASET_CREATE_ID_g")?;
        // SAFETY: a class of this libhdf5.
        let dcpl =
            self.handle(unsafe { (self.call.create_plist)(class) }, self.call.close_plist, "H5Pcreate")?;
        let shape = set_local::shape_of(variable);
        // SAFETY: as many lengths as there are dimensions.
        self.check(unsafe { (self.call.set_chunk)(dcpl.0, rank(&shape)?, shape.as_ptr()) }, "H5Pset_chunk")?;
        // SAFETY: the stated number of words is valid.
        let code = unsafe { (self.call.set_filter)(dcpl.0, id, 0, given.len(), given.as_ptr()) };
        self.check(code, "H5Pset_filter")?;
        Ok(dcpl)
    }

    /// A filter's parameters; none if the filter is not there.
    fn values(&self, dcpl: Hid, id: u32) -> Option<Vec<u32>> {
        let mut values = vec![0; 64];
        loop {
            let (mut flags, mut count, mut config) = (0, values.len(), 0);
            let null = std::ptr::null_mut();
            // SAFETY: the output pointers are valid, with room for the stated number of words; no name is requested.
            let code = unsafe {
                (self.call.get_filter)(
                    dcpl,
                    id as c_int,
                    &raw mut flags,
                    &raw mut count,
                    values.as_mut_ptr(),
                    0,
                    null,
                    &raw mut config,
                )
            };
            if code < 0 {
                return None;
            }
            let is_all = count <= values.len();
            values.resize(count, 0);
            if is_all {
                return Some(values);
            }
        }
    }

    fn type_of(&self, variable: &Variable) -> Result<Handle> {
        let dtype = variable.dtype;
        let order = match set_local::type_of(dtype).order {
            Order::Big => "BE",
            Order::Little | Order::None => "LE",
        };
        match dtype.kind {
            Kind::Int => self.standard(&format!("H5T_STD_I{}{order}_g", 8 * dtype.size)),
            Kind::UInt | Kind::Bool => self.standard(&format!("H5T_STD_U{}{order}_g", 8 * dtype.size)),
            Kind::Float => self.float(dtype.size, order),
            Kind::Complex => {
                let part = self.float(dtype.size / 2, order)?;
                let whole = self.create(COMPOUND, dtype.size)?;
                for (name, offset) in [(c"r", 0), (c"i", dtype.size / 2)] {
                    // SAFETY: types of this libhdf5; the parts lie within the whole.
                    let code = unsafe { (self.call.insert)(whole.0, name.as_ptr(), offset, part.0) };
                    self.check(code, "H5Tinsert")?;
                }
                Ok(whole)
            }
            _ => {
                let whole = self.create(OPAQUE, dtype.size)?;
                // SAFETY: an opaque type, and a C string.
                self.check(unsafe { (self.call.set_tag)(whole.0, c"".as_ptr()) }, "H5Tset_tag")?;
                Ok(whole)
            }
        }
    }

    fn create(&self, class: c_int, size: usize) -> Result<Handle> {
        // SAFETY: a class that has types of any size.
        self.handle(unsafe { (self.call.create_type)(class, size) }, self.call.close_type, "H5Tcreate")
    }

    fn float(&self, size: usize, order: &str) -> Result<Handle> {
        if size != 2 {
            return self.standard(&format!("H5T_IEEE_F{}{order}_g", 8 * size));
        }
        // libhdf5 has a type for it since 2.0 only.
        let half = self.standard(&format!("H5T_IEEE_F32{order}_g"))?;
        // SAFETY: a type of this libhdf5; the fields of binary16 are within its bits.
        let code = unsafe {
            (self.call.set_fields)(half.0, 15, 10, 5, 0, 10)
                | (self.call.set_size)(half.0, 2)
                | (self.call.set_ebias)(half.0, 15)
        };
        self.check(code, "H5Tset_fields")?;
        Ok(half)
    }

    fn standard(&self, name: &str) -> Result<Handle> {
        let name = CString::new(name).map_err(|_| CodecError::unsupported("a type with a zero byte"))?;
        let constant = self.constant(&name)?;
        // SAFETY: a type of this libhdf5.
        self.handle(unsafe { (self.call.copy_type)(constant) }, self.call.close_type, "H5Tcopy")
    }

    /// The value of one of libhdf5's variables for handles.
    fn constant(&self, name: &CStr) -> Result<Hid> {
        let Some(place) = address(self.raw, name) else {
            let name = name.to_string_lossy();
            return Err(CodecError::unsupported(format!("the plugin's libhdf5 has no {name}")));
        };
        // SAFETY: the names that are requested are handles, and `H5open` has set them.
        Ok(unsafe { place.cast::<Hid>().read() })
    }

    fn handle(
        &self,
        id: Hid,
        close: unsafe extern "C" fn(Hid) -> c_int,
        function: &'static str,
    ) -> Result<Handle> {
        if id < 0 { Err(self.failed(function)) } else { Ok(Handle(id, close)) }
    }

    fn check(&self, code: c_int, function: &'static str) -> Result<()> {
        if code < 0 { Err(self.failed(function)) } else { Ok(()) }
    }

    fn failed(&self, function: &'static str) -> CodecError {
        let said = self.libhdf5.said().join("; ");
        CodecError::unsupported(format!("{function} of the plugin's libhdf5 fails: {said}"))
    }
}

/// Notes the text of an entry of an error stack.
unsafe extern "C" fn note(_: c_uint, entry: *const StackEntry, texts: *mut c_void) -> c_int {
    // SAFETY: `said` passes this pointer, and libhdf5 an entry with a C string or null.
    let (texts, text) = unsafe { (&mut *texts.cast::<Vec<String>>(), (*entry).text) };
    if !text.is_null() && texts.len() < TEXTS_MAX {
        // SAFETY: as above.
        let text = unsafe { CStr::from_ptr(text) }.to_string_lossy().trim().to_owned();
        if !text.is_empty() {
            texts.push(text);
        }
    }
    0
}

impl Quiet {
    /// Switches off that errors are printed, and that libraries are opened in search of filters: that is for
    /// this program to do. The program may use this libhdf5 itself, so everything is restored.
    fn new(call: Functions) -> Self {
        let mut auto = (std::ptr::null_mut(), std::ptr::null_mut());
        let mut loading = 0;
        // SAFETY: the output pointers are valid; no function means no printing.
        unsafe {
            if (call.get_auto)(STACK, &raw mut auto.0, &raw mut auto.1) < 0 {
                auto = (std::ptr::null_mut(), std::ptr::null_mut());
            }
            (call.set_auto)(STACK, std::ptr::null_mut(), std::ptr::null_mut());
            let loading =
                ((call.get_loading)(&raw mut loading) >= 0 && (call.set_loading)(0) >= 0).then_some(loading);
            Self { call, auto, loading }
        }
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        // SAFETY: what was there before.
        unsafe {
            (self.call.set_auto)(STACK, self.auto.0, self.auto.1);
            if let Some(loading) = self.loading {
                (self.call.set_loading)(loading);
            }
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: a handle that was made here, closed once.
        unsafe { (self.1)(self.0) };
    }
}

fn rank(shape: &[u64]) -> Result<c_int> {
    c_int::try_from(shape.len()).map_err(|_| CodecError::unsupported("too many dimensions"))
}
