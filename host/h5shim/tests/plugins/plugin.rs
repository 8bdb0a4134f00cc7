//! A plugin, called as libhdf5 calls it.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ncz_h5shim::{
    Class, Dataset, FilterEntry, Handles, Order, Outcome, Replace, Symbols, Type, open_with_shim, shim_path,
    with_dataset,
};
use ncz_test_support::{Skip, python};

/// The folder of a Python package with plugins; `None` is a skip that was announced.
pub(crate) fn package(name: &str) -> Option<PathBuf> {
    python().ok().map(|python| python.plugin_dir(name).unwrap())
}

/// The folder of Debian's plugins; `None` is a skip that was announced.
pub(crate) fn debian() -> Option<PathBuf> {
    let folder = PathBuf::from("/usr/lib/x86_64-linux-gnu/hdf5/serial/plugins");
    let complete =
        ["libh5lz4.so", "libH5Zblosc.so", "libh5zzfp.so"].iter().all(|name| folder.join(name).is_file());
    if !complete {
        let why = format!("they are not in {}", folder.display());
        let _ = Skip::new("Debian's HDF5 plugins", why, "run tests/support/setup.sh");
    }
    complete.then_some(folder)
}

/// The libhdf5 that Debian's plugins are linked against.
pub(crate) const DEBIAN_HDF5: &str = "libhdf5_serial.so.103";

/// `H5Z_class2_t`.
#[repr(C)]
struct Record {
    version: c_int,
    id: c_int,
    encodes: c_uint,
    decodes: c_uint,
    name: *const c_char,
    can_apply: Option<unsafe extern "C" fn(i64, i64, i64) -> c_int>,
    set_local: Option<unsafe extern "C" fn(i64, i64, i64) -> c_int>,
    filter: Option<
        unsafe extern "C" fn(c_uint, usize, *const c_uint, usize, *mut usize, *mut *mut c_void) -> usize,
    >,
}

/// A loaded plugin.
#[derive(Clone, Copy)]
pub(crate) struct Plugin {
    pub(crate) handle: *mut c_void,
    record: *const Record,
}

// SAFETY: the record is constant, and only tests of concurrent calls use the functions from several
// threads.
unsafe impl Send for Plugin {}
// SAFETY: as above.
unsafe impl Sync for Plugin {}

/// The result of a plugin's `set_local`.
pub(crate) struct Answer {
    pub(crate) can_apply: i32,
    pub(crate) set_local: i32,
    pub(crate) outcome: Outcome,
}

impl Answer {
    /// The working parameters of the only filter.
    pub(crate) fn values(&self) -> &[u32] {
        &self.outcome.filters[0].values
    }
}

impl Plugin {
    /// A plugin that is loaded unchanged, and gets the path of the functions if it requests that.
    pub(crate) fn initialised(path: &Path) -> Self {
        // Some use it without declaring it.
        load(c"libm.so.6", libc::RTLD_NOW | libc::RTLD_GLOBAL);
        let name = CString::new(path.as_os_str().as_bytes()).unwrap();
        let handle = load(&name, libc::RTLD_NOW | libc::RTLD_LOCAL);
        if let Some(init) = address(handle, c"init_filter") {
            // SAFETY: every `init_filter` has this type.
            let init: unsafe extern "C" fn(*const c_char) -> c_int = unsafe { std::mem::transmute(init) };
            // SAFETY: a C string that lives as long as the process.
            let status = unsafe { init(shim_path().unwrap().as_ptr()) };
            assert_eq!(status, 1, "{}", path.display());
        }
        Self::of(handle)
    }

    /// A copy of one of Debian's plugins, without its libhdf5.
    pub(crate) fn debian(path: &Path) -> Self {
        let replace = Replace { needed: &[DEBIAN_HDF5], symbols: Symbols::Hdf5, load_first: &[] };
        Self::of(open_with_shim(&std::fs::read(path).unwrap(), &replace).unwrap())
    }

    pub(crate) fn of(handle: *mut c_void) -> Self {
        let info = address(handle, c"H5PLget_plugin_info").unwrap();
        // SAFETY: the type that HDF5 gives to this function.
        let info: unsafe extern "C" fn() -> *const Record = unsafe { std::mem::transmute(info) };
        // SAFETY: it takes nothing, and returns a record that lives as long as the library, which is never unloaded.
        Self { handle, record: unsafe { info() } }
    }

