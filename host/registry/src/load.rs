//! Step three, second part: opens libraries and reads their records.
//!
//! A library is opened once per process, even if it is found through several paths, with all its symbols resolved and
//! private (`RTLD_NOW | RTLD_LOCAL`). It is never unloaded and its `finalize` never runs, because plugins leave
//! threads, thread-local values and exit handlers running. Its records are checked and copied into owned values once;
//! an invalid record is a reported reason, never a crash. Every owner of a function of a library also owns a reference
//! to the library.
#![expect(unsafe_code, reason = "opens and calls foreign libraries")]

mod blosc2;
mod c_faces;
mod c_memory;
mod filter_call;
mod foreign;
mod hdf5_filter;
mod hdf5_provider;
mod imports;
mod in_process;
mod known_hazards;
mod libhdf5;
mod libnetcdf;
mod lz4;
mod memfd;
mod native;
mod nczarr_codec;
#[cfg(feature = "probe")]
pub mod probe;
mod record;
mod set_local;

use std::ffi::{CStr, c_void};
use std::fmt;
use std::io;
use std::mem::ManuallyDrop;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, Once, OnceLock, PoisonError};

use abi_stable::library::{AbiHeaderRef, LibraryError, ROOT_MODULE_LOADER_NAME_WITH_NUL};
use libloading::os::unix::{Library as RawLibrary, RTLD_GLOBAL, RTLD_LOCAL, RTLD_NOW};
use ncz_codec::CodecError;
use ncz_codec::abi::native::{PLUGIN_SYMBOL, PluginEntry};
use ncz_codec::abi::{hdf5, nczarr};
use ncz_codec::export::root_module;
use ncz_h5shim::Caller;
use semver::Version;

pub use c_faces::{Direction, FilterFacts, FilterFunction, JsonFacts, JsonTranslator, Modified, Variable};
pub use foreign::ForeignCodec;
pub use hdf5_filter::Hdf5Filter;
pub use hdf5_provider::Hdf5Provider;
pub use native::NativeCodec;
pub use nczarr_codec::NczarrCodec;
pub use record::RecordError;

use hdf5_provider::Binding;
use libhdf5::Libhdf5;
use native::Table;
use record::{CodecRecord, Hdf5Record};

use crate::allow_list::{AllowList, DeniedError};
use crate::symbols::{self, Exports, LibraryFinder, Symbols, Tables, Target};

/// A library that is open for the rest of the process.
pub struct Library {
    path: PathBuf,
    /// Never dropped: dropping closes.
    raw: ManuallyDrop<RawLibrary>,
    hdf5: Option<Result<Hdf5Record, RecordError>>,
    codec: Option<Result<CodecRecord, RecordError>>,
    defaults: Vec<Result<CodecRecord, RecordError>>,
    native: Option<Result<Table, RecordError>>,
    /// The symbols that the file itself exports, without those of its dependencies.
    exports: Exports,
    /// The provider of libhdf5's functions, and its location if it is not reached through the library itself.
    hdf5_provider: Hdf5Provider,
    elsewhere: Option<ManuallyDrop<RawLibrary>>,
    /// The stub that calls it, if this program answers its queries.
    caller: OnceLock<Caller>,
    libhdf5: OnceLock<Result<Libhdf5, String>>,
    /// Whether its filter is known to run in many threads at once.
    is_parallel: OnceLock<bool>,
    /// C plugins never promised thread safety: one call at a time, also among the libraries that share a
    /// libhdf5 or libnetcdf, whose error stack is theirs in common.
    calls: Arc<Mutex<()>>,
    initialized: OnceLock<()>,
}

