//! The values of a variable, from the text into chunks: while one block is encoded and written, the next is read.

use std::io::{Read, Seek};
use std::ops::ControlFlow;
use std::sync::mpsc::sync_channel;
use std::thread;

use ncz_cdl::{CdlBlock, CdlError, CdlFile};
use ncz_model::{
    Array, Blocks, Container, DataError, Elements, NcType, Row as UserRow, Slab, StringArray, Strings,
    UserArray, Written,
};

use super::GenerateError;
use crate::progress::Progress;

/// Bytes of elements in a block. Two blocks are held, and what their chunks need.
const BLOCK_BYTES: u64 = 64 << 20;

/// What a string is thought to take in memory.
const STRING_BYTES: u64 = 64;

/// What a value of a user-defined type is thought to take in memory, besides its bytes.
const USER_BYTES: u64 = 256;

/// A variable of at most this many bytes is written on the calling thread.
const SMALL_BYTES: u64 = 1 << 20;

/// What was stored of a variable.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Stored {
    pub(super) decoded: u64,
    pub(super) written: Written,
}

/// The destination of elements.
enum Target {
    Elements(Box<Array>),
    Strings(Box<StringArray>),
    User(Box<UserArray>),
}

/// A block on its way.
enum Row {
    Elements(Vec<u8>),
    Strings(Strings),
    User(UserRow),
}

impl Target {
    fn write(&self, slab: &Slab, row: &Row) -> Result<Stored, DataError> {
        let (decoded, written) = match (self, row) {
            (Self::Elements(array), Row::Elements(bytes)) => {
                (bytes.len() as u64, array.write_bytes(slab, Elements::Native, bytes)?)
            }
            (Self::Strings(array), Row::Strings(strings)) => {
                let rows: Vec<&[u8]> = strings.iter().collect();
                (strings.byte_len() as u64, array.write_serial(slab, &rows)?)
            }
            (Self::User(array), Row::User(row)) => {
                let size = array.stored().dtype().size() as u64;
                (slab.elements().unwrap_or(0).saturating_mul(size), array.write(slab, row)?)
            }
            // The type of the variable decides for both.
            _ => (0, Written::default()),
        };
        Ok(Stored { decoded, written })
    }
}

impl Stored {
    fn add(&mut self, more: Self) {
        self.decoded += more.decoded;
        self.written.bytes += more.written.bytes;
        self.written.chunks += more.written.chunks;
    }
}

/// What ends the reading of values.
enum End {
    Error(GenerateError),
    /// The writer has failed, and says why.
    Writer,
}

impl From<CdlError> for End {
    fn from(error: CdlError) -> Self {
        Self::Error(error.into())
    }
}

impl From<GenerateError> for End {
    fn from(error: GenerateError) -> Self {
        Self::Error(error)
    }
}

/// Writes the values of a variable, by its number in the text.
pub(super) fn variable<R: Read + Seek>(
    file: &mut CdlFile<R>,
    number: usize,
    dataset: &dyn Container,
    progress: &dyn Progress,
    reported: &mut u64,
) -> Result<Stored, GenerateError> {
    let Some(variable) = file.cdl().variables.get(number) else { return Ok(Stored::default()) };
    let declared = dataset.hierarchy().variable(&variable.path).map_err(DataError::from)?;
    let shape = dataset.hierarchy().shape_of(declared);
    let (target, element) = match variable.nc_type() {
        None => {
            let array = dataset.user_array(&variable.path)?;
            let fill = variable.fill().memory() as u64;
            let bytes = USER_BYTES.saturating_add(declared.dtype.size() as u64).max(fill);
            (Target::User(Box::new(array)), bytes)
        }
        Some(NcType::String) => (Target::Strings(Box::new(dataset.strings(&variable.path)?)), STRING_BYTES),
        Some(_) => (Target::Elements(Box::new(dataset.array(&variable.path)?)), declared.dtype.size() as u64),
    };
    let blocks = Blocks::new(&shape, &declared.chunk_shape, element, BLOCK_BYTES);
    let total = shape.iter().fold(element, |product, &len| product.saturating_mul(len));
    let mut feed = Feed { blocks, slab: None, progress, reported };
    let first = feed.advance();
    if total <= SMALL_BYTES {
        let mut stored = Stored::default();
        let read = file.values(number, first, &mut |block, _| {
            let Some(slab) = feed.slab.take() else { return Ok(0) };
            stored.add(target.write(&slab, &kept(block)).map_err(GenerateError::from)?);
            Ok::<u64, End>(feed.advance())
        });
        feed.tell(file.position())?;
        return match read {
            Ok(()) | Err(End::Writer) => Ok(stored),
            Err(End::Error(error)) => Err(error),
        };
    }
    thread::scope(|scope| {
        // A block that is passed on is processed at once: no third one waits.
        let (sender, receiver) = sync_channel::<(Slab, Row)>(0);
        let writer = thread::Builder::new().name("ncz-gen".to_owned());
        let writer = writer.spawn_scoped(scope, move || {
            let mut stored = Stored::default();
            for (slab, row) in receiver {
                stored.add(target.write(&slab, &row)?);
            }
            Ok::<Stored, DataError>(stored)
        });
        let writer = writer.map_err(GenerateError::Thread)?;
        let read = file.values(number, first, &mut |block, position| {
            let Some(slab) = feed.slab.take() else { return Ok(0) };
            sender.send((slab, kept(block))).map_err(|_| End::Writer)?;
            feed.tell(position)?;
            Ok::<u64, End>(feed.advance())
        });
        drop(sender);
        let written = writer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        match read {
            Err(End::Error(error)) => Err(error),
            Ok(()) | Err(End::Writer) => {
                let stored = written?;
                feed.tell(file.position())?;
                Ok(stored)
            }
        }
    })
}

/// The slabs of a variable in their order, and their progress.
struct Feed<'a> {
    blocks: Blocks,
    /// That of the block that is being read.
    slab: Option<Slab>,
    progress: &'a dyn Progress,
    /// Bytes of the text that were reported as progress.
    reported: &'a mut u64,
}

impl Feed<'_> {
    /// Advances to the next slab; its number of elements, 0 if there is none.
    fn advance(&mut self) -> u64 {
        self.slab = self.blocks.next();
        self.slab.as_ref().and_then(Slab::elements).unwrap_or(0)
    }

    /// Reports how far the text is read.
    fn tell(&mut self, position: u64) -> Result<(), GenerateError> {
        let bytes = position.saturating_sub(*self.reported);
        *self.reported = position;
        match self.progress.advance(bytes) {
            ControlFlow::Break(()) => Err(GenerateError::Stopped),
            ControlFlow::Continue(()) => Ok(()),
        }
    }
}

/// Takes a block over and leaves an empty one.
fn kept(block: CdlBlock<'_>) -> Row {
    match block {
        CdlBlock::Elements(bytes) => Row::Elements(std::mem::take(bytes)),
        CdlBlock::Strings(strings) => Row::Strings(std::mem::take(strings)),
        CdlBlock::Rows(row) => Row::User(row.take()),
    }
}
