//! New datasets: the marker, publishing, and replacing another dataset.
//!
//! S3 has no locks, only this marker. A writer that is wrongly taken for dead notices it when it publishes or is dropped,
//! and then changes nothing more; objects that it wrote until then may lie in the dataset that replaced its own.

use std::collections::{BTreeSet, HashSet};
use std::io;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, SystemTime};

use aws_sdk_s3::primitives::{DateTime, DateTimeFormat};

use super::concurrent::ConcurrentRequests;
use super::failure::Kind;
use super::list::Pages;
use super::shared::{Operation, Shared};
use super::{S3Config, S3Store, copy, read, remove, write};
use crate::error::{ObjectLocation, StoreError};
use crate::key::{Key, Prefix};
use crate::options::{Access, CreateOptions, Predicate};
use crate::remote::ReadAhead;
use crate::store::{ReadRange, WriteMode};

/// The object that says that somebody is writing a dataset.
const MARKER: &str = ".ncz-unfinished";

/// The documents that make a prefix a dataset, in the order in which they are written: the last one is what readers
/// look for first.
const ROOT: [&str; 6] = [".nczarr", ".zattrs", ".zmetadata", ".zarray", ".zgroup", "zarr.json"];

/// What a prefix for a dataset that is to replace another one has more than its target's.
const BESIDE: &str = ".ncz-new-";

/// How long cleaning up may take when a dataset is given up.
const CLEANING: Duration = Duration::from_secs(60);

/// The state of a dataset that is not published.
pub(super) struct Stage {
    /// The content of the marker of this dataset.
    marker: String,
    /// The first segments of the keys that were written; what is below others belongs to somebody else.
    touched: BTreeSet<String>,
    replacing: Option<Replacing>,
    /// The dataset is complete, and only the marker could not be deleted.
    whole: bool,
    /// Other programs write it too, so that it is not given up with this store.
    shared: bool,
}

/// A dataset that is to be replaced.
struct Replacing {
    may: Predicate,
    target: Arc<Shared>,
    /// The marker that was at the target, of a writer who has died; later ours.
    marker: Option<String>,
    /// The first deletion has been asked for: there is no way back.
    begun: bool,
}

impl Stage {
    /// Remembers a key that is being written.
    pub(super) fn touches(&mut self, key: Key<'_>) {
        if let Some(first) = key.segments().next()
            && !self.touched.contains(first)
        {
            self.touched.insert(first.to_owned());
        }
    }
}

pub(super) fn create(config: S3Config, options: CreateOptions) -> Result<S3Store, StoreError> {
    let store = S3Store::open(config, Access::ReadWrite)?;
    let marker = marker();
    let found = store.block_on(look(&store.shared()))?;
    let replacing = match (found, options.replace_if) {
        (Target::Empty, _) => None,
        (Target::Unfinished(_), None) => return Err(unfinished(&store.shared())),
        (Target::Full, None) => return Err(StoreError::AlreadyExists { at: ObjectLocation::store(&store) }),
        (found, Some(may)) => {
            let marker = match found {
                Target::Unfinished(marker) => Some(marker),
                _ => None,
            };
            let target = store.shared();
            check_place(&target)?;
            check_old(&target, marker.is_some(), &may)?;
            let beside = format!("{}{BESIDE}{}", target.prefix, write::stamp());
            store.move_to(Arc::new(target.beside(beside)));
            Some(Replacing { may, target, marker, begun: false })
        }
    };
    let shared = store.shared();
    store.block_on(claim(&shared, &marker))?;
    if replacing.is_none() {
        // somebody may have begun and ended a dataset since the first look
        let error = match store.block_on(is_alone(&shared)) {
            Ok(true) => None,
            Ok(false) => Some(StoreError::AlreadyExists { at: ObjectLocation::store(&store) }),
            Err(error) => Some(error),
        };
        if let Some(error) = error {
            let _ = store.block_on(release(&shared, &marker));
            return Err(error);
        }
    }
    let stage = Stage { marker, touched: BTreeSet::new(), replacing, whole: false, shared: false };
    *store.stage.lock().unwrap_or_else(PoisonError::into_inner) = Some(stage);
    Ok(store)
}