/// Why a library cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The file cannot be looked at.
    #[error("cannot be read")]
    Unreadable(#[from] io::Error),
    /// It is not a regular file.
    #[error("not a regular file")]
    NotAFile,
    /// The system's loader refuses it; the text is the loader's.
    #[error("the loader refuses it: {0}")]
    Refused(String),
    /// A copy that would not need libhdf5 or libnetcdf does not load either.
    #[error("the loader refuses it: {refusal}; a copy that uses this program in place of libhdf5 fails too")]
    NoStandIn {
        /// The loader's message for the unchanged library.
        refusal: String,
        /// Why the copy does not load.
        source: ncz_h5shim::Error,
    },
    /// The allow-list does not admit it.
    #[error(transparent)]
    DeniedError(#[from] DeniedError),
    /// It is admitted, but the bytes that were looked at cannot be handed to the loader.
    #[error("cannot be loaded from memory: {0}")]
    Memfd(io::Error),
}

/// The libraries that this process has opened: the one global of the registry.
static OPEN: Mutex<Opened> = Mutex::new(Opened { slots: Vec::new(), locks: Vec::new(), copies: Vec::new() });

struct Opened {
    /// By the loader's handle. The loader recognizes a library by device and inode, and by its path even
    /// if the file was replaced since; our own table of files would then count one library as two.
    slots: Vec<(usize, Arc<OnceLock<Arc<Library>>>)>,
    /// By the address of a function of the library that they share.
    locks: Vec<(usize, Arc<Mutex<()>>)>,
    /// The handles of copies in memory, by device and inode of the file: the loader takes each for new.
    copies: Vec<((u64, u64), Arc<Copied>)>,
}

/// The handle of a copy, once there is one.
type Copied = Mutex<Option<usize>>;

/// The name of abi_stable's header.
const ROOT_MODULE_SYMBOL: &CStr = match CStr::from_bytes_with_nul(ROOT_MODULE_LOADER_NAME_WITH_NUL.as_bytes())
{
    Ok(name) => name,
    Err(_) => c"",
};

/// Libraries that reach the same function of one of these names share state.
const SHARED: [&CStr; 2] = [c"H5open", c"nc_open"];

/// Opens the library at `path`, or returns it if this process has opened it before.
///
/// This runs the library's constructors and its entry functions.
///
/// # Errors
/// The file is not readable, or the system's loader refuses it. Invalid records are not errors here; they
/// are reported with the filter and the codecs.
pub fn open(path: &Path) -> Result<Arc<Library>, LoadError> {
    open_allowed(path, None)
}

/// [`open`] for a library that an allow-list has to admit, if there is one. What is loaded are the bytes that were
/// compared with the list.
///
/// # Errors
/// As [`open`]; or the list does not admit the library.
pub fn open_allowed(path: &Path, allow_list: Option<&AllowList>) -> Result<Arc<Library>, LoadError> {
    let path = regular_file(path)?;
    match allow_list {
        Some(list) => open_admitted(&path, list),
        None => {
            let tables = OwnTables::read(&path, &path);
            open_source(&path, &path, tables.exports(), || tables.into_symbols())
        }
    }
}

/// [`open_allowed`] for a library whose tables were already read as `symbols`.
pub(crate) fn open_inspected(
    path: &Path,
    symbols: &Symbols,
    allow_list: Option<&AllowList>,
) -> Result<Arc<Library>, LoadError> {
    let path = regular_file(path)?;
    match allow_list {
        // Its tables have to be those of the bytes that are admitted.
        Some(list) => open_admitted(&path, list),
        None => open_source(&path, &path, symbols.exports.clone(), || symbols.clone()),
    }
}

fn open_admitted(path: &Path, allow_list: &AllowList) -> Result<Arc<Library>, LoadError> {
    let source = memfd::path_of(&allow_list.admit(path)?).map_err(LoadError::Memfd)?;
    let tables = OwnTables::read(&source, path);
    tables.open_beside();
    open_source(path, &source, tables.exports(), || tables.into_symbols())
}

/// The file at `path`, links resolved.
fn regular_file(path: &Path) -> Result<PathBuf, LoadError> {
    let path = path.canonicalize()?;
    if path.metadata()?.is_file() { Ok(path) } else { Err(LoadError::NotAFile) }
}

/// Opens the library at `path` from the bytes of `source`. `symbols` are needed only if the loader refuses it.
fn open_source(
    path: &Path,
    source: &Path,
    exports: Exports,
    symbols: impl FnOnce() -> Symbols,
) -> Result<Arc<Library>, LoadError> {
    preload_libm();
    // SAFETY: opening runs the library's constructors, which is what loading a plugin means; the user put
    // it on the search path. It is never closed.
    let raw = unsafe { RawLibrary::open(Some(source), RTLD_NOW | RTLD_LOCAL) };
    let (raw, is_copy) = match raw {
        Ok(raw) => (raw, false),
        Err(refusal) => (open_copy(source, symbols, loader_text(&refusal))?, true),
    };
    let handle = raw.into_raw();
    let slot = OPEN.lock().unwrap_or_else(PoisonError::into_inner).slot(handle as usize);
    // The table is unlocked while functions of the library run. They run once; other callers wait.
    let library = slot.get_or_init(|| {
        // SAFETY: the handle is the loader's, taken from `raw` above, and never closed.
        let raw = unsafe { RawLibrary::from_raw(handle) };
        let Binding { hdf5_provider, elsewhere } =
            if is_copy { Binding::COPY } else { hdf5_provider::bind(&raw, handle, &exports) };
        let shared = match is_copy {
            // Copies may need the same libraries of other kinds.
            true => Some((&raw const OPEN) as usize),
            false => {
                let asked = elsewhere.as_ref().unwrap_or(&raw);
                SHARED.into_iter().find_map(|name| address(asked, name)).map(|address| address as usize)
            }
        };
        let calls = OPEN.lock().unwrap_or_else(PoisonError::into_inner).lock(shared);
        Arc::new(Library::with(path.to_owned(), raw, exports, (hdf5_provider, elsewhere), calls))
    });
    Ok(Arc::clone(library))
}

/// Opens a copy of the library whose bytes are in `source` and which the loader refuses, if functions of this program
/// can provide what it lacks.
fn open_copy(
    source: &Path,
    symbols: impl FnOnce() -> Symbols,
    refusal: String,
) -> Result<RawLibrary, LoadError> {
    let metadata = source.metadata()?;
    let file = (metadata.dev(), metadata.ino());
    let copy = entry(&mut OPEN.lock().unwrap_or_else(PoisonError::into_inner).copies, file);
    let mut handle = copy.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(handle) = *handle {
        // SAFETY: a handle of the loader that is never closed.
        return Ok(unsafe { RawLibrary::from_raw(handle as *mut c_void) });
    }
    let symbols = symbols();
    let Some(replace) = hdf5_provider::Replaced::of(&symbols) else {
        return Err(LoadError::Refused(refusal));
    };
    let bytes = std::fs::read(source)?;
    let raw = replace.open(&bytes).map_err(|source| LoadError::NoStandIn { refusal, source })?;
    let address = raw.into_raw();
    *handle = Some(address as usize);
    // SAFETY: as above.
    Ok(unsafe { RawLibrary::from_raw(address) })
}

/// The tables of a library that were not read yet.
struct OwnTables<'a> {
    /// The path of the library, independent of the file that its bytes come from.
    path: &'a Path,
    /// `None` if the file is not a library: it has no entry symbols, and the loader most likely reports why.
    tables: Option<Tables>,
}

