use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ncz_store::MemoryStore;
use ncz_store::testing::Remote;

use super::*;

fn far() -> Remote<MemoryStore> {
    Remote::new(MemoryStore::new("test"))
}

#[test]
fn many_lanes_wait_and_as_many_compute_as_there_are_threads() {
    for threads in [1, 3] {
        let (pool, store) = (Pool::with_threads(threads).unwrap(), far());
        let (all, now, most) = (Barrier::new(64), AtomicUsize::new(0), AtomicUsize::new(0));
        pool.run_on(&[&store], 1000, 1, &|| {
            all.wait();
            compute(|| {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                // Who computes need not wait for itself.
                compute(|| std::thread::sleep(Duration::from_millis(2)));
                now.fetch_sub(1, Ordering::SeqCst);
            });
        });
        assert_eq!(most.into_inner(), threads);
    }
}

#[test]
fn operations_on_the_same_threads_share_them() {
    let (pool, store) = (Pool::with_threads(2).unwrap(), far());
    let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        compute(|| {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(2));
            now.fetch_sub(1, Ordering::SeqCst);
        });
    };
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| pool.run_on(&[&store], 20, 1, &work));
        }
    });
    assert_eq!(most.load(Ordering::SeqCst), 2);
}

#[test]
fn the_panic_of_a_lane_goes_on_and_leaves_the_gate_open() {
    let (pool, store) = (Pool::with_threads(2).unwrap(), far());
    let first = AtomicUsize::new(0);
    let work = || {
        pool.run_on(&[&store], 8, 1, &|| {
            compute(|| assert!(first.fetch_add(1, Ordering::SeqCst) % 4 != 1, "a lane failed"));
        });
    };
    let panic = catch_unwind(AssertUnwindSafe(work)).unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"a lane failed"));
    assert!(!in_lane());
    let done = AtomicUsize::new(0);
    pool.run_on(&[&store], 8, 1, &|| {
        compute(|| done.fetch_add(1, Ordering::SeqCst));
    });
    assert_eq!(done.into_inner(), 8);
}
