//! Blosc2's delta filter: the difference (exclusive or) to the chunk's first block, and in that one to the element
//! before (delta.c).

/// Decodes in place. `first` is the decoded first block; `None` if `block` is the first.
pub(crate) fn decode(typesize: u8, first: Option<&[u8]>, block: &mut [u8]) {
    let width = width(typesize);
    let end = block.len() / width * width;
    match first {
        Some(first) => xor(&mut block[..end], first),
        None => {
            for at in width..end {
                block[at] ^= block[at - width];
            }
        }
    }
}

/// Encodes `from`; `first` is the first block if `from` is another one.
pub(crate) fn encode(typesize: u8, first: Option<&[u8]>, from: &[u8], to: &mut [u8]) {
    let width = width(typesize);
    let end = from.len() / width * width;
    to.copy_from_slice(from);
    match first {
        Some(first) => xor(&mut to[..end], first),
        None if end > 0 => xor(&mut to[width..end], &from[..end - width]),
        None => {}
    }
}

fn xor(to: &mut [u8], with: &[u8]) {
    for (to, with) in to.iter_mut().zip(with) {
        *to ^= with;
    }
}

/// The bytes that count as an element.
fn width(typesize: u8) -> usize {
    match typesize {
        2 | 4 => typesize.into(),
        size if size % 8 == 0 && size > 0 => 8,
        _ => 1,
    }
}