impl<'a> OwnTables<'a> {
    fn read(source: &Path, path: &'a Path) -> Self {
        Self { path, tables: symbols::read_tables(source).ok() }
    }

    fn exports(&self) -> Exports {
        self.tables.as_ref().map(|tables| tables.exports.clone()).unwrap_or_default()
    }

    fn into_symbols(self) -> Symbols {
        let symbols = |tables: Tables| {
            tables.symbols(self.path, &mut LibraryFinder::system(), Target::host()).unwrap_or_default()
        };
        self.tables.map(symbols).unwrap_or_default()
    }

    /// Opens the libraries that it finds relative to its own path, for bytes that are loaded from elsewhere: the loader
    /// then finds them by name. If one cannot be opened, loading the bytes fails and names it.
    fn open_beside(&self) {
        for needed in self.tables.iter().flat_map(|tables| tables.beside(self.path)) {
            // SAFETY: the library would be opened in a moment because the plugin needs it. It is never closed.
            if let Ok(library) = unsafe { RawLibrary::open(Some(&needed), RTLD_NOW | RTLD_LOCAL) } {
                let _ = library.into_raw();
            }
        }
    }
}

impl Opened {
    fn slot(&mut self, handle: usize) -> Arc<OnceLock<Arc<Library>>> {
        entry(&mut self.slots, handle)
    }

    /// Returns the lock of all libraries that share the function at an address, or a new lock if nothing is shared.
    fn lock(&mut self, shared: Option<usize>) -> Arc<Mutex<()>> {
        shared.map_or_else(Arc::default, |address| entry(&mut self.locks, address))
    }
}

/// The value of `key` in a small table, which is made if it is not there.
fn entry<K: PartialEq, T: Default>(table: &mut Vec<(K, Arc<T>)>, key: K) -> Arc<T> {
    if let Some((_, known)) = table.iter().find(|(known, _)| *known == key) {
        return Arc::clone(known);
    }
    let new = Arc::<T>::default();
    table.push((key, Arc::clone(&new)));
    new
}

