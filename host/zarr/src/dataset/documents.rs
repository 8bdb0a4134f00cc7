//! Writes changed metadata documents, in an order that leaves a valid dataset after a crash.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ncz_model::json::{Json, Map};
use ncz_model::{Consolidated, DataError, GroupDocuments, MetadataError, VariableDocuments, json, limits};
use ncz_store::{Depth, Key, Prefix, StoreError, StoreExt, WriteMode};

use super::Dataset;
use super::journaling;
use super::pending::Pending;
use super::source::together;
use crate::journal::{self, Redo};
use crate::metadata;
use crate::metadata::document;

/// A key and its content.
type Document = (String, Vec<u8>);

type Object = Map;

/// A document with its current content, and its key.
type Changed = (String, Arc<Object>);

/// Key of version 2's consolidated metadata.
const CONSOLIDATED: &str = document::ZMETADATA;

/// The member of version 3's root with consolidated metadata.
const CONSOLIDATED_V3: &str = "consolidated_metadata";

/// The documents of one variable or group to replace, in this order.
struct Plan {
    path: String,
    replaced: Vec<Replaced>,
}

/// A document to replace.
#[derive(Clone)]
struct Replaced {
    key: String,
    bytes: Vec<u8>,
    /// The content that was read.
    kept: Option<Arc<Object>>,
    is_new: bool,
}

/// All documents to replace, in the order of writing.
struct Commit {
    variables: Vec<Plan>,
    /// Groups by depth, the deepest first.
    levels: Vec<Vec<Plan>>,
    last: Last,
}

/// The document that is written last.
enum Last {
    Nothing,
    /// Version 3's root, and the state of its consolidated metadata afterwards.
    Root(Replaced, Consolidated),
    /// Consolidated metadata as they are stored, and as they will be; `None` deletes them if they are partly out of
    /// date.
    Consolidated {
        stored: Option<Vec<u8>>,
        bytes: Option<Vec<u8>>,
    },
}

/// The state of a document in the store that is to be replaced.
struct Looked {
    /// Whether it already has the new content.
    is_same: bool,
    /// Its [`journal::digest`]; `None` if it does not exist.
    digest: Option<String>,
}

impl Commit {
    fn plans(&self) -> impl Iterator<Item = &Plan> {
        self.variables.iter().chain(self.levels.iter().flatten())
    }

    /// The documents except version 2's consolidated metadata.
    fn replaced(&self) -> Vec<&Replaced> {
        let mut all: Vec<&Replaced> = self.plans().flat_map(|plan| &plan.replaced).collect();
        if let Last::Root(replaced, _) = &self.last {
            all.push(replaced);
        }
        all
    }
}

impl Dataset {
    /// Makes all writes part of the dataset, and durable: first the chunks, then the variables with their lengths, then
    /// the groups, consolidated metadata last. All arrays of a dimension that grew get its length, as xarray and
    /// netcdf-c require. After a crash at any point, each variable has its old or its new length, and the next program
    /// that opens the dataset for writing makes all of them old or all of them new: see [`journal`](crate::journal).
    /// Consolidated metadata that were out of date are deleted.
    ///
    /// In a zip archive the changes are visible only after [`finish`](Self::finish) has returned.
    ///
    /// Each document is replaced as a whole, and only if the store still has the content that was read. Two programs
    /// that change a dataset at the same time detect each other only if their flushes do not coincide; if two programs
    /// append, one is refused.
    ///
    /// # Errors
    /// [`DataError::Changed`], [`DataError::Busy`], [`DataError::Journal`]; or the store fails. Changes that are not
    /// written yet stay pending, and the flush may be tried again.
    pub fn flush(&mut self) -> Result<(), DataError> {
        self.unpublished |= self.store.capabilities().deferred_writes && self.pending.is_unsaved();
        self.pending.complete();
        self.settle()
    }

