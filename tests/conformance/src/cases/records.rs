//! The records that the entry functions return.

mod agree;
mod flags;
mod stable;

use ncz_codec::CodecType;
use ncz_registry::known;
use ncz_registry::load::RecordError;
use ncz_registry::load::probe::{RawCodec, RawCodecFields, RawFilterFields};

use crate::check::{Check, Scope};
use crate::outcome::Ending;
use crate::trial::Trial;

/// The largest filter id (`H5Z_FILTER_MAX`).
const ID_MAX: i64 = 65_535;
/// Ids below belong to HDF5 itself (`H5Z_FILTER_RESERVED`).
const ID_RESERVED: i64 = 256;
/// Ids above are not assigned: everyone may use them within a project.
const ID_FREE: i64 = 32_767;

/// The checks of this group.
pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "records.hdf5",
        level: 1,
        scope: Scope::Library,
        about: "its plugin type is that of filters, its record there, of version 1, with a filter function",
        run: hdf5,
    },
    Check {
        id: "records.hdf5-id",
        level: 1,
        scope: Scope::Library,
        about: "the filter's id is one that every host takes, its name readable text",
        run: hdf5_id,
    },
    Check {
        id: "records.codec",
        level: 1,
        scope: Scope::Library,
        about: "the codec's record is there, of version 1 and sort 1, with both conversions, an id of text and a filter id",
        run: codec,
    },
    Check {
        id: "records.defaults",
        level: 2,
        scope: Scope::Library,
        about: "the list of codecs for other libraries' filters ends, and each record in it is good and there once",
        run: defaults,
    },
    Check {
        id: "records.native",
        level: 1,
        scope: Scope::Library,
        about: "the native table is of this major version, whole, without a null function, and every codec describes itself",
        run: native,
    },
    Check {
        id: "records.same-id",
        level: 1,
        scope: Scope::Library,
        about: "the filter, the NCZarr codec and the native codec of one library have one id and one name",
        run: agree::check,
    },
    Check {
        id: "records.flags",
        level: 2,
        scope: Scope::Hdf5,
        about: "encoder_present and decoder_present match what the filter does",
        run: flags::check,
    },
    Check {
        id: "records.stable",
        level: 2,
        scope: Scope::Library,
        about: "called again, and from another thread, the library returns the same records",
        run: stable::check,
    },
];

/// Why a part of the library cannot be checked if another check already failed for it.
fn reported_elsewhere(id: &str) -> Ending {
    Ending::skipped(format!("{id} reports what is wrong with the record"))
}

fn hdf5(trial: &mut Trial) -> Result<(), Ending> {
    trial.step("asking for the HDF5 record");
    let Some(plugin) = trial.subject()?.library.raw_hdf5() else {
        return Err(Ending::skipped("the library exports no HDF5 filter"));
    };
    if plugin.plugin_type != 0 {
        return Err(Ending::failed(format!(
            "H5PLget_plugin_type returns {}; filters have 0 (H5PL_TYPE_FILTER)",
            plugin.plugin_type
        )));
    }
    let Some(record) = plugin.record else {
        return Err(Ending::failed(
            "H5PLget_plugin_info returns null, at which netcdf-c crashes and HDF5 stops its search; a codec without an HDF5 id \
             does not export it",
        ));
    };
    let Some(fields) = record.fields else {
        return Err(Ending::failed(format!(
            "the version of its record is {}; H5Z_CLASS_T_VERS is 1 (a record of HDF5 1.6, H5Z_class1_t, begins with the id)",
            record.version
        )));
    };
    match fields.functions {
        [_, _, 0] => Err(Ending::failed("its record has no filter function")),
        _ => Ok(()),
    }
}

fn hdf5_fields(trial: &Trial) -> Result<RawFilterFields, Ending> {
    let Some(plugin) = trial.subject()?.library.raw_hdf5() else {
        return Err(Ending::skipped("the library exports no HDF5 filter"));
    };
    plugin.record.and_then(|record| record.fields).ok_or_else(|| reported_elsewhere("records.hdf5"))
}

