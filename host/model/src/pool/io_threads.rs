//! Threads that wait for a remote store, and the gate that limits how many of them compute at a time.

use std::cell::RefCell;
use std::panic::resume_unwind;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

/// A semaphore: limits the I/O threads that compute at the same time.
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

/// The state of a thread while it is an I/O thread.
struct IoThread {
    gate: Arc<Gate>,
    /// Whether it has passed the gate and computes.
    computes: bool,
}

thread_local! {
    /// Set while this thread is an I/O thread. All code that it calls can see it, so that no I/O thread starts others
    /// or waits for a second permit.
    static CURRENT: RefCell<Option<IoThread>> = const { RefCell::new(None) };
}

/// Whether the current thread is an I/O thread.
pub(crate) fn on_io_thread() -> bool {
    CURRENT.with_borrow(Option::is_some)
}

/// Runs `work` that keeps a core busy: on an I/O thread after the gate gives a permit, on other threads at once.
///
/// An I/O thread that computes does not wait for a second permit, so no two of them can wait for each other.
pub(crate) fn compute<T>(work: impl FnOnce() -> T) -> T {
    let _permit = Permit::of_this_thread();
    work()
}

/// Runs `work` on this thread and on `threads - 1` others, and waits for all. A panic of one continues here.
pub(super) fn run(gate: &Arc<Gate>, threads: usize, work: &(dyn Fn() + Sync)) {
    let run = || {
        let _entered = Entered::new(gate);
        work();
    };
    thread::scope(|scope| {
        let start = |number| {
            let name = format!("ncz-io-{number}");
            thread::Builder::new().name(name).spawn_scoped(scope, run)
        };
        // The system may refuse more threads; the ones that started do the work.
        let others: Vec<_> = (1..threads).map_while(|number| start(number).ok()).collect();
        run();
        for other in others {
            if let Err(panic) = other.join() {
                resume_unwind(panic);
            }
        }
    });
}

/// Makes this thread an I/O thread until it is dropped.
struct Entered;

impl Entered {
    fn new(gate: &Arc<Gate>) -> Self {
        CURRENT.set(Some(IoThread { gate: Arc::clone(gate), computes: false }));
        Self
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(None);
    }
}

/// The permission to compute, until it is dropped.
struct Permit(Arc<Gate>);

impl Permit {
    /// Waits for a permit, if this is an I/O thread that has none.
    fn of_this_thread() -> Option<Self> {
        let gate = CURRENT.with_borrow_mut(|thread| {
            let thread = thread.as_mut().filter(|thread| !thread.computes)?;
            thread.computes = true;
            Some(Arc::clone(&thread.gate))
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
        CURRENT.with_borrow_mut(|thread| {
            if let Some(thread) = thread {
                thread.computes = false;
            }
        });
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.freed.notify_one();
    }
}
