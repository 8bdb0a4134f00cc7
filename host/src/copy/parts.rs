//! Copies in parts, which several processes or machines make together.
//!
//! A [`PartsPlan`] divides a copy into parts of whole objects of the copy: chunks or shards. It is a JSON document that
//! holds everything the parts have to agree on: source and target, the metadata of the copy, the state of the source,
//! and the codecs. [`PartsPlan::begin`] reserves the target, [`PartsPlan::run`] makes a part, and
//! [`PartsPlan::finish`] makes the dataset of them. Parts may run in any order, at the same time and several times: a
//! part that runs again writes the same bytes. No two parts write the same object.
//!
//! Until it is finished, a copy to a directory is in the folder `TARGET.ncz-parts` beside it, which becomes the target in
//! one step. A copy to S3 is at its target, without any metadata, and what is known of its parts is below
//! `TARGET.ncz-parts`. So no program opens half a copy.
//!
//! ```no_run
//! use ncz::copy::CopyOptions;
//! use ncz::copy::parts::{Division, PartWorker, PartsPlan};
//! # fn example(worker: PartWorker) -> Result<(), Box<dyn std::error::Error>> {
//!
//! let source = ncz::open("in.nc")?;
//! let ends = ("in.nc", "out.zarr");
//! let plan = PartsPlan::divide(ends, &source, &CopyOptions::default(), Division::Into(64), &())?.plan;
//! plan.begin()?;
//! for part in 0..plan.parts().len() {
//!     // On any machine, from the JSON of the plan.
//!     PartsPlan::from_json(&plan.to_json()?)?.run(&[part], &worker, &())?;
//! }
//! plan.finish(&worker, &())?;
//! # Ok(())
//! # }
//! ```

mod codecs;
mod division;
mod error;
mod finish;
mod locations;
mod objects;
mod run;
mod source;
mod staging;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use ncz_model::{Container, DataError, DimensionRef, Format, Hierarchy, LossyGuard, Session, ShuffleReading};
use ncz_store::{Depth, EntryKind, MemoryStore, Prefix, Stamp, Store, StoreError, StoreExt};
use ncz_zarr::Dataset;
use ncz_zarr::metadata::{self, ReadOptions};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub use self::codecs::{CodecIdentity, CodecSet, PluginIdentity};
pub use self::error::{PartsError, ranges};
pub use self::finish::Finished;
pub use self::run::PartWorker;
use self::staging::Staging;
use super::{CopyOptions, ForeignObjects, Selection, UnreadableVariable, missing_values, prepare};
use crate::location::DatasetUrl;
use crate::progress::Progress;
use crate::tiles::Indices;

/// The version of the JSON form; it changes when a key changes its meaning or is removed.
const SCHEMA: u32 = 1;

/// The decoded bytes of a part, unless a number of parts is chosen.
const PART: u64 = 128_000_000;

/// Into how many parts a copy is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Division {
    /// Parts of about 128 MB of decoded data.
    BySize,
    /// At most so many parts, of about the same size.
    Into(u64),
}

/// A copy that is divided into parts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartsPlan {
    schema: u32,
    /// The hash of the rest.
    token: String,
    #[serde(flatten)]
    body: Body,
}

/// What the token is the hash of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Body {
    /// The version of the program that made it.
    ncz: String,
    /// When it was made, in seconds since 1970: two plans of the same copy differ.
    made: String,
    source: String,
    target: String,
    /// Whether parts are compared with the source.
    verify: bool,
    /// The element size of shuffle to use if readers disagree about it; `None` refuses.
    shuffle_size: Option<ShuffleSize>,
    lossy_guard: bool,
    /// The parts of dimensions that are copied.
    slabs: Vec<DimensionSlab>,
    /// Variables that are left out, since they cannot be read.
    unreadable: Vec<UnreadableVariable>,
    state: SourceState,
    codecs: Vec<CodecIdentity>,
    /// The metadata of the copy, by their keys.
    documents: BTreeMap<String, String>,
    /// Whether they are those of the draft of NCZarr for version 3.
    nczarr3: bool,
    /// How many parts were asked for, which may be more than there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    asked: Option<u64>,
    parts: Vec<Part>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ShuffleSize {
    Type,
    Stored,
}

/// The part of a dimension that is copied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct DimensionSlab {
    group: String,
    name: String,
    start: u64,
    count: u64,
    step: u64,
}

/// What the source was when the plan was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SourceState {
    /// The hash of its metadata.
    metadata: String,
    /// The version of its file, if it is one file.
    file: Option<Stamp>,
}

