//! How fast each built-in codec is on one field, on one thread.
//!
//!     cargo bench -p ncz --bench codecs_speed -- FIELD            a table
//!     cargo bench -p ncz --bench codecs_speed -- FIELD --serve    one JSON line for each name on standard input
//!
//! `FIELD` is a file of little-endian float32, as `tests/support/bench/peers.py --field-only` makes it; four chunks of
//! 721 x 1440 are taken from it. `--plugins DIR` measures the filters of the libraries there as well, by their HDF5
//! faces; `--rounds N` (5) and `--only NAME` are for the table. Times are processor time of the thread, so that other
//! work of the machine counts little; buffers and contexts are used again. Figures are medians; MB/s count the bytes
//! that enter a codec. `tests/support/bench/codecs.py` sets them beside those of Python packages.

use std::error::Error;
use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::time::Duration;

use ncz::codec::{Container, Dtype, Env, Kind};
use ncz::registry::Registry;
use ncz::registry::chain::FilterChain;
use ncz::registry::pair::Prefer;
use ncz::registry::spec::ChainSpec;
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const SHAPE: [u64; 2] = [721, 1440];
const ELEMENTS: usize = 721 * 1440;
/// Chunks of the field to take.
const TAKEN: [usize; 4] = [0, 15, 30, 45];
/// A direction is run again until it took so long.
const LEAST: Duration = Duration::from_millis(60);

/// What enters a codec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Data {
    /// The field itself.
    Plain,
    /// The field after shuffle.
    Shuffled,
    /// Its hundredths as `<i4`.
    Hundredths,
    /// A mask of the values above the middle.
    Above,
}

/// A name for the table, what enters, and the codec.
type Case = (&'static str, Data, &'static str);

