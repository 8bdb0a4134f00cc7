//! The answers to a plugin: for one thread, and only during a call.
//!
//! A handle is a number that is given out once in the life of the process. One that a plugin kept, or
//! passed to another thread, or took from a real libhdf5, names nothing here.

use std::cell::RefCell;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::constants;
use crate::dataset::{Dataset, FilterEntry, Type};
use crate::variable::Variable;

/// The arguments of `can_apply` and `set_local`. Valid only in the thread and the closure that got it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Handles {
    /// The creation property list.
    pub dcpl: i64,
    /// The type of an element.
    pub ty: i64,
    /// The dataspace: one chunk.
    pub space: i64,
}

/// The record of what plugins did during a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The filters now: `set_local` replaces parameters, and some filters remove themselves.
    pub filters: Vec<FilterEntry>,
    /// A filter's entry was replaced (`H5Pmodify_filter`), if perhaps by what it was. A `set_local` that
    /// did not do this has not set anything.
    pub modified: bool,
    /// Messages that were pushed on the error stack, oldest first. Bytes that are not text are replaced.
    pub errors: Vec<String>,
}

/// Calls `body` with handles that represent `dataset` in this thread until it returns.
///
/// Sessions may be nested; each handle answers for its own, and messages go to the innermost.
pub fn with_dataset<R>(dataset: &Dataset, body: impl FnOnce(Handles) -> R) -> (R, Outcome) {
    let session = Session::new(dataset.clone());
    let handles = Handles { dcpl: session.dcpl, ty: session.types[0].0, space: session.space };
    let opened = Opened::push(Frame::Dataset(session));
    let result = body(handles);
    let outcome = match opened.close() {
        Some(Frame::Dataset(session)) => {
            let Session { dataset, modified, errors, .. } = session;
            Outcome { filters: dataset.filters, modified, errors }
        }
        // The thread is ending and its sessions are gone: the call cannot be answered.
        _ => Outcome { filters: dataset.filters.clone(), modified: false, errors: Vec::new() },
    };
    (result, outcome)
}

/// Calls `body` with the numbers of a file and a variable that represent `variable` in this thread until it
/// returns.
pub fn with_variable<R>(variable: &Variable, body: impl FnOnce(i32, i32) -> R) -> R {
    // As netCDF's: the file in the upper half. 0 is not used.
    let ncid = ((next_handle() % 0x7ffe + 1) << 16) as i32;
    let opened = Opened::push(Frame::Variable { ncid, variable: variable.clone() });
    let result = body(ncid, VARID);
    drop(opened);
    result
}

/// Takes the messages that plugins pushed on the error stack of this thread outside of
/// [`with_dataset`], such as in a filter call; oldest first.
///
/// At most 32 are kept until they are taken: the first ones, which have the cause.
pub fn take_errors() -> Vec<String> {
    with_thread(|thread| std::mem::take(&mut thread.errors)).unwrap_or_default()
}

/// The variable that [`with_variable`] makes up has this number in its file.
const VARID: i32 = 0;
const MOST_ERRORS: usize = 32;
/// Some plugins close none of their handles.
const MOST_TYPES: usize = 4096;

thread_local! {
    static THREAD: RefCell<Thread> = const { RefCell::new(Thread { frames: Vec::new(), errors: Vec::new() }) };
}

struct Thread {
    frames: Vec<Frame>,
    errors: Vec<String>,
}

enum Frame {
    Dataset(Session),
    Variable { ncid: i32, variable: Variable },
}

/// A dataset with its handles.
pub(crate) struct Session {
    dcpl: i64,
    space: i64,
    /// The dataset's own type, then those that were requested.
    types: Vec<(i64, Type)>,
    pub(crate) dataset: Dataset,
    /// Properties of other names, as bytes.
    pub(crate) properties: Vec<(Vec<u8>, Vec<u8>)>,
    pub(crate) modified: bool,
    errors: Vec<String>,
}

impl Session {
    fn new(dataset: Dataset) -> Self {
        Self {
            dcpl: next_handle(),
            space: next_handle(),
            types: vec![(next_handle(), dataset.ty.clone())],
            dataset,
            properties: Vec::new(),
            modified: false,
            errors: Vec::new(),
        }
    }

    fn datatype(&self, handle: i64) -> Option<&Type> {
        self.types.iter().find(|(known, _)| *known == handle).map(|(_, ty)| ty)
    }
}

