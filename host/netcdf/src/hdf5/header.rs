//! Object headers: the messages that describe a group, a dataset or a type (HDF5 file format, IV.A).

use std::collections::{BTreeSet, VecDeque};

use super::cursor::{Cursor, Decoded};
use super::decode;
use super::error::Hdf5Error;
use super::file_bytes::FileBytes;

pub(crate) const DATASPACE: u16 = 0x01;
pub(crate) const LINK_INFO: u16 = 0x02;
pub(crate) const DATATYPE: u16 = 0x03;
pub(crate) const OLD_FILL: u16 = 0x04;
pub(crate) const FILL: u16 = 0x05;
pub(crate) const LINK: u16 = 0x06;
pub(crate) const EXTERNAL_FILES: u16 = 0x07;
pub(crate) const LAYOUT: u16 = 0x08;
pub(crate) const FILTERS: u16 = 0x0B;
pub(crate) const ATTRIBUTE: u16 = 0x0C;
pub(crate) const SHARED_TABLE: u16 = 0x0F;
pub(crate) const CONTINUATION: u16 = 0x10;
pub(crate) const SYMBOL_TABLE: u16 = 0x11;
pub(crate) const BTREE_K: u16 = 0x13;
pub(crate) const ATTRIBUTE_INFO: u16 = 0x15;

/// The last type of message that is known.
const LAST_KNOWN: u16 = 0x17;

/// Bit 1 of a message's flags: the body points to the message.
pub(crate) const SHARED: u8 = 0x02;

/// Bit 3: fail if the type is not known and the file is written; bit 7: fail always.
const FAIL_ALWAYS: u8 = 0x80;

/// The first read of a header; most are shorter.
const FIRST_READ: u64 = 512;

/// The most bytes of one header with its continuations (64 MiB).
const MOST_BYTES: u64 = 64 << 20;

const WHAT: &str = "the object header";

/// A message of an object header.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) kind: u16,
    pub(crate) flags: u8,
    /// The creation order of an attribute, if it is tracked.
    pub(crate) order: Option<u16>,
    pub(crate) body: Vec<u8>,
}

/// An object header.
#[derive(Clone, Debug)]
pub(crate) struct Header {
    pub(crate) address: u64,
    pub(crate) messages: Vec<Message>,
}

/// How the messages of a header are encoded.
#[derive(Clone, Copy)]
struct Form {
    is_new: bool,
    has_order: bool,
}

impl Header {
    /// Reads the object header at an address, with its continuations. Messages that point to shared ones are not
    /// followed.
    pub(crate) fn read(file: &FileBytes, address: u64) -> Result<Self, Hdf5Error> {
        let mut header = Self { address, messages: Vec::new() };
        let bytes = file.read_up_to(address, FIRST_READ, WHAT)?;
        let (form, start, len) =
            first_block(file.cursor(&bytes)).map_err(|error| file.error(error, WHAT, address))?;
        let whole = match bytes.get(..start + len) {
            Some(whole) => whole.to_vec(),
            None => file.read(address, (start + len) as u64, WHAT)?,
        };
        // In the order in which HDF5 reads them, which is that of attributes.
        let mut waiting = VecDeque::new();
        header
            .add(file, &whole, start, form, &mut waiting)
            .map_err(|error| file.error(error, WHAT, address))?;
        let mut visited = BTreeSet::from([address]);
        let mut total = whole.len() as u64;
        while let Some((address, len)) = waiting.pop_front() {
            total = total.saturating_add(len);
            if !visited.insert(address) || total > MOST_BYTES {
                let error = "its continuations are a cycle, or longer than 64 MiB".into();
                return Err(file.error(error, WHAT, header.address));
            }
            const BLOCK: &str = "the continuation of an object header";
            let bytes = file.read(address, len, BLOCK)?;
            let start = if form.is_new { 4 } else { 0 };
            if form.is_new && bytes.get(..4) != Some(b"OCHK") {
                return Err(file.error("it has no signature".into(), BLOCK, address));
            }
            header
                .add(file, &bytes, start, form, &mut waiting)
                .map_err(|error| file.error(error, BLOCK, address))?;
        }
        Ok(header)
    }

