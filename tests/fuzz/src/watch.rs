//! A watch on the input that runs: one that takes too long ends the process, with the input in a file.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::Case;
use crate::corpus::Corpus;

/// Inputs take milliseconds. This is for those that never end, and generous to a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Watches as long as it lives.
pub(crate) struct Watch(Arc<Mutex<Option<(Instant, Case)>>>);

impl Watch {
    pub(crate) fn new(target: &str) -> Self {
        let running: Arc<Mutex<Option<(Instant, Case)>>> = Arc::default();
        let (watched, target) = (Arc::downgrade(&running), target.to_owned());
        thread::spawn(move || {
            while let Some(running) = watched.upgrade() {
                let case = running.lock().unwrap_or_else(PoisonError::into_inner).clone();
                if let Some((_, case)) = case.filter(|(since, _)| since.elapsed() > PATIENCE) {
                    let kept = Corpus::of(&target).keep(&case);
                    eprintln!("{target}: an input does not end within {PATIENCE:?}: {kept:?}");
                    std::process::exit(1);
                }
                drop(running);
                thread::sleep(Duration::from_secs(1));
            }
        });
        Self(running)
    }

    pub(crate) fn begin(&self, case: &Case) {
        self.set(Some((Instant::now(), case.clone())));
    }

    pub(crate) fn end(&self) {
        self.set(None);
    }

    fn set(&self, running: Option<(Instant, Case)>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = running;
    }
}