pub(super) fn begin_shared(config: S3Config, token: &str) -> Result<(), StoreError> {
    let store = S3Store::open(config, Access::ReadWrite)?;
    let shared = store.shared();
    if shared.prefix.is_empty() {
        let remedy = format!("choose a prefix, such as {shared}/name.zarr");
        return Err(StoreError::Unsupported {
            location: shared.to_string(),
            operation: "be written by several programs, since it is a whole bucket",
            remedy,
        });
    }
    let exists = || StoreError::AlreadyExists { at: ObjectLocation::store(&*shared) };
    match store.block_on(look(&shared))? {
        Target::Empty => {}
        Target::Unfinished(_) => return Err(unfinished(&shared)),
        Target::Full => return Err(exists()),
    }
    store.block_on(claim(&shared, token))?;
    // somebody may have begun and ended a dataset since the first look
    if !store.block_on(is_alone(&shared))? {
        let _ = store.block_on(release(&shared, token));
        return Err(exists());
    }
    Ok(())
}

pub(super) fn open_shared(config: S3Config, token: &str) -> Result<S3Store, StoreError> {
    let store = S3Store::open(config, Access::ReadWrite)?;
    let shared = store.shared();
    if store.block_on(read_marker(&shared))?.as_deref() != Some(token) {
        return Err(StoreError::Gone { store: shared.to_string() });
    }
    let marker = token.to_owned();
    let stage = Stage { marker, touched: BTreeSet::new(), replacing: None, whole: false, shared: true };
    *store.stage.lock().unwrap_or_else(PoisonError::into_inner) = Some(stage);
    Ok(store)
}

pub(super) fn publish(store: &S3Store) -> Result<(), StoreError> {
    let stage = || store.stage.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(mut taken) = stage().take() else {
        return Ok(());
    };
    let published = match &mut taken.replacing {
        None => unlock(store, &taken.marker, &mut taken.whole),
        Some(replacing) => replace(store, &taken.marker, &taken.touched, replacing),
    };
    match (&published, taken.replacing) {
        (Ok(()), None) => {}
        // a dataset with a leftover is published
        (Ok(()) | Err(StoreError::NotRemoved { .. }), Some(replacing)) => store.move_to(replacing.target),
        (Err(_), replacing) => *stage() = Some(Stage { replacing, ..taken }),
    }
    published
}

/// Publishes a dataset that was written at its prefix.
fn unlock(store: &S3Store, marker: &str, whole: &mut bool) -> Result<(), StoreError> {
    let shared = store.shared();
    match store.block_on(read_marker(&shared))? {
        Some(found) if found == marker => {}
        None if *whole => return Ok(()),
        _ => return Err(StoreError::Gone { store: shared.to_string() }),
    }
    *whole = true;
    store.block_on(remove::one(&shared, &shared.below(MARKER), marker_at(&shared))).map_err(|error| {
        let location = format!(
            "{}/{MARKER} (otherwise other writers take the dataset for unfinished)",
            location(&shared)
        );
        StoreError::NotRemoved { location, source: io::Error::other(error) }
    })
}

/// Deletes what was written of a dataset that was never published.
pub(super) fn abandon(store: &mut S3Store) {
    let Some(stage) = store.stage.get_mut().unwrap_or_else(PoisonError::into_inner).take() else {
        return;
    };
    if stage.shared || stage.whole || stage.replacing.as_ref().is_some_and(|replacing| replacing.begun) {
        return; // the error of `publish` names the location of the dataset
    }
    let shared = store.shared();
    let shared = &*shared;
    let cleaning = async {
        match read_marker(shared).await? {
            Some(found) if found == stage.marker => {}
            // no other writer has the name of what is written beside
            None if stage.replacing.is_some() => {}
            // another writer took this one for dead: the objects may be its own
            _ => return Ok(false),
        }
        let mut names = Vec::new();
        for first in &stage.touched {
            let below = format!("{}/", shared.below(first));
            let pages = Pages::new(shared, below, None, usize::MAX, ObjectLocation::store(shared));
            names.extend(pages.names().await?.into_iter().map(|(name, _)| name));
            names.push(shared.below(first));
        }
        remove::many(shared, &names).await?;
        // last, since it shuts others out
        remove::one(shared, &shared.below(MARKER), marker_at(shared)).await?;
        Ok::<_, StoreError>(true)
    };
    let cleaned = store.block_on(async {
        // `drop` can report a failure only by a trace event
        Ok(tokio::time::timeout(CLEANING, cleaning).await)
    });
    if !matches!(cleaned, Ok(Ok(Ok(true)))) {
        tracing::warn!(target: "ncz_store::s3", "objects of an unfinished dataset are left below {:?}", location(shared));
    }
}

