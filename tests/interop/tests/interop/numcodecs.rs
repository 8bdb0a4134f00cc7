//! Every codec of numcodecs both ways, for every type, length and content: we decode numcodecs' streams to the same
//! bits, and it decodes ours to the same values as its own. A list gives the reason for each exception.

use std::collections::BTreeMap;

use ncz::codec::{ByteOrder, Container, Dialect, Dtype, Env, Kind, Number};
use ncz::registry::Registry;
use ncz::registry::chain::FilterChain;
use ncz::registry::spec::StageSpec;
use ncz_test_support::python;
use serde_json::{Value, json};

use crate::harness::{builtins, explained, run_script};

const SCRIPT: &str = "every_numcodec.py";

/// What we refuse although numcodecs does something with it: the codec, part of the error, and why.
const REFUSED: &[(&str, &str, &str)] = &[
    ("astype", "and another number would be read", "it is not restored, or only depending on the machine"),
    ("astype", "the stream is damaged: element", "decoding gives what the machine gives"),
    ("bitround", "which numcodecs refuses", "it does"),
    ("bitround", "numcodecs refuses others", "it does"),
    ("delta", "and another number would be read", "decoding gives what the machine gives"),
    ("delta", "the sum at element", "decoding gives what the machine gives"),
    ("delta", "programs read different numbers of 2 bytes", "the bits of NaN are the machine's"),
    ("fixedscaleoffset", "in which numpy computes with it", "it does"),
    ("fixedscaleoffset", "and another number would be read", "decoding gives what the machine gives"),
    ("fixedscaleoffset", "the stream is damaged: element", "decoding gives what the machine gives"),
    ("packbits", "truth values are 0 and 1", "every other value becomes 1"),
    (
        "pcodec",
        "little-endian numbers only",
        "it does, except for big-endian times, whose bytes it swaps wrongly",
    ),
    ("quantize", "numcodecs makes all numbers NaN", "it does"),
    ("quantize", "is larger than any number", "it makes infinity of it"),
    (
        "zfpy",
        "little-endian numbers only",
        "it does, except for big-endian times, whose bytes it swaps wrongly",
    ),
    ("zfpy", "no tolerance for integers", "zfp's loss is not bounded"),
    ("zfpy", "further off than the tolerance", "zfp does not keep its promise"),
    ("zfpy", "would spoil the numbers around", "zfp makes other numbers of a whole block"),
];

/// What numcodecs does not decode, of its own or of ours.
const UNDECODED: &[(&str, &str)] = &[
    ("blosc", "error during blosc decompression: 0"),
    ("fletcher32", "Out of bounds on buffer access"),
    ("lz4", "LZ4 decompression error"),
    ("pcodec", "nothing came of it"),
    ("zstd", "Zstd decompression error"),
];

#[test]
fn every_codec_of_numcodecs_goes_both_ways_for_every_type_length_and_content() {
    let Ok(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let act = |action: &str| {
        let args = [action.as_ref(), folder.path().as_os_str()];
        run_script(&python, SCRIPT, &args, None).success(SCRIPT).unwrap().stdout_text()
    };
    act("encode");
    let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    let (blob, cases) = (read("blob"), serde_json::from_slice::<Vec<Value>>(&read("cases.json")).unwrap());
    assert!(cases.len() > 30_000, "{}", cases.len());
    let registry = builtins();
    let mut tally = Tally::default();
    let (mut ours, mut index) = (Vec::new(), Vec::new());
    for case in cases {
        let case = Case::new(case, &blob);
        let made = exchange(&registry, &case, &mut tally);
        index.push(made.map(|(stream, decoded)| {
            let mut put = |bytes: &[u8]| {
                ours.extend_from_slice(bytes);
                [ours.len() - bytes.len(), bytes.len()]
            };
            [put(&stream), put(&decoded)].concat()
        }));
    }
    let count = index.iter().flatten().count();
    std::fs::write(folder.path().join("ours"), ours).unwrap();
    std::fs::write(folder.path().join("ours.json"), serde_json::to_string(&index).unwrap()).unwrap();
    for line in act("decode").lines() {
        let known =
            |(id, text): &&(&str, &str)| line.contains(&format!("'id': '{id}'")) && line.contains(text);
        // Only if there is nothing to decode.
        if !line.contains(" empty: ") || !UNDECODED.iter().any(|one| known(&one)) {
            tally.faults.push(format!("numcodecs does not decode ours: {line}"));
        }
    }
    println!("{count} streams of ours; {tally:?}");
    assert!(tally.faults.is_empty(), "{} faults:\n{}", tally.faults.len(), tally.faults.join("\n"));
    for (id, text, why) in REFUSED {
        assert!(
            tally.refused.contains_key(&(*id, *text)),
            "{id}: {text:?} is never said; why it was listed: {why}"
        );
    }
    for kept in ["bitround", "quantize", "zfpy"] {
        assert!(tally.kept.contains_key(kept), "{kept} keeps nothing that numcodecs spoils");
    }
}

/// What came of all cases.
#[derive(Debug, Default)]
struct Tally {
    same: usize,
    refused: BTreeMap<(&'static str, &'static str), usize>,
    /// Streams in which we kept numbers that numcodecs spoils.
    kept: BTreeMap<String, usize>,
    faults: Vec<String>,
}

/// A codec, its input, and numcodecs' result.
struct Case<'a> {
    json: Value,
    /// What its elements are made of.
    number: Dtype,
    raw: &'a [u8],
    encoded: Option<&'a [u8]>,
    decoded: Option<&'a [u8]>,
}

