//! Readers and writers at once.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use ncz_store::{ReadRange, StoreError, StoreExt, WriteMode};

use super::stores::{each, key};

const LEN: usize = 100_000;

#[test]
fn readers_never_meet_a_mixture_of_two_objects() {
    each(|store| {
        let a = key("group/a/0");
        let done = AtomicBool::new(false);
        let seen = AtomicUsize::new(0);
        thread::scope(|scope| {
            let readers = [0, 1].map(|_| {
                scope.spawn(|| {
                    let mut buffer = Vec::new();
                    let mut fixed = vec![0; LEN + 255];
                    while !done.load(Ordering::Relaxed) {
                        if store.read(a, ReadRange::All, 1 << 20, &mut buffer).unwrap() {
                            let value = buffer[0];
                            assert_eq!(buffer.len(), LEN + usize::from(value));
                            assert!(buffer.iter().all(|byte| *byte == value));
                            seen.fetch_add(1, Ordering::Relaxed);
                        }
                        if let Some(found) = store.read_into(a, 0, &mut fixed).unwrap() {
                            let value = fixed[0];
                            assert_eq!(found.object_len as usize, LEN + usize::from(value));
                            assert!(fixed[..found.filled].iter().all(|byte| *byte == value));
                        }
                    }
                })
            });
            let writers = [0_u8, 100].map(|first| {
                let seen = &seen;
                scope.spawn(move || {
                    let start = Instant::now();
                    let mut round = 0;
                    // the readers may not have had their turn yet
                    while round < 100 || (seen.load(Ordering::Relaxed) < 10 && start.elapsed().as_secs() < 60)
                    {
                        let value = first + (round % 100) as u8;
                        let bytes = vec![value; LEN + usize::from(value)];
                        store.write(a, &bytes, WriteMode::Replace).unwrap();
                        round += 1;
                    }
                })
            });
            for writer in writers {
                writer.join().unwrap();
            }
            done.store(true, Ordering::Relaxed);
            for reader in readers {
                reader.join().unwrap();
            }
        });
        assert!(seen.load(Ordering::Relaxed) > 0);
    });
}

#[test]
fn of_many_who_create_one_object_one_succeeds_and_its_bytes_stay() {
    each(|store| {
        for round in 0..20 {
            let text = format!("locks/{round}");
            let a = key(&text);
            let winners = AtomicUsize::new(0);
            let winner = AtomicUsize::new(usize::MAX);
            thread::scope(|scope| {
                for number in 0..4_u8 {
                    let (winners, winner) = (&winners, &winner);
                    scope.spawn(move || match store.write(a, &[number; 100], WriteMode::CreateNew) {
                        Ok(()) => {
                            winners.fetch_add(1, Ordering::Relaxed);
                            winner.store(number.into(), Ordering::Relaxed);
                        }
                        Err(error) => assert!(matches!(error, StoreError::AlreadyExists { .. }), "{error}"),
                    });
                }
            });
            assert_eq!(winners.into_inner(), 1);
            assert_eq!(store.read_vec(a, 100).unwrap().unwrap(), [winner.into_inner() as u8; 100]);
        }
    });
}

#[test]
fn objects_come_and_go_in_one_directory_without_a_failure() {
    each(|store| {
        thread::scope(|scope| {
            for number in 0..4 {
                scope.spawn(move || {
                    for round in 0..100 {
                        let text = format!("deep/{}/er/{number}", round % 3);
                        store.write(key(&text), b"1", WriteMode::Replace).unwrap();
                        assert!(store.delete(key(&text)).unwrap());
                    }
                });
            }
        });
        let left: BTreeSet<_> =
            super::objects::keys(store, ncz_store::Prefix::ROOT, ncz_store::Depth::All).into_iter().collect();
        assert!(left.is_empty(), "{left:?}");
    });
}
