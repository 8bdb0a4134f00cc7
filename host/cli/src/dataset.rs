//! Opening datasets for the commands, and what they share in looking at them.

use std::num::NonZeroUsize;
use std::sync::Arc;

use ncz::nczarr::{
    Consolidated, Dataset, Format, Generation, Hierarchy, Pool, Session, ShuffleReading, Variable,
};
use ncz::registry::Registry;
use ncz::store::Access;
use serde_json::Value as Json;

use crate::args::ShuffleSize;
use crate::error::CliError;
use crate::filter_spec::full_path;
use crate::path::Place;
use crate::suggest;

/// Codecs, threads, and what to believe of shuffle.
pub(crate) fn session(
    registry: Arc<Registry>,
    threads: Option<u16>,
    shuffle: Option<ShuffleSize>,
) -> Result<Session, CliError> {
    let threads = threads
        .map_or_else(|| std::thread::available_parallelism().map_or(1, NonZeroUsize::get), usize::from);
    let mut session = Session::new(registry, Pool::with_threads(threads)?);
    session.shuffle = match shuffle {
        None => ShuffleReading::Refuse,
        Some(ShuffleSize::Type) => ShuffleReading::TypeSize,
        Some(ShuffleSize::Stored) => ShuffleReading::AsStored,
    };
    Ok(session)
}

/// Opens the dataset at a place for reading.
pub(crate) fn open(place: &Place, session: Session) -> Result<Dataset, CliError> {
    Ok(place.open(Access::Read, session)?)
}

/// The error of a name that is none of the dataset's variables.
pub(crate) fn unknown_variable(place: &Place, hierarchy: &Hierarchy, name: &str, hint: &str) -> CliError {
    let readable = hierarchy.variables().map(|variable| variable.path.as_str());
    let paths = readable.chain(hierarchy.unreadable().map(|lost| lost.path.as_str()));
    CliError::UnknownVariable {
        name: name.to_owned(),
        dataset: place.location.to_string(),
        known: format!("{}{hint}", suggest::known(&full_path(name), paths)),
    }
}

/// The format of a dataset in words.
pub(crate) fn format_words(format: Format) -> &'static str {
    match format {
        Format::Zarr2 => "Zarr version 2",
        Format::Nczarr(Generation::Attributes) => "NCZarr 2, keys in attributes (netcdf-c 4.9.3 and later)",
        Format::Nczarr(Generation::LowerCase) => "NCZarr 2, lower-case keys (netcdf-c 4.9.1, 4.9.2)",
        Format::Nczarr(Generation::UpperCase) => "NCZarr 2, upper-case keys (netcdf-c 4.8.1, 4.9.0)",
        Format::Nczarr(Generation::Objects) => "NCZarr 1, own objects (netcdf-c 4.8.0)",
        Format::Zarr3 => "Zarr version 3",
        Format::Nczarr3 => "NCZarr 3, the draft over Zarr version 3 (experimental)",
        _ => "a format that this program has no word for",
    }
}

/// The state of consolidated metadata in words.
pub(crate) fn consolidated_words(state: Consolidated) -> &'static str {
    match state {
        Consolidated::Absent => "none",
        Consolidated::Current => "up to date",
        Consolidated::Stale => {
            "stale: other readers may miss data; a copy gets none, or fresh ones with --consolidated"
        }
        Consolidated::Unread => "could not be read: whether they are up to date is not known",
        Consolidated::Only => "read alone",
    }
}

/// The codecs of a variable as its metadata say, for people: `shuffle elementsize=4 | zlib level=6`.
pub(crate) fn codecs_words(filters: &[Json]) -> String {
    let words: Vec<String> = filters.iter().map(codec_words).collect();
    if words.is_empty() { "-".to_owned() } else { words.join(" | ") }
}

fn codec_words(codec: &Json) -> String {
    let Some(object) = codec.as_object() else { return codec.to_string() };
    // Version 2 has the parameters beside the name, version 3 in an object of their own.
    let name = if object.contains_key("id") { "id" } else { "name" };
    let parameters = object.get("configuration").and_then(Json::as_object).filter(|_| name == "name");
    let mut words = object.get(name).and_then(Json::as_str).unwrap_or("?").to_owned();
    for (key, value) in parameters.unwrap_or(object).iter().filter(|(key, _)| *key != name) {
        match value {
            Json::String(text) => words.push_str(&format!(" {key}={text}")),
            other => words.push_str(&format!(" {key}={other}")),
        }
    }
    words
}

/// Bytes of a variable's data when decoded; saturates.
pub(crate) fn raw_len(hierarchy: &Hierarchy, variable: &Variable) -> u64 {
    let element = variable.dtype.size() as u64;
    hierarchy.shape_of(variable).iter().fold(element, |product, len| product.saturating_mul(*len))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn codecs_are_told_in_few_words() {
        let filters = [json!({"id": "shuffle", "elementsize": 4}), json!({"id": "blosc", "cname": "lz4"})];
        assert_eq!(codecs_words(&filters), "shuffle elementsize=4 | blosc cname=lz4");
        let zstd = json!({"name": "zstd", "configuration": {"level": 3, "checksum": false}});
        assert_eq!(codecs_words(&[zstd, json!({"name": "crc32c"})]), "zstd level=3 checksum=false | crc32c");
        assert_eq!(codecs_words(&[]), "-");
    }
}