    /// Flushes like [`flush`](Self::flush), but does not complete a new dataset.
    pub(super) fn settle(&mut self) -> Result<(), DataError> {
        self.level()?;
        let is_stale = self.hierarchy.consolidated == Consolidated::Stale
            && self.pending.wrote
            && metadata::group_documents(&self.hierarchy, &self.hierarchy.root).is_ok();
        if is_stale || !self.pending.is_empty() {
            self.save()?;
        }
        self.sync()?;
        self.end_lengths()
    }

    /// Writes the documents of a new dataset except those of the root. Existing objects in the store are an error, or,
    /// with `resumes`, belong to the same dataset.
    pub(super) fn begin(&mut self, consolidated: bool, resumes: bool) -> Result<(), DataError> {
        if !resumes && let Some(key) = self.first_unexpected("", &BTreeMap::new())? {
            return Err(self.in_the_way(key));
        }
        if consolidated {
            // Metadata that cannot be consolidated are refused before anything is written.
            metadata::consolidated_document(&self.hierarchy)?;
        }
        self.hierarchy.consolidated = if consolidated { Consolidated::Current } else { Consolidated::Absent };
        let paths: Vec<String> = self.hierarchy.variables().map(|variable| variable.path.clone()).collect();
        let groups: Vec<String> = self.hierarchy.groups().map(|group| group.path.clone()).collect();
        self.pending.new = paths.iter().chain(&groups).cloned().collect();
        self.pending.variables = paths.into_iter().collect();
        self.pending.groups = groups.into_iter().collect();
        self.pending.unfinished = true;
        self.pending.consolidate_new = consolidated;
        self.save()
    }

    /// Records the documents of a variable before they change.
    pub(super) fn touch_variable(&mut self, path: &str) -> Result<(), DataError> {
        if !self.pending.variables.contains(path) {
            let documents = metadata::variable_documents(&self.hierarchy, self.hierarchy.variable(path)?)?;
            self.pending.before.extend(documents);
            self.pending.variables.insert(path.to_owned());
        }
        Ok(())
    }

    /// Records the documents of a group before they change.
    pub(super) fn touch_group(&mut self, path: &str) -> Result<(), DataError> {
        if !self.pending.groups.contains(path) {
            let documents = metadata::group_documents(&self.hierarchy, self.hierarchy.group(path)?)?;
            self.pending.before.extend(documents);
            self.pending.groups.insert(path.to_owned());
        }
        Ok(())
    }

    /// Marks paths as new: the store has none of their documents yet.
    ///
    /// # Errors
    /// The store has another object at such a path. Objects that an interrupted attempt at the same change left are
    /// reused.
    pub(super) fn add_new(&mut self, variables: &[String], groups: &[String]) -> Result<(), DataError> {
        let mut expected = BTreeMap::new();
        for path in variables {
            expected.extend(metadata::variable_documents(&self.hierarchy, self.hierarchy.variable(path)?)?);
        }
        for path in groups {
            expected.extend(metadata::group_documents(&self.hierarchy, self.hierarchy.group(path)?)?);
        }
        let paths: Vec<&str> = variables.iter().chain(groups).map(|path| path.trim_matches('/')).collect();
        let look = |path: &&str| self.first_unexpected(path, &expected);
        for unexpected in together(&*self.store, &self.session.pool, &paths, 0, look) {
            if let Some(key) = unexpected? {
                return Err(self.in_the_way(key));
            }
        }
        self.pending.new.extend(variables.iter().chain(groups).cloned());
        self.pending.variables.extend(variables.iter().cloned());
        self.pending.groups.extend(groups.iter().cloned());
        Ok(())
    }

    /// Forgets discarded changes.
    pub(super) fn forget_changes(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        self.pending.clean = pending.clean;
        self.pending.ours = pending.ours;
        if pending.unfinished {
            self.pending.unfinished = true;
            self.pending.consolidate_new = pending.consolidate_new;
            let at_root = self.hierarchy.variables().filter(|variable| variable.key.is_empty());
            self.pending.variables.extend(at_root.map(|variable| variable.path.clone()));
            self.pending.groups.insert("/".to_owned());
            self.pending.new.extend(self.pending.variables.iter().chain(&self.pending.groups).cloned());
        }
    }

