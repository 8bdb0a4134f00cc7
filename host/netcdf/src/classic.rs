//! Classic files: CDF-1, CDF-2 and CDF-5.
//!
//! The header is read at once; the positions of all elements follow from it. A variable without records is split along
//! its slowest dimensions into chunks of about 4 MiB. A variable with records has a chunk for each record, which is
//! split in the same way if it is longer; the records of an only record variable follow each other and are split
//! together. So nothing is decoded: each chunk is a range of the file, big-endian, without codecs.
//!
//! All elements exist. Where a program wrote none, they have the fill value that it stored.

mod cursor;
mod error;
mod header;
mod hierarchy;
mod index;
pub(crate) mod layout;
pub(crate) mod write;

use std::collections::HashMap;
use std::sync::Arc;

use ncz_model::{ChunkIndex, Container, DataError, Hierarchy, MetadataError, Session, Variable};
use ncz_registry::chain::FilterChain;
use ncz_registry::spec::ChainSpec;
use ncz_store::Store;

use self::cursor::Stop;
pub use self::error::{ClassicError, ClassicWriteError};
use self::header::Header;
use self::index::Ranges;
use self::layout::TooLong;
use crate::source::Source;

/// The bytes of the header that are read first.
const FIRST: u64 = 64 << 10;

/// The longest header.
const MOST: u64 = 64 << 20;

/// A classic file, read by byte ranges.
#[derive(Debug)]
pub struct ClassicFile {
    store: Arc<dyn Store>,
    hierarchy: Hierarchy,
    session: Session,
    /// By the path of the variable.
    chunks: HashMap<String, Arc<Ranges>>,
}

impl ClassicFile {
    /// Reads the header of a file.
    ///
    /// A variable with elements beyond the end of the file is listed as unreadable.
    ///
    /// # Errors
    /// It is not a classic file, its header is damaged or longer than 64 MiB, or the store fails.
    pub fn open(source: &Source, session: Session) -> Result<Self, ClassicError> {
        let key = source.key().as_str().to_owned();
        let header = read_header(source)?;
        let (records, layouts) = layout::layouts(&header, source.len()).map_err(|TooLong { variable }| {
            let entry = header.variables.get(variable);
            ClassicError::Variable {
                key: key.clone(),
                variable: entry.map(|entry| entry.name.text.clone()).unwrap_or_default(),
                reason: "its lengths do not fit 64 bits; the file is damaged".to_owned(),
            }
        })?;
        let hierarchy = hierarchy::hierarchy(&header, records, &layouts, source.len());
        let hierarchy = hierarchy.map_err(|name| ClassicError::Header {
            key: key.clone(),
            at: 0,
            reason: format!("two dimensions, variables or attributes have the name {name:?}"),
        })?;
        let paths = header.variables.iter().map(|entry| format!("/{}", entry.name.text));
        let chunks = paths.zip(layouts).map(|(path, layout)| {
            let ranges = Ranges { key: key.clone(), layout };
            (path, Arc::new(ranges))
        });
        let store = Arc::clone(source.store());
        Ok(Self { store, hierarchy, session, chunks: chunks.collect() })
    }
}

impl Container for ClassicFile {
    fn hierarchy(&self) -> &Hierarchy {
        &self.hierarchy
    }

    fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    fn session(&self) -> &Session {
        &self.session
    }

    fn chain(&self, variable: &Variable) -> Result<FilterChain, DataError> {
        self.session.bind(variable, self.hierarchy.format, &ChainSpec::default())
    }

    fn chunks(&self, variable: &Variable) -> Result<Arc<dyn ChunkIndex>, DataError> {
        match self.chunks.get(&variable.path) {
            Some(chunks) => Ok(Arc::clone(chunks) as Arc<dyn ChunkIndex>),
            None => Err(MetadataError::NotFound { kind: "variable", path: variable.path.clone() }.into()),
        }
    }
}

/// Reads more and more of the start of the file, until it holds the header.
fn read_header(source: &Source) -> Result<Header, ClassicError> {
    let key = || source.key().as_str().to_owned();
    let mut len = FIRST.min(source.len());
    loop {
        let bytes = source.read(0, len, "the header")?;
        match Header::parse(&bytes) {
            Ok(Some(header)) => return Ok(header),
            Ok(None) => return Err(ClassicError::NotClassic { key: key() }),
            Err(Stop::Damaged { at, reason }) => return Err(ClassicError::Header { key: key(), at, reason }),
            Err(Stop::Need(need)) if need > source.len() => {
                let reason = format!("it needs at least {need} bytes, but the file has {}", source.len());
                return Err(ClassicError::Header { key: key(), at: len, reason });
            }
            Err(Stop::Need(need)) if need > MOST => {
                return Err(ClassicError::TooLong { key: key(), most: MOST });
            }
            Err(Stop::Need(need)) => len = need.max(len * 2).min(source.len()).min(MOST),
        }
    }
}
