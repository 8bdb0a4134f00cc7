//! The chains to try: every codec of the registry that declares that it is lossless, at its sensible settings if those
//! are known, with and without a shuffle before it.

use ncz_codec::Dialect;
use ncz_model::Container;
use ncz_model::{Kind, Variable};
use ncz_registry::report::CodecReport;
use ncz_registry::spec::ChainSpec;

use super::Subject;
use super::sample::Sample;
use crate::causes::with_causes;

/// What was not tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The chain as text, or the codec's name if no chain with it was made.
    pub chain: String,
    /// Why.
    pub reason: String,
}

/// What is tried and what is not.
pub(super) struct Candidates {
    pub(super) subjects: Vec<Subject>,
    pub(super) skipped: Vec<Skipped>,
}

/// What is known of a codec that loses nothing.
struct Known {
    /// Its number as an HDF5 filter, if it has one, and the names by which numcodecs may know it.
    id: Option<u32>,
    names: &'static [&'static str],
    /// Filter texts to try, each with how long it takes to encode: 0 for the fastest.
    settings: &'static [(u8, &'static str)],
    /// Whether a shuffle before it may help: it has none of its own, and takes any bytes.
    shuffled: bool,
}

/// Compressors that give back what they got, whatever their settings. Order and settings are a matter of taste.
const LOSSLESS: &[Known] = &[
    Known {
        id: Some(1),
        names: &["zlib"],
        settings: &[(2, "zlib,1"), (4, "zlib,6"), (6, "zlib,9")],
        shuffled: true,
    },
    Known { id: None, names: &["gzip"], settings: &[(4, "gzip,6")], shuffled: true },
    Known {
        id: Some(4),
        names: &["szip"],
        settings: &[(3, "szip,32,32"), (3, "szip,4,32"), (3, "szip,32,16")],
        shuffled: false,
    },
    Known { id: Some(307), names: &["bz2"], settings: &[(5, "bz2,1"), (6, "bz2,9")], shuffled: true },
    Known {
        id: Some(32_015),
        names: &["zstd"],
        settings: &[(1, "zstd,1"), (1, "zstd,3"), (5, "zstd,9"), (8, "zstd,19")],
        shuffled: true,
    },
    Known { id: Some(32_000), names: &["lzf"], settings: &[(1, "32000")], shuffled: true },
    Known { id: Some(32_003), names: &["snappy"], settings: &[(1, "32003")], shuffled: true },
    Known { id: Some(32_004), names: &["lz4h5"], settings: &[(0, "32004")], shuffled: true },
    // Its parameters: block size, then 2 for LZ4 or 3 for Zstandard.
    Known {
        id: Some(32_008),
        names: &["bitshuffle"],
        settings: &[(0, "32008,0,2"), (1, "32008,0,3")],
        shuffled: false,
    },
    Known { id: Some(32_009), names: &["spdp"], settings: &[(5, "32009")], shuffled: false },
    // Reserved, reserved, reserved, reserved, level, shuffle, compressor.
    Known {
        id: Some(32_026),
        names: &["blosc2"],
        settings: &[
            (0, "32026,0,0,0,0,5,1,1"),
            (0, "32026,0,0,0,0,5,2,1"),
            (2, "32026,0,0,0,0,5,1,5"),
            (2, "32026,0,0,0,0,5,2,5"),
        ],
        shuffled: false,
    },
    Known { id: None, names: &["lz4"], settings: &[(0, r#"{"id":"lz4"}"#)], shuffled: true },
    Known { id: None, names: &["lzma"], settings: &[(8, r#"{"id":"lzma"}"#)], shuffled: true },
];

/// What blosc compresses with: how long that takes, the name and the level.
const BLOSC: &[(u8, &str, u32)] = &[
    (0, "lz4", 1),
    (0, "lz4", 5),
    (0, "lz4", 9),
    (0, "blosclz", 5),
    (1, "zstd", 1),
    (2, "zstd", 5),
    (3, "lz4hc", 5),
    (4, "zlib", 5),
    (7, "zstd", 9),
];

/// Codecs that make nothing smaller by themselves.
const NO_COMPRESSORS: &[(Option<u32>, &str)] = &[
    (Some(2), "shuffle"),
    (Some(3), "fletcher32"),
    (None, "crc32c"),
    (None, "crc32"),
    (None, "adler32"),
    (None, "jenkins_lookup3"),
    (None, "astype"),
    (None, "delta"),
    (None, "packbits"),
];

/// How long codecs are thought to take of which nothing is known.
const UNKNOWN: u8 = 5;

/// The preceding shuffle, for variables that it suits.
struct Shuffles {
    bytes: bool,
    bits: bool,
}

impl Candidates {
    pub(super) fn of(
        dataset: &dyn Container,
        variable: &Variable,
        sample: &Sample,
        also: &[ChainSpec],
        only: Option<&[String]>,
    ) -> Self {
        let mut candidates = Self { subjects: Vec::new(), skipped: Vec::new() };
        let sampled = Variable {
            chunk_shape: sample.summary.cut.clone().unwrap_or_else(|| variable.chunk_shape.clone()),
            ..variable.clone()
        };
        let present =
            spelled(&ncz_model::json::to_values(&variable.filters), dataset.hierarchy().format.dialect());
        candidates.add(dataset, &sampled, &present, true);
        candidates.add(dataset, &sampled, "none", false);
        for spec in also {
            candidates.add(dataset, &sampled, &chain_text(spec), false);
        }
        if let Some(only) = only {
            only.iter().for_each(|text| candidates.add(dataset, &sampled, text, false));
            return candidates;
        }
        let codecs = &dataset.session().registry.report().codecs;
        let dialect = dataset.hierarchy().format.dialect();
        let is_storable = |codec: &CodecReport| {
            !codec.numcodecs.is_empty() || dialect == Dialect::ZarrV3 && !codec.zarr_v3.is_empty()
        };
        let has =
            |id: u32| codecs.iter().any(|codec| codec.id == Some(id) && is_used(codec) && is_storable(codec));
        let kind = variable.dtype.kind();
        let numeric = matches!(
            kind,
            Kind::Int | Kind::UInt | Kind::Float | Kind::Complex | Kind::DateTime | Kind::TimeDelta
        );
        let bytes = numeric && variable.dtype.size() > 1;
        let shuffles = Shuffles { bytes: bytes && has(2), bits: numeric && has(32_008) };
        let mut texts = Vec::new();
        for codec in codecs.iter().filter(|codec| is_used(codec)) {
            if NO_COMPRESSORS.iter().any(|(id, name)| is(codec, *id, &[name])) {
                continue;
            }
            if is(codec, Some(32_001), &["blosc"]) {
                texts.extend(blosc(bytes));
                continue;
            }
            let known = LOSSLESS.iter().find(|known| is(codec, known.id, known.names));
            let reason = match (known, codec.lossy) {
                (None, Some(true)) => {
                    "it is lossy: what comes back may be other values; named among the chains to try besides, it is tried"
                        .to_owned()
                }
                (None, None) => "it does not say whether it is lossless; named among the chains to try besides, it is \
                     tried"
                    .to_owned(),
                _ if !is_storable(codec) => {
                    format!("{dialect} metadata have no name for it: no library gives its NCZarr codec")
                }
                (Some(known), _) => {
                    known.chains(&shuffles, &mut texts);
                    continue;
                }
                (None, Some(false)) => {
                    texts.extend(by_default(codec, &shuffles));
                    continue;
                }
            };
            candidates.skipped.push(Skipped { chain: codec.name.clone(), reason });
        }
        // The fast ones first: they are done if the time is short.
        texts.sort_by_key(|(slowness, _)| *slowness);
        for (_, text) in texts {
            candidates.add(dataset, &sampled, &text, false);
        }
        candidates
    }

    /// Binds a chain to the variable, unless the same is there already or it does not fit.
    fn add(&mut self, dataset: &dyn Container, variable: &Variable, text: &str, present: bool) {
        let session = dataset.session();
        let bound = match (present, text) {
            // As its metadata are read, which may take a word from the user.
            (true, _) => dataset.chain(variable).map_err(|error| with_causes(&error)),
            (_, "none") => session
                .bind(variable, dataset.hierarchy().format, &ChainSpec::default())
                .map_err(|error| with_causes(&error)),
            _ => ChainSpec::parse(text).map_err(|error| with_causes(&error)).and_then(|spec| {
                let mut variable = variable.clone();
                let chain = session.define(&mut variable, dataset.hierarchy().format, &spec);
                chain.map_err(|error| with_causes(&error))
            }),
        };
        match bound {
            Ok(chain) => {
                let same = |subject: &Subject| {
                    let json =
                        |chain: &ncz_registry::chain::FilterChain| chain.stored_json(Dialect::Numcodecs).ok();
                    subject.chain.len() == chain.len()
                        && (chain.is_empty()
                            || json(&chain).is_some_and(|own| json(&subject.chain) == Some(own)))
                };
                if !self.subjects.iter().any(same) {
                    let text = text.to_owned();
                    self.subjects.push(Subject { text, chain, present, checked: None, runs: Vec::new() });
                }
            }
            Err(reason) => self.skipped.push(Skipped { chain: text.to_owned(), reason }),
        }
    }
}

impl Known {
    fn chains(&self, shuffles: &Shuffles, texts: &mut Vec<(u8, String)>) {
        for &(slowness, text) in self.settings {
            texts.push((slowness, text.to_owned()));
            if !self.shuffled {
                continue;
            }
            if shuffles.bytes {
                texts.push((slowness, before(&["shuffle", r#"{"id":"shuffle"}"#], text)));
            }
            if shuffles.bits && !text.starts_with('{') {
                texts.push((slowness, format!("32008,0,0|{text}")));
            }
        }
    }
}

/// A codec of which no more is known than that it is lossless, with what it takes by default.
fn by_default(codec: &CodecReport, shuffles: &Shuffles) -> Vec<(u8, String)> {
    let text = match (codec.id, codec.numcodecs.first()) {
        (Some(id), _) => id.to_string(),
        (None, Some(name)) => serde_json::json!({"id": name}).to_string(),
        (None, None) => serde_json::json!({"name": codec.zarr_v3.first()}).to_string(),
    };
    let mut texts = vec![(UNKNOWN, text.clone())];
    if shuffles.bytes {
        texts.push((UNKNOWN, before(&["shuffle", r#"{"id":"shuffle"}"#], &text)));
    }
    texts
}

/// A codec before another, in the form of the other: text or JSON.
fn before(first: &[&str; 2], then: &str) -> String {
    if then.starts_with('{') { format!("[{},{then}]", first[1]) } else { format!("{}|{then}", first[0]) }
}

/// The settings of blosc; a shuffle of bytes does nothing to elements of one byte.
fn blosc(bytes: bool) -> impl Iterator<Item = (u8, String)> {
    BLOSC.iter().flat_map(move |&(slowness, cname, level)| {
        let shuffles = [0, 1, 2].into_iter().filter(move |shuffle| bytes || *shuffle != 1);
        shuffles.map(move |shuffle| {
            let text = format!(
                r#"{{"id":"blosc","cname":"{cname}","clevel":{level},"shuffle":{shuffle},"blocksize":0}}"#
            );
            (slowness, text)
        })
    })
}

fn is(codec: &CodecReport, id: Option<u32>, names: &[&str]) -> bool {
    match (id, codec.id) {
        (Some(id), Some(own)) => id == own,
        (None, None) => {
            codec.numcodecs.iter().chain(&codec.zarr_v3).any(|name| names.contains(&name.as_str()))
        }
        _ => false,
    }
}

fn is_used(codec: &CodecReport) -> bool {
    codec.candidates.iter().any(|candidate| candidate.used)
}

/// The codecs of metadata as text that says what they are.
fn spelled(filters: &[serde_json::Value], dialect: Dialect) -> String {
    match filters {
        [] => "none".to_owned(),
        [one] => one.to_string(),
        // A list of names only would not be taken for codecs of version 3.
        several => ChainSpec::from_json(dialect, several)
            .map_or_else(|_| serde_json::Value::from(several).to_string(), |spec| chain_text(&spec)),
    }
}

/// A chain as text.
fn chain_text(spec: &ChainSpec) -> String {
    let stages: Vec<String> = spec.stages().iter().map(ToString::to_string).collect();
    match stages.as_slice() {
        [] => "none".to_owned(),
        [one] => one.clone(),
        several if several.iter().all(|stage| stage.starts_with('{')) => format!("[{}]", several.join(",")),
        several => several.join("|"),
    }
}
