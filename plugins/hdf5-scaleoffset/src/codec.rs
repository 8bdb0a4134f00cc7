use ncz_codec::{ByteOrder, CodecError, Coder, Result};
use ncz_packed_bits::{Reader, Writer};

use crate::number::Number;
use crate::params::{Params, Scale, mask};

/// Bytes before the numbers: their width in 4 bytes, the length of the least in 1, the least in 8, and 8 unused bytes;
/// least significant byte first.
const HEADER: usize = 21;
/// The length of the least number in bytes.
const LEAST: usize = 8;

/// Encodes and decodes the chunks of HDF5's scaleoffset filter.
#[derive(Debug, Clone, Copy)]
pub struct ScaleOffsetCoder {
    params: Params,
}

/// The encoding of the numbers of a chunk.
#[derive(Debug, Clone, Copy)]
struct Plan {
    /// Bits of a number; all of them for numbers that are written as they are.
    width: u32,
    /// The bits of the least number.
    least: u64,
}

/// The header of a stream, and the numbers.
struct Stream<'a> {
    plan: Plan,
    numbers: &'a [u8],
}

impl ScaleOffsetCoder {
    pub(crate) fn new(params: Params) -> Self {
        Self { params }
    }

    /// Whether the stream is the data themselves, because all bits of integers are requested.
    fn copies(&self) -> bool {
        self.params.scale == Scale::Bits(self.params.width())
    }

    /// The length of numbers of `width` bits: one byte more than needed if they end with a byte. HDF5 has it so.
    fn packed_len(&self, width: u32) -> usize {
        if width == self.params.width() {
            return self.params.len();
        }
        (self.params.count as u128 * u128::from(width) / 8 + 1) as usize
    }

    fn split<'a>(&self, input: &'a [u8]) -> Result<Stream<'a>> {
        let (header, numbers) = input.split_first_chunk::<HEADER>().ok_or_else(|| {
            CodecError::truncated(format!("the header of {HEADER} bytes is cut to {}", input.len()))
        })?;
        let [w0, w1, w2, w3, length, least @ ..] = header;
        let width = u32::from_le_bytes([*w0, *w1, *w2, *w3]);
        if width > self.params.width() {
            return Err(CodecError::corrupt(format!(
                "its numbers have {width} bits, those of the type have {}",
                self.params.width()
            )));
        }
        let length = usize::from(*length).min(LEAST);
        let least = least[..length].iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
        let wanted = self.packed_len(width);
        if numbers.len() < wanted {
            return Err(CodecError::truncated(format!(
                "{} numbers of {width} bits need {wanted} bytes, {} are there",
                self.params.count,
                numbers.len()
            )));
        }
        match numbers.len() - wanted {
            0 => Ok(Stream { plan: Plan { width, least }, numbers }),
            extra => Err(CodecError::trailing(extra)),
        }
    }

    /// The length of what has to come and go.
    fn check_len(&self, input: &[u8]) -> Result<()> {
        if input.len() == self.params.len() {
            return Ok(());
        }
        Err(CodecError::size(self.params.len(), input.len(), "of a chunk for scaleoffset"))
    }
}

impl Coder for ScaleOffsetCoder {
    type Scratch = ();

    fn scratch(&self) {}

    fn max_encoded_len(&self, len: usize) -> Option<usize> {
        len.checked_add(HEADER + 1)
    }

    fn encode(&self, _scratch: &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        self.check_len(input)?;
        let full = || CodecError::output_full(self.max_encoded_len(input.len()));
        if self.copies() {
            output.get_mut(..input.len()).ok_or_else(full)?.copy_from_slice(input);
            return Ok(input.len());
        }
        let (plan, written) = match (self.params.scale, self.params.size) {
            (Scale::Digits(digits), 4) => pack_floats::<f32, 4>(&self.params, digits, input, output),
            (Scale::Digits(digits), _) => pack_floats::<f64, 8>(&self.params, digits, input, output),
            (Scale::Bits(bits), 1) => pack_integers::<1>(&self.params, bits, input, output),
            (Scale::Bits(bits), 2) => pack_integers::<2>(&self.params, bits, input, output),
            (Scale::Bits(bits), 4) => pack_integers::<4>(&self.params, bits, input, output),
            (Scale::Bits(bits), _) => pack_integers::<8>(&self.params, bits, input, output),
        }
        .ok_or_else(full)?;
        // The byte that is not needed is zero.
        let len = HEADER + self.packed_len(plan.width);
        output.get_mut(HEADER + written..len).ok_or_else(full)?.fill(0);
        let header = &mut output[..HEADER];
        header.fill(0);
        header[..4].copy_from_slice(&plan.width.to_le_bytes());
        header[4] = LEAST as u8;
        header[5..5 + LEAST].copy_from_slice(&plan.least.to_le_bytes());
        Ok(len)
    }

