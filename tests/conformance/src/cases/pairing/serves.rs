//! The programs that can use the library by itself.

use ncz_codec::{CodecType, Dialect};
use ncz_registry::Registry;
use ncz_registry::report::Verdict;
use serde_json::{Map, Value};

use crate::outcome::Ending;
use crate::subject::Subject;
use crate::trial::Trial;

/// The uses of one codec of the library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Use {
    hdf5: bool,
    netcdf: bool,
    ncz: bool,
}

pub(super) fn check(trial: &mut Trial) -> Result<(), Ending> {
    let (folder, link) = super::alone(trial)
        .map_err(|error| Ending::skipped(format!("no folder for the single library: {error}")))?;
    trial.step("looking for plugins in a folder with only the library");
    let registry = Registry::builder().plugin_path(vec![folder.path().to_owned()]).builtins(false).build();
    let report = registry.report();
    let Some(file) = report.files().find(|file| file.path == link) else {
        return Err(Ending::skipped(match report.switched_off {
            Some(off) => off.to_string(),
            None => "the registry does not list the library".to_owned(),
        }));
    };
    let in_words = |text: &str| text.replace(&folder.path().display().to_string(), "..");
    let notes: Vec<String> = file.notes.iter().map(|note| in_words(note)).collect();
    match file.verdict {
        Verdict::Ignored => {
            return Err(Ending::skipped(format!("{}; library.file says more", in_words(&file.reason))));
        }
        Verdict::Refused => {
            let notes = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join("; ")) };
            return Err(Ending::failed(format!(
                "ncz finds it {}: {}{notes}",
                file.verdict,
                in_words(&file.reason)
            )));
        }
        _ => {}
    }
    trial.figure("state", file.verdict.to_string());
    if !file.reason.is_empty() {
        trial.figure("reason", in_words(&file.reason));
    }
    for note in notes {
        trial.warn(note);
    }
    judge(trial, &registry)
}

/// Reports the programs that each codec works for, and what is missing for the others.
fn judge(trial: &mut Trial, registry: &Registry) -> Result<(), Ending> {
    let subject = trial.subject()?;
    let uses = uses(subject, registry);
    if uses.is_empty() {
        return match subject.defaults.is_empty() {
            true => Err(Ending::failed("nothing in it can be used; other checks report why")),
            false => Err(Ending::skipped(
                "it holds NCZarr codecs for filters of other libraries; by itself there is nothing to pair them with",
            )),
        };
    }
    let mut lacking = Vec::new();
    let mut table = Map::new();
    for (name, usable) in uses {
        table.insert(name.clone(), Value::from(usable.in_words()));
        lacking.extend(usable.lacking().map(|why| format!("{name}: {why}")));
    }
    trial.figure("serves", table);
    lacking.into_iter().for_each(|why| trial.warn(why));
    Ok(())
}

/// Each codec of the library, by what hosts call it.
fn uses(subject: &Subject, registry: &Registry) -> Vec<(String, Use)> {
    let own = subject.codec.as_ref().and_then(|half| half.as_ref().ok());
    let is_known = |name: &str| registry.by_name(Dialect::Numcodecs, name).is_ok();
    let mut all = Vec::new();
    if let Some(filter) = subject.hdf5() {
        let id = filter.id();
        let has_half = subject.codec_of(id).is_some();
        let ncz = subject.codec_of(id).is_some_and(|half| is_known(half.codec_id()))
            || subject.native_of(id).is_some_and(|codec| codec.info().numcodecs.iter().any(is_known));
        all.push((format!("filter {id}"), Use { hdf5: true, netcdf: has_half && id < 65_535, ncz }));
    }
    if let Some(half) = own
        && subject.hdf5().is_none_or(|filter| filter.id() != half.filter_id())
    {
        let ncz = is_known(half.codec_id());
        all.push((format!("codec {}", half.codec_id()), Use { hdf5: false, netcdf: false, ncz }));
    }
    for codec in subject.native() {
        let info = codec.info();
        if info.filter_id.is_some() && info.filter_id == subject.hdf5().map(|filter| filter.id()) {
            continue;
        }
        let is_known_v3 = || info.zarr_v3.iter().any(|name| registry.by_name(Dialect::ZarrV3, name).is_ok());
        let ncz = info.numcodecs.iter().any(is_known)
            || is_known_v3()
            || info.filter_id.is_some_and(|id| registry.by_id(id).is_ok());
        all.push((format!("codec {}", info.name), Use { hdf5: false, netcdf: false, ncz }));
    }
    all
}

impl Use {
    fn in_words(self) -> String {
        let whom = [(self.hdf5, "HDF5"), (self.netcdf, "NCZarr of netcdf-c"), (self.ncz, "ncz")];
        let whom: Vec<&str> = whom.into_iter().filter(|(serves, _)| *serves).map(|(_, whom)| whom).collect();
        if whom.is_empty() { "no host".to_owned() } else { whom.join(", ") }
    }

    /// What is missing. A codec that is only native lacks nothing: it has no HDF5 id.
    fn lacking(self) -> Option<&'static str> {
        match (self.hdf5, self.netcdf, self.ncz) {
            (true, true, true) | (false, false, true) => None,
            (true, true, false) => Some("ncz does not find its codec by name"),
            (true, false, true) => {
                Some("netcdf-c does not use it in NCZarr: there is no NCZ_get_codec_info with this id")
            }
            (true, false, false) => Some(
                "it works for HDF5 only: without NCZ_get_codec_info it has no JSON, so netcdf-c does not use it in NCZarr, and \
                 ncz only with its own JSON for this filter",
            ),
            (false, ..) => Some(
                "it does not work by itself: it has no HDF5 filter (H5PLget_plugin_type and H5PLget_plugin_info) and no native \
                 codec that would run it",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_parts_are_reported_by_the_programs_that_need_them() {
        let usable = |hdf5, netcdf, ncz| Use { hdf5, netcdf, ncz };
        assert_eq!(usable(true, true, true).lacking(), None);
        assert_eq!(usable(false, false, true).lacking(), None);
        assert!(usable(true, false, false).lacking().unwrap().contains("works for HDF5 only"));
        assert!(usable(false, false, false).lacking().unwrap().contains("does not work by itself"));
        assert_eq!(usable(true, true, true).in_words(), "HDF5, NCZarr of netcdf-c, ncz");
        assert_eq!(usable(false, false, false).in_words(), "no host");
    }
}