    fn record(&self) -> &Record {
        // SAFETY: `of` took it from a library that is never unloaded.
        unsafe { &*self.record }
    }

    pub(crate) fn id(&self) -> u32 {
        self.record().id as u32
    }

    /// `can_apply` and `set_local` with `user` as given parameters.
    pub(crate) fn ask(&self, ty: &Type, chunk: &[u64], user: &[u32]) -> Answer {
        let filter = FilterEntry { id: self.id(), flags: 1, values: user.to_vec(), name: String::new() };
        let dataset = Dataset { ty: ty.clone(), chunk: chunk.to_vec(), fill: None, filters: vec![filter] };
        let ((can_apply, set_local), outcome) = with_dataset(&dataset, |Handles { dcpl, ty, space }| {
            // SAFETY: the handles are alive.
            let can_apply = self.record().can_apply.map_or(1, |call| unsafe { call(dcpl, ty, space) });
            // SAFETY: as above.
            let set_local = self.record().set_local.map_or(0, |call| unsafe { call(dcpl, ty, space) });
            (can_apply, set_local)
        });
        Answer { can_apply, set_local, outcome }
    }

    /// The filter function; `None` if it fails.
    pub(crate) fn run(&self, flags: u32, params: &[u32], input: &[u8]) -> Option<Vec<u8>> {
        // SAFETY: any size is good.
        let mut buffer = unsafe { libc::malloc(input.len()) };
        assert!(!buffer.is_null());
        // SAFETY: the block has this length.
        unsafe { std::ptr::copy_nonoverlapping(input.as_ptr(), buffer.cast(), input.len()) };
        let mut capacity = input.len();
        let call = self.record().filter.unwrap();
        // SAFETY: HDF5's contract: a block of malloc of the given size and capacity.
        let len =
            unsafe { call(flags, params.len(), params.as_ptr(), input.len(), &mut capacity, &mut buffer) };
        // SAFETY: NULL or a block of malloc that the filter left.
        let room = unsafe { libc::malloc_usable_size(buffer) };
        let output = (len > 0 && len <= room).then(|| {
            // SAFETY: the block is at least `len` bytes long, and the filter wrote them.
            unsafe { std::slice::from_raw_parts(buffer.cast::<u8>(), len) }.to_vec()
        });
        // SAFETY: as above.
        unsafe { libc::free(buffer) };
        output
    }
}

/// `dlopen`.
fn load(path: &CStr, flags: c_int) -> *mut c_void {
    // SAFETY: loading runs the constructors of a library that the tests need.
    let handle = unsafe { libc::dlopen(path.as_ptr(), flags) };
    assert!(!handle.is_null(), "{path:?} is not loaded: {}", loader_text());
    handle
}

fn loader_text() -> String {
    // SAFETY: a dlopen failed just now, so there is a text.
    unsafe { CStr::from_ptr(libc::dlerror()) }.to_string_lossy().into_owned()
}

/// `dlsym`.
pub(crate) fn address(handle: *mut c_void, name: &CStr) -> Option<*mut c_void> {
    // SAFETY: a live handle, or the default scope.
    let address = unsafe { libc::dlsym(handle, name.as_ptr()) };
    (!address.is_null()).then_some(address)
}

/// Whether a file of such a name is mapped.
pub(crate) fn is_mapped(part: &str) -> bool {
    std::fs::read_to_string("/proc/self/maps")
        .unwrap()
        .lines()
        .any(|line| line.rsplit('/').next().is_some_and(|name| name.contains(part)))
}

/// A type in numpy's notation: `f4`, `>i2`, `S5`.
pub(crate) fn ty(text: &str) -> Type {
    let (order, text) = match text.strip_prefix('>') {
        Some(rest) => (Order::Big, rest),
        None => (Order::Little, text),
    };
    let size = text[1..].parse().unwrap();
    match &text[..1] {
        "f" => Type::float(size, order),
        "i" => Type::integer(size, order, true),
        "u" => Type::integer(size, order, false),
        "S" => Type::string(size),
        "V" => Type::bytes(Class::Opaque, size),
        _ => panic!("type {text}"),
    }
}

/// A smooth field of float32.
pub(crate) fn field(seed: u32) -> Vec<u8> {
    (0..64 * 48u32).flat_map(|i| ((i / 48 / 8 * 8 + i % 48 / 8 + seed) as f32 / 4.0).to_le_bytes()).collect()
}

pub(crate) const ENCODE: u32 = 0;
pub(crate) const DECODE: u32 = 0x100;
