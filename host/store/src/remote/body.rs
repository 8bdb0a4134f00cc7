//! Bytes as they come in.

use crate::error::{ObjectLocation, StoreError};
use crate::store::make_room;

/// Collects the body of an answer in a caller's buffer, of which nothing is left unless it came as promised.
#[derive(Debug)]
pub(crate) struct Body<'a> {
    out: &'a mut Vec<u8>,
    promised: Option<u64>,
    max_len: u64,
    at: ObjectLocation,
}

/// Why a body is not taken.
#[derive(Debug)]
pub(crate) enum BodyError {
    /// It never will be: too many bytes.
    Refused(StoreError),
    /// It is not what was promised; another try may be.
    Broken {
        /// What happened.
        reason: String,
    },
}

impl<'a> Body<'a> {
    /// Begins with an empty buffer and makes room for what the answer promises, if that is at most `max_len`.
    pub(crate) fn begin(
        out: &'a mut Vec<u8>,
        promised: Option<u64>,
        max_len: u64,
        at: ObjectLocation,
    ) -> Result<Self, BodyError> {
        out.clear();
        if let Some(len) = promised {
            if len > max_len {
                return Err(BodyError::Refused(StoreError::TooLarge { at, len, limit: max_len }));
            }
            let want = usize::try_from(len).unwrap_or(usize::MAX);
            make_room(out, want, || at.clone()).map_err(BodyError::Refused)?;
        }
        Ok(Self { out, promised, max_len, at })
    }

    /// Takes the next bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), BodyError> {
        let len = self.out.len() as u64 + bytes.len() as u64;
        if let Some(promised) = self.promised
            && len > promised
        {
            let reason = format!("{promised} bytes were promised and more came");
            return Err(self.fail(BodyError::Broken { reason }));
        }
        if len > self.max_len {
            let error = StoreError::TooLarge { at: self.at.clone(), len, limit: self.max_len };
            return Err(self.fail(BodyError::Refused(error)));
        }
        if self.out.try_reserve(bytes.len()).is_err() {
            let error = StoreError::OutOfMemory { at: self.at.clone(), len };
            return Err(self.fail(BodyError::Refused(error)));
        }
        self.out.extend_from_slice(bytes);
        Ok(())
    }

    /// Ends; says how many bytes came.
    pub(crate) fn finish(mut self) -> Result<u64, BodyError> {
        let len = self.out.len() as u64;
        match self.promised {
            Some(promised) if promised != len => {
                let reason = format!("{promised} bytes were promised and {len} came");
                Err(self.fail(BodyError::Broken { reason }))
            }
            _ => Ok(len),
        }
    }

    /// Leaves nothing of a body that breaks off.
    #[cfg(feature = "s3")]
    pub(crate) fn broken(mut self, reason: String) -> BodyError {
        self.fail(BodyError::Broken { reason })
    }

    fn fail(&mut self, fault: BodyError) -> BodyError {
        self.out.clear();
        fault
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collect(
        out: &mut Vec<u8>,
        promised: Option<u64>,
        max_len: u64,
        parts: &[&[u8]],
    ) -> Result<u64, BodyError> {
        let mut body = Body::begin(out, promised, max_len, ObjectLocation::store("test"))?;
        for part in parts {
            body.push(part)?;
        }
        body.finish()
    }

    #[test]
    fn a_body_is_taken_only_as_promised_and_leaves_nothing_otherwise() {
        let mut out = b"old".to_vec();
        assert_eq!(collect(&mut out, Some(5), 5, &[b"ab", b"", b"cde"]).unwrap(), 5);
        assert_eq!(out, b"abcde");
        assert_eq!(collect(&mut out, None, 5, &[b"ab", b"cde"]).unwrap(), 5);
        for (promised, parts) in [(Some(5), vec![&b"abcd"[..]]), (Some(2), vec![&b"ab"[..], b"c"])] {
            let fault = collect(&mut out, promised, 100, &parts).unwrap_err();
            assert!(matches!(fault, BodyError::Broken { .. }), "{fault:?}");
            assert!(out.is_empty());
        }
        let fault = collect(&mut out, None, 4, &[b"ab", b"cde"]).unwrap_err();
        assert!(
            matches!(fault, BodyError::Refused(StoreError::TooLarge { len: 5, limit: 4, .. })),
            "{fault:?}"
        );
        assert!(out.is_empty());
    }

    #[test]
    fn too_long_a_promise_takes_no_memory() {
        let mut out = Vec::new();
        let fault = collect(&mut out, Some(1 << 50), 1 << 20, &[]).unwrap_err();
        assert!(matches!(fault, BodyError::Refused(StoreError::TooLarge { .. })), "{fault:?}");
        assert_eq!(out.capacity(), 0);
        let fault = collect(&mut out, Some(u64::MAX), u64::MAX, &[]).unwrap_err();
        assert!(matches!(fault, BodyError::Refused(StoreError::OutOfMemory { .. })), "{fault:?}");
    }

    #[test]
    fn a_buffer_with_room_stays_where_it_is() {
        let mut out = Vec::with_capacity(100);
        let location = out.as_ptr();
        collect(&mut out, Some(100), 100, &[&[1; 60], &[2; 40]]).unwrap();
        assert_eq!(out.as_ptr(), location);
    }
}
