//! Sends damaged chunks through third-party plugins in worker processes: each is an error, the right data, or wrong
//! data of the right length, and this process survives to report it.
//!
//! ```text
//! cargo build --release -p ncz-conform --example isolated_damage
//! target/release/examples/isolated_damage FOLDER.. --count 100000 --seconds 600 --markdown FILE
//! ```
//!
//! `--count` streams of each filter, the sorts in turns, but not for longer than `--seconds`. Stream number n of a
//! filter is the same in every run.

use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ncz_codec::{Container, Dtype, ErrorKind, Kind};
use ncz_conform::mutation::{Mutator, Sort};
use ncz_conform::sample::{Content, Sample};
use ncz_registry::chain::{FilterChain, Stage};
use ncz_registry::isolate::{self, Isolation, Which};
use ncz_registry::registry::Registry;
use ncz_registry::report::FileReport;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// From which all damage follows.
const SEED: u64 = 1;
/// The processor time of a call. A good chunk of 16 KiB takes a few milliseconds at most, but opening the largest library
/// can take more than 50 milliseconds on a busy machine.
const CPU_TIME: Duration = Duration::from_millis(150);
const WORKERS: usize = 2;

/// The results for damaged streams.
#[derive(Default)]
struct Counts {
    error: AtomicUsize,
    right: AtomicUsize,
    wrong: AtomicUsize,
    crash: AtomicUsize,
    hang: AtomicUsize,
}

/// The options of a run.
struct Request {
    folders: Vec<PathBuf>,
    count: usize,
    seconds: u64,
    markdown: Option<PathBuf>,
}

/// A chunk of a filter.
struct Material {
    chain: FilterChain,
    stream: Vec<u8>,
    other: Vec<u8>,
    clean: Vec<u8>,
}

fn main() -> ExitCode {
    if isolate::is_worker() {
        return isolate::worker_main();
    }
    let Some(request) = Request::parse(std::env::args().skip(1)) else {
        eprintln!("usage: isolated_damage FOLDER.. [--count N] [--seconds N] [--markdown FILE]");
        return ExitCode::from(2);
    };
    match run(&request) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

impl Request {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Option<Self> {
        let mut request = Self { folders: Vec::new(), count: 1000, seconds: 600, markdown: None };
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--count" => request.count = arguments.next()?.parse().ok()?,
                "--seconds" => request.seconds = arguments.next()?.parse().ok()?,
                "--markdown" => request.markdown = Some(arguments.next()?.into()),
                _ => request.folders.push(argument.into()),
            }
        }
        (!request.folders.is_empty()).then_some(request)
    }
}

fn run(request: &Request) -> Result<(), Failure> {
    let mut table = String::from(
        "| library | filter | streams | error | right | wrong value | crash | hang, killed | seconds |\n\
         | --- | --- | --: | --: | --: | --: | --: | --: | --: |\n",
    );
    for folder in &request.folders {
        // One library at a time, so that each provides its own filter.
        let isolation = Isolation {
            which: Which::Foreign,
            worker: Some(std::env::current_exe()?),
            workers: NonZeroUsize::new(WORKERS),
            memory: 2 << 30,
            cpu_time: CPU_TIME,
            wall_time: Some(Duration::from_secs(5)),
        };
        // Opening takes longer than a chunk.
        let opening = Isolation { cpu_time: Duration::from_secs(10), ..isolation.clone() };
        let of = |isolation| {
            Registry::builder().plugin_path(vec![folder.clone()]).builtins(false).isolation(isolation)
        };
        let (encoding, decoding) = (of(opening).build(), of(isolation).build());
        for file in encoding.report().files() {
            let Some(id) = filter_of(file) else { continue };
            let name = file.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let row = match damage(id, &encoding, &decoding, request) {
                Ok(row) => row,
                Err(error) => format!("0 | | | | | {}", ncz_conform::error::chain(&*error)),
            };
            println!("| {name} | {id} | {row} |");
            writeln!(table, "| {name} | {id} | {row} |")?;
        }
    }
    if let Some(path) = &request.markdown {
        std::fs::write(path, table)?;
    }
    Ok(())
}

/// The filter that a library runs.
fn filter_of(file: &FileReport) -> Option<u32> {
    let runs = file.offers.iter().find(|offer| offer.part == "HDF5")?;
    runs.id.filter(|_| file.isolated)
}

