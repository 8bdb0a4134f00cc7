//! The words of HDF5's filter that describe an element: a number of some bits, bytes, an array of these, a compound.

use ncz_codec::{ByteOrder, CodecError, Result};
use ncz_packed_bits::{Reader, Writer};

/// The kinds of elements that the words describe.
const ATOMIC: u32 = 1;
const ARRAY: u32 = 2;
const COMPOUND: u32 = 3;
const BYTES: u32 = 4;
/// Elements within elements are not deeper than this.
const DEPTH: usize = 64;

/// An element, or a part of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tree {
    /// Its bytes.
    pub(crate) size: usize,
    /// The bits that are kept of it.
    pub(crate) bits: u64,
    node: Node,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    /// A number of which `bits` are kept, from bit `offset` on.
    Number { order: ByteOrder, offset: u32 },
    /// Bytes that are kept.
    Bytes,
    /// The same after each other.
    Array(Box<Tree>),
    /// Parts with the bytes before them.
    Compound(Vec<(usize, Tree)>),
}

impl Tree {
    /// Reads a whole list of words.
    pub(crate) fn parse(words: &[u32]) -> Result<Self> {
        let mut rest = words;
        let tree = Self::part(&mut rest, DEPTH)?;
        match rest.len() {
            0 => Ok(tree),
            more => Err(wrong(format!("{more} words follow those of the element"))),
        }
    }

    fn part(words: &mut &[u32], depth: usize) -> Result<Self> {
        let depth = depth.checked_sub(1).ok_or_else(|| wrong("elements are too deep within each other"))?;
        let mut word = || {
            let (&word, rest) =
                words.split_first().ok_or_else(|| wrong("the words of the element are cut"))?;
            *words = rest;
            Ok(word)
        };
        let (class, size) = (word()?, word()? as usize);
        if size == 0 {
            return Err(wrong("a part of the element has no bytes"));
        }
        match class {
            ATOMIC => {
                let (order, precision, offset) = (word()?, word()?, word()?);
                let order = match order {
                    0 => ByteOrder::Little,
                    1 => ByteOrder::Big,
                    other => return Err(wrong(format!("{other} is not a byte order"))),
                };
                if precision == 0 || u64::from(precision) + u64::from(offset) > 8 * size as u64 {
                    return Err(wrong(format!(
                        "{precision} bits from bit {offset} on are none of a number of {size} bytes"
                    )));
                }
                Ok(Self { size, bits: precision.into(), node: Node::Number { order, offset } })
            }
            BYTES => Ok(Self { size, bits: 8 * size as u64, node: Node::Bytes }),
            ARRAY => {
                let base = Self::part(words, depth)?;
                if !size.is_multiple_of(base.size) {
                    return Err(wrong(format!(
                        "an array of {size} bytes has no whole number of parts of {}",
                        base.size
                    )));
                }
                // No part keeps more bits than it has, so this is at most 2^35.
                let bits = (size / base.size) as u64 * base.bits;
                Ok(Self { size, bits, node: Node::Array(Box::new(base)) })
            }
            COMPOUND => {
                let count = word()?;
                let mut members: Vec<(usize, Self)> = Vec::new();
                let (mut bits, mut used) = (0, 0);
                for _ in 0..count {
                    if members.last().is_some_and(|(_, member)| member.misleads_hdf5()) {
                        return Err(CodecError::unsupported(
                            "HDF5 spoils members of a compound after an array of arrays or of compounds as it writes \
                             them with nbit; take another filter for such data",
                        ));
                    }
                    let (&offset, rest) =
                        words.split_first().ok_or_else(|| wrong("the words of the element are cut"))?;
                    *words = rest;
                    let offset = offset as usize;
                    let member = Self::part(words, depth)?;
                    used += member.size as u64;
                    if offset as u64 + member.size as u64 > size as u64 || used > size as u64 {
                        return Err(wrong(format!(
                            "a member of {} bytes at {offset} has no room in a compound of {size}",
                            member.size
                        )));
                    }
                    bits += member.bits;
                    members.push((offset, member));
                }
                Ok(Self { size, bits, node: Node::Compound(members) })
            }
            other => Err(wrong(format!("{other} is not a class of elements"))),
        }
    }

