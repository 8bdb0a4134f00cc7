//! Copies of boxes of elements between two layouts.

/// Where the elements of a box are in memory: the offset of the first, the elements along each dimension and the bytes
/// between neighbours.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layout {
    pub(crate) offset: isize,
    pub(crate) counts: Vec<usize>,
    pub(crate) strides: Vec<isize>,
}

/// Bytes that follow each other in both layouts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    /// The offset in the first layout.
    pub(crate) from: isize,
    /// The offset in the second.
    pub(crate) to: isize,
    /// The number of bytes.
    pub(crate) len: usize,
}

impl Layout {
    /// The bytes of the box, if its elements lie in C order without gaps.
    pub(crate) fn contiguous_len(&self, element: usize) -> Option<usize> {
        let mut len = element;
        for (&count, &stride) in self.counts.iter().zip(&self.strides).rev() {
            if count != 1 && usize::try_from(stride).ok() != Some(len) {
                return None;
            }
            len = len.checked_mul(count)?;
        }
        Some(len)
    }
}

/// Visits the elements of a box that has the counts of `to`, in C order, in runs that are as long as both layouts allow.
pub(crate) fn each_run(from: &Layout, to: &Layout, element: usize, visit: &mut impl FnMut(Run)) {
    let mut len = element;
    let mut outer = to.counts.len();
    while outer > 0 {
        let (count, steps) = (to.counts[outer - 1], (from.strides[outer - 1], to.strides[outer - 1]));
        let follows =
            usize::try_from(steps.0).ok() == Some(len) && usize::try_from(steps.1).ok() == Some(len);
        if count != 1 && !follows {
            break;
        }
        len *= count;
        outer -= 1;
    }
    if len == 0 {
        return;
    }
    let walk = Walk { counts: &to.counts[..outer], from: &from.strides, to: &to.strides, len };
    walk.each(from.offset, to.offset, visit);
}

struct Walk<'a> {
    counts: &'a [usize],
    from: &'a [isize],
    to: &'a [isize],
    len: usize,
}

impl Walk<'_> {
    fn each(&self, mut from: isize, mut to: isize, visit: &mut impl FnMut(Run)) {
        let [count, counts @ ..] = self.counts else {
            return visit(Run { from, to, len: self.len });
        };
        let inner = Walk { counts, from: &self.from[1..], to: &self.to[1..], len: self.len };
        for _ in 0..*count {
            if counts.is_empty() {
                visit(Run { from, to, len: self.len });
            } else {
                inner.each(from, to, visit);
            }
            from += self.from[0];
            to += self.to[0];
        }
    }
}

/// Reverses the bytes of each unit of `unit` bytes.
pub(crate) fn swap_bytes(buffer: &mut [u8], unit: usize) {
    fn swap<const N: usize>(buffer: &mut [u8]) {
        buffer.as_chunks_mut::<N>().0.iter_mut().for_each(|unit| unit.reverse());
    }
    match unit {
        0 | 1 => {}
        2 => swap::<2>(buffer),
        4 => swap::<4>(buffer),
        8 => swap::<8>(buffer),
        _ => buffer.chunks_exact_mut(unit).for_each(<[u8]>::reverse),
    }
}

/// Fills a buffer with copies of one element.
pub(crate) fn fill(buffer: &mut [u8], element: &[u8]) {
    match element {
        [] => {}
        [first, rest @ ..] if rest.iter().all(|byte| byte == first) => buffer.fill(*first),
        _ => buffer.chunks_exact_mut(element.len()).for_each(|to| to.copy_from_slice(element)),
    }
}

/// Whether a buffer holds nothing but copies of one element.
pub(crate) fn is_filled(buffer: &[u8], element: &[u8]) -> bool {
    match element {
        [] => false,
        // Each byte equals the one an element before: one comparison of memory.
        _ => buffer.starts_with(element) && buffer[element.len()..] == buffer[..buffer.len() - element.len()],
    }
}