/// Damages streams of a filter; the numbers of the table.
fn damage(id: u32, encoding: &Registry, decoding: &Registry, request: &Request) -> Result<String, Failure> {
    let mut materials = Vec::new();
    let mut why = Failure::from("no chunk to damage");
    for content in [Content::Smooth, Content::Runs, Content::Noise] {
        match Material::new(id, content, encoding, decoding) {
            Ok(material) => materials.push(material),
            Err(error) => why = error,
        }
    }
    if materials.is_empty() {
        return Err(why);
    }
    let begin = Instant::now();
    let (counts, next) = (Counts::default(), AtomicUsize::new(0));
    let broken = Mutex::new(None);
    let limit = Duration::from_secs(request.seconds);
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while begin.elapsed() < limit {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= request.count {
                        break;
                    }
                    if let Err(error) = one(number, &materials, request.count, &counts)
                        && let Ok(mut broken) = broken.lock()
                    {
                        *broken = Some(error);
                        break;
                    }
                }
            });
        }
    });
    if let Ok(Some(error)) = broken.into_inner() {
        return Err(error);
    }
    let Counts { error, right, wrong, crash, hang } = counts;
    let numbers = [error, right, wrong, crash, hang].map(AtomicUsize::into_inner);
    let all: usize = numbers.iter().sum();
    let numbers = numbers.map(|number| number.to_string()).join(" | ");
    Ok(format!("{all} | {numbers} | {:.0}", begin.elapsed().as_secs_f64()))
}

/// Decodes damaged stream `number` and counts what comes of it.
fn one(number: usize, materials: &[Material], count: usize, counts: &Counts) -> Result<(), Failure> {
    let (sort, rest) = (Sort::ALL[number % Sort::ALL.len()], number / Sort::ALL.len());
    let (material, index) = (&materials[rest % materials.len()], rest / materials.len());
    let count = count.div_ceil(Sort::ALL.len() * materials.len());
    let Material { chain, stream, other, clean } = material;
    let mutated = Mutator { sort, seed: SEED, count, stream, other }.make(index);
    let mut chunk = vec![0; clean.len()];
    let place = match chain.decode(0, &mut chain.scratch(), &mutated.bytes, &mut chunk) {
        Ok(()) if chunk == *clean => &counts.right,
        Ok(()) => &counts.wrong,
        Err(error) => {
            let (kind, detail) = (error.source.kind(), error.source.detail());
            match kind {
                ErrorKind::Plugin { .. } if detail.contains("and was killed") => &counts.hang,
                ErrorKind::Plugin { .. } if detail.contains("in a worker process") => &counts.crash,
                // A worker that does not start is a fault of this side.
                ErrorKind::Unsupported if detail.contains("worker") => return Err(detail.into()),
                _ => &counts.error,
            }
        }
    };
    place.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

impl Material {
    /// A chunk of 16 KiB of the first type that the filter takes.
    fn new(id: u32, content: Content, encoding: &Registry, decoding: &Registry) -> Result<Self, Failure> {
        let mut last = Failure::from("no type");
        for (dtype, shape) in [
            (Dtype::little(Kind::Float, 4), [64, 64]),
            (Dtype::little(Kind::UInt, 2), [64, 128]),
            (Dtype::little(Kind::UInt, 1), [128, 128]),
        ] {
            let sample = |seed| Sample::new(dtype, &shape, content, seed);
            match Self::of(id, &sample(1), &sample(2), encoding, decoding) {
                Ok(material) => return Ok(material),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn of(
        id: u32,
        sample: &Sample,
        other: &Sample,
        encoding: &Registry,
        decoding: &Registry,
    ) -> Result<Self, Failure> {
        // The filters make their working parameters of the given ones, on either side.
        let env = sample.env(Container::ZarrV2);
        let chain = |registry: &Registry, params: &[u32]| {
            let entry = registry.by_id(id)?;
            let config = entry.codec().parse_params(params)?;
            let origin = entry.origin().to_string();
            let stage = Stage { info: entry.info().clone(), config, origin, notes: Vec::new() };
            Ok::<_, Failure>(FilterChain::bind(&[stage], &env)?)
        };
        let given = params(id);
        let encoder = chain(encoding, &given)?;
        let mut scratch = encoder.scratch();
        let stream = encoder.encode(&mut scratch, &sample.bytes)?.to_vec();
        let other = encoder.encode(&mut scratch, &other.bytes)?.to_vec();
        let decoder = chain(decoding, &given)?;
        let mut clean = vec![0; sample.bytes.len()];
        decoder.decode(0, &mut decoder.scratch(), &stream, &mut clean)?;
        Ok(Self { chain: decoder, stream, other, clean })
    }
}

/// Parameters of a user.
fn params(id: u32) -> Vec<u32> {
    match id {
        1 => vec![6],
        4 => vec![4, 8],
        307 => vec![9],
        32_001 => vec![0, 0, 0, 0, 5, 1, 1],
        32_008 => vec![0, 2],
        // Rate 10.
        32_013 => vec![1, 0, 0, 1_076_101_120, 0, 0],
        32_015 => vec![3],
        // Absolute error 1e-3.
        32_017 | 32_024 => vec![0, 1_062_232_653, 3_539_053_052, 0, 0, 0, 0, 0, 0],
        32_028 => vec![940_177_214, 0],
        _ => Vec::new(),
    }
}