fn replace(
    store: &S3Store,
    staged: &str,
    touched: &BTreeSet<String>,
    replacing: &mut Replacing,
) -> Result<(), StoreError> {
    let (stage, target) = (store.shared(), Arc::clone(&replacing.target));
    let dead = match store.block_on(look(&target))? {
        Target::Empty => None,
        Target::Full => {
            check_old(&target, false, &replacing.may)?;
            None
        }
        Target::Unfinished(found) if replacing.marker.as_ref() == Some(&found) => {
            check_old(&target, true, &replacing.may)?;
            let tag = store.block_on(marker_tag(&target))?;
            // read once more: if it is still the one to take over, that was its tag
            if store.block_on(read_marker(&target))?.as_ref() != Some(&found) {
                return Err(unfinished(&target));
            }
            tag
        }
        Target::Unfinished(_) => return Err(unfinished(&target)),
    };
    let moved = store.block_on(async {
        match &dead {
            None => claim(&target, staged).await?,
            Some(tag) => take_over(&target, tag, staged).await?,
        }
        replacing.marker = Some(staged.to_owned());
        let documents = touched.iter().any(|first| ROOT.contains(&first.as_str()));
        move_in(&stage, &target, staged, documents, &mut replacing.begun).await
    });
    match moved {
        Ok(()) => store.block_on(clear(&stage)).map_err(|error| StoreError::NotRemoved {
            location: format!("{} (a copy of the new dataset)", location(&stage)),
            source: io::Error::other(error),
        }),
        Err(error @ StoreError::NotRemoved { .. }) => Err(error),
        Err(error) if replacing.begun => Err(StoreError::PartlyReplaced {
            location: url(&target),
            new_dataset: url(&stage),
            source: Box::new(error),
        }),
        Err(error) => {
            if dead.is_none() && replacing.marker.take().is_some() {
                // the old dataset is as it was except for this
                let _ = store.block_on(release(&target, staged));
            }
            Err(error)
        }
    }
}

/// Replaces the old dataset by the staged one.
async fn move_in(
    stage: &Shared,
    target: &Shared,
    staged: &str,
    documents: bool,
    begun: &mut bool,
) -> Result<(), StoreError> {
    let start = |shared: &Shared| shared.start(Prefix::ROOT);
    let all = |shared: &Shared| {
        Pages::new(target, start(shared), None, usize::MAX, ObjectLocation::store(target)).names()
    };
    let (new, old) = (all(stage).await?, all(target).await?);
    let relative =
        |name: &str, shared: &Shared| name.get(start(shared).len()..).unwrap_or_default().to_owned();
    let new: Vec<(String, u64)> = new
        .into_iter()
        .map(|(name, len)| (relative(&name, stage), len))
        .filter(|(text, _)| text != MARKER)
        .collect();
    let kept: HashSet<&str> = new.iter().map(|(text, _)| text.as_str()).collect();
    let gone: Vec<String> = old
        .into_iter()
        .map(|(name, _)| relative(&name, target))
        .filter(|text| text != MARKER && !kept.contains(text.as_str()))
        .map(|text| target.below(&text))
        .collect();
    let (last, first): (Vec<_>, Vec<_>) = new.iter().partition(|(text, _)| ROOT.contains(&text.as_str()));

    // somebody who cleans up deletes the marker first: it is among the first names, and the oldest object
    let is_there = *begun || read_marker(stage).await?.as_deref() == Some(staged);
    if !is_there || (documents && last.is_empty()) {
        return Err(StoreError::Gone { store: location(stage) });
    }
    // a service that knows no conditions has let others take over, too
    check_ours(target, staged).await?;
    // from here on the staged dataset is one by itself
    remove::one(stage, &stage.below(MARKER), marker_at(stage)).await?;
    *begun = true;
    let documents: Vec<String> = ROOT.iter().map(|text| target.below(text)).collect();
    remove::many(target, &documents).await?;
    let mut requests = ConcurrentRequests::new(target.config.remote.in_flight);
    for (text, len) in first {
        requests.add(move_one(stage, target, text, *len)).await?;
    }
    requests.finish().await?;
    remove::many(target, &gone).await?;
    check_ours(target, staged).await?;
    for text in ROOT {
        if let Some((text, len)) = last.iter().find(|(found, _)| found == text) {
            move_one(stage, target, text, *len).await?;
        }
    }
    remove::one(target, &target.below(MARKER), marker_at(target)).await.map_err(|error| {
        let location =
            format!("{}/{MARKER} and {} (a copy of the new dataset)", location(target), location(stage));
        StoreError::NotRemoved { location, source: io::Error::other(error) }
    })
}

