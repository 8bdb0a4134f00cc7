//! The state of the process that a library may change and that only the C library knows.

use std::ffi::CStr;

/// The highest signal number that is queried.
const SIGNAL_MAX: i32 = 64;

/// The action of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Disposition {
    /// The signal.
    pub signal: i32,
    /// The handler; 0 is the default, 1 ignores.
    pub handler: usize,
    /// The flags of its handler.
    pub flags: i32,
}

/// Returns the action of each signal.
pub fn dispositions() -> Vec<Disposition> {
    (1..=SIGNAL_MAX)
        .filter_map(|signal| {
            let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
            // SAFETY: only a query; the output pointer is valid. A number that is not a signal is refused.
            let failed = unsafe { libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) };
            if failed != 0 {
                return None;
            }
            // SAFETY: zeros, which are valid, or what the call wrote.
            let action = unsafe { action.assume_init() };
            Some(Disposition { signal, handler: action.sa_sigaction, flags: action.sa_flags })
        })
        .collect()
}

/// The locale of the C library, in its own words: `C`, or each category with its name.
pub fn locale() -> Option<String> {
    // SAFETY: only a query. No other thread sets the locale now, else the result would be meaningless anyway; the
    // text is copied at once.
    unsafe {
        let text = libc::setlocale(libc::LC_ALL, std::ptr::null());
        (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
    }
}

/// Makes the system keep exit statuses of children until they are reaped, which is the default unless the parent
/// process changed it.
pub fn keep_children() {
    // SAFETY: sets the default; no handler of this program is lost.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
}

/// Writes what the C library keeps back of its output streams, such as the text of `printf`.
pub fn flush_output() {
    // SAFETY: null means all streams.
    unsafe { libc::fflush(std::ptr::null_mut()) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_is_reported_and_stays() {
        let before = dispositions();
        assert!(before.iter().any(|known| known.signal == libc::SIGTERM && known.handler == libc::SIG_DFL));
        assert!(before.iter().any(|known| known.signal == libc::SIGPIPE && known.handler == libc::SIG_IGN));
        assert_eq!(dispositions(), before);
        assert_eq!(locale().as_deref(), Some("C"));
    }
}
