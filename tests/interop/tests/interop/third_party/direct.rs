//! The filter function of each plugin, called by a C program that makes, marks and checks every block: the answer is
//! right, `*buf_size` is true, blocks come from the allocator of the library that calls and go back there, nothing is
//! written after them, and a failure does not change them. HDF5 has filters of its own for the ids 1 to 4: here ours
//! run.

use std::path::{Path, PathBuf};
use std::process::Command;

use ncz_test_support::{Skip, build_plugins, chunks, plugin, program};
use serde_json::Value;
use tempfile::TempDir;

use super::{FILTERS, LIMIT};
use crate::harness::with_one_damaged;

const DECODE: u32 = 0x100;
/// More than any sensible number of workers of a program that reads chunks.
const THREADS: u32 = 8;

/// What the caller does with a chunk.
enum Task {
    /// Encode it and decode the result.
    RoundTrip,
    /// Decode it to these bytes.
    Gives(Vec<u8>),
    /// Decode it, which must fail.
    Fails,
}

struct Job {
    task: Task,
    words: Vec<u32>,
    bytes: Vec<u8>,
    /// How many bytes the block has beyond the chunk.
    spare: u64,
}

/// The compiled caller: a program and three libraries that it can call from.
struct Callers {
    folder: TempDir,
}

/// A calling library, and another one in the global scope.
#[derive(Clone, Copy)]
struct Pair {
    other: &'static str,
    caller: &'static str,
}

const PAIRS: [Pair; 3] = [
    Pair { other: "libone.so", caller: "libtwo.so" },
    Pair { other: "libtwo.so", caller: "libone.so" },
    // as netcdf-c calls next to a libhdf5
    Pair { other: "libone.so", caller: "libplain.so" },
];

impl Callers {
    fn build() -> Result<Self, Skip> {
        let folder = tempfile::tempdir().unwrap();
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c");
        let compile = |source: &str, output: &str, options: &[&str]| {
            let mut cc = Command::new(program("cc")?);
            cc.args(["-O1", "-Wall", "-Werror", "-pthread"])
                .args(options)
                .arg(sources.join(source))
                .arg("-o")
                .arg(folder.path().join(output))
                .arg("-ldl");
            ncz_test_support::run(&mut cc, LIMIT).unwrap().success("cc").unwrap();
            Ok::<_, Skip>(())
        };
        for (tag, library) in [("-DTAG=0", "libplain.so"), ("-DTAG=1", "libone.so"), ("-DTAG=2", "libtwo.so")]
        {
            compile("caller.c", library, &["-shared", "-fPIC", "-Wl,-Bsymbolic", tag])?;
        }
        compile("callers.c", "callers", &[])?;
        Ok(Self { folder })
    }

    fn command(&self, pair: Pair, library: &Path, jobs: &Path, threads: u32) -> Command {
        let mut command = Command::new(self.folder.path().join("callers"));
        command
            .arg(library)
            .arg(jobs)
            .arg(threads.to_string())
            .arg(self.folder.path().join(pair.other))
            .arg(self.folder.path().join(pair.caller));
        command
    }

    /// Runs the jobs; what the program counted.
    fn run(&self, pair: Pair, library: &Path, jobs: &[Job], threads: u32) -> Value {
        let file = self.write(jobs);
        let output = ncz_test_support::run(&mut self.command(pair, library, &file, threads), LIMIT).unwrap();
        let output = output.success("callers").unwrap_or_else(|error| panic!("{library:?}: {error}"));
        let counts: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(counts["jobs"], jobs.len());
        counts
    }

    fn write(&self, jobs: &[Job]) -> PathBuf {
        let mut file = Vec::new();
        file.extend(u32::try_from(jobs.len()).unwrap().to_le_bytes());
        for job in jobs {
            let (kind, flags, wanted): (u32, u32, &[u8]) = match &job.task {
                Task::RoundTrip => (0, 0, &[]),
                Task::Gives(wanted) => (1, DECODE, wanted),
                Task::Fails => (2, DECODE, &[]),
            };
            for number in [kind, flags, u32::try_from(job.words.len()).unwrap()] {
                file.extend(number.to_le_bytes());
            }
            for number in [job.bytes.len() as u64, job.spare, wanted.len() as u64] {
                file.extend(number.to_le_bytes());
            }
            job.words.iter().for_each(|word| file.extend(word.to_le_bytes()));
            file.extend(&job.bytes);
            file.extend(wanted);
        }
        let path = self.folder.path().join("jobs");
        std::fs::write(&path, file).unwrap();
        path
    }
}

#[test]
fn stored_chunks_decode_in_every_callers_memory_and_damage_does_not_change_it() {
    let Ok(callers) = Callers::build() else { return };
    for (id, name) in FILTERS {
        let mut jobs = stored(id);
        assert!(jobs.len() >= 4, "{} chunks of {name}", jobs.len());
        // shuffled bytes have no frame that could be found damaged
        if name != "shuffle" {
            let cut: Vec<Job> = jobs.iter().flat_map(cut).collect();
            jobs.extend(cut);
        }
        for pair in PAIRS {
            check(&callers.run(pair, &plugin(name).unwrap(), &jobs, 1), pair, name);
        }
    }
}

