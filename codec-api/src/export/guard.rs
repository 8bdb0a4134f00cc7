//! The one guard around every call from C: no panic leaves it, and every failure can be traced.

use std::any::Any;
use std::panic::{self, AssertUnwindSafe};

use super::log::Trace;
use crate::error::{CodecError, ErrorKind, Result};

/// Runs `body` for the call `call` of `codec`; a panic becomes [`ErrorKind::Panicked`]. The [`Trace`]
/// collects what the body reports, and is printed if the user asked for it.
pub(super) fn guard<T>(
    codec: &'static str,
    call: &str,
    body: impl FnOnce(&mut Trace) -> Result<T>,
) -> Result<T> {
    let mut trace = Trace::begin(codec);
    // Unwind safety: a panic can leave incomplete only per-call state, or state that the faces discard
    // after a panic.
    let result = panic::catch_unwind(AssertUnwindSafe(|| body(&mut trace)))
        .unwrap_or_else(|payload| Err(panicked(payload)));
    trace.end(call, result.as_ref().err());
    result
}

/// Makes the error for a panic's payload.
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
        let error = guard("test", "call", |_| -> Result<()> { panic!("at {}", 7) }).unwrap_err();
        assert_eq!((error.kind(), error.detail()), (&ErrorKind::Panicked, "at 7"));
        let error = guard("test", "call", |_| -> Result<()> { panic::panic_any(Bomb) }).unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::Panicked);
    }
}