    fn decode(&self, _scratch: &mut (), input: &[u8], output: &mut [u8]) -> Result<usize> {
        let len = self.params.len();
        if self.copies() {
            self.check_len(input)?;
        }
        let output = output.get_mut(..len).ok_or_else(|| CodecError::output_full(Some(len)))?;
        if self.copies() {
            output.copy_from_slice(input);
            return Ok(len);
        }
        let stream = self.split(input)?;
        match (self.params.scale, self.params.size) {
            (Scale::Digits(digits), 4) => unpack_floats::<f32, 4>(&self.params, digits, &stream, output),
            (Scale::Digits(digits), _) => unpack_floats::<f64, 8>(&self.params, digits, &stream, output),
            (Scale::Bits(_), 1) => unpack_integers::<1>(&self.params, &stream, output),
            (Scale::Bits(_), 2) => unpack_integers::<2>(&self.params, &stream, output),
            (Scale::Bits(_), 4) => unpack_integers::<4>(&self.params, &stream, output),
            (Scale::Bits(_), _) => unpack_integers::<8>(&self.params, &stream, output),
        }
        Ok(len)
    }

    fn decoded_len(&self, input: &[u8]) -> Result<Option<usize>> {
        if self.copies() {
            self.check_len(input)?;
        } else {
            self.split(input)?;
        }
        Ok(Some(self.params.len()))
    }
}

/// Writes integers after the room for the header; returns how, and the length.
fn pack_integers<const N: usize>(
    params: &Params,
    bits: u32,
    input: &[u8],
    output: &mut [u8],
) -> Option<(Plan, usize)> {
    let all = mask(params.width());
    // With the sign turned, signed numbers have the order of unsigned ones.
    let sign = if params.signed { 1 << (params.width() - 1) } else { 0 };
    let numbers = || elements::<N>(input, params.order);
    let others = || numbers().filter(|&number| Some(number) != params.fill).map(|number| number ^ sign);
    let least = others().min().unwrap_or(sign);
    let width = match bits {
        0 => {
            let span = others().max().unwrap_or(sign) - least;
            // Two values are kept off: one that marks the fill value, and one because HDF5 does.
            if span > all - 2 { None } else { Some(ceil_log2(span + 1 + u64::from(params.fill.is_some()))) }
        }
        given => Some(given),
    };
    let plan = match width {
        Some(width) => {
            let least = least ^ sign;
            let extended = if least & sign != 0 { least | !all } else { least };
            Plan { width, least: extended }
        }
        None => Plan { width: params.width(), least: 0 },
    };
    let room = output.get_mut(HEADER..)?;
    if plan.width == params.width() {
        return Some((plan, copy::<N>(input, params.order, room)?));
    }
    let mark = mask(plan.width);
    let mut writer = Writer::new(room);
    for number in numbers() {
        let value = if Some(number) == params.fill { mark } else { (number ^ sign).wrapping_sub(least) };
        writer.put(value, plan.width)?;
    }
    Some((plan, writer.finish()?))
}

fn unpack_integers<const N: usize>(params: &Params, stream: &Stream<'_>, output: &mut [u8]) {
    let Plan { width, least } = stream.plan;
    if width == params.width() {
        copy::<N>(stream.numbers, params.order, output);
        return;
    }
    let mark = mask(width);
    unpack::<N>(params, stream, output, |value| match params.fill {
        Some(fill) if value == mark => fill,
        _ => value.wrapping_add(least),
    });
}