impl<'a> Case<'a> {
    fn new(json: Value, blob: &'a [u8]) -> Self {
        let part = |key: &str| {
            let place = json.get(key)?.as_array()?;
            let [at, len] = [&place[0], &place[1]].map(|number| number.as_u64().unwrap() as usize);
            Some(&blob[at..at + len])
        };
        let [raw, encoded, decoded] = ["raw", "encoded", "decoded"].map(part);
        // A complex number is two.
        let number = match dtype(json["dtype"].as_str().unwrap()) {
            Dtype { kind: Kind::Complex, size, order } => Dtype { kind: Kind::Float, size: size / 2, order },
            other => other,
        };
        Self { number, raw: raw.unwrap(), encoded, decoded, json }
    }

    fn id(&self) -> &str {
        self.json["codec"]["id"].as_str().unwrap()
    }

    fn fault(&self, tally: &mut Tally, text: &str) {
        let Self { json, .. } = self;
        tally.faults.push(format!("{} {} {}: {text}", json["codec"], json["dtype"], json["name"]));
    }

    /// Counts an error that is expected; any other is a fault.
    fn refused(&self, tally: &mut Tally, error: &dyn std::error::Error) {
        let error = explained(error);
        match REFUSED.iter().find(|(id, text, _)| *id == self.id() && error.contains(text)) {
            Some((id, text, _)) => *tally.refused.entry((id, text)).or_default() += 1,
            // If both refuse, there is nothing to explain.
            None if self.encoded.is_none() => {}
            None => self.fault(tally, &error),
        }
    }

    /// Tests whether `ours` differs from numcodecs' decoding only where that is wrong: where it changes NaN, or makes
    /// a finite number not finite.
    fn is_kept(&self, ours: &[u8]) -> bool {
        let theirs = self.decoded.unwrap_or_default();
        let size = self.number.size;
        let elements = self.raw.chunks(size).zip(theirs.chunks(size)).zip(ours.chunks(size));
        elements.into_iter().all(|((raw, theirs), ours)| {
            let spoiled =
                self.number(raw).is_nan() || self.number(raw).is_finite() != self.number(theirs).is_finite();
            ours == theirs || spoiled && ours == raw
        })
    }

    /// Whether what differs is NaN in both: which NaN comes of two, or of another type's, is up to the machine.
    fn is_same_but_nan(&self, ours: &[u8]) -> bool {
        let size = self.number.size;
        let mut pairs = self.decoded.unwrap_or_default().chunks(size).zip(ours.chunks(size));
        matches!(self.id(), "astype" | "delta")
            && pairs.all(|(theirs, ours)| {
                theirs == ours || self.number(theirs).is_nan() && self.number(ours).is_nan()
            })
    }

    /// Whether zfp's C library computes with infinity for a block of four numbers: 2^30 (2^62) over the least power of
    /// two above all of them is not a number of the type.
    fn has_tiny_block(&self) -> bool {
        let least = if self.number.size == 4 { 2_f64.powi(-98) } else { 2_f64.powi(-962) };
        self.raw.chunks(4 * self.number.size).any(|block| {
            let most =
                block.chunks(self.number.size).map(|bytes| self.number(bytes).abs()).fold(0.0, f64::max);
            most != 0.0 && most < least
        })
    }

    /// The sum of the differences from what was put in.
    fn error(&self, values: &[u8]) -> f64 {
        let size = self.number.size;
        values
            .chunks(size)
            .zip(self.raw.chunks(size))
            .map(|(a, b)| (self.number(a) - self.number(b)).abs())
            .sum()
    }

    fn number(&self, bytes: &[u8]) -> f64 {
        let mut value = [0.0];
        Number::new(self.number).unwrap().read_floats(bytes, &mut value);
        value[0]
    }
}

