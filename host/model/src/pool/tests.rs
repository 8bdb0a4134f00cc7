use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ncz_store::MemoryStore;
use ncz_store::testing::Remote;

use super::*;

fn remote() -> Remote<MemoryStore> {
    Remote::new(MemoryStore::new("test"))
}

#[test]
fn many_io_threads_wait_and_as_many_compute_as_there_are_threads() {
    for threads in [1, 3] {
        let (pool, store) = (Pool::with_threads(threads).unwrap(), remote());
        let (all, now, most) = (Barrier::new(64), AtomicUsize::new(0), AtomicUsize::new(0));
        pool.run_on(&[&store], 1000, 1, &|| {
            all.wait();
            compute(|| {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                // A thread that computes does not wait for itself.
                compute(|| std::thread::sleep(Duration::from_millis(2)));
                now.fetch_sub(1, Ordering::SeqCst);
            });
        });
        assert_eq!(most.into_inner(), threads);
    }
}

#[test]
fn operations_on_the_same_threads_share_them() {
    let (pool, store) = (Pool::with_threads(2).unwrap(), remote());
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
fn a_panic_on_an_io_thread_continues_and_leaves_the_gate_open() {
    let (pool, store) = (Pool::with_threads(2).unwrap(), remote());
    let first = AtomicUsize::new(0);
    let work = || {
        pool.run_on(&[&store], 8, 1, &|| {
            compute(|| assert!(first.fetch_add(1, Ordering::SeqCst) % 4 != 1, "an I/O thread failed"));
        });
    };
    let panic = catch_unwind(AssertUnwindSafe(work)).unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"an I/O thread failed"));
    assert!(!on_io_thread());
    let done = AtomicUsize::new(0);
    pool.run_on(&[&store], 8, 1, &|| {
        compute(|| done.fetch_add(1, Ordering::SeqCst));
    });
    assert_eq!(done.into_inner(), 8);
}

#[test]
fn each_task_runs_once_and_every_state_is_returned() {
    let store = remote();
    let stores: [&dyn Store; 1] = [&store];
    for threads in [1, 3] {
        let pool = Pool::with_threads(threads).unwrap();
        for tasks in [Tasks::new(1000), Tasks::new(1000).on(&stores, 1)] {
            let step = |seen: &mut Vec<u64>, number| {
                seen.push(number);
                Ok::<(), ()>(())
            };
            let states = pool.for_each(&tasks, Vec::new, step).unwrap();
            assert!(states.iter().all(|seen| seen.is_sorted()));
            let mut all = states.concat();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..1000));
        }
    }
}

#[test]
fn no_more_tasks_than_allowed_run_at_the_same_time() {
    let (pool, store) = (Pool::with_threads(4).unwrap(), remote());
    let stores: [&dyn Store; 1] = [&store];
    for (tasks, limit) in [(Tasks::new(40), 2), (Tasks::new(40).on(&stores, 1), 2), (Tasks::new(40), 0)] {
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let step = |(): &mut (), _| {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(1));
            now.fetch_sub(1, Ordering::SeqCst);
            Ok::<(), ()>(())
        };
        let states = pool.for_each(&tasks.at_most(limit), || (), step).unwrap();
        assert!(most.into_inner() as u64 <= limit.max(1));
        assert_eq!(states.len() as u64, limit.max(1));
    }
}

#[test]
fn the_first_error_ends_the_tasks_and_is_returned() {
    let pool = Pool::with_threads(3).unwrap();
    let done = AtomicUsize::new(0);
    let step = |(): &mut (), number| {
        done.fetch_add(1, Ordering::SeqCst);
        if number == 5 { Err(number) } else { Ok(()) }
    };
    assert_eq!(Pool::serial().for_each(&Tasks::new(1000), || (), step), Err(5));
    assert_eq!(done.swap(0, Ordering::SeqCst), 6);
    let slow = |state: &mut (), number| {
        std::thread::sleep(Duration::from_millis(1));
        step(state, number)
    };
    assert_eq!(pool.for_each(&Tasks::new(1000), || (), slow), Err(5));
    assert!(done.into_inner() < 20);
}

#[test]
fn no_tasks_are_done_at_once() {
    let states = Pool::with_threads(2).unwrap().for_each(&Tasks::new(0), || (), |(), _| Err(()));
    assert!(states.is_ok());
}

#[test]
fn a_waiting_thread_runs_few_tasks_within_each_other() {
    thread_local!(static DEPTH: Cell<usize> = const { Cell::new(0) });
    let threads = Arc::new(rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap());
    let pool = Pool::shared(Arc::clone(&threads));
    let deepest = AtomicUsize::new(0);
    let task = || {
        DEPTH.set(DEPTH.get() + 1);
        deepest.fetch_max(DEPTH.get(), Ordering::SeqCst);
        pool.run(2, &|| std::thread::sleep(Duration::from_micros(50)));
        DEPTH.set(DEPTH.get() - 1);
    };
    threads.scope(|scope| (0..500).for_each(|_| scope.spawn(|_| task())));
    assert!(deepest.into_inner() <= MOST_WAITS + 1);
}