#[test]
fn every_length_and_noise_come_back_in_every_callers_memory() {
    let Ok(callers) = Callers::build() else { return };
    for (_, name) in FILTERS {
        let jobs: Vec<Job> = words(name).iter().flat_map(|(step, words)| round_trips(*step, words)).collect();
        assert!(jobs.len() >= 24, "{} jobs of {name}", jobs.len());
        for pair in PAIRS {
            let counts = callers.run(pair, &plugin(name).unwrap(), &jobs, 1);
            check(&counts, pair, name);
            // noise does not fit into the block that it came in
            assert!(name == "shuffle" || counts["replaced"].as_u64().unwrap() > 10, "{name}: {counts}");
        }
    }
}

#[test]
fn threads_with_different_parameters_do_not_disturb_each_other() {
    let Ok(callers) = Callers::build() else { return };
    for (id, name) in FILTERS {
        let mut jobs = stored(id);
        jobs.extend(words(name).iter().flat_map(|(step, words)| round_trips(*step, words)));
        check(&callers.run(PAIRS[0], &plugin(name).unwrap(), &jobs, THREADS), PAIRS[0], name);
    }
}

#[test]
fn the_caller_detects_errors_and_loads_no_damaged_library() {
    let Ok(callers) = Callers::build() else { return };
    let mut jobs = stored(1);
    let zlib = plugin("deflate").unwrap();
    let fault = |jobs: &[Job], library: &Path| {
        let file = callers.write(jobs);
        let output = ncz_test_support::run(&mut callers.command(PAIRS[0], library, &file, 1), LIMIT).unwrap();
        assert_eq!(output.status.code(), Some(3), "{}", output.text());
        output.text()
    };
    let plugins = build_plugins().unwrap();
    let damaged = with_one_damaged(&plugins, "deflate");
    let text = fault(&jobs, &damaged.path().join(zlib.file_name().unwrap()));
    assert!(text.contains("invalid ELF header"), "{text}");
    if let Task::Gives(wanted) = &mut jobs[0].task {
        wanted[0] ^= 1;
    }
    assert!(fault(&jobs, &zlib).contains("job 0 gives"));
    jobs[0].task = Task::Fails;
    assert!(fault(&jobs, &zlib).contains("it must fail"));
}

/// Checks that nothing leaks, and that the other library's allocator was not called.
fn check(counts: &Value, pair: Pair, name: &str) {
    let (alive, other) = (&counts["alive"], &counts["alive in the other"]);
    assert!(*alive == 0 && *other == 0, "{name} called by {}: {counts}", pair.caller);
}

/// The chunks that HDF5 stored through only this filter.
fn stored(id: u32) -> Vec<Job> {
    let of_filter = |case: &ncz_test_support::ChunkCase| {
        matches!(&*case.filters, [filter] if filter.id == id) && case.filter_mask == 0
    };
    let cases = chunks().unwrap().into_iter().filter(of_filter).enumerate();
    cases
        .map(|(number, case)| Job {
            task: Task::Gives(case.raw),
            words: case.filters[0].params.clone(),
            bytes: case.encoded,
            // at times the block has room for the result
            spare: [0, 1, 1 << 20][number % 3],
        })
        .collect()
}

/// The same chunk cut at two positions.
fn cut(job: &Job) -> Vec<Job> {
    [job.bytes.len() / 2, job.bytes.len() - 1]
        .map(|len| Job {
            task: Task::Fails,
            words: job.words.clone(),
            bytes: job.bytes[..len].to_vec(),
            spare: job.spare,
        })
        .into()
}

/// Working parameters of a filter, each with the length that chunks must be a multiple of.
fn words(name: &str) -> Vec<(usize, Vec<u32>)> {
    match name {
        "deflate" => [0, 1, 6, 9].map(|level| (1, vec![level])).into(),
        "shuffle" => [1, 2, 3, 4, 8, 16, 1000].map(|size| (1, vec![size])).into(),
        "fletcher32" => vec![(1, vec![])],
        // mask with RAW, little-endian and entropy or nearest neighbour; block; bits; scanline
        "szip" => vec![(1, vec![141, 8, 8, 64]), (4, vec![169, 32, 32, 64]), (8, vec![169, 16, 64, 32])],
        "bzip2" => vec![(1, vec![]), (1, vec![1]), (1, vec![9])],
        "blosc" => [(0, 1, 1), (1, 4, 1), (4, 8, 2), (5, 2, 0), (2, 255, 1)]
            .map(|(code, size, shuffle)| (1, vec![2, 2, size, 0, 5, shuffle, code]))
            .into(),
        "zstd" => vec![(1, vec![]), (1, vec![3]), (1, vec![u32::MAX - 4])],
        other => panic!("no parameters for {other}"),
    }
}

/// Round trips of smooth data and of noise, of all kinds of lengths that are multiples of `step`.
fn round_trips(step: usize, words: &[u32]) -> Vec<Job> {
    let lengths = [1, 2, 3, 5, 7, 8, 31, 255, 1000, 4097, 65_537, 300_001];
    let mut seed = 1_u64;
    let mut noise = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 56) as u8
    };
    let mut jobs = Vec::new();
    for (number, length) in lengths.into_iter().enumerate() {
        let length = length * step;
        let smooth: Vec<u8> = (0..length).map(|at| (at / 64 % 251) as u8).collect();
        let noisy: Vec<u8> = (0..length).map(|_| noise()).collect();
        for bytes in [smooth, noisy] {
            let spare = [0, 3, 5000][number % 3];
            jobs.push(Job { task: Task::RoundTrip, words: words.to_vec(), bytes, spare });
        }
    }
    jobs
}