/// A part of a copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The decoded bytes.
    pub bytes: u64,
    /// What is copied.
    pub regions: Vec<Region>,
    /// The hash of the versions of the objects that are read; `None` if the source is one file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    objects: Option<String>,
}

/// A box of elements of a variable of the copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Region {
    /// The path of the variable.
    pub variable: String,
    /// The first index in each dimension.
    pub start: Vec<u64>,
    /// The lengths.
    pub shape: Vec<u64>,
}

/// A new plan, and what it leaves out.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The plan.
    pub plan: PartsPlan,
    /// Objects in the store of the source that are not part of the dataset.
    pub foreign_objects: ForeignObjects,
}

impl PartsPlan {
    /// Divides a copy. Nothing is written. `source` and `target` are the locations as the user named them, `dataset` is
    /// what was opened at the first.
    ///
    /// # Errors
    /// As for [`copy`](super::copy); the target is one file, a location contains a secret, or an option is for copies in
    /// one process.
    pub fn divide(
        (source, target): (&str, &str),
        dataset: &dyn Container,
        options: &CopyOptions,
        division: Division,
        progress: &dyn Progress,
    ) -> Result<Planned, PartsError> {
        for (is_given, option) in [(options.resume, "resume"), (options.salvage, "salvage")] {
            if is_given {
                return Err(PartsError::Option { option });
            }
        }
        let (source, target) = (locations::portable(source)?, locations::portable(target)?);
        let url = DatasetUrl::parse(&target)?;
        let prepared = prepare(dataset, options, progress)?;
        Staging::of(&url, prepared.hierarchy.format)?.check_free()?;
        let documents = documents(&prepared.hierarchy, dataset.session(), options.consolidated)?;
        let nczarr3 = prepared.hierarchy.format == Format::Nczarr3;
        let copied = hierarchy(&documents, nczarr3)?;
        if options.verify {
            missing_values::verify(dataset.hierarchy(), &copied)?;
        }
        let session = dataset.session();
        let empty: Arc<dyn Store> = Arc::new(MemoryStore::new("a copy in parts"));
        let copy = Dataset::without_documents(empty, copied, session.clone());
        let has =
            |path: &str| options.selection.has(path) && prepared.lost.iter().all(|lost| lost.path != path);
        let mut parts = division::divide(dataset, &copy, &has, options, division)?;
        let source_url = DatasetUrl::parse(&source)?;
        let state = source::state(&source_url, dataset.hierarchy())?;
        if !source::is_one_file(&source_url)? {
            source::note_objects(dataset, &options.selection, &mut parts)?;
        }
        let codecs = codecs::used(dataset, &copy, &has)?;
        copy.discard();
        let body = Body {
            ncz: env!("CARGO_PKG_VERSION").to_owned(),
            made: now(),
            source,
            target,
            verify: options.verify,
            shuffle_size: match session.shuffle {
                ShuffleReading::Refuse => None,
                ShuffleReading::TypeSize => Some(ShuffleSize::Type),
                ShuffleReading::AsStored => Some(ShuffleSize::Stored),
            },
            lossy_guard: session.lossy_guard == LossyGuard::On,
            slabs: options.selection.slabs.iter().map(DimensionSlab::new).collect(),
            unreadable: prepared.lost.into_iter().map(UnreadableVariable::from).collect(),
            state,
            codecs,
            documents,
            nczarr3,
            asked: match division {
                Division::BySize => None,
                Division::Into(parts) => Some(parts),
            },
            parts,
        };
        let plan = Self { schema: SCHEMA, token: body.hash(), body };
        Ok(Planned { plan, foreign_objects: prepared.foreign_objects })
    }

    /// Reads the JSON form.
    ///
    /// # Errors
    /// [`PartsError::Json`], [`PartsError::Schema`]; [`PartsError::Edited`] if it is not what was written.
    pub fn from_json(text: &str) -> Result<Self, PartsError> {
        #[derive(Deserialize)]
        struct Header {
            schema: u32,
        }
        let Header { schema } = serde_json::from_str(text).map_err(PartsError::Json)?;
        if schema != SCHEMA {
            return Err(PartsError::Schema { schema, known: SCHEMA });
        }
        let plan: Self = serde_json::from_str(text).map_err(PartsError::Json)?;
        match plan.body.hash() == plan.token {
            true => Ok(plan),
            false => Err(PartsError::Edited),
        }
    }