async fn move_one(stage: &Shared, target: &Shared, text: &str, len: u64) -> Result<(), StoreError> {
    let at = ObjectLocation { store: target.to_string(), key: Some(text.to_owned()) };
    copy::copy(target, &stage.below(text), &target.below(text), len, at).await
}

/// Deletes everything below the prefix of a stage.
async fn clear(stage: &Shared) -> Result<(), StoreError> {
    let pages = Pages::new(stage, stage.start(Prefix::ROOT), None, usize::MAX, ObjectLocation::store(stage));
    let names: Vec<String> = pages.names().await?.into_iter().map(|(name, _)| name).collect();
    remove::many(stage, &names).await
}

/// What exists at a prefix.
enum Target {
    Empty,
    /// With the content of its marker.
    Unfinished(String),
    Full,
}

async fn look(shared: &Shared) -> Result<Target, StoreError> {
    let start = shared.start(Prefix::ROOT);
    // the object `prefix/` shows an empty folder
    if !any(shared, 2, |name| name != start).await? {
        return Ok(Target::Empty);
    }
    Ok(read_marker(shared).await?.map_or(Target::Full, Target::Unfinished))
}

/// Whether a prefix holds nothing but a marker.
async fn is_alone(shared: &Shared) -> Result<bool, StoreError> {
    let (start, marker) = (shared.start(Prefix::ROOT), shared.below(MARKER));
    Ok(!any(shared, 3, |name| name != start && name != marker).await?)
}

