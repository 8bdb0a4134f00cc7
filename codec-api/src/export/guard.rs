//! The one guard around every call from C: no panic leaves it, every failure can be traced.

use std::any::Any;
use std::io::Write as _;
use std::panic::{self, AssertUnwindSafe};
use std::sync::OnceLock;

use crate::error::{CodecError, ErrorKind, Result};

/// The environment variable that, set and not empty or `0`, makes failures appear on stderr.
const LOG_VARIABLE: &str = "NCZ_LOG";

/// Runs `body` for the call `call` of `codec`; a panic becomes [`ErrorKind::Panicked`].
pub(super) fn guard<T>(codec: &str, call: &str, body: impl FnOnce() -> Result<T>) -> Result<T> {
    // Unwind safety: what a body can leave half done is per-call state, or state that the faces throw
    // away after a panic.
    let result = panic::catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|payload| Err(panicked(payload)));
    if let Err(error) = &result
        && is_logging()
    {
        // A closed stderr is no reason to fail otherwise.
        let _ = writeln!(std::io::stderr(), "ncz: codec {codec}: {call}: {error}");
    }
    result
}

/// The error for a panic's payload.
fn panicked(payload: Box<dyn Any + Send>) -> CodecError {
    let text = match payload.downcast::<&'static str>() {
        Ok(text) => (*text).to_owned(),
        Err(payload) => match payload.downcast::<String>() {
            Ok(text) => *text,
            Err(payload) => {
                // Dropping a foreign payload could panic again, outside of any guard.
                std::mem::forget(payload);
                String::new()
            }
        },
    };
    CodecError::new(ErrorKind::Panicked, text)
}

fn is_logging() -> bool {
    static LOGGING: OnceLock<bool> = OnceLock::new();
    *LOGGING
        .get_or_init(|| std::env::var_os(LOG_VARIABLE).is_some_and(|value| !value.is_empty() && value != "0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Bomb;

    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }

    #[test]
    fn no_payload_gets_out() {
        let error = guard("test", "call", || -> Result<()> { panic!("at {}", 7) }).unwrap_err();
        assert_eq!((error.kind(), error.detail()), (&ErrorKind::Panicked, "at 7"));
        let error = guard("test", "call", || -> Result<()> { panic::panic_any(Bomb) }).unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::Panicked);
    }
}
