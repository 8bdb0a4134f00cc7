//! Short names of chains, and the command that applies one.

use std::path::Path;

use ncz::location::DatasetUrl;
use ncz::registry::known;
use ncz::registry::spec::{ChainSpec, NUMCODECS_PREFIX, StageSpec, generic};
use serde_json::{Map, Value};

use crate::secrets;
use crate::shell::quoted;

/// Returns a short name of a chain: `shuffle | zstd 3`, `blosc lz4 5 bitshuffle`.
pub(super) fn short(chain: &str) -> String {
    let Ok(spec) = ChainSpec::parse(chain) else { return chain.to_owned() };
    if chain == "none" || spec.is_empty() {
        return "none".to_owned();
    }
    let words: Vec<String> = spec.stages().iter().map(stage).collect();
    words.join(" | ")
}

fn stage(spec: &StageSpec) -> String {
    let with = |name: &str, params: &[u32]| {
        params.iter().fold(name.to_owned(), |words, param| format!("{words} {param}"))
    };
    match spec {
        StageSpec::Named { name, params } => with(name, params),
        StageSpec::Filter { id, params } => {
            // As they are named without a number.
            let name = match (*id, known::by_id(*id)) {
                (1, _) => "zlib".to_owned(),
                (307, _) => "bz2".to_owned(),
                (32_015, _) => "zstd".to_owned(),
                (_, Some(filter)) => filter.name.to_owned(),
                (id, None) => id.to_string(),
            };
            with(&name, params)
        }
        StageSpec::Json { name, config, .. } if name.ends_with("blosc") => blosc(config),
        StageSpec::Json { name, config, .. } if name == generic::NAME => {
            let numbers = |value: &Value| value.as_u64().and_then(|number| u32::try_from(number).ok());
            let params = config.get("cd_values").and_then(Value::as_array).into_iter().flatten();
            match config.get("filter").and_then(numbers) {
                Some(id) => stage(&StageSpec::Filter { id, params: params.filter_map(numbers).collect() }),
                None => name.clone(),
            }
        }
        StageSpec::Json { name, config, .. } => {
            let name = name.strip_prefix(NUMCODECS_PREFIX).unwrap_or(name);
            // The element size of shuffle is always that of the type here.
            let shown = config.values().filter(|_| !name.ends_with("shuffle"));
            shown.fold(name.to_owned(), |words, value| match value {
                Value::String(text) => format!("{words} {text}"),
                other => format!("{words} {other}"),
            })
        }
    }
}

fn blosc(config: &Map<String, Value>) -> String {
    let mut words = "blosc".to_owned();
    for key in ["cname", "clevel"] {
        match config.get(key) {
            Some(Value::String(text)) => words.push_str(&format!(" {text}")),
            Some(other) => words.push_str(&format!(" {other}")),
            None => {}
        }
    }
    match config.get("shuffle") {
        Some(Value::String(text)) => words.push_str(&format!(" {text}")),
        Some(number) => match number.as_i64() {
            Some(1) => words.push_str(" shuffle"),
            Some(2) => words.push_str(" bitshuffle"),
            _ => {}
        },
        None => {}
    }
    words
}

/// The dataset as the user named it, and a name for the copy.
#[derive(Clone, Copy)]
pub(super) struct Ends<'a> {
    pub(super) dataset: &'a str,
    pub(super) target: &'a str,
}

impl Ends<'_> {
    /// Returns the command that gives variables these codecs.
    pub(super) fn command<'p>(self, codecs: impl IntoIterator<Item = (Vec<&'p str>, &'p str)>) -> String {
        let dataset = secrets::hide(self.dataset);
        let mut line = format!("ncz copy {} {}", quoted(&dataset), quoted(self.target));
        for (paths, chain) in codecs {
            let mut names = paths.into_iter().map(escaped).collect::<Vec<_>>().join("&");
            if names.starts_with(['{', '[']) {
                names.insert(0, '/');
            }
            line.push_str(&format!(" --codec {}", quoted(&format!("{names}={chain}"))));
        }
        line
    }
}

