//! The error for a codec that was not found, with its remedy.

use ncz_codec::Dialect;

use crate::discover::FolderState;
use crate::entry::CodecOrigin;
use crate::error::{Details, NearMiss, NotFound, Wanted};
use crate::known::{self, Filter};
use crate::report::{CodecReport, FileReport, Report, Verdict};
use crate::search_path::{PATH_VARIABLE, SwitchedOff};
use crate::spec::NUMCODECS_PREFIX;

/// The largest number of files to name.
const MOST_NAMED: usize = 4;

/// The error for what was looked for and is not in the report's codecs. `close` is a name of theirs that may be meant.
pub(crate) fn explain(wanted: Wanted, close: Option<String>, report: &Report) -> NotFound {
    let filter = match &wanted {
        Wanted::Id(id) => known::by_id(*id),
        // Zarr v3 uses its own names for other formats.
        Wanted::Name(Dialect::ZarrV3, name) if !name.starts_with(NUMCODECS_PREFIX) => None,
        Wanted::Name(_, name) => known::by_name(name),
    };
    let fault = |state: &FolderState| match state {
        FolderState::Searched | FolderState::SameAs(_) => String::new(),
        other => other.to_string(),
    };
    NotFound::new(Details {
        known_as: filter.map(|filter| filter.name),
        close,
        searched: report.folders.iter().map(|f| (f.folder.path.clone(), fault(&f.state))).collect(),
        switched_off: report.switched_off,
        near_misses: near_misses(&wanted, filter, report),
        remedy: remedy(&wanted, filter, report.switched_off),
        wanted,
    })
}

/// Returns codecs and refused libraries that could have been used. A reason that several share is reported once.
pub(crate) fn near_misses(wanted: &Wanted, filter: Option<&Filter>, report: &Report) -> Vec<NearMiss> {
    let mut misses: Vec<(NearMiss, usize)> = Vec::new();
    for file in report.files() {
        let Some(reason) = near(wanted, filter, file) else { continue };
        match misses.iter_mut().find(|(miss, _)| miss.reason == reason) {
            Some((_, others)) => *others += 1,
            None => misses.push((NearMiss { path: Some(file.path.clone()), reason }, 0)),
        }
    }
    misses.truncate(MOST_NAMED);
    misses.extend(own(wanted, filter, report).into_iter().map(|reason| (NearMiss { path: None, reason }, 0)));
    let line = |(miss, others): (NearMiss, usize)| match others {
        0 => miss,
        1 => NearMiss { reason: format!("{}; so it is with 1 other file", miss.reason), ..miss },
        _ => NearMiss { reason: format!("{}; so it is with {others} other files", miss.reason), ..miss },
    };
    misses.into_iter().map(line).collect()
}

/// Codecs of the program itself that cannot be used.
fn own(wanted: &Wanted, filter: Option<&Filter>, report: &Report) -> Vec<String> {
    let is_wanted = |codec: &&CodecReport| match wanted {
        Wanted::Id(id) => codec.id == Some(*id),
        Wanted::Name(_, name) => {
            codec.is_called(name) || filter.is_some_and(|filter| codec.id == Some(filter.id))
        }
    };
    let candidates = report.codecs.iter().filter(is_wanted).flat_map(|codec| &codec.candidates);
    let own = candidates.filter(|candidate| {
        candidate.state.starts_with("refused: ")
            && matches!(candidate.origin, CodecOrigin::Builtin | CodecOrigin::Registered)
    });
    own.map(|candidate| format!("{}: {}", candidate.origin, candidate.state)).collect()
}

fn near(wanted: &Wanted, filter: Option<&Filter>, file: &FileReport) -> Option<String> {
    let offer = file.offers.iter().find(|offer| match wanted {
        Wanted::Id(id) => offer.id == Some(*id),
        Wanted::Name(_, name) => {
            offer.name == *name || filter.is_some_and(|filter| offer.id == Some(filter.id))
        }
    });
    if let Some(offer) = offer {
        return Some(format!("{} face of {}: {}", offer.part, offer.name, offer.state));
    }
    let named_so = filter
        .zip(file.path.file_name())
        .is_some_and(|(filter, name)| filter.may_be(&name.to_string_lossy()));
    match file.verdict {
        // A library that is refused before its contents are known could be the one, whatever its name.
        Verdict::Refused if file.offers.is_empty() => Some(format!("refused: {}", file.reason)),
        Verdict::Ignored if named_so => Some(format!("ignored: {}", file.reason)),
        _ => None,
    }
}

fn remedy(wanted: &Wanted, filter: Option<&Filter>, off: Option<SwitchedOff>) -> String {
    if let Wanted::Name(_, name) = wanted
        && let Some(text) = known::without_codec(name)
    {
        return text.to_owned();
    }
    match off {
        Some(SwitchedOff::Request) => return "allow plugins to search for it".into(),
        Some(SwitchedOff::Preload) => return "unset HDF5_PLUGIN_PRELOAD to search for it".into(),
        None => {}
    }
    let query = match wanted {
        Wanted::Id(id) => id.to_string(),
        Wanted::Name(_, name) => name.clone(),
    };
    match filter.and_then(Filter::packages) {
        Some(packages) => format!(
            "install {packages} and name its plugin folder in {PATH_VARIABLE} (`ncz plugins why {query}` finds it)"
        ),
        None => format!("put a plugin for it into a folder that {PATH_VARIABLE} names"),
    }
}
