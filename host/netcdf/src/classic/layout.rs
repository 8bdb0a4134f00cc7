//! Where the elements of the variables are: computed from the lengths, never from the sizes in the header.

use ncz_model::product;

use super::header::{Entry, Header};

/// The bytes of a chunk into which a variable is split, as far as its lengths allow.
const CHUNK_BYTES: u64 = 4 << 20;

/// The position of a variable's elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// The position of the first element.
    pub(crate) begin: u64,
    /// The bytes from one index of a dimension to the next.
    pub(crate) steps: Vec<u64>,
    /// The lengths; the first is the number of records if the variable has records.
    pub(crate) shape: Vec<u64>,
    /// The lengths of a chunk, whose bytes follow each other.
    pub(crate) chunk_shape: Vec<u64>,
    /// The bytes of an element.
    pub(crate) element: u64,
    /// The position after the last element.
    pub(crate) end: u64,
}

/// A variable whose lengths do not fit 64 bits.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLong {
    /// The number of the variable.
    pub(super) variable: usize,
}

/// Returns the number of records and the layout of each variable, in a file of `file_len` bytes.
pub(super) fn layouts(header: &Header, file_len: u64) -> Result<(u64, Vec<Layout>), TooLong> {
    let sizes = sizes(header)?;
    let mut record_bytes = 0u64;
    for (variable, size) in sizes.iter().enumerate().filter(|(_, size)| size.has_records) {
        record_bytes = record_bytes.checked_add(size.padded).ok_or(TooLong { variable })?;
    }
    let records = header.records.unwrap_or_else(|| {
        let with_records = header.variables.iter().zip(&sizes).filter(|(_, size)| size.has_records);
        let first = with_records.map(|(entry, _)| entry.begin).min().unwrap_or(u64::MAX);
        file_len.saturating_sub(first).checked_div(record_bytes).unwrap_or(0)
    });
    let mut layouts = Vec::with_capacity(sizes.len());
    for (variable, (entry, size)) in header.variables.iter().zip(sizes).enumerate() {
        let layout = Layout::of(entry, size, records, record_bytes).ok_or(TooLong { variable })?;
        layouts.push(layout);
    }
    Ok((records, layouts))
}

/// The sizes of all variables.
pub(super) fn sizes(header: &Header) -> Result<Vec<Size>, TooLong> {
    let mut sizes = Vec::with_capacity(header.variables.len());
    for (variable, entry) in header.variables.iter().enumerate() {
        sizes.push(Size::of(header, entry).ok_or(TooLong { variable })?);
    }
    let mut of_records = sizes.iter_mut().filter(|size| size.has_records);
    // A single record variable is not padded.
    if let (Some(only), None) = (of_records.next(), of_records.next()) {
        only.padded = only.bytes;
    }
    Ok(sizes)
}

/// Places the variables one after the other from the byte `start` on, those with records last.
pub(super) fn set_begins(header: &mut Header, start: u64) -> Result<(), TooLong> {
    let sizes = sizes(header)?;
    let mut at = start.checked_next_multiple_of(4).ok_or(TooLong { variable: 0 })?;
    for has_records in [false, true] {
        for (variable, (entry, size)) in header.variables.iter_mut().zip(&sizes).enumerate() {
            if size.has_records == has_records {
                entry.begin = at;
                at = at.checked_add(size.padded).ok_or(TooLong { variable })?;
            }
        }
    }
    Ok(())
}

/// The size of a variable, or of one record of it.
pub(super) struct Size {
    pub(super) has_records: bool,
    /// Without the number of records.
    shape: Vec<u64>,
    element: u64,
    pub(super) bytes: u64,
    /// Rounded up to a multiple of four, where the file pads it.
    pub(super) padded: u64,
}

impl Size {
    fn of(header: &Header, entry: &Entry) -> Option<Self> {
        let lens = entry.dimensions.iter().filter_map(|number| header.dimensions.get(*number));
        let mut shape: Vec<u64> = lens.map(|dimension| dimension.len).collect();
        // Only the first dimension can be the record dimension.
        let has_records = shape.first() == Some(&0);
        if has_records {
            shape.remove(0);
        }
        let element = entry.nc_type.size()? as u64;
        let bytes = product(shape.iter().copied().chain([element]))?;
        Some(Self { has_records, shape, element, bytes, padded: bytes.checked_next_multiple_of(4)? })
    }
}

