//! Little-endian numbers in a file that is not trusted.

/// Returns the `N` bytes at an offset; `None` past the end.
fn array<const N: usize>(data: &[u8], at: u64) -> Option<[u8; N]> {
    let at = usize::try_from(at).ok()?;
    data.get(at..at.checked_add(N)?)?.try_into().ok()
}

pub(super) fn u16_at(data: &[u8], at: u64) -> Option<u16> {
    array(data, at).map(u16::from_le_bytes)
}

pub(super) fn u32_at(data: &[u8], at: u64) -> Option<u32> {
    array(data, at).map(u32::from_le_bytes)
}

pub(super) fn u64_at(data: &[u8], at: u64) -> Option<u64> {
    array(data, at).map(u64::from_le_bytes)
}

/// Overwrites the bytes at an offset; `None`, without writing, past the end.
pub(super) fn put(data: &mut [u8], at: u64, bytes: &[u8]) -> Option<()> {
    let at = usize::try_from(at).ok()?;
    data.get_mut(at..at.checked_add(bytes.len())?)?.copy_from_slice(bytes);
    Some(())
}
