//! A new dataset: its marker, its place, and how it takes the place of another one.

use std::collections::{BTreeSet, HashSet};
use std::io;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, SystemTime};

use aws_sdk_s3::primitives::{DateTime, DateTimeFormat};

use super::gang::Gang;
use super::list::Pages;
use super::shared::Shared;
use super::{S3Config, S3Store, copy, read, remove, write};
use crate::error::{Location, StoreError};
use crate::key::{Key, Prefix};
use crate::options::{Access, CreateOptions, Predicate};
use crate::remote::Window;
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

/// What is left to do for a dataset that is not published.
pub(super) struct Stage {
    /// What the marker holds that was put where the dataset is being written.
    marker: String,
    /// The first segments of the keys that were written; what is below others belongs to somebody else.
    touched: BTreeSet<String>,
    replacing: Option<Replacing>,
}

/// A dataset that is to give way.
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
        (Target::Unfinished(_), None) => return Err(unfinished(&store)),
        (Target::Full, None) => return Err(StoreError::AlreadyExists { at: Location::store(&store) }),
        (found, Some(may)) => {
            let marker = match found {
                Target::Unfinished(marker) => Some(marker),
                _ => None,
            };
            check_old(&store.shared(), marker.is_some(), &may)?;
            let target = store.shared();
            let beside = format!("{}{BESIDE}{}", target.prefix, write::stamp());
            store.move_to(Arc::new(target.beside(beside)));
            Some(Replacing { may, target, marker, begun: false })
        }
    };
    match store.block_on(put_marker(&store.shared(), &marker, WriteMode::CreateNew)) {
        Err(StoreError::AlreadyExists { .. }) => return Err(unfinished(&store)),
        put => put?,
    }
    let stage = Stage { marker, touched: BTreeSet::new(), replacing };
    *store.stage.lock().unwrap_or_else(PoisonError::into_inner) = Some(stage);
    Ok(store)
}

pub(super) fn publish(store: &S3Store) -> Result<(), StoreError> {
    let stage = || store.stage.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(mut taken) = stage().take() else {
        return Ok(());
    };
    let published = match &mut taken.replacing {
        None => store.block_on(remove::one(
            &store.shared(),
            &store.shared().below(MARKER),
            marker_at(&store.shared()),
        )),
        Some(replacing) => replace(store, &taken.marker, replacing),
    };
    // what is in place, if with a rest beside it, is published
    if !matches!(published, Ok(()) | Err(StoreError::NotRemoved { .. })) {
        *stage() = Some(taken);
    } else if let Some(replacing) = taken.replacing {
        store.move_to(replacing.target);
    }
    published
}

/// Deletes what was written of a dataset that was never published.
pub(super) fn abandon(store: &mut S3Store) {
    let Some(stage) = store.stage.get_mut().unwrap_or_else(PoisonError::into_inner).take() else {
        return;
    };
    if stage.replacing.as_ref().is_some_and(|replacing| replacing.begun) {
        return; // the error of `publish` has told where the dataset is
    }
    let place_of = store.shared();
    let shared = &*place_of;
    let cleaning = async {
        let mut names = Vec::new();
        for first in &stage.touched {
            let below = format!("{}/", shared.below(first));
            let pages = Pages::new(shared, below, None, usize::MAX, Location::store(shared));
            names.extend(pages.names().await?.into_iter().map(|(name, _)| name));
            names.push(shared.below(first));
        }
        remove::many(shared, &names).await?;
        // last, since it shuts others out
        remove::one(shared, &shared.below(MARKER), marker_at(shared)).await
    };
    let cleaned = store.block_on(async {
        // nobody is left who could be told of a failure but by the trace
        Ok(tokio::time::timeout(CLEANING, cleaning).await)
    });
    if !matches!(cleaned, Ok(Ok(Ok(())))) {
        tracing::warn!(target: "ncz_store::s3", "objects of an unfinished dataset are left below {:?}", place(shared));
    }
}

fn replace(store: &S3Store, staged: &str, replacing: &mut Replacing) -> Result<(), StoreError> {
    let (stage, target) = (store.shared(), Arc::clone(&replacing.target));
    let may_go_on = match store.block_on(look(&target))? {
        Target::Empty => None,
        Target::Full => {
            check_old(&target, false, &replacing.may)?;
            None
        }
        Target::Unfinished(found) if replacing.marker.as_ref() == Some(&found) => Some(WriteMode::Replace),
        Target::Unfinished(_) => return Err(unfinished(store)),
    };
    let moved = store.block_on(async {
        match put_marker(&target, staged, may_go_on.unwrap_or(WriteMode::CreateNew)).await {
            Err(StoreError::AlreadyExists { .. }) => return Err(unfinished(store)),
            put => put?,
        }
        replacing.marker = Some(staged.to_owned());
        move_in(&stage, &target, &mut replacing.begun).await
    });
    match moved {
        Ok(()) => store.block_on(clear(&stage)).map_err(|error| StoreError::NotRemoved {
            place: format!("{} (a copy of the new dataset)", place(&stage)),
            source: io::Error::other(error),
        }),
        Err(error) if replacing.begun => {
            Err(StoreError::Beside { place: url(&target), beside: url(&stage), source: Box::new(error) })
        }
        Err(error) => {
            if may_go_on.is_none() && replacing.marker.take().is_some() {
                // the old dataset is as it was but for this
                let marker = target.below(MARKER);
                let _ = store.block_on(remove::one(&target, &marker, marker_at(&target)));
            }
            Err(error)
        }
    }
}

