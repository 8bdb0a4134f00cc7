//! Many threads at one array, on pools of every kind, one inside the other.

use std::sync::Arc;
use std::thread;

use ncz::copy::{CopyOptions, copy};
use ncz::model::{Array, Elements, Format, Hierarchy, NcType, Pool, Session, Slab, VariableBuilder};
use ncz::zarr::Dataset;
use rayon::prelude::*;

use super::helpers::{create, memory, open, session, spec, values};

const SHAPE: [u64; 2] = [40, 30];

fn data() -> Vec<u8> {
    (0..SHAPE[0] * SHAPE[1]).flat_map(|i| (i as i32 * 7).to_ne_bytes()).collect()
}

fn dataset(pool: Pool) -> Dataset {
    let session = Session { pool, ..session(1) };
    let mut hierarchy = Hierarchy::new(Format::NCZARR);
    for (name, len) in ["y", "x"].into_iter().zip(SHAPE) {
        hierarchy.add_dimension("/", name, len, false).unwrap();
    }
    let new = VariableBuilder::new("v", NcType::Int).dimensions(["y", "x"]).chunks([3, 7]);
    let variable = hierarchy.add_variable("/", new).unwrap();
    let chain = r#"[{"id":"shuffle","elementsize":4},{"id":"zstd","level":1},{"id":"fletcher32"}]"#;
    session.define(variable, Format::NCZARR, &spec(chain)).unwrap();
    let dataset = create(hierarchy, &session);
    dataset.array("/v").unwrap().write_bytes(&Slab::whole(&SHAPE), Elements::Native, &data()).unwrap();
    dataset
}

fn shared(threads: usize) -> (Arc<rayon::ThreadPool>, Pool) {
    let pool = Arc::new(rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap());
    (pool.clone(), Pool::shared(pool))
}

#[test]
fn many_threads_read_one_array() {
    let (_, lent) = shared(2);
    for pool in [Pool::serial(), Pool::with_threads(3).unwrap(), lent] {
        let array = dataset(pool).array("/v").unwrap();
        let wanted = data();
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        assert_eq!(values(&array), wanted);
                    }
                });
            }
        });
    }
}

#[test]
fn many_threads_write_chunks_of_their_own() {
    let dataset = dataset(Pool::with_threads(2).unwrap());
    let array = dataset.array("/v").unwrap();
    let row =
        |y: u64| -> Vec<u8> { (0..3 * SHAPE[1]).flat_map(|i| ((y + i) as i32).to_ne_bytes()).collect() };
    thread::scope(|scope| {
        for y in (0..39).step_by(3) {
            let (array, row) = (&array, &row);
            scope.spawn(move || {
                array.write_bytes(&Slab::new([y, 0], [3, SHAPE[1]]), Elements::Native, &row(y)).unwrap();
            });
        }
    });
    let out = values(&array);
    for y in (0..39).step_by(3) {
        let start = (y * SHAPE[1] * 4) as usize;
        assert_eq!(out[start..start + row(y).len()], row(y), "{y}");
    }
}

#[test]
fn work_inside_the_shared_pool_and_inside_other_pools_does_not_deadlock() {
    for threads in [1, 2, 4] {
        let (pool, lent) = shared(threads);
        let array = dataset(lent).array("/v").unwrap();
        let wanted = data();
        let many = |array: &Array| (0..64).into_par_iter().for_each(|_| assert_eq!(values(array), wanted));
        // All threads of the shared pool are busy with callers of it.
        pool.install(|| many(&array));
        // Another pool around it, and a third one's array inside.
        let (outer, _) = shared(threads);
        outer.install(|| many(&array));
        let inner = dataset(Pool::with_threads(2).unwrap()).array("/v").unwrap();
        pool.install(|| {
            (0..16).into_par_iter().for_each(|_| {
                many(&inner);
                many(&array);
            });
        });
    }
}

#[test]
fn copies_run_side_by_side_on_one_pool_and_inside_it() {
    let (pool, lent) = shared(2);
    let source = dataset(lent);
    let run = || {
        let target = memory();
        copy(&source, target.clone(), &CopyOptions { verify: true, ..CopyOptions::default() }, &()).unwrap();
        assert_eq!(values(&open(target, &session(1)).array("/v").unwrap()), data());
    };
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(run);
        }
    });
    pool.install(|| (0..8).into_par_iter().for_each(|_| run()));
}