/// Decodes theirs and encodes ours; our stream and what it decodes to, for numcodecs to see.
fn exchange(registry: &Registry, case: &Case<'_>, tally: &mut Tally) -> Option<(Vec<u8>, Vec<u8>)> {
    let chain = match bind(registry, &case.json) {
        Ok(chain) => chain,
        Err(error) => {
            case.refused(tally, &*error);
            return None;
        }
    };
    let mut scratch = chain.scratch();
    let mut decoded = vec![0; chain.chunk_len()];
    if let Some(stream) = case.encoded {
        match chain.decode(0, &mut scratch, stream, &mut decoded) {
            Err(error) => case.refused(tally, &error),
            Ok(()) if decoded == case.decoded.unwrap_or(case.raw) => tally.same += 1,
            Ok(()) if case.is_same_but_nan(&decoded) => tally.same += 1,
            Ok(()) => case.fault(tally, "its stream decodes to other bytes"),
        }
    }
    let encoded = match chain.encode(&mut scratch, case.raw) {
        Ok(encoded) => encoded.to_vec(),
        Err(error) => {
            case.refused(tally, &error);
            return None;
        }
    };
    if let Err(error) = chain.decode(0, &mut scratch, &encoded, &mut decoded) {
        case.fault(tally, &format!("ours is not decoded: {}", explained(&error)));
        return None;
    }
    let is_exact = case.json["exact"] == true;
    match case.encoded {
        Some(stream) if encoded == stream || !is_exact && decoded == case.raw => tally.same += 1,
        Some(_) if case.is_same_but_nan(&decoded) => tally.same += 1,
        // Big-endian numbers, and empty chunks of some.
        None if decoded == case.raw || case.id() == "bitround" => tally.same += 1,
        Some(_) if case.number.kind == Kind::Float && case.id() != "zfpy" && case.is_kept(&decoded) => {
            *tally.kept.entry(case.id().to_owned()).or_default() += 1;
        }
        Some(_) if case.id() == "zfpy" && case.has_tiny_block() => {
            let (ours, theirs) = (case.error(&decoded), case.error(case.decoded.unwrap_or_default()));
            if ours > theirs {
                case.fault(tally, &format!("we lose {ours}, zfpy {theirs}"));
            }
            *tally.kept.entry("zfpy".to_owned()).or_default() += 1;
        }
        _ => case.fault(tally, "our stream is another"),
    }
    Some((encoded, decoded))
}

fn bind(registry: &Registry, case: &Value) -> Result<FilterChain, Box<dyn std::error::Error>> {
    let stage = StageSpec::from_json(Dialect::Numcodecs, &case["codec"])?.resolve(registry)?;
    let shape: Vec<u64> = case["shape"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect();
    let env = Env {
        dtype: dtype(case["dtype"].as_str().unwrap()),
        array_shape: shape.clone(),
        chunk_shape: shape,
        container: Container::ZarrV2,
    };
    Ok(FilterChain::bind(&[stage], &env)?)
}

/// What codecs know of the type that numpy calls `text`.
fn dtype(text: &str) -> Dtype {
    let (kind, size) = text[1..].split_at(1);
    let size: usize = size.split('[').next().unwrap().parse().unwrap();
    let (kind, size) = match kind {
        "b" => (Kind::Bool, size),
        "i" | "M" | "m" => (Kind::Int, size),
        "u" => (Kind::UInt, size),
        "f" => (Kind::Float, size),
        "c" => (Kind::Complex, size),
        "U" => (Kind::Opaque, 4 * size),
        _ => (Kind::Opaque, size),
    };
    let order = if text.starts_with('>') { ByteOrder::Big } else { ByteOrder::Little };
    Dtype { kind, size, order }
}

#[test]
fn every_codec_of_numcodecs_is_ours_or_its_error_says_what_to_do() {
    let Ok(python) = python() else { return };
    let printed = run_script(&python, SCRIPT, &["ids", "."], None).success(SCRIPT).unwrap().stdout_text();
    let registry = builtins();
    let mut missing = Vec::new();
    // Older versions wrote the last two.
    for id in printed.split_whitespace().chain(["json", "msgpack"]) {
        if registry.by_name(Dialect::Numcodecs, id).is_ok() {
            continue;
        }
        missing.push(id);
        let says = |dialect, json: Value| {
            let spec = StageSpec::from_json(dialect, &json).unwrap();
            explained(&spec.resolve(&registry).unwrap_err())
        };
        for error in [
            says(Dialect::Numcodecs, json!({"id": id})),
            says(Dialect::ZarrV3, json!({"name": format!("numcodecs.{id}"), "configuration": {}})),
        ] {
            let wanted = if id.starts_with("vlen-") && id != "vlen-array" {
                "must be first there"
            } else {
                "zarr-python"
            };
            assert!(
                error.contains(id) && error.contains(wanted) && !error.contains("put a plugin"),
                "{error}"
            );
        }
    }
    assert_eq!(
        missing,
        [
            "base64",
            "categorize",
            "json2",
            "msgpack2",
            "pickle",
            "vlen-array",
            "vlen-bytes",
            "vlen-utf8",
            "json",
            "msgpack"
        ]
    );
}