/// Moves a dataset into the place of another one.
async fn move_in(stage: &Shared, target: &Shared, begun: &mut bool) -> Result<(), StoreError> {
    let start = |shared: &Shared| shared.start(Prefix::ROOT);
    let all = |shared: &Shared| {
        Pages::new(target, start(shared), None, usize::MAX, Location::store(target)).names()
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
        // a dataset at the root of a bucket has its successor below itself
        .filter(|text| text != MARKER && !kept.contains(text.as_str()) && !text.starts_with(BESIDE))
        .map(|text| target.below(&text))
        .collect();

    // from here on the staged dataset is one by itself
    remove::one(stage, &stage.below(MARKER), marker_at(stage)).await?;
    *begun = true;
    let documents: Vec<String> = ROOT.iter().map(|text| target.below(text)).collect();
    remove::many(target, &documents).await?;
    let (last, first): (Vec<_>, Vec<_>) = new.iter().partition(|(text, _)| ROOT.contains(&text.as_str()));
    let mut gang = Gang::new(target.config.remote.in_flight);
    for (text, len) in first {
        gang.add(move_one(stage, target, text, *len)).await?;
    }
    gang.rest().await?;
    remove::many(target, &gone).await?;
    for text in ROOT {
        if let Some((text, len)) = last.iter().find(|(found, _)| found == text) {
            move_one(stage, target, text, *len).await?;
        }
    }
    remove::one(target, &target.below(MARKER), marker_at(target)).await
}

async fn move_one(stage: &Shared, target: &Shared, text: &str, len: u64) -> Result<(), StoreError> {
    let at = Location { store: target.to_string(), key: Some(text.to_owned()) };
    copy::copy(target, &stage.below(text), &target.below(text), len, at).await
}

/// Deletes everything below the prefix of a stage.
async fn clear(stage: &Shared) -> Result<(), StoreError> {
    let pages = Pages::new(stage, stage.start(Prefix::ROOT), None, usize::MAX, Location::store(stage));
    let names: Vec<String> = pages.names().await?.into_iter().map(|(name, _)| name).collect();
    remove::many(stage, &names).await
}

/// What is at a place.
enum Target {
    Empty,
    /// With the content of its marker.
    Unfinished(String),
    Full,
}

async fn look(shared: &Shared) -> Result<Target, StoreError> {
    let start = shared.start(Prefix::ROOT);
    let mut pages = Pages::new(shared, start.clone(), None, 2, Location::store(shared));
    // the object `prefix/` shows an empty folder; below the root of a bucket datasets may wait to be published
    let counts = |name: &str| name != start && !(start.is_empty() && name.starts_with(BESIDE));
    loop {
        let Some(page) = pages.next().await? else {
            return Ok(Target::Empty);
        };
        if page.names.iter().any(|(name, _)| counts(name)) {
            break;
        }
    }
    Ok(read_marker(shared).await?.map_or(Target::Full, Target::Unfinished))
}

/// Whether the dataset at the target may be replaced: one that somebody did not finish always may.
fn check_old(target: &Arc<Shared>, is_unfinished: bool, may: &Predicate) -> Result<(), StoreError> {
    if is_unfinished {
        return Ok(());
    }
    let view = S3Store::open(target.config.clone(), Access::Read)?;
    if may(&view)? {
        return Ok(());
    }
    let reason = "holds objects, but not a dataset that may be replaced";
    Err(StoreError::NotADataset { place: target.to_string(), reason })
}

async fn read_marker(shared: &Shared) -> Result<Option<String>, StoreError> {
    let mut out = Vec::new();
    let name = shared.below(MARKER);
    let (at, window) = (marker_at(shared), &mut Window::none());
    let found = read::object(shared, &name, at, ReadRange::All, 64 << 10, &mut out, window).await?;
    Ok(found.then(|| String::from_utf8_lossy(&out).into_owned()))
}

async fn put_marker(shared: &Shared, content: &str, mode: WriteMode) -> Result<(), StoreError> {
    write::write(shared, &shared.below(MARKER), marker_at(shared), content.as_bytes(), mode).await
}

/// What a marker holds: for people, and to tell one from another.
fn marker() -> String {
    let now = DateTime::from(SystemTime::now()).fmt(DateTimeFormat::DateTime).unwrap_or_default();
    let (version, stamp) = (env!("CARGO_PKG_VERSION"), write::stamp());
    format!(
        "{{\"what\":\"a dataset is being written here, or its writer has died\",\"program\":\"ncz {version}\",\"since\":\"{now}\",\"id\":\"{stamp}\"}}\n"
    )
}

fn marker_at(shared: &Shared) -> Location {
    Location { store: shared.to_string(), key: Some(MARKER.to_owned()) }
}

fn unfinished(store: &S3Store) -> StoreError {
    StoreError::AlreadyExists { at: marker_at(&store.shared()) }
}

/// What the command takes for a place; a URL of another service says by itself nothing of S3.
fn url(shared: &Shared) -> String {
    let place = place(shared);
    if shared.config.endpoint.is_some() { format!("{place}#mode=s3") } else { place }
}

/// The URL of what a store writes to.
fn place(shared: &Shared) -> String {
    let mut config = shared.config.clone();
    config.prefix.clone_from(&shared.prefix);
    config.to_string()
}
