//! Bodies that come, but too slowly.

use std::time::{Duration, Instant};

/// Bytes a second that a body has to bring, beyond the first ones.
const LEAST: u64 = 100;

/// How many idle timeouts a body has for its first bytes, however few they are.
const TIMEOUTS: u32 = 3;

/// Measures how fast a body comes: one that brings a byte now and then is never silent, and would not end.
#[derive(Debug)]
pub(crate) struct Pace {
    begun: Instant,
    first: Duration,
    bytes: u64,
}

impl Pace {
    pub(crate) fn new(idle_timeout: Duration) -> Self {
        Self { begun: Instant::now(), first: idle_timeout.saturating_mul(TIMEOUTS), bytes: 0 }
    }

    /// Counts bytes that came.
    ///
    /// # Errors
    ///
    /// That it is too slow, in words.
    pub(crate) fn took(&mut self, bytes: usize) -> Result<(), String> {
        self.bytes = self.bytes.saturating_add(bytes as u64);
        let took = self.begun.elapsed();
        if took <= self.first.saturating_add(Duration::from_secs(self.bytes / LEAST)) {
            return Ok(());
        }
        let (bytes, seconds) = (self.bytes, took.as_secs_f32());
        Err(format!(
            "the answer comes too slowly: {bytes} bytes in {seconds:.1} s, fewer than {LEAST} a second"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_has_some_time_for_its_first_bytes_and_must_go_on_then() {
        let of_age = |seconds| Pace {
            begun: Instant::now().checked_sub(Duration::from_secs(seconds)).unwrap(),
            ..Pace::new(Duration::from_secs(2))
        };
        assert!(of_age(5).took(1).is_ok());
        let text = of_age(7).took(9).unwrap_err();
        assert!(text.starts_with("the answer comes too slowly: 9 bytes in 7.0 s"), "{text}");
        assert!(of_age(7).took(200).is_ok());
    }
}