fn hdf5_id(trial: &mut Trial) -> Result<(), Ending> {
    trial.step("asking for the HDF5 record");
    let fields = hdf5_fields(trial)?;
    let id = i64::from(fields.id);
    let registered = u32::try_from(id).ok().and_then(known::by_id);
    trial.figure("id", id);
    trial.figure("registered as", registered.map_or("nothing known", |filter| filter.name));
    if !(1..=ID_MAX).contains(&id) {
        return Err(Ending::failed(format!("its id is {id}, not within 1 to {ID_MAX}")));
    }
    match (id, registered) {
        (ID_MAX, _) => trial.warn("its id is 65535: HDF5 takes it, netcdf-c does not"),
        (1..ID_RESERVED, None) => trial.warn(format!(
            "its id is {id}: HDF5 keeps those below {ID_RESERVED} for itself and refuses the filter; use one from 256 to 511 or \
             above {ID_FREE} until The HDF Group has given you one"
        )),
        (1..ID_RESERVED, Some(filter)) => trial.figure(
            "note",
            format!("HDF5 has {} itself and never asks a plugin for it; netcdf-c and ncz do", filter.name),
        ),
        _ => {}
    }
    match fields.name.as_deref().map(text) {
        None | Some(Some("")) => trial.warn("it has no name, so h5dump and messages of hosts show none"),
        Some(None) => {
            return Err(Ending::failed(
                "its name is not readable text of at most 1023 bytes: UTF-8 without control characters",
            ));
        }
        Some(Some(name)) => trial.figure("name", name),
    }
    Ok(())
}

/// A name that hosts can show: UTF-8 without control characters, with an end.
fn text(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?;
    (bytes.len() < 1024 && !text.contains(char::is_control)).then_some(text)
}

fn codec(trial: &mut Trial) -> Result<(), Ending> {
    trial.step("asking for the codec's record");
    let subject = trial.subject()?;
    match subject.library.raw_codec() {
        None => match &subject.codec {
            Some(Err(error @ RecordError::DraftCodec)) => Err(Ending::failed(error.to_string())),
            _ => Err(Ending::skipped("the library exports no NCZarr codec")),
        },
        Some(None) => Err(Ending::failed(
            "NCZ_get_codec_info returns null, at which netcdf-c crashes; a library without an NCZarr codec does not export it",
        )),
        Some(Some(record)) => {
            let fields = codec_fields(&record).map_err(Ending::Failed)?;
            let name = fields.codec_id.as_deref().and_then(text).unwrap_or_default().to_owned();
            trial.figure("codec id", name);
            trial.figure("filter id", fields.filter_id);
            Ok(())
        }
    }
}

/// The fields of a codec's record, or what is wrong with it.
fn codec_fields(record: &RawCodec) -> Result<&RawCodecFields, String> {
    let Some(fields) = &record.fields else {
        return Err(format!("the version of its record is {}; NCZ_CODEC_CLASS_VER is 1", record.version));
    };
    if fields.sort != 1 {
        return Err(format!(
            "the sort of its record is {}; NCZ_CODEC_HDF5 is 1, and there is no other",
            fields.sort
        ));
    }
    match fields.codec_id.as_deref().map(text) {
        None => return Err("its codecid is null".to_owned()),
        Some(None | Some("")) => {
            return Err(
                "its codecid is not readable text: UTF-8 of 1 to 1023 bytes without control characters"
                    .to_owned(),
            );
        }
        Some(Some(_)) => {}
    }
    if !(1..=ID_MAX).contains(&i64::from(fields.filter_id)) {
        return Err(format!("its hdf5id is {}, not within 1 to {ID_MAX}", fields.filter_id));
    }
    match fields.functions {
        [_, _, 0, ..] => Err("its record has no NCZ_codec_to_hdf5 function".to_owned()),
        [_, _, _, 0, _] => Err("its record has no NCZ_hdf5_to_codec function".to_owned()),
        _ => Ok(fields),
    }
}

fn defaults(trial: &mut Trial) -> Result<(), Ending> {
    trial.step("asking for the list of codecs");
    let Some(list) = trial.subject()?.library.raw_defaults() else {
        return Err(Ending::skipped("the library lists no codecs for other libraries' filters"));
    };
    let Some(records) = list.records else {
        return Err(Ending::failed(
            "NCZ_codec_info_defaults returns null; an empty list is a vector that holds null",
        ));
    };
    if !list.ends {
        return Err(Ending::failed(format!("its list has {} records and no null at the end", records.len())));
    }
    trial.figure("records", records.len());
    if records.is_empty() {
        trial.warn("its list is empty");
    }
    let mut seen: Vec<(u32, Vec<u8>)> = Vec::new();
    for (at, record) in records.iter().enumerate() {
        let fields =
            codec_fields(record).map_err(|why| Ending::failed(format!("record number {at}: {why}")))?;
        let name = fields.codec_id.clone().unwrap_or_default();
        let shown = String::from_utf8_lossy(&name).into_owned();
        if seen.iter().any(|(_, known)| *known == name) {
            return Err(Ending::failed(format!(
                "record number {at}: a codec {shown} is there already; hosts take one of them"
            )));
        }
        if seen.iter().any(|(id, _)| *id == fields.filter_id) {
            trial.warn(format!(
                "record number {at}: a codec for filter {} is there already",
                fields.filter_id
            ));
        }
        seen.push((fields.filter_id, name));
    }
    Ok(())
}