const CASES: &[Case] = &[
    ("adler32", Data::Plain, r#"{"id":"adler32"}"#),
    ("astype", Data::Hundredths, r#"{"id":"astype","encode_dtype":"<i2","decode_dtype":"<i4"}"#),
    ("bitround 9", Data::Plain, r#"{"id":"bitround","keepbits":9}"#),
    ("bitroundh5 9", Data::Plain, "32032,9"),
    ("bitshuffle", Data::Plain, "32008,0,0"),
    ("bitshuffle lz4", Data::Plain, "32008,0,2"),
    ("bitshuffle zstd", Data::Plain, "32008,0,3"),
    ("blosc lz4 5", Data::Plain, r#"{"id":"blosc","cname":"lz4","clevel":5,"shuffle":1}"#),
    ("blosc zstd 5", Data::Plain, r#"{"id":"blosc","cname":"zstd","clevel":5,"shuffle":1}"#),
    ("blosc2 lz4 5", Data::Plain, "32026,0,0,0,0,5,1,1"),
    ("blosc2 zstd 5", Data::Plain, "32026,0,0,0,0,5,1,5"),
    ("bzip2 9", Data::Plain, r#"{"id":"bz2","level":9}"#),
    ("cast_value", Data::Hundredths, r#"{"name":"cast_value","configuration":{"data_type":"int16"}}"#),
    ("crc32", Data::Plain, r#"{"id":"crc32"}"#),
    ("crc32c", Data::Plain, r#"{"id":"crc32c"}"#),
    ("deflate 4", Data::Shuffled, r#"{"id":"zlib","level":4}"#),
    ("delta", Data::Hundredths, r#"{"id":"delta","dtype":"<i4"}"#),
    (
        "fixedscaleoffset",
        Data::Plain,
        r#"{"id":"fixedscaleoffset","offset":273,"scale":100,"dtype":"<f4","astype":"<i2"}"#,
    ),
    ("fletcher32", Data::Plain, r#"{"id":"fletcher32"}"#),
    ("gzip 4", Data::Shuffled, r#"{"id":"gzip","level":4}"#),
    ("jenkins_lookup3", Data::Plain, r#"{"id":"jenkins_lookup3"}"#),
    ("lz4", Data::Shuffled, r#"{"id":"lz4","acceleration":1}"#),
    ("lz4h5", Data::Shuffled, "32004"),
    ("lzf", Data::Shuffled, "32000"),
    ("lzma", Data::Plain, r#"{"id":"lzma"}"#),
    // Sixteen bits of 32.
    ("nbit", Data::Hundredths, "5,8,0,1038240,1,4,0,16,0"),
    ("packbits", Data::Above, r#"{"id":"packbits"}"#),
    ("pcodec 8", Data::Plain, r#"{"id":"pcodec"}"#),
    ("pcodec 8 classic", Data::Plain, r#"{"id":"pcodec","mode_spec":"classic"}"#),
    ("quantize 2", Data::Plain, r#"{"id":"quantize","digits":2,"dtype":"<f4"}"#),
    (
        "scale_offset",
        Data::Hundredths,
        r#"{"name":"scale_offset","configuration":{"offset":27300,"scale":1}}"#,
    ),
    ("scaleoffset float 2", Data::Plain, "6,0,2"),
    ("scaleoffset int", Data::Hundredths, "6,2,0"),
    ("shuffle", Data::Plain, r#"{"id":"shuffle","elementsize":4}"#),
    ("szip nn 32", Data::Plain, "4,32,32"),
    // Within 0.01.
    ("zfp accuracy", Data::Plain, "32013,3,0,1202590843,1065646817"),
    ("zfpy accuracy", Data::Plain, r#"{"id":"zfpy","mode":4,"tolerance":0.01}"#),
    ("zstd 3", Data::Plain, r#"{"id":"zstd","level":3}"#),
];

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1).filter(|arg| arg != "--bench");
    let (mut field, mut plugins, mut only) = (None, Vec::new(), None);
    let (mut rounds, mut serve) = (5, false);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--plugins" => plugins.push(PathBuf::from(value()?)),
            "--rounds" => rounds = value()?.parse()?,
            "--only" => only = Some(value()?),
            "--serve" => serve = true,
            other if other.starts_with('-') => return Err(format!("unknown option {other}").into()),
            path => field = Some(PathBuf::from(path)),
        }
    }
    let field = std::fs::read(field.ok_or("name the file with the field")?)?;
    let field = Field::of(&field)?;
    let own = Registry::builder().no_plugins(true).build();
    let foreign = (!plugins.is_empty())
        .then(|| Registry::builder().plugin_path(plugins).prefer(Prefer::Plugins).build());
    if serve {
        return self::serve(&field, &own);
    }
    println!("{:20} {:10} {:>12} {:>12} {:>7}", "codec", "data", "encode MB/s", "decode MB/s", "ratio");
    for case in CASES.iter().filter(|case| only.as_ref().is_none_or(|only| case.0.starts_with(only.as_str())))
    {
        let mut benches = match Bench::new(&field, &own, case) {
            Ok(bench) => vec![("", bench)],
            Err(error) => {
                println!("{:20} {error}", case.0);
                continue;
            }
        };
        // The same filter from a library, by its HDF5 face.
        if let Some(foreign) = &foreign
            && let Ok(bench) = Bench::new(&field, foreign, case)
            && bench.is_foreign
        {
            benches.push(("its library", bench));
        }
        let mut times = vec![Vec::new(); benches.len()];
        for _ in 0..rounds {
            for ((_, bench), times) in benches.iter_mut().zip(&mut times) {
                times.push(bench.round()?);
            }
        }
        for ((name, bench), times) in benches.iter().zip(times) {
            let name = if name.is_empty() { case.0 } else { name };
            let median = |of: fn(&Speed) -> f64| {
                let mut all: Vec<f64> = times.iter().map(of).collect();
                all.sort_by(f64::total_cmp);
                all.get(all.len() / 2).copied().unwrap_or_default()
            };
            let (encode, decode) = (median(|speed| speed.encode), median(|speed| speed.decode));
            let data = format!("{:?}", case.1).to_lowercase();
            println!("{name:20} {data:10} {encode:12.0} {decode:12.0} {:7.2}", bench.ratio());
        }
    }
    Ok(())
}

/// Runs one round for each requested name.
fn serve(field: &Field, own: &Registry) -> Result<()> {
    let mut benches: Vec<(&str, Bench<'_>)> = Vec::new();
    for name in std::io::stdin().lock().lines() {
        let name = name?;
        if !benches.iter().any(|(known, _)| *known == name) {
            let case = CASES.iter().find(|case| case.0 == name);
            let case = case.ok_or_else(|| format!("there is no case {name:?}"))?;
            // One at a time: the memory of the others would only be in the way.
            benches = match Bench::new(field, own, case) {
                Ok(bench) => vec![(case.0, bench)],
                Err(error) => {
                    println!("{}", json!({"name": name, "error": error.to_string()}));
                    Vec::new()
                }
            };
            std::io::stdout().flush()?;
        }
        for (_, bench) in &mut benches {
            let speed = bench.round()?;
            let line =
                json!({"name": name, "encode": speed.encode, "decode": speed.decode, "ratio": bench.ratio()});
            println!("{line}");
            std::io::stdout().flush()?;
        }
    }
    Ok(())
}

/// The chunks, in each form.
struct Field {
    plain: Vec<Vec<u8>>,
    shuffled: Vec<Vec<u8>>,
    hundredths: Vec<Vec<u8>>,
    above: Vec<Vec<u8>>,
}

impl Field {
    fn of(bytes: &[u8]) -> Result<Self> {
        let len = ELEMENTS * 4;
        let taken = TAKEN.iter().map(|at| bytes.get(at * len..(at + 1) * len).map(<[u8]>::to_vec));
        let plain: Vec<Vec<u8>> =
            taken.collect::<Option<_>>().ok_or("the file is not a field of 60 chunks")?;
        let numbers = |chunk: &[u8]| -> Vec<f32> {
            chunk.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
        };
        let of = |make: fn(f32) -> Vec<u8>| {
            plain.iter().map(|chunk| numbers(chunk).into_iter().flat_map(make).collect()).collect()
        };
        let shuffled = plain.iter().map(|chunk| {
            (0..4).flat_map(|at| chunk.iter().skip(at).step_by(4).copied()).collect::<Vec<u8>>()
        });
        Ok(Self {
            shuffled: shuffled.collect(),
            hundredths: of(|value| ((value * 100.0).round() as i32).to_le_bytes().to_vec()),
            above: of(|value| vec![u8::from(value > 290.0)]),
            plain,
        })
    }

    fn of_data(&self, data: Data) -> (&[Vec<u8>], Dtype) {
        match data {
            Data::Plain => (&self.plain, Dtype::little(Kind::Float, 4)),
            Data::Shuffled => (&self.shuffled, Dtype::little(Kind::Float, 4)),
            Data::Hundredths => (&self.hundredths, Dtype::little(Kind::Int, 4)),
            Data::Above => (&self.above, Dtype::little(Kind::Bool, 1)),
        }
    }
}

/// Decoded bytes that pass in a second of processor time, in MB.
#[derive(Clone, Copy, Debug)]
struct Speed {
    encode: f64,
    decode: f64,
}

/// A codec at its settings, with everything that it needs.
struct Bench<'a> {
    chunks: &'a [Vec<u8>],
    chain: FilterChain,
    scratch: ncz::registry::chain::ChainScratch,
    stored: Vec<Vec<u8>>,
    decoded: Vec<u8>,
    is_foreign: bool,
}

impl<'a> Bench<'a> {
    fn new(field: &'a Field, registry: &Registry, case: &Case) -> Result<Self> {
        let (_, data, text) = *case;
        let (chunks, dtype) = field.of_data(data);
        let container = match text.starts_with('{') {
            false => Container::Hdf5,
            true if text.contains("\"name\"") => Container::ZarrV3,
            true => Container::ZarrV2,
        };
        let env = Env { dtype, array_shape: SHAPE.to_vec(), chunk_shape: SHAPE.to_vec(), container };
        let stages = ChainSpec::parse(text)?.resolve(registry)?;
        let is_foreign = stages.iter().any(|stage| stage.origin.contains("plugin"));
        let chain = FilterChain::bind(&stages, &env).map_err(|error| format!("{text}: {error:?}"))?;
        let mut scratch = chain.scratch();
        let mut stored = Vec::new();
        for chunk in chunks {
            stored.push(chain.encode(&mut scratch, chunk)?.to_vec());
        }
        let decoded = vec![0; chain.chunk_len()];
        Ok(Self { chunks, chain, scratch, stored, decoded, is_foreign })
    }

    fn round(&mut self) -> Result<Speed> {
        let Self { chunks, chain, scratch, stored, decoded, .. } = self;
        let bytes = chain.chunk_len();
        let encode = rate(bytes, chunks, |chunk| {
            chain.encode(scratch, chunk)?;
            Ok(())
        })?;
        let decode = rate(bytes, stored, |stream| Ok(chain.decode(0, scratch, stream, decoded)?))?;
        Ok(Speed { encode, decode })
    }

    fn ratio(&self) -> f64 {
        let len = |list: &[Vec<u8>]| list.iter().map(Vec::len).sum::<usize>() as f64;
        len(self.chunks) / len(&self.stored)
    }
}

fn rate(bytes: usize, inputs: &[Vec<u8>], mut run: impl FnMut(&[u8]) -> Result<()>) -> Result<f64> {
    let start = clock();
    let mut done = 0;
    for input in inputs.iter().cycle() {
        run(input)?;
        done += bytes;
        if clock() - start >= LEAST {
            break;
        }
    }
    Ok(done as f64 / (clock() - start).as_secs_f64() / 1e6)
}

/// The processor time of this thread.
fn clock() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}
