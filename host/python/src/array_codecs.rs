//! The codecs in the metadata of an array of zarr-python.

use std::collections::BTreeMap;

use ncz::codec::serde_json;
use ncz::model::json::{Json, to_values};
use ncz::model::{Format, Session, ShuffleReading, Variable, shuffle};
use ncz::registry::chain::FilterChain;
use ncz::registry::spec::ChainSpec;
use ncz::zarr::metadata::{ReadOptions, ZarrVersion, document, read};

use crate::errors::{Failure, Kind};

/// Reads the metadata document of an array of one chunk, and binds its codecs. An error of data means that another
/// program would read other values; all others that the array is not one for this pipeline.
pub(crate) fn bind(
    session: &Session,
    document: Vec<u8>,
    version: u8,
    reading: ShuffleReading,
    nczarr: bool,
) -> Result<(Variable, FilterChain), Failure> {
    const NAME: &str = "array";
    let (key, version) = match version {
        2 => (document::ZARRAY, ZarrVersion::V2),
        _ => (document::ZARR_JSON, ZarrVersion::V3),
    };
    let documents = BTreeMap::from([(key.to_owned(), document)]);
    let options = ReadOptions {
        version: Some(version),
        pure: true,
        root_array_name: Some(NAME.to_owned()),
        ..ReadOptions::default()
    };
    let hierarchy = read(&documents, &options).map_err(|error| Failure::of(Kind::Codec, &error))?;
    let variable = hierarchy.variable(NAME).map_err(|error| Failure::of(Kind::Codec, &error))?;
    let mut variable = variable.clone();
    if hierarchy.format == Format::Zarr2 {
        settle_shuffle(&mut variable, reading, nczarr)?;
    }
    let json: Vec<serde_json::Value> = to_values(&variable.filters);
    let spec = ChainSpec::from_json(hierarchy.format.dialect(), &json)?;
    let chain = session.bind(&variable, hierarchy.format, &spec);
    let chain = chain.map_err(|error| Failure::of(Kind::Codec, &error))?;
    Ok((variable, chain))
}

/// Makes the element size of each shuffle explicit. netcdf-c shuffles by the size of the type whatever is stored, and
/// writes 0; numcodecs does not shuffle by 0.
fn settle_shuffle(variable: &mut Variable, reading: ShuffleReading, nczarr: bool) -> Result<(), Failure> {
    let type_size = variable.dtype.size() as u64;
    let mut filters = variable.filters.clone();
    for codec in shuffle::shuffles_of_the_type(&mut filters) {
        let stored = codec.get("elementsize").map_or(Some(shuffle::NUMCODECS_SIZE), Json::as_u64);
        // JSON that is not a number is left to the codec, which refuses it.
        let Some(stored) = stored else { continue };
        let is_disputed = stored != type_size && type_size > 1 && (nczarr || stored == 0);
        let size = match reading {
            _ if !is_disputed => stored.max(1),
            _ if nczarr && stored == 0 => type_size,
            ShuffleReading::TypeSize => type_size,
            ShuffleReading::AsStored => stored.max(1),
            ShuffleReading::Refuse => {
                let text = format!(
                    "codec shuffle has the element size {stored}, elements have {type_size} bytes: netcdf-c shuffles by \
                     {type_size}, numcodecs {}; set \"codec_pipeline.shuffle_size\" in zarr.config to \"type\" if \
                     netcdf-c wrote the data, to \"stored\" if zarr-python did",
                    if stored == 0 { "not at all".to_owned() } else { format!("by {stored}") }
                );
                return Err(Failure::new(Kind::Data, text));
            }
        };
        codec["elementsize"] = Json::from(size);
    }
    // netcdf-c has no codecs that change the type, so that only numcodecs' meaning is left after one.
    for codec in filters.iter_mut().filter(|codec| shuffle::is_shuffle(codec)) {
        if codec.get("elementsize").and_then(Json::as_u64) == Some(0) {
            codec["elementsize"] = Json::from(1_u64);
        }
    }
    variable.filters = filters;
    Ok(())
}

/// What element size 0 of shuffle means, by the argument of this name.
pub(crate) fn shuffle_reading(shuffle_size: Option<&str>) -> Result<ShuffleReading, Failure> {
    match shuffle_size {
        None => Ok(ShuffleReading::Refuse),
        Some("type") => Ok(ShuffleReading::TypeSize),
        Some("stored") => Ok(ShuffleReading::AsStored),
        Some(other) => {
            let text = format!("shuffle_size: expected \"type\" or \"stored\", got {other:?}");
            Err(Failure::new(Kind::Value, text))
        }
    }
}
