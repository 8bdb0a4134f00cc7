//! What the readers of a copy lack, said before anything is written.

use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

use ncz::Dataset;
use ncz::location::{DatasetUrl, Storage};
use ncz::model::{Attribute, ByteOrder, Container, Format, Hierarchy, Kind, Value, Variable, is_same_number};
use ncz::progress::{Phase, Progress};
use ncz::readers::{Obstacle, Readability, ReaderSetup, Refusal, reads, usual};

use crate::args::Copy;
use crate::messages::Messages;
use crate::output::abbreviated;
use crate::progress::Bar;
use crate::reader_report::{note, replaced_notes};

/// A progress bar that prints notes on what the usual reader of the copy does not read, as soon as its metadata are known.
pub(super) struct Announced<'a> {
    pub(super) bar: Bar,
    dataset: &'a Dataset,
    is_zip: bool,
    /// Whether the user asked for another format.
    has_format: bool,
    messages: Messages,
    notes: Mutex<Vec<String>>,
}

impl<'a> Announced<'a> {
    pub(super) fn new(
        bar: Bar,
        dataset: &'a Dataset,
        target: &DatasetUrl,
        options: &Copy,
        messages: Messages,
    ) -> Self {
        let is_zip = target.new_storage() == Storage::Zip;
        let has_format = options.format.is_some();
        Self { bar, dataset, is_zip, has_format, messages, notes: Mutex::default() }
    }