    /// Writes the documents that changed, the innermost first, and a group's lists after the objects that they name.
    pub(super) fn save(&mut self) -> Result<(), DataError> {
        self.sync()?;
        let commit = self.commit()?;
        let is_new = self.pending.new.contains("/");
        let have = match self.pending.longer && !is_new && self.is_journaled() {
            true => Some(self.journal(&commit)?),
            false => {
                self.forget_append()?;
                None
            }
        };
        let Commit { variables, levels, last } = commit;
        let mut any = false;
        for (path, changed) in self.replace_all(variables, have.as_ref())? {
            let documents = &mut self.hierarchy.variable_mut(&path)?.documents;
            any |= !changed.is_empty();
            for (key, object) in changed {
                *slot_of_variable(documents, &key) = Some(object);
            }
        }
        if any {
            self.sync()?;
        }
        // Deeper objects are written before the lists that name them.
        for level in levels {
            for (path, changed) in self.replace_all(level, have.as_ref())? {
                let documents = &mut self.hierarchy.group_mut(&path)?.documents;
                any |= !changed.is_empty();
                for (key, object) in changed {
                    *slot_of_group(documents, &key) = Some(object);
                }
            }
        }
        if any && !self.pending.unfinished {
            self.sync()?;
        }
        match last {
            Last::Nothing => {}
            Last::Root(replaced, consolidated) => {
                let document = object(&replaced.bytes);
                self.replace(vec![vec![replaced]], have.as_ref())?;
                self.hierarchy.root.documents.zarr_json = document;
                self.hierarchy.consolidated = consolidated;
                self.pending.consolidate_new = false;
            }
            Last::Consolidated { bytes, .. } => self.consolidate(bytes)?,
        }
        self.forget_saved();
        Ok(())
    }

    /// Determines the documents to replace.
    fn commit(&self) -> Result<Commit, DataError> {
        let unfinished = self.pending.unfinished;
        let waits = |path: &str, key: &str| unfinished && (path == "/" || key.is_empty());
        let mut variables = Vec::new();
        for path in &self.pending.variables {
            let variable = self.hierarchy.variable(path)?;
            if waits(path, &variable.key) {
                continue;
            }
            let documents = metadata::variable_documents(&self.hierarchy, variable)?;
            variables.push(self.plan(path, documents, |key| of_variable(&variable.documents, key)));
        }
        let mut groups: Vec<&String> = self.pending.groups.iter().collect();
        groups.sort_by_key(|path| std::cmp::Reverse(depth(path)));
        if self.hierarchy.root_array {
            groups.clear();
        }
        let mut levels = Vec::new();
        for level in groups.chunk_by(|one, other| depth(one) == depth(other)) {
            let mut plans = Vec::new();
            for path in level {
                // In version 3 the root's document is also the consolidated one.
                if waits(path, "-") || *path == "/" && self.hierarchy.format.is_v3() {
                    continue;
                }
                let group = self.hierarchy.group(path)?;
                let documents = metadata::group_documents(&self.hierarchy, group)?;
                plans.push(self.plan(path, documents, |key| of_group(&group.documents, key)));
            }
            levels.push(plans);
        }
        let mut commit = Commit { variables, levels, last: Last::Nothing };
        if !(unfinished || self.hierarchy.format.is_v3() && self.hierarchy.root_array) {
            let written = commit.plans().flat_map(Plan::changed).collect();
            commit.last = match self.hierarchy.format.is_v3() {
                true => self.root_v3(written)?,
                false => self.consolidated(written)?,
            };
        }
        Ok(commit)
    }