fn native(trial: &mut Trial) -> Result<(), Ending> {
    trial.step("asking for the native table");
    let subject = trial.subject()?;
    let codecs = subject.native.as_ref().map_err(|error| Ending::failed(error.to_string()))?;
    if codecs.is_empty() {
        return Err(Ending::skipped("the library has no native face"));
    }
    for (at, codec) in codecs.iter().enumerate() {
        let info = codec.info();
        let earlier = || codecs[..at].iter().map(|codec| codec.info());
        if earlier().any(|other| other.name == info.name) {
            return Err(Ending::failed(format!("two of its codecs are called {}", info.name)));
        }
        if let Some(id) = info.filter_id
            && earlier().any(|other| other.filter_id == Some(id))
        {
            return Err(Ending::failed(format!("two of its codecs have the HDF5 id {id}")));
        }
        for (dialect, names, others) in [
            (
                "numcodecs",
                &info.numcodecs,
                earlier().flat_map(|other| other.numcodecs.iter()).collect::<Vec<_>>(),
            ),
            ("Zarr v3", &info.zarr_v3, earlier().flat_map(|other| other.zarr_v3.iter()).collect()),
        ] {
            if let Some(name) = names.iter().find(|name| others.contains(name)) {
                return Err(Ending::failed(format!("two of its codecs have the {dialect} name {name}")));
            }
        }
    }
    let names: Vec<String> = codecs.iter().map(|codec| codec.info().name.to_string()).collect();
    let silent: Vec<String> = codecs
        .iter()
        .map(|codec| codec.info())
        .filter(|info| info.numcodecs.is_empty() && info.zarr_v3.is_empty())
        .map(|info| info.name.to_string())
        .collect();
    trial.figure("codecs", names);
    if !silent.is_empty() {
        trial.warn(format!(
            "{} has neither a numcodecs name nor a Zarr v3 name: no dataset can name it",
            silent.join(", ")
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_text_with_an_end() {
        assert_eq!(
            text(b"Zstandard compression: http://www.zstd.net"),
            Some("Zstandard compression: http://www.zstd.net")
        );
        assert_eq!(text(b"caf\xc3\xa9"), Some("caf\u{e9}"));
        assert_eq!(text(b"caf\xe9"), None);
        assert_eq!(text(b"\x1b[2J"), None);
        assert_eq!(text(&[b'a'; 1024]), None);
    }

    #[test]
    fn each_field_of_a_codec_record_has_its_fault() {
        let good = RawCodecFields {
            sort: 1,
            codec_id: Some(b"zstd".to_vec()),
            filter_id: 32_015,
            functions: [0, 0, 1, 1, 0],
        };
        let fault = |change: fn(&mut RawCodecFields)| {
            let mut fields = good.clone();
            change(&mut fields);
            codec_fields(&RawCodec { address: 8, version: 1, fields: Some(fields) }).err().unwrap_or_default()
        };
        assert_eq!(fault(|_| {}), "");
        assert!(fault(|fields| fields.sort = 2).contains("sort"));
        assert!(fault(|fields| fields.codec_id = None).contains("null"));
        assert!(fault(|fields| fields.codec_id = Some(vec![0xff])).contains("readable"));
        assert!(fault(|fields| fields.codec_id = Some(Vec::new())).contains("readable"));
        assert!(fault(|fields| fields.filter_id = 0).contains("hdf5id"));
        assert!(fault(|fields| fields.filter_id = 65_536).contains("hdf5id"));
        assert!(fault(|fields| fields.functions[2] = 0).contains("NCZ_codec_to_hdf5"));
        assert!(fault(|fields| fields.functions[3] = 0).contains("NCZ_hdf5_to_codec"));
        let newer = RawCodec { address: 8, version: 2, fields: None };
        assert!(codec_fields(&newer).unwrap_err().contains("version of its record is 2"));
    }
}
