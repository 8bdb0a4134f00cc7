//! Threads that wait for a remote store, and the gate that lets few of them compute at a time.

use std::cell::RefCell;
use std::panic::resume_unwind;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

/// Lets so many lanes compute at the same time.
#[derive(Debug)]
pub(super) struct Gate {
    free: Mutex<usize>,
    freed: Condvar,
}

impl Gate {
    pub(super) fn new(permits: usize) -> Self {
        Self { free: Mutex::new(permits.max(1)), freed: Condvar::new() }
    }
}

/// What a thread is while it runs a lane.
struct Lane {
    gate: Arc<Gate>,
    /// Whether it has passed the gate and computes.
    computes: bool,
}

thread_local! {
    /// Which lane this thread runs: known to what it calls, at whatever depth, so that no lane starts lanes of its own
    /// or waits for a second permit.
    static LANE: RefCell<Option<Lane>> = const { RefCell::new(None) };
}

/// Whether this thread runs a lane.
pub(crate) fn in_lane() -> bool {
    LANE.with_borrow(Option::is_some)
}

/// Runs what keeps a core busy: on a lane as soon as the gate lets it pass, elsewhere at once.
///
/// A lane that computes does not wait for a permit again, so no two lanes can wait for each other.
pub(crate) fn compute<T>(work: impl FnOnce() -> T) -> T {
    let _permit = Permit::of_this_lane();
    work()
}

/// Runs `work` on this thread and on `lanes - 1` others, and waits for all. The panic of one goes on here.
pub(super) fn run_lanes(gate: &Arc<Gate>, lanes: usize, work: &(dyn Fn() + Sync)) {
    let run = || {
        let _lane = InLane::enter(gate);
        work();
    };
    thread::scope(|scope| {
        let start = |number| {
            let name = format!("ncz-lane-{number}");
            thread::Builder::new().name(name).spawn_scoped(scope, run)
        };
        // The system may refuse more threads; those that there are do the work.
        let others: Vec<_> = (1..lanes).map_while(|number| start(number).ok()).collect();
        run();
        for other in others {
            if let Err(panic) = other.join() {
                resume_unwind(panic);
            }
        }
    });
}

/// Makes this thread a lane until it is dropped.
struct InLane;

impl InLane {
    fn enter(gate: &Arc<Gate>) -> Self {
        LANE.set(Some(Lane { gate: Arc::clone(gate), computes: false }));
        Self
    }
}

impl Drop for InLane {
    fn drop(&mut self) {
        LANE.set(None);
    }
}

/// A place among the lanes that compute, until it is dropped.
struct Permit(Arc<Gate>);

impl Permit {
    /// Waits for one, if this thread runs a lane that has none.
    fn of_this_lane() -> Option<Self> {
        let gate = LANE.with_borrow_mut(|lane| {
            let lane = lane.as_mut().filter(|lane| !lane.computes)?;
            lane.computes = true;
            Some(Arc::clone(&lane.gate))
        })?;
        let mut free = gate.free.lock().unwrap_or_else(PoisonError::into_inner);
        while *free == 0 {
            free = gate.freed.wait(free).unwrap_or_else(PoisonError::into_inner);
        }
        *free -= 1;
        drop(free);
        Some(Self(gate))
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        LANE.with_borrow_mut(|lane| {
            if let Some(lane) = lane {
                lane.computes = false;
            }
        });
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.freed.notify_one();
    }
}
