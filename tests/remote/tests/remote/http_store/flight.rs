//! How much is on its way at the same time, on which threads.

use std::ops::ControlFlow;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use ncz::store::http::HttpStore;
use ncz::store::{KeyBuf, ReadRange, ReadRequest, Store};
use ncz_test_servers::{HttpServer, Ranges};

use super::setup::{config, digits, key, read, server};

const LATENCY: Duration = Duration::from_millis(150);

/// `count` objects of `len` bytes, of which each begins with its number.
fn objects(server: &HttpServer, count: u32, len: usize) -> Vec<KeyBuf> {
    let put = |n: u32| {
        let mut bytes = n.to_le_bytes().to_vec();
        bytes.resize(len, n as u8);
        server.put(&format!("d.zarr/t/{n}"), bytes);
        KeyBuf::parse(format!("t/{n}")).unwrap()
    };
    (0..count).map(put).collect()
}

fn requests(keys: &[KeyBuf]) -> Vec<ReadRequest<'_>> {
    keys.iter()
        .map(|key| ReadRequest { key: key.as_key(), range: ReadRange::All, max_len: 1 << 30 })
        .collect()
}

#[test]
fn as_many_requests_are_on_their_way_as_is_allowed_and_not_more() {
    for in_flight in [64, 7] {
        let server = server();
        let keys = objects(&server, 4 * in_flight, 100);
        server.set_latency(LATENCY);
        let mut config = config(server.url("d.zarr"));
        config.remote.in_flight = in_flight as usize;
        let store = HttpStore::open(config).unwrap();
        let seen = Mutex::new(vec![0; keys.len()]);
        store.read_many(&requests(&keys), &|index, answer| {
            assert_eq!(&answer.unwrap().unwrap()[..4], (index as u32).to_le_bytes());
            seen.lock().unwrap()[index] += 1;
            ControlFlow::Continue(())
        });
        assert!(seen.into_inner().unwrap().iter().all(|times| *times == 1));
        assert_eq!(server.total(), u64::from(4 * in_flight));
        assert_eq!(server.max_in_flight(), u64::from(in_flight));
    }
}

#[test]
fn threads_share_the_limit() {
    let server = server();
    let keys = objects(&server, 40, 100);
    server.set_latency(LATENCY);
    let mut config = config(server.url("d.zarr"));
    config.remote.in_flight = 10;
    let store = HttpStore::open(config).unwrap();
    thread::scope(|scope| {
        for key in &keys {
            let store = &store;
            scope.spawn(move || assert!(read(store, key.as_str()).unwrap().is_some()));
        }
    });
    assert_eq!(server.max_in_flight(), 10);
}

#[test]
fn after_break_nothing_more_is_asked_and_what_was_is_dropped() {
    let server = server();
    let keys = objects(&server, 64, 100);
    server.set_latency(LATENCY);
    let mut config = config(server.url("d.zarr"));
    config.remote.in_flight = 8;
    let store = HttpStore::open(config).unwrap();
    let calls = AtomicUsize::new(0);
    store.read_many(&requests(&keys), &|_, _| {
        calls.fetch_add(1, Ordering::Relaxed);
        ControlFlow::Break(())
    });
    assert_eq!(calls.into_inner(), 1);
    thread::sleep(3 * LATENCY);
    assert_eq!(server.total(), 8);
    assert_eq!(server.in_flight(), 0);
    assert!(read(&store, "t/0").unwrap().is_some(), "a dropped request holds no slot");
}

#[test]
fn a_callback_may_wait_for_others_that_read() {
    // little room, and every answer makes others read: on this thread, and on another that this one waits for
    let server = server();
    let keys = objects(&server, 24, 100_000);
    for in_flight in [1, 2, 8] {
        let mut config = config(server.url("d.zarr"));
        config.remote.in_flight = in_flight;
        config.remote.bytes_in_flight = 150_000;
        let store = HttpStore::open(config).unwrap();
        let answers = AtomicUsize::new(0);
        store.read_many(&requests(&keys), &|_, answer| {
            assert_eq!(answer.unwrap().unwrap().len(), 100_000);
            assert_eq!(read(&store, "t/3").unwrap().unwrap().len(), 100_000);
            thread::scope(|scope| {
                scope.spawn(|| assert_eq!(read(&store, "t/4").unwrap().unwrap().len(), 100_000));
            });
            answers.fetch_add(1, Ordering::Relaxed);
            ControlFlow::Continue(())
        });
        assert_eq!(answers.into_inner(), 24);
    }
}

#[test]
fn an_object_above_the_limit_of_bytes_is_requested_by_itself() {
    let server = server();
    let keys = objects(&server, 8, 3 << 20);
    let mut config = config(server.url("d.zarr"));
    config.remote.bytes_in_flight = 1 << 20;
    let store = HttpStore::open(config).unwrap();
    let total = AtomicUsize::new(0);
    store.read_many(&requests(&keys), &|_, answer| {
        total.fetch_add(answer.unwrap().unwrap().len(), Ordering::Relaxed);
        ControlFlow::Continue(())
    });
    assert_eq!(total.into_inner(), 24 << 20);
}