    /// Writes the journal of the documents that hold lengths of variables. Returns those that the store already has.
    ///
    /// # Errors
    /// [`DataError::Changed`]: a document has neither the content that was read nor the new content.
    fn journal(&mut self, commit: &Commit) -> Result<HashSet<String>, DataError> {
        let replaced = commit.replaced();
        let looked = self.look(&replaced)?;
        let redo = |key: &str, was: Option<String>, bytes: Option<&[u8]>| {
            let text = bytes.map(<[u8]>::to_vec).map(String::from_utf8).transpose();
            let text = text.map_err(|error| MetadataError::Metadata {
                key: key.to_owned(),
                reason: error.to_string(),
            })?;
            Ok::<_, DataError>(Redo { key: key.to_owned(), was, text })
        };
        let mut documents = Vec::with_capacity(replaced.len() + 1);
        for Replaced { key, bytes, .. } in &replaced {
            let was = looked.get(key).and_then(|looked| looked.digest.clone());
            documents.push(redo(key, was, Some(bytes))?);
        }
        if let Last::Consolidated { stored, bytes } = &commit.last {
            documents.push(redo(CONSOLIDATED, stored.as_deref().map(journal::digest), bytes.as_deref())?);
        }
        let lengths = commit.variables.iter().flat_map(|plan| {
            plan.replaced.iter().filter_map(|replaced| {
                let new = object(&replaced.bytes)?;
                journaling::lengths(&plan.path, replaced.kept.as_ref()?.get("shape"), new.get("shape"))
            })
        });
        self.begin_lengths(lengths.collect(), documents)?;
        Ok(looked.into_iter().filter(|(_, looked)| looked.is_same).map(|(key, _)| key).collect())
    }

    /// Clears pending changes, except those that wait for the root of a new dataset.
    fn forget_saved(&mut self) {
        let unfinished = self.pending.unfinished;
        let waits = |path: &String| unfinished && path == "/";
        self.pending.groups.retain(waits);
        let hierarchy = &self.hierarchy;
        let is_root = |path: &String| hierarchy.variable(path).is_ok_and(|variable| variable.key.is_empty());
        self.pending.variables.retain(|path| unfinished && is_root(path));
        let Pending { variables, groups, new, before, ours, grown, .. } = &mut self.pending;
        new.retain(|path| groups.contains(path) || variables.contains(path));
        before.clear();
        ours.clear();
        grown.clear();
        self.pending.wrote = false;
        self.pending.longer = false;
    }