/// Writes floating-point numbers after the room for the header; returns how, and the length.
fn pack_floats<F: Number, const N: usize>(
    params: &Params,
    digits: i32,
    input: &[u8],
    output: &mut [u8],
) -> Option<(Plan, usize)> {
    let numbers = || elements::<N>(input, params.order).map(F::of_bits);
    let fill = params.fill.map(F::of_bits);
    let room = output.get_mut(HEADER..)?;
    let power = F::power(digits.into());
    let others = || numbers().filter(|number| fill.is_none_or(|fill| !number.is_near(fill, digits)));
    let first = others().next().unwrap_or(F::of_bits(0));
    let least = others().fold(first, |least, number| if number < least { number } else { least });
    let most = others().fold(first, |most, number| if number > most { number } else { most });
    let span = most.above(least, power);
    // For NaN and infinite numbers HDF5 writes a stream that it cannot read.
    let whole = span.is_too_large() || !span.is_finite() || !numbers().all(F::is_finite);
    let width = ceil_log2((span.rounded() as u64).wrapping_add(1 + u64::from(fill.is_some())));
    if whole || width >= params.width() {
        let least = if whole { 0 } else { least.bits() };
        return Some((Plan { width: params.width(), least }, copy::<N>(input, params.order, room)?));
    }
    let mark = mask(width);
    let mut writer = Writer::new(room);
    for number in numbers() {
        let value = match fill {
            Some(fill) if number.is_same(fill, digits) => mark,
            _ => number.above(least, power).rounded() as u64,
        };
        writer.put(value, width)?;
    }
    Some((Plan { width, least: least.bits() }, writer.finish()?))
}

fn unpack_floats<F: Number, const N: usize>(
    params: &Params,
    digits: i32,
    stream: &Stream<'_>,
    output: &mut [u8],
) {
    let Plan { width, least } = stream.plan;
    if width == params.width() {
        copy::<N>(stream.numbers, params.order, output);
        return;
    }
    let (least, power, mark) = (F::of_bits(least), F::power(digits.into()), mask(width));
    unpack::<N>(params, stream, output, |value| match params.fill {
        Some(fill) if value == mark => fill,
        _ => F::at(value, least, power).bits(),
    });
}

/// Reads numbers of the width that the stream states, whose presence is already checked, and writes the result of
/// `element` for each.
fn unpack<const N: usize>(
    params: &Params,
    stream: &Stream<'_>,
    output: &mut [u8],
    element: impl Fn(u64) -> u64,
) {
    let mut reader = Reader::new(stream.numbers);
    let (elements, _) = output.as_chunks_mut::<N>();
    for to in elements {
        let value = element(reader.take(stream.plan.width).unwrap_or(0));
        *to = bytes(value, params.order);
    }
}

/// The bits of each element.
fn elements<const N: usize>(input: &[u8], order: ByteOrder) -> impl Iterator<Item = u64> {
    let (elements, _) = input.as_chunks::<N>();
    elements.iter().map(move |element| {
        let mut word = [0; 8];
        word[..N].copy_from_slice(element);
        if order == ByteOrder::Big {
            word[..N].reverse();
        }
        u64::from_le_bytes(word)
    })
}

/// The bytes of an element.
fn bytes<const N: usize>(bits: u64, order: ByteOrder) -> [u8; N] {
    let word = bits.to_le_bytes();
    std::array::from_fn(|at| word[if order == ByteOrder::Big { N - 1 - at } else { at }])
}

/// Copies elements, least significant byte first on one side and in `order` on the other; returns the length.
fn copy<const N: usize>(from: &[u8], order: ByteOrder, to: &mut [u8]) -> Option<usize> {
    let to = to.get_mut(..from.len())?;
    to.copy_from_slice(from);
    if order == ByteOrder::Big {
        to.as_chunks_mut::<N>().0.iter_mut().for_each(|element| element.reverse());
    }
    Some(to.len())
}

/// The least power of two that is not less than `number`.
fn ceil_log2(number: u64) -> u32 {
    match number {
        0 => 1,
        number => number.ilog2() + u32::from(!number.is_power_of_two()),
    }
}
