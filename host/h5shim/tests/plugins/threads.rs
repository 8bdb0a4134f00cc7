//! Many threads, each with its own dataset.

use crate::plugin::{Plugin, debian, package, ty};

const ROUNDS: u64 = 2000;

/// Four threads, whose chunks and types differ; each gets its own parameters.
fn four_at_once(plugin: Plugin, expected: impl Fn(u64, u64) -> Vec<u32> + Sync) {
    std::thread::scope(|scope| {
        for thread in 1..=4u64 {
            let expected = &expected;
            scope.spawn(move || {
                let sizes = ["i1", "i2", "i4", "i8"];
                let element = ty(sizes[thread as usize - 1]);
                for round in 1..=ROUNDS {
                    let answer = plugin.ask(&element, &[thread, round], &[0, 0, 0, 0, thread as u32, 1, 1]);
                    assert_eq!(
                        answer.values(),
                        expected(1 << (thread - 1), thread * round)[..]
                            .iter()
                            .copied()
                            .chain([thread as u32, 1, 1])
                            .collect::<Vec<_>>()
                    );
                }
            });
        }
    });
}

#[test]
fn four_threads_do_not_see_each_others_datasets() {
    let Some(folder) = package("hdf5plugin") else { return };
    let plugin = Plugin::initialised(&folder.join("libh5blosc.so"));
    four_at_once(plugin, |size, points| vec![2, 2, size as u32, (size * points) as u32]);
}

#[test]
fn four_threads_with_a_copy_do_not_see_each_others_datasets() {
    let Some(folder) = debian() else { return };
    let plugin = Plugin::debian(&folder.join("libH5Zblosc.so"));
    four_at_once(plugin, |size, points| vec![2, 2, size as u32, (size * points) as u32]);
}