    /// The notes that were printed.
    pub(super) fn into_notes(self) -> Vec<String> {
        self.notes.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Progress for Announced<'_> {
    fn codecs_replaced(&self, replaced: &[Refusal]) {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        for text in replaced_notes(replaced) {
            self.messages.note(&text);
            notes.push(text);
        }
    }

    fn planned(&self, copy: &Hierarchy) {
        let setup = ReaderSetup::from(usual(copy.format));
        let registry = &self.dataset.session().registry;
        let of = |hierarchy: &Hierarchy| -> Vec<Obstacle> {
            let Readability { obstacles, .. } = reads(hierarchy, registry, self.is_zip, setup.clone());
            obstacles
        };
        let before = of(self.dataset.hierarchy());
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        for mut obstacle in of(copy) {
            let same = before.iter().filter(|old| (&old.what, old.why) == (&obstacle.what, obstacle.why));
            let had: Vec<String> = same.flat_map(|old| old.variables.clone()).collect();
            let is_new = |path: &String| !had.contains(path);
            // Nothing changes for this reader.
            let is_kept = self.dataset.hierarchy().format.is_like(copy.format) && !self.has_format;
            if is_kept {
                obstacle.variables.retain(is_new);
            }
            if obstacle.variables.is_empty() {
                continue;
            }
            let keeps = |path: &String| keeps_codecs(self.dataset.hierarchy(), copy, path);
            let (kept, chosen): (Vec<String>, Vec<String>) =
                obstacle.variables.iter().cloned().partition(keeps);
            for (variables, keeps) in [(kept, true), (chosen, false)] {
                // What is written by number was said when the codec was chosen.
                if variables.is_empty() || !keeps && obstacle.why.is_by_number() {
                    continue;
                }
                let text = note(&Obstacle { variables, ..obstacle.clone() }, keeps);
                self.messages.note(&text);
                notes.push(text);
            }
        }
        for text in changed_values(self.dataset.hierarchy(), copy) {
            self.messages.note(&text);
            notes.push(text);
        }
    }

    fn begin(&self, phase: Phase, total: u64) {
        self.bar.begin(phase, total);
    }

    fn advance(&self, bytes: u64) -> ControlFlow<()> {
        self.bar.advance(bytes)
    }
}

/// Notes on values that readers of the copy take for something else than those of the source do.
fn changed_values(source: &Hierarchy, copy: &Hierarchy) -> Vec<String> {
    let mut notes = Vec::new();
    let of_source = |variable: &Variable| source.variable(&variable.path).ok();
    let paths = |is_concerned: &dyn Fn(&Variable, &Variable) -> bool| -> Vec<String> {
        let variables = copy.variables();
        let concerned = variables
            .filter(|variable| of_source(variable).is_some_and(|original| is_concerned(variable, original)));
        concerned.map(|variable| variable.path.clone()).collect()
    };
    let is_swapped = |variable: &Variable, original: &Variable| {
        original.dtype.order() == ByteOrder::Big && variable.dtype.order() == ByteOrder::Little
    };
    let swapped = paths(&|variable, original| is_swapped(variable, original) && !has_other_sign(variable));
    let unsigned = paths(&|variable, original| is_swapped(variable, original) && has_other_sign(variable));
    let of_format = match copy.format.is_v3() {
        true => "which are what their codecs take in version 3",
        false => "since netcdf-c misreads missing chunks of big-endian ones",
    };
    let of_xarray = match copy.format.is_v3() {
        true => of_format,
        false => "since xarray does not mask the _FillValue of big-endian ones with _Unsigned",
    };
    for (paths, why) in [(swapped, of_format), (unsigned, of_xarray)] {
        if !copy.format.is_netcdf() && !paths.is_empty() {
            notes.push(format!("{}: stored as little-endian numbers, {why}", abbreviated(&paths)));
        }
    }
    if source.format.is_like(copy.format) {
        return notes;
    }
    if source.format.is_netcdf() && !copy.format.is_netcdf() {
        let copied = |path: &str| copy.group(path).is_ok() || copy.variable(path).is_ok();
        let latin = attributes_with(source, &|text| str::from_utf8(text).is_err(), &copied);
        if !latin.is_empty() {
            let latin = abbreviated(&latin);
            notes.push(format!("{latin}: the text is not UTF-8; it is read as Latin-1 (ISO 8859-1)"));
        }
    }
    if copy.format.is_nczarr() && !source.format.is_nczarr() {
        let is_odd = |byte: &u8| byte.is_ascii_control() && !b"\t\n\r\x08\x0c".contains(byte);
        let odd = attributes_with(copy, &|text| text.iter().any(is_odd), &|_| true);
        if !odd.is_empty() {
            let odd = abbreviated(&odd);
            notes.push(format!(
                "{odd}: netcdf-c shows the control characters in the text as u0001 and the like"
            ));
        }
    }
    let by_fill = |hierarchy: &Hierarchy, variable: &Variable| {
        let format = hierarchy.format;
        !format.is_v3() && !format.is_netcdf() && variable.is_masked_by_fill()
    };
    let is_complex_mask = |variable: &Variable, original: &Variable| {
        let (mask, fill) = (original.complex_mask(), &variable.fill);
        copy.format == Format::Zarr2
            && mask.zip(fill.as_ref()).is_some_and(|(mask, fill)| mask.json() == fill.json())
    };
    let masked = paths(&|variable, original| {
        let is_masked = by_fill(source, original)
            || original.masked_value(source.format).is_some()
            || is_complex_mask(variable, original);
        // xarray turns numbers back to truth values, and missing ones to true, which the fill value then is.
        let is_true = original.dtype.kind() == Kind::Bool && variable.dtype.kind() != Kind::Bool;
        by_fill(copy, variable) && !is_masked && !is_true
    });
    if !masked.is_empty() {
        notes.push(format!(
            "{}: xarray takes the fill value, as which missing chunks read, for a missing value in version 2; --format zarr3 keeps it a value",
            abbreviated(&masked)
        ));
    }
    let is_overruled = |hierarchy: &Hierarchy, variable: &Variable| {
        !hierarchy.format.is_v3() && !hierarchy.format.is_netcdf() && variable.has_overruled_mask()
    };
    let overruled =
        paths(&|variable, original| is_overruled(copy, variable) && !is_overruled(source, original));
    if !overruled.is_empty() {
        notes.push(format!(
            "{}: xarray masks the fill value, as which missing chunks read, and not _FillValue in version 2; --format zarr3 keeps both",
            abbreviated(&overruled)
        ));
    }
    // The attribute is what is masked if the fill value may be one that nobody chose.
    let restored = paths(&|variable, original| {
        let attribute = original.attribute("_FillValue").map(|attribute| &attribute.value);
        let masked = original.masked_value(source.format);
        source.format == Format::Zarr2
            && original.is_named()
            && is_overruled(source, original)
            && attribute
                .zip(masked.as_ref())
                .is_some_and(|(attribute, masked)| is_same_number(attribute, masked))
            && !is_overruled(copy, variable)
    });
    if !restored.is_empty() {
        notes.push(format!(
            "{}: _FillValue differs from fill_value, which xarray masks in the source; in the copy, _FillValue is masked",
            abbreviated(&restored)
        ));
    }
    let unmasked = paths(&|variable, original| {
        original.attribute("_FillValue").is_some()
            && variable.attribute("_FillValue").is_none()
            && (copy.format.is_v3() || original.dtype.kind() == Kind::Complex)
            && !is_complex_mask(variable, original)
    });
    let why = match copy.format {
        format if format.is_netcdf() => {
            "netCDF has no fill values of complex numbers; nothing marks missing values there; --format zarr3 keeps it"
        }
        Format::Zarr2 => {
            "xarray would take it for what missing chunks read as; nothing marks missing values there; --format zarr3 keeps it"
        }
        _ => {
            "xarray opens no dataset of version 3 that has it on text, times or complex numbers; nothing marks missing values there; --format zarr keeps it"
        }
    };
    if !unmasked.is_empty() {
        notes.push(format!("{}: the attribute _FillValue is left out, since {why}", abbreviated(&unmasked)));
    }
    let complex = paths(&|variable, original| {
        variable.dtype.kind() == Kind::Complex && original.dtype.kind() == Kind::Complex
    });
    if copy.format.is_netcdf() && !complex.is_empty() {
        notes.push(format!(
            "{}: complex numbers become structures of r and i, which h5py reads as complex numbers, and netCDF4 with auto_complex=True",
            abbreviated(&complex)
        ));
    }
    notes
}

/// Whether an attribute makes readers take the numbers for those of the other sign.
fn has_other_sign(variable: &Variable) -> bool {
    variable.attribute("_Unsigned").is_some()
}

/// The attributes of which `has` is true for a text, in the groups and variables that are `wanted` by their paths.
fn attributes_with(
    hierarchy: &Hierarchy,
    has: &dyn Fn(&[u8]) -> bool,
    wanted: &dyn Fn(&str) -> bool,
) -> Vec<String> {
    let has_them = |attribute: &&Attribute| match &attribute.value {
        Value::Char(text) => has(text),
        Value::String(texts) => texts.iter().any(|text| has(text)),
        _ => false,
    };
    let groups = hierarchy.groups().map(|group| (&group.path, &group.attributes));
    let variables = hierarchy.variables().map(|variable| (&variable.path, &variable.attributes));
    let nodes = groups.chain(variables).filter(|(path, _)| wanted(path));
    nodes
        .flat_map(|(path, attributes)| {
            attributes.iter().filter(has_them).map(move |attribute| format!("{path}:{}", attribute.name))
        })
        .collect()
}

/// Whether a variable of the copy has as many codecs as in the source, in the same order, by their names.
fn keeps_codecs(source: &Hierarchy, copy: &Hierarchy, path: &str) -> bool {
    let names = |hierarchy: &Hierarchy| {
        let variable = hierarchy.variable(path).ok()?;
        let name = |json: &ncz::model::json::Json| {
            let name = json.get("id").or_else(|| json.get("name"))?.as_str()?;
            let plain = name.strip_prefix("numcodecs.").unwrap_or(name).to_owned();
            // Codecs by number have one name.
            let number = json.get("filter").or_else(|| json.get("configuration")?.get("filter"));
            Some((plain, number.and_then(ncz::model::json::Json::as_u64)))
        };
        Some(variable.filters.iter().map(name).collect::<Vec<_>>())
    };
    names(source) == names(copy)
}