    /// Adds the messages of a block.
    fn add(
        &mut self,
        file: &FileBytes,
        block: &[u8],
        start: usize,
        form: Form,
        waiting: &mut VecDeque<(u64, u64)>,
    ) -> Decoded<()> {
        let mut end = block.len();
        if form.is_new {
            decode::check_sum(block)?;
            end -= 4;
        }
        let prefix = if form.is_new { 4 + 2 * usize::from(form.has_order) } else { 8 };
        let mut cursor = file.cursor(block.get(start..end).unwrap_or_default());
        // What is too short for a message is a gap.
        while cursor.rest().len() >= prefix {
            let kind = if form.is_new { u16::from(cursor.u8()?) } else { cursor.u16()? };
            let len = usize::from(cursor.u16()?);
            let flags = cursor.u8()?;
            let mut order = None;
            match (form.is_new, form.has_order) {
                (false, _) => cursor.skip(3)?,
                (true, true) => order = Some(cursor.u16()?),
                (true, false) => {}
            }
            let body = cursor.take(len)?;
            if kind == 0 {
                continue;
            }
            if kind > LAST_KNOWN && flags & FAIL_ALWAYS != 0 {
                return Err(format!("its message of type {kind} is not known, but is needed").into());
            }
            if kind == CONTINUATION {
                let mut body = file.cursor(body);
                waiting.push_back((body.defined()?, body.length()?));
                continue;
            }
            self.messages.push(Message { kind, flags, order, body: body.to_vec() });
        }
        Ok(())
    }

    /// The bytes of all messages.
    pub(crate) fn len(&self) -> u64 {
        self.messages.iter().map(|message| message.body.len() as u64).sum()
    }

    /// The first message of this type.
    pub(crate) fn message(&self, kind: u16) -> Option<&Message> {
        self.messages.iter().find(|message| message.kind == kind)
    }

    /// All messages of this type.
    pub(crate) fn all(&self, kind: u16) -> impl Iterator<Item = &Message> {
        self.messages.iter().filter(move |message| message.kind == kind)
    }

    /// Whether the object is a dataset.
    pub(crate) fn is_dataset(&self) -> bool {
        self.message(LAYOUT).is_some() && self.message(DATATYPE).is_some()
    }

    /// Whether the object is a group.
    pub(crate) fn is_group(&self) -> bool {
        self.message(LINK_INFO).is_some() || self.message(SYMBOL_TABLE).is_some()
    }
}

/// Reads the start of a header: how its messages are encoded, where they begin, and how many bytes they have with
/// their checksum.
fn first_block(mut cursor: Cursor<'_>) -> Decoded<(Form, usize, usize)> {
    if cursor.rest().starts_with(b"OHDR") {
        cursor.signature(b"OHDR", 2)?;
        let flags = cursor.u8()?;
        if flags & 0x20 != 0 {
            cursor.skip(16)?;
        }
        if flags & 0x10 != 0 {
            cursor.skip(4)?;
        }
        let len = cursor.uint(1 << (flags & 3))?;
        let form = Form { is_new: true, has_order: flags & 0x04 != 0 };
        return Ok((form, cursor.position(), checked_len(len.saturating_add(4))?));
    }
    match cursor.u8()? {
        1 => {}
        version => return Err(format!("its version is {version}, known are 1 and 2").into()),
    }
    cursor.skip(7)?;
    let len = u64::from(cursor.u32()?);
    // The messages begin at a multiple of 8.
    cursor.skip(4)?;
    Ok((Form { is_new: false, has_order: false }, cursor.position(), checked_len(len)?))
}

fn checked_len(len: u64) -> Decoded<usize> {
    match usize::try_from(len) {
        Ok(small) if len <= MOST_BYTES => Ok(small),
        _ => Err(format!("it claims {len} bytes").into()),
    }
}