/// The owner of the property list of a handle.
pub(crate) fn plist<R>(dcpl: i64, body: impl FnOnce(&mut Session) -> Option<R>) -> Option<R> {
    with_session(|session| session.dcpl == dcpl, body)
}

/// The lengths that the dataspace of a handle has.
pub(crate) fn space<R>(space: i64, body: impl FnOnce(&[u64]) -> Option<R>) -> Option<R> {
    with_session(|session| session.space == space, |session| body(&session.dataset.chunk))
}

/// The type of a handle, or of one of the constants, which always live.
pub(crate) fn datatype(handle: i64) -> Option<Type> {
    constants::datatype(handle).or_else(|| {
        with_session(
            |session| session.datatype(handle).is_some(),
            |session| session.datatype(handle).cloned(),
        )
    })
}

/// A new handle for a type that `make` derives from that of a handle.
pub(crate) fn derive(from: i64, make: impl FnOnce(&Type) -> Option<Type>) -> Option<i64> {
    let ty = make(&datatype(from)?)?;
    // Derived from a constant, it belongs to the current caller.
    let is_constant = constants::datatype(from).is_some();
    with_session(
        |session| is_constant || session.datatype(from).is_some(),
        |session| {
            let handle = next_handle();
            (session.types.len() < MOST_TYPES).then(|| session.types.push((handle, ty)))?;
            Some(handle)
        },
    )
}

/// Forgets a derived type; that of the dataset stays. `None` for a handle that names no type.
pub(crate) fn close(handle: i64) -> Option<()> {
    with_session(
        |session| session.datatype(handle).is_some(),
        |session| {
            let at = session.types.iter().position(|(known, _)| *known == handle)?;
            if at > 0 {
                session.types.remove(at);
            }
            Some(())
        },
    )
}

/// The variable of a file's number; `None` for another file.
pub(crate) fn variable<R>(file: i32, body: impl FnOnce(&Variable) -> R) -> Option<R> {
    with_thread(|thread| {
        thread
            .frames
            .iter()
            .rev()
            .find_map(|frame| match frame {
                Frame::Variable { ncid, variable } if *ncid == file => Some(variable),
                _ => None,
            })
            .map(body)
    })
    .flatten()
}

/// Tests whether a number is that of the variable of the session.
pub(crate) fn is_variable(varid: i32) -> bool {
    varid == VARID
}

/// Keeps a message for the caller of the plugin.
pub(crate) fn push_error(text: String) {
    with_thread(|thread| {
        let innermost = thread.frames.iter_mut().rev().find_map(|frame| match frame {
            Frame::Dataset(session) => Some(&mut session.errors),
            Frame::Variable { .. } => None,
        });
        let errors = innermost.unwrap_or(&mut thread.errors);
        if errors.len() < MOST_ERRORS {
            errors.push(text);
        }
    });
}

/// A session that ends when this is dropped, also by a panic.
struct Opened {
    depth: usize,
}

impl Opened {
    fn push(frame: Frame) -> Self {
        let depth = with_thread(|thread| {
            thread.frames.push(frame);
            thread.frames.len() - 1
        });
        Self { depth: depth.unwrap_or(usize::MAX) }
    }

    fn close(self) -> Option<Frame> {
        with_thread(|thread| (thread.frames.len() == self.depth.wrapping_add(1)).then(|| thread.frames.pop()))
            .flatten()
            .flatten()
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        with_thread(|thread| thread.frames.truncate(self.depth));
    }
}

/// Handles below this are constants.
const FIRST_HANDLE: i64 = 1 << 16;

/// Never the same twice.
fn next_handle() -> i64 {
    static NEXT: AtomicI64 = AtomicI64::new(FIRST_HANDLE);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

fn with_session<R>(
    is_it: impl Fn(&Session) -> bool,
    body: impl FnOnce(&mut Session) -> Option<R>,
) -> Option<R> {
    with_thread(|thread| {
        let session = thread.frames.iter_mut().rev().find_map(|frame| match frame {
            Frame::Dataset(session) if is_it(session) => Some(session),
            _ => None,
        });
        session.and_then(body)
    })
    .flatten()
}

/// `None` in a thread that is ending, whose storage is gone.
fn with_thread<R>(body: impl FnOnce(&mut Thread) -> R) -> Option<R> {
    THREAD.try_with(|thread| thread.try_borrow_mut().ok().map(|mut thread| body(&mut thread))).ok().flatten()
}
