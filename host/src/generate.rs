//! Generating a dataset from CDL, netCDF's text form.

mod define;
mod write;

use std::io::{self, Cursor, Read, Seek};
use std::time::{Duration, Instant};

use ncz_cdl::{Cdl, CdlError, CdlFile};
use ncz_model::Remedy;
use ncz_model::{Container, DataError, Format, Hierarchy, Session};

use crate::new_dataset::NewDataset;
use crate::progress::{Phase, Progress};

/// Bytes of a text that comes from a pipe and is held in memory; a longer one goes to a temporary file.
const HELD: u64 = 16 << 20;

/// What to make of a text.
#[derive(Clone, Debug)]
pub struct GenerateOptions {
    /// How the metadata are written.
    pub format: Format,
    /// Whether to write consolidated metadata.
    pub consolidated: bool,
    /// Whether to leave `_ARRAY_DIMENSIONS` out, which version 2 has for xarray (netCDF's mode `noxarray`).
    pub noxarray: bool,
    /// Whether to leave the values out (`ncgen -H`).
    pub header_only: bool,
}

impl Default for GenerateOptions {
    fn default() -> Self {
        Self { format: Format::NCZARR, consolidated: false, noxarray: false, header_only: false }
    }
}

/// What was generated.
#[derive(Clone, Debug)]
pub struct GenerateSummary {
    /// The name of the dataset in the text.
    pub name: String,
    /// Variable by variable, in the order of the text.
    pub variables: Vec<GeneratedVariable>,
    /// How long it took.
    pub elapsed: Duration,
}

/// What was generated of one variable.
#[derive(Clone, Debug)]
pub struct GeneratedVariable {
    /// The path.
    pub path: String,
    /// The codecs as filter text; empty for none.
    pub chain: String,
    /// Bytes of its values.
    pub decoded: u64,
    /// Bytes of its stored chunks.
    pub stored: u64,
    /// Chunks written.
    pub chunks: u64,
}

/// Why no dataset was generated. The target is as it was before.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GenerateError {
    /// The text is not valid CDL, or has values that do not fit their variable.
    #[error(transparent)]
    Cdl(#[from] CdlError),
    /// The text declares what a dataset cannot have.
    #[error("line {line}")]
    Definition {
        /// The line of the declaration.
        line: u64,
        /// What is wrong with it.
        source: Box<DataError>,
    },
    /// The codecs of a variable are given twice, and not alike.
    #[error(
        "line {line}: variable {variable:?}: its _Codecs and its {other} do not say the same; delete the one that is wrong"
    )]
    Codecs {
        /// The line of the variable.
        line: u64,
        /// The path of the variable.
        variable: String,
        /// What contradicts `_Codecs`.
        other: &'static str,
    },
    /// Writing the dataset failed.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The threads that write could not be started.
    #[error("cannot start a thread")]
    Thread(#[source] io::Error),
    /// The progress said to stop.
    #[error("it was stopped; the target is as it was before")]
    Stopped,
}

impl GenerateError {
    /// What can be done about it, if that is known.
    #[must_use]
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::Data(error) => error.remedy(),
            Self::Definition { source, .. } => source.remedy(),
            _ => None,
        }
    }
}

/// A text that is read twice: a file, or what was made of a pipe.
pub trait Text: Read + Seek + Send {}

impl<T: Read + Seek + Send> Text for T {}

/// Makes a text that can be read twice of one that can be read once, as a pipe: in memory, or in a temporary file that
/// has no name.
///
/// # Errors
/// Those of reading it and of the temporary folder.
pub fn spool(mut source: impl Read) -> io::Result<Box<dyn Text>> {
    let mut held = Vec::new();
    source.by_ref().take(HELD + 1).read_to_end(&mut held)?;
    if held.len() as u64 <= HELD {
        return Ok(Box::new(Cursor::new(held)));
    }
    let mut file = tempfile::tempfile()?;
    io::copy(&mut held.as_slice(), &mut file)?;
    drop(held);
    io::copy(&mut source, &mut file)?;
    Ok(Box::new(file))
}