impl Library {
    /// The file, links resolved.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the provider of libhdf5's or libnetcdf's functions for the library.
    pub fn hdf5_provider(&self) -> &Hdf5Provider {
        &self.hdf5_provider
    }

    /// Returns the HDF5 filter, if there is one.
    pub fn hdf5(self: &Arc<Self>) -> Option<Result<Hdf5Filter, RecordError>> {
        let record = self.hdf5.as_ref()?;
        Some(record.clone().map(|record| Hdf5Filter::new(Arc::clone(self), record)))
    }

    /// Returns the NCZarr codec of the library's own filter: none or one.
    pub fn codecs(self: &Arc<Self>) -> Vec<Result<NczarrCodec, RecordError>> {
        self.codec.iter().map(|record| self.nczarr_codec(record)).collect()
    }

    /// Returns the NCZarr codecs that the library offers for filters of other libraries.
    pub fn default_codecs(self: &Arc<Self>) -> Vec<Result<NczarrCodec, RecordError>> {
        self.defaults.iter().map(|record| self.nczarr_codec(record)).collect()
    }

    /// The codecs of the native face; empty if the library has none.
    ///
    /// # Errors
    /// The face cannot be used: another version of the interface, or a table that breaks a rule.
    pub fn native(self: &Arc<Self>) -> Result<Vec<NativeCodec>, RecordError> {
        match &self.native {
            None => Ok(Vec::new()),
            Some(Err(error)) => Err(error.clone()),
            Some(Ok(table)) => NativeCodec::all(self, table),
        }
    }

    /// The version that the plugin states, by its native face.
    pub fn version(&self) -> Option<&Version> {
        self.table()?.version.as_ref()
    }

    /// The version of the codec interface that the plugin was built for, if it has a native face.
    pub fn interface(&self) -> Option<&Version> {
        Some(&self.table()?.interface)
    }

    fn table(&self) -> Option<&Table> {
        self.native.as_ref()?.as_ref().ok()
    }

    fn nczarr_codec(
        self: &Arc<Self>,
        record: &Result<CodecRecord, RecordError>,
    ) -> Result<NczarrCodec, RecordError> {
        record.clone().map(|record| NczarrCodec::new(Arc::clone(self), record))
    }

    fn with(
        path: PathBuf,
        raw: RawLibrary,
        exports: Exports,
        (hdf5_provider, elsewhere): (Hdf5Provider, Option<RawLibrary>),
        calls: Arc<Mutex<()>>,
    ) -> Self {
        let mut library = Self {
            path,
            raw: ManuallyDrop::new(raw),
            exports,
            hdf5_provider,
            elsewhere: elsewhere.map(ManuallyDrop::new),
            caller: OnceLock::new(),
            libhdf5: OnceLock::new(),
            is_parallel: OnceLock::new(),
            hdf5: None,
            codec: None,
            defaults: Vec::new(),
            native: None,
            calls,
            initialized: OnceLock::new(),
        };
        library.hdf5 = library.take_hdf5();
        library.codec = library.take_codec();
        library.defaults = library.take_defaults();
        library.native = library.take_native();
        library
    }

    fn take_hdf5(&self) -> Option<Result<Hdf5Record, RecordError>> {
        let pairs = [
            (hdf5::PLUGIN_TYPE_SYMBOL, hdf5::PLUGIN_INFO_SYMBOL),
            (hdf5::DRAFT_PLUGIN_TYPE_SYMBOL, hdf5::DRAFT_PLUGIN_INFO_SYMBOL),
        ];
        // SAFETY: the interface gives functions of this name these types, in all plugins of HDF5.
        let found = pairs.into_iter().find_map(|(plugin_type, info)| unsafe {
            let plugin_type: hdf5::PluginType = self.symbol(plugin_type)?;
            let info: hdf5::PluginInfo = self.symbol(info)?;
            Some((plugin_type, info))
        });
        let (plugin_type, info) = found?;
        let _calls = self.one_call();
        // SAFETY: called as HDF5 calls it.
        let plugin_type = unsafe { plugin_type() };
        if plugin_type != hdf5::PLUGIN_TYPE_FILTER {
            // Plugins of other types may rely on a libhdf5 in their info function.
            return Some(Err(RecordError::NotAFilter(plugin_type)));
        }
        // SAFETY: called as HDF5 calls it; a filter's record lives as long as the library.
        Some(unsafe { Hdf5Record::take(info().cast()) })
    }

