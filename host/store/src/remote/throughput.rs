//! Detects responses whose bodies arrive too slowly.

use std::time::{Duration, Instant};

/// The least bytes per second of a body, after its first bytes.
const LEAST: u64 = 100;

/// The time for the first bytes of a body, in idle timeouts.
const TIMEOUTS: u32 = 3;

/// Measures the throughput of a body. One that sends a byte now and then never times out, and would not end.
#[derive(Debug)]
pub(crate) struct ThroughputGuard {
    begun: Instant,
    first: Duration,
    bytes: u64,
}

impl ThroughputGuard {
    pub(crate) fn new(idle_timeout: Duration) -> Self {
        Self { begun: Instant::now(), first: idle_timeout.saturating_mul(TIMEOUTS), bytes: 0 }
    }

    /// Counts bytes that came.
    ///
    /// # Errors
    ///
    /// The message that it is too slow.
    pub(crate) fn count(&mut self, bytes: usize) -> Result<(), String> {
        self.bytes = self.bytes.saturating_add(bytes as u64);
        let took = self.begun.elapsed();
        if took <= self.first.saturating_add(Duration::from_secs(self.bytes / LEAST)) {
            return Ok(());
        }
        let (bytes, seconds) = (self.bytes, took.as_secs_f32());
        Err(format!(
            "the response is too slow: {bytes} bytes in {seconds:.1} s, fewer than {LEAST} per second"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_has_some_time_for_its_first_bytes_and_must_go_on_then() {
        let of_age = |seconds| ThroughputGuard {
            begun: Instant::now().checked_sub(Duration::from_secs(seconds)).unwrap(),
            ..ThroughputGuard::new(Duration::from_secs(2))
        };
        assert!(of_age(5).count(1).is_ok());
        let text = of_age(7).count(9).unwrap_err();
        assert!(text.starts_with("the response is too slow: 9 bytes in 7.0 s"), "{text}");
        assert!(of_age(7).count(200).is_ok());
    }
}