/// What a text will be as a dataset: everything is settled but the values.
#[derive(Debug)]
pub struct Plan {
    hierarchy: Hierarchy,
    notes: Vec<String>,
    /// The codecs of each variable of the text, for the summary.
    chains: Vec<String>,
}

impl Plan {
    /// Settles groups, dimensions, attributes, variables and their codecs.
    ///
    /// # Errors
    /// [`GenerateError::Definition`] for names, lengths and codecs that a dataset cannot have, among these a codec that
    /// is not found; [`GenerateError::Codecs`].
    pub fn new(cdl: &Cdl, session: &Session, options: &GenerateOptions) -> Result<Self, GenerateError> {
        define::plan(cdl, session, options)
    }

    /// The dataset without its values.
    #[must_use]
    pub fn hierarchy(&self) -> &Hierarchy {
        &self.hierarchy
    }

    /// What becomes otherwise than the text says, and why.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}

/// Makes the new dataset in `target` and makes it visible at the end. Memory is bounded, however long the text is.
///
/// ```
/// use std::io::Cursor;
/// use std::sync::Arc;
///
/// use ncz::generate::{GenerateOptions, Plan, generate};
/// use ncz::cdl::CdlFile;
/// use ncz::model::{Pool, Session};
/// use ncz::registry::Registry;
/// use ncz::store::{CreateOptions, MemoryStore};
///
/// let mut file = CdlFile::open(Cursor::new("netcdf d { variables: int v ; data: v = 42 ; }"))?;
/// let session = Session::new(Arc::new(Registry::builder().build()), Pool::serial());
/// let options = GenerateOptions::default();
/// let plan = Plan::new(file.cdl(), &session, &options)?;
/// let summary = generate(&mut file, plan, Arc::new(MemoryStore::new("d")), session, &options, &())?;
/// assert_eq!(summary.variables[0].chunks, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// See [`GenerateError`]; nothing is visible at the target then.
pub fn generate<R: Read + Seek>(
    file: &mut CdlFile<R>,
    plan: Plan,
    target: impl Into<NewDataset>,
    session: Session,
    options: &GenerateOptions,
    progress: &dyn Progress,
) -> Result<GenerateSummary, GenerateError> {
    let started = Instant::now();
    let Plan { hierarchy, chains, .. } = plan;
    let dataset = target.into().begin(hierarchy, session, options.consolidated, false)?;
    progress.begin(Phase::Generate, file.len());
    let variables = match write_all(file, &*dataset, chains, options, progress) {
        Ok(variables) => variables,
        Err(error) => {
            dataset.discard();
            return Err(error);
        }
    };
    dataset.complete()?;
    dataset.publish()?;
    Ok(GenerateSummary { name: file.cdl().name.clone(), variables, elapsed: started.elapsed() })
}

/// Writes the values of all variables.
fn write_all<R: Read + Seek>(
    file: &mut CdlFile<R>,
    dataset: &dyn Container,
    chains: Vec<String>,
    options: &GenerateOptions,
    progress: &dyn Progress,
) -> Result<Vec<GeneratedVariable>, GenerateError> {
    let mut reported = 0;
    let mut variables = Vec::with_capacity(chains.len());
    for (number, chain) in chains.into_iter().enumerate() {
        let Some(variable) = file.cdl().variables.get(number) else { continue };
        let path = variable.path.clone();
        let written = match options.header_only || !variable.has_data() {
            true => write::Stored::default(),
            false => write::variable(file, number, dataset, progress, &mut reported)?,
        };
        let write::Stored { decoded, written } = written;
        variables.push(GeneratedVariable {
            path,
            chain,
            decoded,
            stored: written.bytes,
            chunks: written.chunks,
        });
    }
    Ok(variables)
}