impl Layout {
    /// A block of elements from `begin` on, in row-major order; `None` if it does not fit 64 bits.
    pub(crate) fn block(begin: u64, shape: &[u64], element: u64) -> Option<Self> {
        let mut steps = vec![0; shape.len()];
        let mut step = element;
        for (len, to) in shape.iter().zip(&mut steps).rev() {
            *to = step;
            step = step.checked_mul(*len)?;
        }
        let chunk_shape = split(shape, element);
        Some(Self {
            begin,
            steps,
            shape: shape.to_vec(),
            chunk_shape,
            element,
            end: begin.checked_add(step)?,
        })
    }

    /// `None` if it does not fit 64 bits.
    fn of(entry: &Entry, size: Size, records: u64, record_bytes: u64) -> Option<Self> {
        let Size { has_records, mut shape, element, bytes, .. } = size;
        let mut steps = vec![0; shape.len()];
        let mut step = element;
        for (len, to) in shape.iter().zip(&mut steps).rev() {
            *to = step;
            step = step.checked_mul(*len)?;
        }
        let mut len = bytes;
        let mut chunk_shape;
        if has_records {
            chunk_shape = split(&shape, element);
            shape.insert(0, records);
            steps.insert(0, record_bytes);
            len = match records.checked_sub(1) {
                None => 0,
                Some(before) => before.checked_mul(record_bytes)?.checked_add(bytes)?,
            };
            if record_bytes == bytes {
                // Its records follow each other.
                chunk_shape = split(&shape, element);
            } else {
                chunk_shape.insert(0, 1);
            }
        } else {
            chunk_shape = split(&shape, element);
        }
        let end = entry.begin.checked_add(len)?;
        Some(Self { begin: entry.begin, steps, shape, chunk_shape, element, end })
    }

    /// The bytes of the chunk with these coordinates, cut at the end of the variable; `None` if there is no such chunk.
    pub(crate) fn range(&self, chunk: &[u64]) -> Option<std::ops::Range<u64>> {
        let (mut start, mut len) = (self.begin, self.element);
        let lens = self.shape.iter().zip(&self.chunk_shape).zip(&self.steps);
        for (index, ((shape, part), step)) in chunk.iter().zip(lens) {
            let first = index.checked_mul(*part).filter(|first| first < shape)?;
            start = start.checked_add(first.checked_mul(*step)?)?;
            len = len.checked_mul((shape - first).min(*part))?;
        }
        (chunk.len() == self.shape.len()).then_some(())?;
        Some(start..start.checked_add(len)?)
    }
}

/// Splits an array along its slowest dimensions into chunks of about [`CHUNK_BYTES`], whose bytes follow each other.
fn split(shape: &[u64], element: u64) -> Vec<u64> {
    let mut chunk = vec![1; shape.len()];
    let mut bytes = element.max(1);
    for (len, part) in shape.iter().zip(&mut chunk).rev() {
        let (len, room) = ((*len).max(1), (CHUNK_BYTES / bytes).max(1));
        if len > room {
            // Parts of equal lengths if there are some that are not much shorter.
            let parts = len.div_ceil(room);
            let equal = (parts..parts + 64).find(|parts| len.is_multiple_of(*parts));
            *part = equal.map_or(room, |parts| len / parts).max(1);
            break;
        }
        *part = len;
        bytes *= len;
    }
    chunk
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_split_along_their_slowest_dimensions() {
        assert_eq!(split(&[], 8), Vec::<u64>::new());
        assert_eq!(split(&[0, 3], 8), [1, 3]);
        assert_eq!(split(&[10, 3], 8), [10, 3]);
        // 8 MiB in each step of the first dimension.
        assert_eq!(split(&[5, 1024, 1024], 8), [1, 512, 1024]);
        assert_eq!(
            split(&[5, 1021, 1024], 8),
            [1, 512, 1024],
            "a prime length has a shorter part at its end"
        );
        assert_eq!(split(&[1 << 40], 1), [4 << 20]);
        assert_eq!(split(&[3, 1 << 40], 8), [1, 512 << 10]);
    }

    #[test]
    fn a_chunk_is_cut_at_the_end_of_the_variable() {
        let layout = Layout {
            begin: 100,
            steps: vec![50, 10, 2],
            shape: vec![3, 5, 5],
            chunk_shape: vec![1, 2, 5],
            element: 2,
            end: 250,
        };
        assert_eq!(layout.range(&[0, 0, 0]), Some(100..120));
        assert_eq!(layout.range(&[2, 2, 0]), Some(240..250));
        for beyond in [&[3, 0, 0][..], &[0, 3, 0], &[0, 0, 1], &[u64::MAX, 0, 0], &[0, 0]] {
            assert_eq!(layout.range(beyond), None);
        }
    }
}
