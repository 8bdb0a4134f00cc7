//! The command that applies chains, and the name of the copy.

use std::path::Path;

use ncz::location::DatasetUrl;

use crate::secrets;
use crate::shell::quoted;

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
            // A name may begin with a hyphen.
            let sign = if names.starts_with('-') { '=' } else { ' ' };
            line.push_str(&format!(" --codec{sign}{}", quoted(&format!("{names}={chain}"))));
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
    fn the_command_names_the_variables_and_the_chain() {
        let command = |dataset, codecs: &[(&[&'static str], &'static str)]| {
            let codecs = codecs.iter().map(|(paths, chain)| (paths.to_vec(), *chain));
            Ends { dataset, target: "out.zarr" }.command(codecs)
        };
        let line = command("my data.zarr", &[(&["/g/t", "/u"], "shuffle|zstd,3"), (&["/v"], "none")]);
        assert_eq!(line, "ncz copy 'my data.zarr' out.zarr --codec 'g/t&u=shuffle|zstd,3' --codec 'v=none'");
        for path in ["/a=b", "/a&b", r"/a\b", "/*", "/{x", "/a[b", "/[", "/a?", "/it's", "/-v"] {
            let line = command("x", &[(&[path], r#"{"id":"zstd","level":3}"#)]);
            let sign = if path == "/-v" { '=' } else { ' ' };
            let codec = line.split_once(&format!("--codec{sign}'")).unwrap().1.strip_suffix('\'').unwrap();
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