    /// Whether HDF5, which reads the words again for each element, is at the wrong word after this part: after an array
    /// whose parts have words, it returns to the first of these.
    fn misleads_hdf5(&self) -> bool {
        match &self.node {
            Node::Number { .. } | Node::Bytes => false,
            Node::Array(base) => matches!(base.node, Node::Array(_) | Node::Compound(_)),
            Node::Compound(members) => members.last().is_some_and(|(_, member)| member.misleads_hdf5()),
        }
    }

    /// Writes what is kept of `element`, which has its size.
    pub(crate) fn pack(&self, element: &[u8], writer: &mut Writer<'_>) -> Option<()> {
        match &self.node {
            Node::Number { order, offset } => match element.len() {
                ..=8 => {
                    let value = number(element, *order);
                    writer.put(value >> offset, self.bits as u32)
                }
                _ => self
                    .places(*order, *offset)
                    .try_for_each(|(at, shift, width)| writer.put(u64::from(element[at] >> shift), width)),
            },
            Node::Bytes => element.iter().try_for_each(|&byte| writer.put(byte.into(), 8)),
            Node::Array(base) => element.chunks_exact(base.size).try_for_each(|part| base.pack(part, writer)),
            Node::Compound(members) => members
                .iter()
                .try_for_each(|(at, member)| member.pack(&element[*at..][..member.size], writer)),
        }
    }

    /// Puts what was kept into `element`, which has its size and is zero.
    pub(crate) fn unpack(&self, reader: &mut Reader<'_>, element: &mut [u8]) -> Option<()> {
        match &self.node {
            Node::Number { order, offset } => match element.len() {
                size @ ..=8 => {
                    let bytes = (reader.take(self.bits as u32)? << offset).to_le_bytes();
                    element.copy_from_slice(&bytes[..size]);
                    if *order == ByteOrder::Big {
                        element.reverse();
                    }
                }
                _ => {
                    for (at, shift, width) in self.places(*order, *offset) {
                        element[at] = (reader.take(width)? << shift) as u8;
                    }
                }
            },
            Node::Bytes => {
                for byte in element {
                    *byte = reader.take(8)? as u8;
                }
            }
            Node::Array(base) => {
                for part in element.chunks_exact_mut(base.size) {
                    base.unpack(reader, part)?;
                }
            }
            Node::Compound(members) => {
                for (at, member) in members {
                    member.unpack(reader, &mut element[*at..][..member.size])?;
                }
            }
        }
        Some(())
    }

    /// The bytes of a number that hold bits to keep, the most significant first: offset, first bit, and number of
    /// bits.
    fn places(&self, order: ByteOrder, offset: u32) -> impl Iterator<Item = (usize, u32, u32)> {
        let (first, end) = (u64::from(offset), u64::from(offset) + self.bits);
        let size = self.size;
        (first / 8..end.div_ceil(8)).rev().map(move |byte| {
            let (low, high) = (first.max(8 * byte), end.min(8 * byte + 8));
            let at = match order {
                ByteOrder::Little => byte as usize,
                ByteOrder::Big => size - 1 - byte as usize,
            };
            (at, (low - 8 * byte) as u32, (high - low) as u32)
        })
    }
}

/// The number in at most 8 bytes.
fn number(bytes: &[u8], order: ByteOrder) -> u64 {
    let push = |value, &byte| value << 8 | u64::from(byte);
    match order {
        ByteOrder::Little => bytes.iter().rev().fold(0, push),
        ByteOrder::Big => bytes.iter().fold(0, push),
    }
}

fn wrong(what: impl Into<String>) -> CodecError {
    CodecError::config("cd_values", what)
}
