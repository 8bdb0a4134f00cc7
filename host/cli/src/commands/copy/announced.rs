//! What the readers of a copy lack, said before anything is written.

use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

use ncz::Dataset;
use ncz::location::{DatasetUrl, Storage};
use ncz::model::{Container, Hierarchy};
use ncz::progress::{Phase, Progress};
use ncz::readers::{Obstacle, Readability, ReaderSetup, reads, usual};

use crate::args::Copy;
use crate::messages::Messages;
use crate::progress::Bar;
use crate::reader_report::note;

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
    }

    fn begin(&self, phase: Phase, total: u64) {
        self.bar.begin(phase, total);
    }

    fn advance(&self, bytes: u64) -> ControlFlow<()> {
        self.bar.advance(bytes)
    }
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
