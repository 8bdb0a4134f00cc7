//! Ends this process when one step uses more processor time than it may.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::clock::cpu_time;

/// How often it looks. Polling is cheaper than a wake-up for each of 10^5 steps.
const EVERY: Duration = Duration::from_millis(20);

/// Ends this process when one step uses more processor time than it may.
#[derive(Debug, Clone, Default)]
pub(crate) struct Watchdog(Arc<Mutex<Option<Watched>>>);

/// The step that is watched.
#[derive(Debug, Clone, Copy)]
struct Watched {
    limit: Duration,
    until: Duration,
}

impl Watchdog {
    /// Starts to watch; `bite` is called with the limit that was passed, and ends the process.
    pub(crate) fn start(bite: impl Fn(Duration) + Send + 'static) -> Self {
        let dog = Self::default();
        let eyes = dog.clone();
        // Without a thread there is no limit here, but that of the whole check still applies.
        let _ = thread::Builder::new().name("watchdog".to_owned()).spawn(move || {
            loop {
                thread::sleep(EVERY);
                let watched = eyes.lock();
                if let Some(watched) = *watched
                    && cpu_time() > watched.until
                {
                    // With the lock held: the step cannot end meanwhile.
                    bite(watched.limit);
                }
            }
        });
        dog
    }

    /// A step begins.
    pub(crate) fn watch(&self, limit: Duration) {
        *self.lock() = Some(Watched { limit, until: cpu_time() + limit });
    }

    /// The step is over.
    pub(crate) fn rest(&self) {
        *self.lock() = None;
    }

    fn lock(&self) -> MutexGuard<'_, Option<Watched>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_step_that_uses_too_much_is_bitten_and_one_that_sleeps_is_not() {
        let (sender, bites) = mpsc::channel();
        let dog = Watchdog::start(move |limit| {
            let _ = sender.send(limit);
        });
        let limit = Duration::from_secs(20);
        dog.watch(limit);
        assert!(bites.recv_timeout(Duration::from_millis(200)).is_err());
        dog.rest();

        let limit = Duration::from_millis(50);
        dog.watch(limit);
        let start = Instant::now();
        while bites.try_recv() != Ok(limit) {
            assert!(start.elapsed() < Duration::from_secs(60), "not bitten");
        }
        dog.rest();
    }
}
