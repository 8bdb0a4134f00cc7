//! The keys that codecs have in numcodecs, and in netcdf-c if numcodecs has no such codec.

use serde_json::{Map, Value};

/// The keys of one codec.
#[derive(Debug)]
pub(super) struct Keys {
    /// The codec's id.
    pub(super) id: &'static str,
    /// Their definer.
    pub(super) of: &'static str,
    /// The keys and their defaults in JSON; no default if the key must be there.
    defaults: &'static [(&'static str, Option<&'static str>)],
    /// Configurations as that program writes them, the ordinary one first.
    examples: &'static [&'static str],
}

/// The codecs of numcodecs 0.16, as its registry and their constructors have them, and szip of netcdf-c.
const CODECS: &[Keys] = &[
    numcodecs("zlib", &[("level", Some("1"))], &[r#"{"level":1}"#, r#"{"level":0}"#, r#"{"level":9}"#]),
    numcodecs("gzip", &[("level", Some("1"))], &[r#"{"level":1}"#, r#"{"level":0}"#, r#"{"level":9}"#]),
    numcodecs("bz2", &[("level", Some("1"))], &[r#"{"level":1}"#, r#"{"level":9}"#]),
    numcodecs(
        "zstd",
        &[("level", Some("0")), ("checksum", Some("false"))],
        &[r#"{"level":0,"checksum":false}"#, r#"{"level":3}"#, r#"{"level":22}"#, r#"{"level":-5}"#],
    ),
    numcodecs(
        "blosc",
        &[
            ("cname", Some("\"lz4\"")),
            ("clevel", Some("5")),
            ("shuffle", Some("1")),
            ("blocksize", Some("0")),
        ],
        &[
            r#"{"cname":"lz4","clevel":5,"shuffle":1,"blocksize":0}"#,
            r#"{"cname":"zstd","clevel":9,"shuffle":2,"blocksize":0}"#,
            r#"{"cname":"blosclz","clevel":0,"shuffle":0,"blocksize":0}"#,
            r#"{"cname":"lz4hc","clevel":1,"shuffle":1,"blocksize":0}"#,
            r#"{"cname":"zlib","clevel":6,"shuffle":1,"blocksize":4096}"#,
        ],
    ),
    numcodecs("lz4", &[("acceleration", Some("1"))], &[r#"{"acceleration":1}"#, r#"{"acceleration":10}"#]),
    numcodecs(
        "lzma",
        &[("format", Some("1")), ("check", Some("-1")), ("preset", Some("null")), ("filters", Some("null"))],
        &[r#"{"format":1,"check":-1,"preset":null,"filters":null}"#],
    ),
    numcodecs("shuffle", &[("elementsize", Some("4"))], &[r#"{"elementsize":4}"#, r#"{"elementsize":8}"#]),
    numcodecs(
        "astype",
        &[("encode_dtype", None), ("decode_dtype", None)],
        &[r#"{"encode_dtype":"<f4","decode_dtype":"<f8"}"#],
    ),
    numcodecs("delta", &[("dtype", None), ("astype", None)], &[r#"{"dtype":"<i4","astype":"<i4"}"#]),
    numcodecs(
        "fixedscaleoffset",
        &[("offset", None), ("scale", None), ("dtype", None), ("astype", None)],
        &[r#"{"offset":0,"scale":10,"dtype":"<f8","astype":"<i4"}"#],
    ),
    numcodecs(
        "quantize",
        &[("digits", None), ("dtype", None), ("astype", None)],
        &[r#"{"digits":3,"dtype":"<f8","astype":"<f8"}"#],
    ),
    numcodecs("bitround", &[("keepbits", None)], &[r#"{"keepbits":8}"#]),
    numcodecs("packbits", &[], &["{}"]),
    numcodecs("fletcher32", &[], &["{}"]),
    numcodecs("crc32", &[("location", Some("\"start\""))], &["{}", r#"{"location":"start"}"#]),
    numcodecs("adler32", &[("location", Some("\"start\""))], &["{}", r#"{"location":"start"}"#]),
    numcodecs("crc32c", &[("location", Some("\"end\""))], &["{}", r#"{"location":"end"}"#]),
    numcodecs(
        "jenkins_lookup3",
        &[("initval", Some("0")), ("prefix", Some("null"))],
        &[r#"{"initval":0,"prefix":null}"#],
    ),
    numcodecs(
        "pcodec",
        &[
            ("level", Some("8")),
            ("mode_spec", Some("\"auto\"")),
            ("delta_spec", Some("\"auto\"")),
            ("paging_spec", Some("\"equal_pages_up_to\"")),
            ("delta_encoding_order", Some("null")),
            ("equal_pages_up_to", Some("262144")),
        ],
        &[r#"{"level":8,"mode_spec":"auto"}"#],
    ),
    Keys {
        id: "szip",
        of: "netcdf-c",
        defaults: &[("mask", None), ("pixels-per-block", None)],
        examples: &[r#"{"mask":32,"pixels-per-block":8}"#, r#"{"mask":4,"pixels-per-block":32}"#],
    },
];

const fn numcodecs(
    id: &'static str,
    defaults: &'static [(&'static str, Option<&'static str>)],
    examples: &'static [&'static str],
) -> Keys {
    Keys { id, of: "numcodecs", defaults, examples }
}

/// Returns the known keys of the codec with one of these ids.
pub(super) fn known(names: &[String]) -> Option<&'static Keys> {
    CODECS.iter().find(|keys| names.iter().any(|name| name == keys.id))
}

impl Keys {
    /// Whether there is such a key.
    pub(super) fn has(&self, key: &str) -> bool {
        self.defaults.iter().any(|(name, _)| *name == key)
    }

    /// Whether the key must be there.
    pub(super) fn needs(&self, key: &str) -> bool {
        self.defaults.iter().any(|(name, default)| *name == key && default.is_none())
    }

    /// The default of a key that has one.
    pub(super) fn default_of(&self, key: &str) -> Option<Value> {
        let (_, default) = self.defaults.iter().find(|(name, _)| *name == key)?;
        serde_json::from_str((*default)?).ok()
    }

    /// The names of all keys, for a message.
    pub(super) fn names(&self) -> String {
        match self.defaults {
            [] => "none".to_owned(),
            keys => keys.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "),
        }
    }

    /// Configurations as that program writes them, the ordinary one first.
    pub(super) fn examples(&self) -> impl Iterator<Item = Map<String, Value>> {
        self.examples.iter().filter_map(|text| serde_json::from_str(text).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_json_of_its_own_keys() {
        for keys in CODECS {
            assert_eq!(keys.examples().count(), keys.examples.len(), "{}", keys.id);
            for (key, default) in keys.defaults {
                assert_eq!(keys.default_of(key).is_some(), default.is_some(), "{} {key}", keys.id);
            }
            for example in keys.examples() {
                assert!(example.keys().all(|key| keys.has(key)), "{}: {example:?}", keys.id);
                assert!(
                    keys.defaults
                        .iter()
                        .all(|(key, default)| default.is_some() || example.contains_key(*key))
                );
            }
        }
    }
}