    /// Determines the documents of a variable or group to replace: those that changed.
    fn plan<'k>(
        &self,
        path: &str,
        documents: Vec<Document>,
        kept: impl Fn(&str) -> Option<&'k Arc<Object>>,
    ) -> Plan {
        let is_new = self.pending.new.contains(path);
        let changed =
            documents.into_iter().filter(|(key, bytes)| self.pending.before.get(key) != Some(bytes));
        let replaced = changed.map(|(key, bytes)| {
            let kept = if is_new { None } else { kept(&key).cloned() };
            Replaced { key, bytes, kept, is_new }
        });
        Plan { path: path.to_owned(), replaced: replaced.collect() }
    }

    /// Replaces documents, and returns their new content, by path. The documents of one path are written in order;
    /// documents of different paths are written concurrently.
    fn replace_all(
        &mut self,
        plans: Vec<Plan>,
        have: Option<&HashSet<String>>,
    ) -> Result<Vec<(String, Vec<Changed>)>, DataError> {
        let mut waves: Vec<Vec<Replaced>> = Vec::new();
        let mut written = Vec::with_capacity(plans.len());
        for plan in plans {
            let changed = plan.changed().collect();
            written.push((plan.path, changed));
            for (at, replaced) in plan.replaced.into_iter().enumerate() {
                match waves.get_mut(at) {
                    Some(wave) => wave.push(replaced),
                    None => waves.push(vec![replaced]),
                }
            }
        }
        self.replace(waves, have)?;
        Ok(written)
    }

    /// Replaces documents, wave by wave, if the store has the content that was read, or already the new content. This
    /// is checked before the first write, unless it is already known: `have` are the documents to leave out.
    fn replace(
        &mut self,
        mut waves: Vec<Vec<Replaced>>,
        have: Option<&HashSet<String>>,
    ) -> Result<(), DataError> {
        if let Some(have) = have {
            for mut wave in waves {
                wave.retain(|replaced| !have.contains(&replaced.key));
                self.remember(&wave);
                self.write_together(&wave, |_| false)?;
            }
            return Ok(());
        }
        // A store that can refuse to replace an object needs no check before a new document.
        let capabilities = self.store.capabilities();
        let may_create = capabilities.create_new && !capabilities.local;
        let is_created =
            |replaced: &&Replaced| replaced.is_new && !self.pending.ours.contains_key(&replaced.key);
        let created: HashSet<String> = match may_create {
            true => waves.iter().flatten().filter(is_created).map(|replaced| replaced.key.clone()).collect(),
            false => HashSet::new(),
        };
        let creates = |replaced: &Replaced| created.contains(&replaced.key);
        self.leave_out_same(&mut waves, |replaced| !creates(replaced))?;
        for wave in waves {
            self.remember(&wave);
            let others = self.write_together(&wave, creates)?;
            let mut again = vec![others];
            self.leave_out_same(&mut again, |_| true)?;
            for wave in again {
                self.write_together(&wave, |_| false)?;
            }
        }
        Ok(())
    }

    /// Records the documents that may be in the store from now on.
    fn remember(&mut self, wave: &[Replaced]) {
        let ours = wave.iter().map(|replaced| (replaced.key.clone(), replaced.bytes.clone()));
        self.pending.ours.extend(ours);
    }

    /// Writes documents, and returns those that should be new but already exist.
    fn write_together(
        &self,
        wave: &[Replaced],
        creates: impl Fn(&Replaced) -> bool + Sync,
    ) -> Result<Vec<Replaced>, DataError> {
        let failed = AtomicBool::new(false);
        let write = |replaced: &Replaced| {
            if failed.load(Ordering::Relaxed) {
                return Ok(false);
            }
            let mode = if creates(replaced) { WriteMode::CreateNew } else { WriteMode::Replace };
            match self.store.write(parse_key(&replaced.key)?, &replaced.bytes, mode) {
                Ok(()) => Ok(false),
                Err(StoreError::AlreadyExists { .. }) if mode == WriteMode::CreateNew => Ok(true),
                Err(source) => {
                    failed.store(true, Ordering::Relaxed);
                    Err(self.store_error(source))
                }
            }
        };
        let largest = wave.iter().map(|replaced| replaced.bytes.len() as u64).max().unwrap_or(0);
        let mut exist = Vec::new();
        let answers = together(&*self.store, &self.session.pool, wave, largest, write);
        for (replaced, exists) in wave.iter().zip(answers) {
            if exists? {
                exist.push(replaced.clone());
            }
        }
        Ok(exist)
    }

    /// Leaves out documents that the store already has; requests all `asked` documents together.
    ///
    /// # Errors
    /// [`DataError::Changed`]: a document has neither the content that was read nor the new content.
    fn leave_out_same(
        &self,
        waves: &mut [Vec<Replaced>],
        asked: impl Fn(&Replaced) -> bool,
    ) -> Result<(), DataError> {
        let all: Vec<&Replaced> = waves.iter().flatten().filter(|replaced| asked(replaced)).collect();
        let looked = self.look(&all)?;
        for wave in waves {
            wave.retain(|replaced| !looked.get(&replaced.key).is_some_and(|looked| looked.is_same));
        }
        Ok(())
    }

    /// Reads the state of the documents to replace, all together.
    ///
    /// # Errors
    /// [`DataError::Changed`]: a document has neither the content that was read nor the new content.
    fn look(&self, all: &[&Replaced]) -> Result<HashMap<String, Looked>, DataError> {
        if all.is_empty() {
            return Ok(HashMap::new());
        }
        let mut requests = Vec::with_capacity(all.len());
        for replaced in all {
            requests.push(document::request(parse_key(&replaced.key)?));
        }
        let verdicts: Mutex<Result<HashMap<String, Looked>, DataError>> = Mutex::new(Ok(HashMap::new()));
        self.store.read_many(&requests, &|at, stored| {
            let Some(replaced) = all.get(at) else { return ControlFlow::Continue(()) };
            let looked = stored.map_err(|source| self.store_error(source)).and_then(|stored| {
                let is_same = stored == Some(replaced.bytes.as_slice());
                if !is_same {
                    self.check_same(&replaced.key, stored, replaced.kept.as_deref())?;
                }
                Ok(Looked { is_same, digest: stored.map(journal::digest) })
            });
            let mut verdicts = verdicts.lock().unwrap_or_else(PoisonError::into_inner);
            match (&mut *verdicts, looked) {
                (Ok(known), Ok(looked)) => {
                    known.insert(replaced.key.clone(), looked);
                }
                (Ok(_), Err(error)) => *verdicts = Err(error),
                _ => {}
            }
            if verdicts.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        verdicts.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks that the store still has the variable lengths that were last read or written; requests all documents
    /// together.
    ///
    /// # Errors
    /// [`DataError::Changed`]: another program changed a length.
    pub(super) fn check_current(&self, paths: &[&str]) -> Result<(), DataError> {
        let name = if self.hierarchy.format.is_v3() { document::ZARR_JSON } else { document::ZARRAY };
        let mut keys = Vec::with_capacity(paths.len());
        for path in paths {
            let variable = self.hierarchy.variable(path)?;
            let key = match variable.key.as_str() {
                "" => name.to_owned(),
                prefix => format!("{prefix}/{name}"),
            };
            let kept = of_variable(&variable.documents, &key).map(|kept| &**kept);
            keys.push((key, kept));
        }
        let mut requests = Vec::with_capacity(keys.len());
        for (key, _) in &keys {
            requests.push(document::request(parse_key(key)?));
        }
        let verdict = Mutex::new(Ok(()));
        self.store.read_many(&requests, &|at, stored| {
            let Some((key, kept)) = keys.get(at) else { return ControlFlow::Continue(()) };
            let same = stored.map_err(|source| self.store_error(source));
            match same.and_then(|stored| self.check_same(key, stored, *kept)) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    *verdict.lock().unwrap_or_else(PoisonError::into_inner) = Err(error);
                    ControlFlow::Break(())
                }
            }
        });
        verdict.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks that the stored content is the one that was read, or was written by a change that failed later.
    fn check_same(&self, key: &str, stored: Option<&[u8]>, kept: Option<&Object>) -> Result<(), DataError> {
        let same = match (stored, kept) {
            (None, None) => true,
            (Some(stored), kept) => {
                kept.is_some() && object(stored).as_deref() == kept
                    || self.pending.ours.get(key).is_some_and(|ours| ours == stored)
            }
            (None, Some(_)) => false,
        };
        if same {
            return Ok(());
        }
        Err(DataError::Changed { store: self.store.to_string(), key: key.to_owned() })
    }

    /// Brings consolidated metadata up to date with the documents that are `written`. If they were out of date before,
    /// they are deleted: partly correct metadata are worse than none.
    fn consolidated(&self, written: Vec<Changed>) -> Result<Last, DataError> {
        let key = parse_key(CONSOLIDATED)?;
        if self.pending.consolidate_new {
            let (_, bytes) = metadata::consolidated_document(&self.hierarchy)?;
            return Ok(Last::Consolidated { stored: None, bytes: Some(bytes) });
        }
        // Metadata that could not be read before are read below, or the change fails and may be tried again.
        let is_current = matches!(self.hierarchy.consolidated, Consolidated::Current | Consolidated::Unread);
        if written.is_empty() && is_current {
            return Ok(Last::Nothing);
        }
        let Some(stored) = self.stored(key)? else { return Ok(Last::Nothing) };
        let mut bytes = None;
        if is_current
            && let Some(mut document) = object(&stored).map(Arc::unwrap_or_clone)
            && let Some(entries) = document.get_mut("metadata").and_then(Json::as_object_mut)
        {
            entries.extend(written.into_iter().map(|(key, object)| (key, Json::Object(object))));
            let document = Json::from(document);
            let nczarr = self.hierarchy.format.is_nczarr();
            let text = if nczarr { json::to_text(&document) } else { json::to_text_lenient(&document) };
            bytes = Some(text.into_bytes());
        }
        Ok(Last::Consolidated { stored: Some(stored), bytes })
    }

    /// Writes version 2's consolidated metadata, or deletes them.
    fn consolidate(&mut self, bytes: Option<Vec<u8>>) -> Result<(), DataError> {
        let key = parse_key(CONSOLIDATED)?;
        match bytes {
            Some(bytes) => {
                let written = self.store.write(key, &bytes, WriteMode::Replace);
                written.map_err(|source| self.store_error(source))?;
                self.pending.consolidate_new = false;
            }
            None => {
                self.store.delete(key).map_err(|source| self.store_error(source))?;
                self.hierarchy.consolidated = Consolidated::Absent;
            }
        }
        Ok(())
    }

    /// Returns version 3's document of the root, with its consolidated metadata brought up to date with the documents
    /// that are `written`.
    fn root_v3(&self, written: Vec<Changed>) -> Result<Last, DataError> {
        let root = &self.hierarchy.root;
        let is_new = self.pending.new.contains("/");
        let kept = if is_new { None } else { root.documents.zarr_json.clone() };
        if self.pending.consolidate_new {
            let (key, bytes) = metadata::consolidated_document(&self.hierarchy)?;
            return Ok(Last::Root(Replaced { key, bytes, kept, is_new }, self.hierarchy.consolidated));
        }
        let mut documents = metadata::group_documents(&self.hierarchy, root)?.into_iter();
        let Some((key, plain)) = documents.next() else { return Ok(Last::Nothing) };
        let nodes = kept.as_ref().and_then(|kept| kept.get(CONSOLIDATED_V3)).filter(|nodes| !nodes.is_null());
        let unchanged = !self.pending.groups.contains("/") || self.pending.before.get(&key) == Some(&plain);
        let base = if unchanged { kept.clone() } else { object(&plain) };
        let Some(mut base) = base.map(Arc::unwrap_or_clone) else { return Ok(Last::Nothing) };
        let mut nodes = nodes.filter(|_| self.hierarchy.consolidated == Consolidated::Current).cloned();
        if unchanged
            && (nodes.is_some() && written.is_empty()
                || kept.as_ref().is_some_and(|kept| !kept.contains_key(CONSOLIDATED_V3)))
        {
            return Ok(Last::Nothing);
        }
        base.shift_remove(CONSOLIDATED_V3);
        let entries = nodes.as_mut().and_then(|nodes| nodes.get_mut("metadata")?.as_object_mut());
        if let Some(entries) = entries {
            let path = |key: String| key.rsplit_once('/').map(|(path, _)| path.to_owned());
            entries
                .extend(written.into_iter().filter_map(|(key, node)| Some((path(key)?, Json::Object(node)))));
        }
        let consolidated = if nodes.is_some() { Consolidated::Current } else { Consolidated::Absent };
        base.extend(nodes.map(|nodes| (CONSOLIDATED_V3.to_owned(), nodes)));
        let bare = !self.hierarchy.format.is_nczarr();
        let bytes = json::to_text_indented(&Json::from(base), bare).into_bytes();
        Ok(Last::Root(Replaced { key, bytes, kept, is_new }, consolidated))
    }

    /// Returns the first object below `prefix` that is not one of `expected`.
    fn first_unexpected(
        &self,
        prefix: &str,
        expected: &BTreeMap<String, Vec<u8>>,
    ) -> Result<Option<String>, DataError> {
        if !self.store.capabilities().list {
            return if prefix.is_empty() { self.first_root() } else { Ok(None) };
        }
        let parsed = if prefix.is_empty() { Ok(Prefix::ROOT) } else { Prefix::parse(prefix) };
        let parsed = parsed.map_err(|source| unusable(prefix, &source))?;
        // Empty directories that other programs left do not count.
        let most = expected.len().saturating_mul(limits::GROUP_DEPTH).saturating_add(1000);
        let listing = match self.store.list(parsed, Depth::All, most) {
            Err(StoreError::TooManyEntries { .. }) => return Ok(Some(format!("{prefix}/"))),
            other => other.map_err(|source| self.store_error(source))?,
        };
        for entry in listing.entries {
            if entry.kind != ncz_store::EntryKind::Object {
                continue;
            }
            let key = entry.key.as_key();
            let same = match expected.get(key.as_str()) {
                Some(bytes) => self.stored(key)?.as_ref() == Some(bytes),
                None => false,
            };
            if !same {
                return Ok(Some(key.to_string()));
            }
        }
        Ok(None)
    }

    /// Returns a document that makes the store a dataset; for stores that cannot list.
    fn first_root(&self) -> Result<Option<String>, DataError> {
        for key in [
            document::ZGROUP,
            document::ZARRAY,
            document::ZATTRS,
            CONSOLIDATED,
            document::NCZARR,
            document::ZARR_JSON,
        ] {
            if self.store.exists(parse_key(key)?).map_err(|source| self.store_error(source))? {
                return Ok(Some(key.to_owned()));
            }
        }
        Ok(None)
    }

    fn stored(&self, key: Key<'_>) -> Result<Option<Vec<u8>>, DataError> {
        self.store
            .read_vec(key, document::max_bytes(key.as_str()) as u64)
            .map_err(|source| self.store_error(source))
    }

    pub(super) fn sync(&self) -> Result<(), DataError> {
        self.store.sync().map_err(|source| self.store_error(source))
    }

    fn in_the_way(&self, key: String) -> DataError {
        DataError::ObjectExists { store: self.store.to_string(), key }
    }
}

impl Plan {
    /// The documents with their new content.
    fn changed(&self) -> impl Iterator<Item = Changed> {
        self.replaced.iter().filter_map(|replaced| Some((replaced.key.clone(), object(&replaced.bytes)?)))
    }
}

fn depth(path: &str) -> usize {
    path.split('/').filter(|name| !name.is_empty()).count()
}

fn object(bytes: &[u8]) -> Option<Arc<Object>> {
    match json::parse(bytes).ok()?.value {
        Json::Object(object) => Some(object),
        _ => None,
    }
}

fn parse_key(key: &str) -> Result<Key<'_>, DataError> {
    Key::parse(key).map_err(|source| unusable(key, &source))
}

