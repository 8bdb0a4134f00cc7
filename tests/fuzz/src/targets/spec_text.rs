use fastrand::Rng;
use ncz::registry::spec::{ChainSpec, StageSpec};

use super::{Target, explained};
use crate::{Case, mutate};

/// Filter text and codec JSON as users type them: what was read is shown so that it reads the same.
pub(super) struct Texts;

const TEXTS: [&str; 14] = [
    "2|1,6",
    "[1]2|1,6",
    "32001,0,0,0,0,5,1,1|3",
    "307,9",
    "zstd,3",
    "shuffle|deflate,9|fletcher32",
    "1,-1b,300us,70000l,1.5f,2.5d,4.",
    "32768,0x7fffffff,18446744073709551615ul",
    "bitround,1.5f",
    "[]",
    r#"{"id":"zstd","level":3}"#,
    r#"[{"id":"shuffle","elementsize":4},{"id":"blosc","cname":"lz4","clevel":5,"shuffle":1,"blocksize":0}]"#,
    r#"[{"name":"zstd","configuration":{"level":3,"checksum":false}},{"name":"crc32c"},"gzip"]"#,
    r#"[{"name":"numcodecs.zlib","configuration":{"level":1},"must_understand":false}]"#,
];

const WORDS: [&str; 24] = [
    ",",
    "|",
    "[",
    "]",
    "{",
    "}",
    "\"",
    ":",
    "id",
    "name",
    "configuration",
    "zstd",
    "b",
    "ub",
    "us",
    "s",
    "u",
    "l",
    "ul",
    "f",
    "d",
    ".",
    "e",
    "0x",
];

impl Target for Texts {
    fn seeds(&self) -> Vec<Case> {
        TEXTS.iter().map(|text| Case::new("", *text)).collect()
    }

    fn mutate(&self, case: &mut Case, other: &Case, rng: &mut Rng) {
        mutate::text::mutate(&mut case.bytes, &other.bytes, &WORDS, rng);
    }

    fn run(&mut self, case: &Case) -> String {
        let text = String::from_utf8_lossy(&case.bytes);
        let spec = match ChainSpec::parse(&text) {
            Ok(spec) => spec,
            Err(error) => return explained(&error),
        };
        let shown = shown(&spec);
        let again =
            ChainSpec::parse(&shown).unwrap_or_else(|error| panic!("{shown:?}: {}", explained(&error)));
        assert_eq!(again, spec, "{shown:?}");
        let kind = |stage: &StageSpec| match stage {
            StageSpec::Json { dialect, .. } => format!("{dialect} "),
            StageSpec::Filter { params, .. } => format!("number,{} ", params.len().min(3)),
            StageSpec::Named { params, .. } => format!("name,{} ", params.len().min(3)),
        };
        spec.stages().iter().take(4).map(kind).collect()
    }
}

/// The chain as one text, from what each codec shows.
fn shown(spec: &ChainSpec) -> String {
    let stages: Vec<String> = spec.stages().iter().map(ToString::to_string).collect();
    if spec.stages().iter().all(|stage| matches!(stage, StageSpec::Json { .. })) {
        format!("[{}]", stages.join(","))
    } else {
        stages.join("|")
    }
}