/// A name as `--codec` reads it.
fn escaped(path: &str) -> String {
    let mut name = String::new();
    for character in path.trim_start_matches('/').chars() {
        if matches!(character, '&' | '=' | '\\' | '*' | '?' | '[') {
            name.push('\\');
        }
        name.push(character);
    }
    name
}

/// Returns a name for a copy of a dataset, which does not exist in the current folder.
pub(super) fn target(url: &DatasetUrl) -> String {
    let name = url.location.file_name().unwrap_or_else(|| "copy".to_owned());
    let (stem, extension) = match name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()) {
        Some((stem, extension)) => (stem, format!(".{extension}")),
        None => (name.as_str(), String::new()),
    };
    let names = (1_u32..).map(|number| match number {
        1 => format!("{stem}-recompressed{extension}"),
        _ => format!("{stem}-recompressed-{number}{extension}"),
    });
    let mut free = names.filter(|name| !Path::new(name).exists());
    free.next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec_request::{CodecRequest, Decision, decide};

    #[test]
    fn chains_have_short_names() {
        let blosc = r#"{"id":"blosc","cname":"lz4","clevel":5,"shuffle":2,"blocksize":0}"#;
        for (chain, words) in [
            ("none", "none"),
            ("shuffle|zstd,3", "shuffle | zstd 3"),
            ("32008,0,2", "bitshuffle 0 2"),
            ("55555", "55555"),
            (blosc, "blosc lz4 5 bitshuffle"),
            (r#"[{"id":"shuffle","elementsize":4},{"id":"zlib","level":1}]"#, "shuffle | zlib 1"),
            (r#"{"name":"zstd","configuration":{"level":3,"checksum":false}}"#, "zstd 3 false"),
            (r#"{"name":"numcodecs.zlib","configuration":{"level":4}}"#, "zlib 4"),
            (r#"{"id":"ncz.hdf5_filter","filter":1,"cd_values":[4]}"#, "zlib 4"),
        ] {
            assert_eq!(short(chain), words, "{chain}");
        }
    }

    #[test]
    fn the_command_names_the_variables_and_the_chain() {
        let command = |dataset, codecs: &[(&[&'static str], &'static str)]| {
            let codecs = codecs.iter().map(|(paths, chain)| (paths.to_vec(), *chain));
            Ends { dataset, target: "out.zarr" }.command(codecs)
        };
        let line = command("my data.zarr", &[(&["/g/t", "/u"], "shuffle|zstd,3"), (&["/v"], "none")]);
        assert_eq!(line, "ncz copy 'my data.zarr' out.zarr --codec 'g/t&u=shuffle|zstd,3' --codec 'v=none'");
        for path in ["/a=b", "/a&b", r"/a\b", "/*", "/{x", "/a[b", "/[", "/a?", "/it's"] {
            let line = command("x", &[(&[path], r#"{"id":"zstd","level":3}"#)]);
            let codec = line.split_once("--codec '").unwrap().1.strip_suffix('\'').unwrap();
            let request = CodecRequest::parse_codec(&codec.replace(r"'\''", "'")).unwrap();
            let requests = [request];
            assert!(matches!(decide(&requests, path), Decision::Named(_)), "{line}");
            assert_eq!(decide(&requests, "/other"), Decision::Keep, "{line}");
        }
    }

    #[test]
    fn the_copy_is_named_after_the_dataset() {
        for (dataset, name) in [
            ("/data/ocean.nczarr", "ocean-recompressed.nczarr"),
            ("ocean.zip#mode=zarr", "ocean-recompressed.zip"),
            ("ocean", "ocean-recompressed"),
            ("https://host/a/ocean.nc", "ocean-recompressed.nc"),
        ] {
            assert_eq!(target(&DatasetUrl::parse(dataset).unwrap()), name);
        }
    }
}