    fn take_codec(&self) -> Option<Result<CodecRecord, RecordError>> {
        // SAFETY: the interface gives a function of this name this type in all codec libraries since 2021.
        let info: nczarr::CodecInfo = unsafe { self.symbol(nczarr::CODEC_INFO_SYMBOL) }?;
        if self.exports(nczarr::DRAFT_CODEC_TYPE_SYMBOL) {
            return Some(Err(RecordError::DraftCodec));
        }
        let _calls = self.one_call();
        // SAFETY: called as netcdf-c calls it; the record lives as long as the library.
        Some(unsafe { CodecRecord::take(info().cast()) })
    }

    fn take_defaults(&self) -> Vec<Result<CodecRecord, RecordError>> {
        // SAFETY: the interface gives a function of this name this type.
        let info: Option<nczarr::CodecInfo> = unsafe { self.symbol(nczarr::CODEC_DEFAULTS_SYMBOL) };
        let Some(info) = info else { return Vec::new() };
        let _calls = self.one_call();
        // SAFETY: called as netcdf-c calls it; it returns a vector of records that ends with null.
        unsafe { CodecRecord::take_all(info().cast()) }
    }

    fn take_native(&self) -> Option<Result<Table, RecordError>> {
        // SAFETY: abi_stable fixes what follows this name: its header, which has the layout of the
        // pointer type.
        if let Some(header) = unsafe { self.symbol::<AbiHeaderRef>(ROOT_MODULE_SYMBOL) } {
            // The check comes before anything is called.
            let table = header.upgrade().and_then(root_module::table);
            return Some(match table {
                // SAFETY: versions and layout agree, so this is the table that `ncz_codec` makes.
                Ok(table) => unsafe { Table::take(table) },
                Err(error) => Err(RecordError::OtherApi(reason(&error))),
            });
        }
        // SAFETY: the interface gives a function of this name this type.
        let entry: PluginEntry = unsafe { self.symbol(PLUGIN_SYMBOL) }?;
        // SAFETY: called as the C header says; the table lives as long as the library.
        Some(unsafe { Table::take(entry()) })
    }

    /// Returns the location of the libhdf5 or libnetcdf that it uses.
    fn asked(&self) -> &RawLibrary {
        self.elsewhere.as_deref().unwrap_or(&self.raw)
    }

    /// Returns the stub that calls its functions, so that it finds the functions of this program if it searches its
    /// caller. `None` if it uses another library, or if this system has no stubs.
    ///
    /// # Errors
    /// No caller can be made now. That is not kept: memory or files may be there the next time.
    fn caller(&self) -> Result<Option<Caller>, ncz_h5shim::Error> {
        match self.hdf5_provider {
            Hdf5Provider::Hdf5(_) | Hdf5Provider::Netcdf(_) => Ok(None),
            Hdf5Provider::Nothing | Hdf5Provider::Shim | Hdf5Provider::Unavailable(_) => {
                self.caller_made(Caller::new)
            }
        }
    }

