//! Files that are not plugins any more: refused, without a crash.

use ncz_h5shim::{Error, Replace, Symbols, open_with_shim};

use crate::plugin::{DEBIAN_HDF5, debian};

#[test]
fn every_truncation_is_refused() {
    let Some(folder) = debian() else { return };
    let plugin = std::fs::read(folder.join("libh5lz4.so")).unwrap();
    let replace = Replace { needed: &[DEBIAN_HDF5], symbols: Symbols::Hdf5, load_first: &[] };
    // The loader does not use the bytes after the last segment.
    let end = last_segment_end(&plugin);
    for cut in 0..end {
        let error = open_with_shim(&plugin[..cut], &replace).unwrap_err();
        assert!(matches!(error, Error::Damaged(_)), "the first {cut} bytes: {error}");
    }
    assert!(open_with_shim(&plugin[..end], &replace).is_ok());
}

fn last_segment_end(plugin: &[u8]) -> usize {
    let word = |at: usize| u64::from_le_bytes(plugin[at..at + 8].try_into().unwrap()) as usize;
    let count = usize::from(u16::from_le_bytes([plugin[56], plugin[57]]));
    let segments = (0..count).map(|index| word(32) + index * 56);
    let loaded = segments.filter(|at| plugin[*at..at + 4] == [1, 0, 0, 0]);
    loaded.map(|at| word(at + 8) + word(at + 32)).max().unwrap()
}