/// The most memory that this process ever had, in bytes.
#[cfg(target_os = "linux")]
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

/// Reads 512 MB with a callback that is slower than the server, in a process of its own.
#[cfg(target_os = "linux")]
#[test]
fn memory_stays_within_the_bytes_in_flight() {
    const NAME: &str = "http_store::flight::memory_stays_within_the_bytes_in_flight";
    if let Some(url) = env::var_os("NCZ_TEST_URL") {
        let mut config = config(url.into_string().unwrap());
        config.remote.bytes_in_flight = 32 << 20;
        let store = HttpStore::open(config).unwrap();
        let keys: Vec<_> = (0..64).map(|n| KeyBuf::parse(format!("t/{n}")).unwrap()).collect();
        read(&store, "small").unwrap();
        let before = peak();
        store.read_many(&requests(&keys), &|_, answer| {
            assert_eq!(answer.unwrap().unwrap().len(), 8 << 20);
            thread::sleep(Duration::from_millis(10));
            ControlFlow::Continue(())
        });
        // besides the objects: a little of each connection, and buffers that wait to be used again
        let grown = peak() - before;
        println!("{} MiB", grown >> 20);
        assert!(grown < 110 << 20, "{} MiB", grown >> 20);
        return;
    }
    let server = server();
    let bytes = bytes_of(8 << 20);
    for n in 0..64 {
        server.put(&format!("d.zarr/t/{n}"), bytes);
    }
    let child = Command::new(env::current_exe().unwrap())
        .args(["--exact", NAME, "--nocapture"])
        .env("NCZ_TEST_URL", server.url("d.zarr"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&child.stdout).into_owned() + &String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success() && text.contains("1 passed"), "{text}");
}

/// The same bytes for many objects.
#[cfg(target_os = "linux")]
fn bytes_of(len: usize) -> &'static [u8] {
    Box::leak(vec![5; len].into_boxed_slice())
}

#[test]
fn a_store_may_be_used_and_dropped_inside_a_runtime() {
    let server = digits(Ranges::Served);
    for runtime in [
        tokio::runtime::Builder::new_current_thread().build().unwrap(),
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap(),
    ] {
        runtime.block_on(async {
            let store = HttpStore::open(config(server.url("d.zarr"))).unwrap();
            assert_eq!(read(&store, "t/0").unwrap().unwrap(), b"0123456789");
            let request = ReadRequest { key: key("t/0"), range: ReadRange::All, max_len: 10 };
            store.read_many(&[request; 3], &|_, answer| {
                assert_eq!(answer.unwrap().unwrap(), b"0123456789");
                assert_eq!(store.len(key("t/0")).unwrap(), Some(10));
                ControlFlow::Continue(())
            });
            drop(store);
            // one that was never used
            drop(HttpStore::open(config(server.url("d.zarr"))).unwrap());
        });
        let store = HttpStore::open(config(server.url("d.zarr"))).unwrap();
        let task = async move { read(&store, "t/0").unwrap().map(|bytes| bytes.len()) };
        assert_eq!(runtime.block_on(async { tokio::spawn(task).await.unwrap() }), Some(10));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn threads_start_with_the_first_request_and_end_with_the_store() {
    const NAME: &str = "http_store::flight::threads_start_with_the_first_request_and_end_with_the_store";
    if let Some(url) = env::var_os("NCZ_TEST_URL") {
        let ours = || {
            let tasks = fs::read_dir("/proc/self/task").unwrap();
            let names = tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("comm")).ok());
            names.filter(|name| name.starts_with("ncz-http")).count()
        };
        let store = HttpStore::open(config(url.into_string().unwrap())).unwrap();
        assert_eq!(ours(), 0);
        read(&store, "t/0").unwrap();
        // a thread gives itself its name
        let begun = Instant::now();
        while ours() < 2 {
            assert!(begun.elapsed() < Duration::from_secs(20), "{} threads have started", ours());
            thread::sleep(Duration::from_millis(20));
        }
        drop(store);
        let begun = Instant::now();
        while ours() > 0 {
            assert!(begun.elapsed() < Duration::from_secs(20), "{} threads are left", ours());
            thread::sleep(Duration::from_millis(20));
        }
        return;
    }
    let server = digits(Ranges::Served);
    let child = Command::new(env::current_exe().unwrap())
        .args(["--exact", NAME, "--nocapture"])
        .env("NCZ_TEST_URL", server.url("d.zarr"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&child.stdout).into_owned() + &String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success() && text.contains("1 passed"), "{text}");
}