/// Whether one of the names at a prefix fulfils a condition.
async fn any(shared: &Shared, at_most: usize, counts: impl Fn(&str) -> bool) -> Result<bool, StoreError> {
    let start = shared.start(Prefix::ROOT);
    let mut pages = Pages::new(shared, start, None, at_most, ObjectLocation::store(shared));
    while let Some(page) = pages.next().await? {
        if page.names.iter().any(|(name, _)| counts(name)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Refuses to overwrite a whole bucket: what else is in it would be taken for a part of the dataset.
fn check_place(target: &Shared) -> Result<(), StoreError> {
    if !target.prefix.is_empty() {
        return Ok(());
    }
    let remedy = format!(
        "it is the root of a bucket, with all that is in it; choose a prefix, such as {target}/name.zarr, or empty \
         the bucket yourself"
    );
    Err(StoreError::Unsupported { location: target.to_string(), operation: "be overwritten", remedy })
}

/// Whether what is at the target may be replaced. What somebody did not finish need not be a dataset, but nothing that
/// the question refuses by an error may lie beside it.
fn check_old(target: &Arc<Shared>, is_unfinished: bool, may: &Predicate) -> Result<(), StoreError> {
    let view = S3Store::open(target.config.clone(), Access::Read)?;
    if may(&view)? || is_unfinished {
        return Ok(());
    }
    let reason = "holds objects, but not a dataset that may be replaced";
    Err(StoreError::NotADataset { location: target.to_string(), reason })
}

async fn read_marker(shared: &Shared) -> Result<Option<String>, StoreError> {
    let mut out = Vec::new();
    let name = shared.below(MARKER);
    let (at, read_ahead) = (marker_at(shared), &mut ReadAhead::none());
    let found = read::object(shared, &name, at, ReadRange::All, 64 << 10, &mut out, read_ahead).await?;
    Ok(found.then(|| String::from_utf8_lossy(&out).into_owned()))
}

/// Puts the marker where none may be, or leaves nothing of it.
async fn claim(shared: &Shared, content: &str) -> Result<(), StoreError> {
    let (name, at) = (shared.below(MARKER), marker_at(shared));
    let put = write::write(shared, &name, at, content.as_bytes(), WriteMode::CreateNew).await;
    if matches!(put, Err(StoreError::Service(_))) {
        // it may be there, with its answers lost, and would shut out all others
        let _ = tokio::time::timeout(CLEANING, release(shared, content)).await;
    }
    put
}

/// Deletes the marker if it has this content.
async fn release(shared: &Shared, content: &str) -> Result<(), StoreError> {
    if read_marker(shared).await?.as_deref() == Some(content) {
        remove::one(shared, &shared.below(MARKER), marker_at(shared)).await?;
    }
    Ok(())
}

/// Replaces the marker with this tag by another, or reports that another writer has replaced it meanwhile.
///
/// A service that knows no conditions lets two do this. The later one has the marker then, and the other one sees so
/// before it deletes anything, unless it has looked already.
async fn take_over(shared: &Shared, tag: &str, content: &str) -> Result<(), StoreError> {
    let name = &shared.below(MARKER);
    let operation = Operation { method: "PUT", action: "write", name, range: None, at: marker_at(shared) };
    let mut attempts = shared.attempts(operation);
    loop {
        let permit = shared.limiter.permit().await;
        let request = attempts.client().await?.put_object().bucket(&shared.config.bucket).key(name);
        let request = request.if_match(tag).body(content.as_bytes().to_vec().into());
        let failure = match attempts.send(content.len() as u64, request.send()).await {
            Ok(_) => {
                attempts.succeeded(content.len() as u64);
                return Ok(());
            }
            Err(failure) => failure,
        };
        drop(permit);
        match failure.kind {
            Kind::Exists | Kind::Missing => {
                attempts.ended(&failure);
                let is_ours = attempts.maybe_done && read_marker(shared).await?.as_deref() == Some(content);
                return if is_ours { Ok(()) } else { Err(unfinished(shared)) };
            }
            Kind::Refused if matches!(failure.status, Some(400 | 501)) => {
                attempts.ended(&failure);
                let at = marker_at(shared);
                return write::write(shared, name, at, content.as_bytes(), WriteMode::Replace).await;
            }
            _ => attempts.again(failure).await?,
        }
    }
}

/// The tag of the marker, if there is one.
async fn marker_tag(shared: &Shared) -> Result<Option<String>, StoreError> {
    let name = &shared.below(MARKER);
    let operation = Operation { method: "HEAD", action: "look at", name, range: None, at: marker_at(shared) };
    let mut attempts = shared.attempts(operation);
    loop {
        let permit = shared.limiter.permit().await;
        let request = attempts.client().await?.head_object().bucket(&shared.config.bucket).key(name);
        let failure = match attempts.send(0, request.send()).await {
            Ok(found) => {
                attempts.succeeded(0);
                return Ok(Some(found.e_tag.unwrap_or_default()));
            }
            Err(failure) if matches!(failure.kind, Kind::Missing | Kind::NotFound) => {
                attempts.ended(&failure);
                return Ok(None);
            }
            Err(failure) => failure,
        };
        drop(permit);
        attempts.again(failure).await?;
    }
}

/// Refuses to go on where somebody has taken this writer for dead.
async fn check_ours(target: &Shared, staged: &str) -> Result<(), StoreError> {
    if read_marker(target).await?.as_deref() == Some(staged) { Ok(()) } else { Err(unfinished(target)) }
}

/// The content of a marker: readable, and unique.
fn marker() -> String {
    let now = DateTime::from(SystemTime::now()).fmt(DateTimeFormat::DateTime).unwrap_or_default();
    let (version, stamp) = (env!("CARGO_PKG_VERSION"), write::stamp());
    format!(
        "{{\"what\":\"a dataset is being written here, or its writer has died\",\"program\":\"ncz {version}\",\"since\":\"{now}\",\"id\":\"{stamp}\"}}\n"
    )
}

fn marker_at(shared: &Shared) -> ObjectLocation {
    ObjectLocation { store: shared.to_string(), key: Some(MARKER.to_owned()) }
}

fn unfinished(shared: &Shared) -> StoreError {
    StoreError::AlreadyExists { at: marker_at(shared) }
}

/// The URL that the command takes; that of another service needs a mark that it is S3.
fn url(shared: &Shared) -> String {
    let location = location(shared);
    if shared.config.endpoint.is_some() { format!("{location}#mode=s3") } else { location }
}

/// The URL of what a store writes to.
fn location(shared: &Shared) -> String {
    let mut config = shared.config.clone();
    config.prefix.clone_from(&shared.prefix);
    config.to_string()
}