    /// The JSON form.
    ///
    /// # Errors
    /// [`PartsError::Json`].
    pub fn to_json(&self) -> Result<String, PartsError> {
        serde_json::to_string(self).map_err(PartsError::Json)
    }

    /// Reserves the target: from now on parts can run.
    ///
    /// # Errors
    /// Something is at the target, or another copy in parts is being made there.
    pub fn begin(&self) -> Result<(), PartsError> {
        self.staging()?.begin(&self.token, &self.to_json()?)
    }

    /// The parts, in the order of their numbers, which begin at 0.
    #[must_use]
    pub fn parts(&self) -> &[Part] {
        &self.body.parts
    }

    /// Whether there is nothing to do for a number, since fewer parts were made than were asked for.
    #[must_use]
    pub fn is_empty_part(&self, part: usize) -> bool {
        part >= self.parts().len() && self.body.asked.is_some_and(|asked| (part as u64) < asked)
    }

    /// A text that identifies the plan.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.token
    }

    /// The location of the source.
    ///
    /// # Errors
    /// It is not one.
    pub fn source(&self) -> Result<DatasetUrl, PartsError> {
        Ok(DatasetUrl::parse(&self.body.source)?)
    }

    /// The location of the target.
    ///
    /// # Errors
    /// It is not one.
    pub fn target(&self) -> Result<DatasetUrl, PartsError> {
        Ok(DatasetUrl::parse(&self.body.target)?)
    }

    /// Variables that the copy lacks, since they cannot be read.
    #[must_use]
    pub fn unreadable(&self) -> &[UnreadableVariable] {
        &self.body.unreadable
    }

    /// Whether the parts are compared with the source.
    #[must_use]
    pub fn verifies(&self) -> bool {
        self.body.verify
    }

    /// The metadata of the copy.
    ///
    /// # Errors
    /// They cannot be read, which means that the plan is damaged.
    pub fn hierarchy(&self) -> Result<Hierarchy, PartsError> {
        hierarchy(&self.body.documents, self.body.nczarr3)
    }

    fn staging(&self) -> Result<Staging, PartsError> {
        Staging::of(&self.target()?, self.hierarchy()?.format)
    }

    /// The parts of dimensions that are copied.
    fn selection(&self) -> Selection {
        let slabs = self.body.slabs.iter().map(DimensionSlab::indices).collect();
        Selection { slabs, ..Selection::default() }
    }
}

impl Body {
    fn hash(&self) -> String {
        // A structure of texts and numbers has JSON.
        hex(&Sha256::digest(serde_json::to_vec(self).unwrap_or_default()))
    }
}

impl DimensionSlab {
    fn new((dimension, indices): (&DimensionRef, &Indices)) -> Self {
        let DimensionRef { group, name } = dimension.clone();
        Self { group, name, start: indices.start, count: indices.count, step: indices.step }
    }

    fn indices(&self) -> (DimensionRef, Indices) {
        let dimension = DimensionRef { group: self.group.clone(), name: self.name.clone() };
        (dimension, Indices { start: self.start, count: self.count, step: self.step })
    }
}

/// The documents of a copy, as it writes them.
fn documents(
    hierarchy: &Hierarchy,
    session: &Session,
    consolidated: bool,
) -> Result<BTreeMap<String, String>, PartsError> {
    let store = Arc::new(MemoryStore::new("the metadata of a copy"));
    Dataset::create(store.clone(), hierarchy.clone(), session.clone(), consolidated)?.finish()?;
    let failed = |source: StoreError| DataError::Store { store: store.to_string(), source };
    let mut documents = BTreeMap::new();
    for entry in store.list(Prefix::ROOT, Depth::All, usize::MAX).map_err(failed)?.entries {
        if entry.kind == EntryKind::Object
            && let Some(bytes) = store.read_vec(entry.key.as_key(), u64::MAX).map_err(failed)?
        {
            let text = String::from_utf8(bytes).map_err(|_| PartsError::Edited)?;
            documents.insert(entry.key.as_str().to_owned(), text);
        }
    }
    Ok(documents)
}

fn hierarchy(documents: &BTreeMap<String, String>, nczarr3: bool) -> Result<Hierarchy, PartsError> {
    let bytes: BTreeMap<String, Vec<u8>> =
        documents.iter().map(|(key, text)| (key.clone(), text.clone().into_bytes())).collect();
    let options = ReadOptions { nczarr3, ..ReadOptions::default() };
    Ok(metadata::read(&bytes, &options).map_err(DataError::from)?)
}

fn now() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{}.{:09}", now.as_secs(), now.subsec_nanos())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