    fn caller_made(
        &self,
        make: impl FnOnce() -> Result<Caller, ncz_h5shim::Error>,
    ) -> Result<Option<Caller>, ncz_h5shim::Error> {
        if let Some(caller) = self.caller.get() {
            return Ok(Some(*caller));
        }
        match make() {
            Ok(caller) => Ok(Some(*self.caller.get_or_init(|| caller))),
            Err(ncz_h5shim::Error::Unsupported) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the libhdf5 that it uses. The caller holds the lock of [`one_call`](Self::one_call).
    fn libhdf5(&self) -> Result<(&Libhdf5, &RawLibrary), CodecError> {
        let raw = self.asked();
        match self.libhdf5.get_or_init(|| Libhdf5::new(raw)) {
            Ok(libhdf5) => Ok((libhdf5, raw)),
            Err(reason) => Err(CodecError::unsupported(reason.clone())),
        }
    }

    /// Whether the library's filter may run in several threads at once.
    fn is_parallel(&self, facts: &FilterFacts) -> bool {
        *self.is_parallel.get_or_init(|| {
            known_hazards::is_parallel(facts, &self.hdf5_provider, || {
                let _call = self.one_call();
                self.libhdf5().is_ok_and(|(libhdf5, _)| libhdf5.is_threadsafe())
            })
        })
    }

    /// Clears the error stack that the library uses.
    fn forget_words(&self) {
        match &self.hdf5_provider {
            Hdf5Provider::Shim | Hdf5Provider::Nothing => drop(ncz_h5shim::take_errors()),
            // Messages from before our first call of libhdf5 are not ours.
            Hdf5Provider::Hdf5(_) | Hdf5Provider::Netcdf(_) => {
                if let Ok((libhdf5, _)) = self.libhdf5() {
                    libhdf5.clear();
                }
            }
            Hdf5Provider::Unavailable(_) => {}
        }
    }

    /// Takes the messages from the error stack that the library uses.
    fn take_words(&self) -> Vec<String> {
        match &self.hdf5_provider {
            Hdf5Provider::Shim | Hdf5Provider::Nothing => ncz_h5shim::take_errors(),
            Hdf5Provider::Hdf5(_) | Hdf5Provider::Netcdf(_) => {
                self.libhdf5().map(|(libhdf5, _)| libhdf5.said()).unwrap_or_default()
            }
            Hdf5Provider::Unavailable(_) => Vec::new(),
        }
    }

    /// Waits until no other thread calls the library, or one that shares its state.
    fn one_call(&self) -> MutexGuard<'_, ()> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the `initialize` functions of the library's NCZarr codecs, once, before the first use of any or
    /// of the filter.
    fn initialize(&self) {
        self.initialized.get_or_init(|| {
            let _calls = self.one_call();
            let records = self.codec.iter().chain(&self.defaults).filter_map(|record| record.as_ref().ok());
            for initialize in records.filter_map(|record| record.initialize) {
                // SAFETY: the record declares this function; no other call runs.
                unsafe { initialize() }
            }
        });
    }

    /// Whether the library itself, not one that it needs, exports `name`.
    fn exports(&self, name: &CStr) -> bool {
        name.to_str().is_ok_and(|name| self.exports.has(name))
    }

    /// # Safety
    /// `F` is a pointer type, the one that the function or variable `name` has.
    unsafe fn symbol<F: Copy>(&self, name: &CStr) -> Option<F> {
        if !self.exports(name) {
            return None;
        }
        // SAFETY: the caller knows its type.
        unsafe { symbol(&self.raw, name) }
    }
}

/// Returns the symbol `name` of a library or of one that it needs.
///
/// # Safety
/// `F` is a pointer type, the one that the function or variable `name` has.
unsafe fn symbol<F: Copy>(raw: &RawLibrary, name: &CStr) -> Option<F> {
    address(raw, name)?;
    // SAFETY: the symbol exists and is not null; the caller knows its type.
    unsafe { raw.get::<F>(name.to_bytes_with_nul()) }.ok().map(|symbol| *symbol)
}

/// Returns the address of `name` in a library or one that it needs.
fn address(raw: &RawLibrary, name: &CStr) -> Option<*mut c_void> {
    // SAFETY: only the address is taken.
    let symbol = unsafe { raw.get::<*mut c_void>(name.to_bytes_with_nul()) };
    symbol.ok().map(|symbol| *symbol).filter(|address| !address.is_null())
}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Library").field(&self.path).finish()
    }
}

/// The loader's own words, without the words of libloading around them.
fn loader_text(error: &libloading::Error) -> String {
    match std::error::Error::source(error) {
        Some(source) => source.to_string(),
        None => error.to_string(),
    }
}

/// Why a root module is not usable, on one line.
fn reason(error: &LibraryError) -> String {
    match error {
        LibraryError::InvalidAbiHeader(_) => "it is not of this version of abi_stable".to_owned(),
        // Its text shows both layouts in full.
        LibraryError::AbiInstability(_) => "its functions are laid out in another way".to_owned(),
        error => error.to_string().split_whitespace().collect::<Vec<_>>().join(" "),
    }
}

/// hdf5plugin's libh5blosc2 uses `pow` without naming libm as needed: it loads only if something else
/// has loaded libm into the global scope.
fn preload_libm() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if cfg!(all(target_os = "linux", target_env = "gnu")) {
            // SAFETY: the C library's own part; it has no constructors with side effects.
            if let Ok(libm) = unsafe { RawLibrary::open(Some("libm.so.6"), RTLD_NOW | RTLD_GLOBAL) } {
                let _ = libm.into_raw();
            }
        }
    });
}

#[cfg(test)]
mod tests;