fn unusable(key: &str, source: &ncz_store::KeyError) -> DataError {
    MetadataError::Metadata { key: key.to_owned(), reason: source.to_string() }.into()
}

fn name_of(key: &str) -> &str {
    key.rsplit('/').next().unwrap_or(key)
}

fn of_variable<'a>(documents: &'a VariableDocuments, key: &str) -> Option<&'a Arc<Object>> {
    match name_of(key) {
        document::ZARRAY => documents.zarray.as_ref(),
        document::ZATTRS => documents.zattrs.as_ref(),
        _ => documents.zarr_json.as_ref(),
    }
}

fn slot_of_variable<'a>(documents: &'a mut VariableDocuments, key: &str) -> &'a mut Option<Arc<Object>> {
    match name_of(key) {
        document::ZARRAY => &mut documents.zarray,
        document::ZATTRS => &mut documents.zattrs,
        _ => &mut documents.zarr_json,
    }
}

fn of_group<'a>(documents: &'a GroupDocuments, key: &str) -> Option<&'a Arc<Object>> {
    match name_of(key) {
        document::ZGROUP => documents.zgroup.as_ref(),
        document::ZATTRS => documents.zattrs.as_ref(),
        _ => documents.zarr_json.as_ref(),
    }
}

fn slot_of_group<'a>(documents: &'a mut GroupDocuments, key: &str) -> &'a mut Option<Arc<Object>> {
    match name_of(key) {
        document::ZGROUP => &mut documents.zgroup,
        document::ZATTRS => &mut documents.zattrs,
        _ => &mut documents.zarr_json,
    }
}
