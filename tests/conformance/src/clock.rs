//! Processor time, which does not grow while others have the machine.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// How much processor time this process has used, all its threads together.
pub fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
}
