//! What is refused before data are written, and how strings are laid out.

use std::cell::Cell;
use std::io::Cursor;

use ncz_model::{Attribute, Dtype, Hierarchy, NcType, Storage, Strings, Value, Variable, VariableBuilder};
use ncz_netcdf::hdf5_write::{Assembler, Hdf5WriteError, HeapPart, StoredChunk, StringHeap, check};

use super::netcdf4;

fn refused(change: impl FnOnce(&mut Hierarchy)) -> String {
    let mut hierarchy = netcdf4();
    hierarchy.add_dimension("/", "t", 4, true).unwrap();
    hierarchy
        .add_variable("/", VariableBuilder::new("v", NcType::Int).dimensions(["t"]).chunks([2]))
        .unwrap();
    check(&hierarchy).unwrap();
    change(&mut hierarchy);
    check(&hierarchy).unwrap_err().to_string()
}

#[test]
fn what_hdf5_cannot_hold_is_refused_before_data_are_written() {
    let variable = |hierarchy: &mut Hierarchy, change: fn(&mut Variable)| {
        change(&mut hierarchy.root.variables[0]);
    };
    let long = refused(|dataset| variable(dataset, |v| v.chunk_shape = vec![1 << 30]));
    assert!(long.contains("less than 4 GiB"), "{long}");
    let slash = refused(|dataset| variable(dataset, |v| v.name = "a/b".to_owned()));
    assert!(slash.contains("slash"), "{slash}");
    let nul = refused(|dataset| dataset.root.attributes.push(Attribute::new("a\0b", "text")));
    assert!(nul.contains("NUL"), "{nul}");
    let text = refused(|dataset| dataset.root.attributes.push(Attribute::new("a", Value::strings(["a\0b"]))));
    assert!(text.contains("NUL at byte 1"), "{text}");
    let reserved = refused(|dataset| dataset.root.attributes.push(Attribute::new("CLASS", "text")));
    assert!(reserved.contains("reserves"), "{reserved}");
    let twice = refused(|dataset| {
        let first = dataset.root.variables[0].clone();
        dataset.root.variables.push(first);
    });
    assert!(twice.contains("in use"), "{twice}");
    let block = refused(|dataset| variable(dataset, |v| v.storage = Storage::Contiguous));
    assert!(block.contains("unlimited"), "{block}");
    let many = refused(|dataset| {
        let attributes = (0..65_535).map(|number| Attribute::new(format!("a{number}"), "text"));
        dataset.root.attributes.extend(attributes);
    });
    assert!(many.contains("at most 65534"), "{many}");
    let dtype = refused(|dataset| variable(dataset, |v| v.dtype = Dtype::parse("<M8[ns]").unwrap()));
    assert!(dtype.contains("<M8[ns]"), "{dtype}");
    let filter = refused(|dataset| {
        variable(dataset, |v| v.filters = vec![serde_json::json!({"id": "zlib", "level": 1}).into()]);
    });
    assert!(filter.contains("zlib"), "{filter}");
    let dimensions = refused(|dataset| {
        let first = dataset.root.variables[0].dimensions[0].clone();
        let variable = &mut dataset.root.variables[0];
        variable.dimensions = vec![first; 33];
        (variable.shape, variable.chunk_shape) = (vec![4; 33], vec![1; 33]);
    });
    assert!(dimensions.contains("at most 32"), "{dimensions}");
}

#[test]
fn chunks_that_do_not_fit_their_variable_are_refused() {
    let write = |chunks: &[(u64, u64, u32)]| {
        let mut hierarchy = netcdf4();
        hierarchy.add_dimension("/", "t", 4, true).unwrap();
        let variable = VariableBuilder::new("v", NcType::Int).dimensions(["t"]).chunks([2]);
        hierarchy.add_variable("/", variable).unwrap();
        let mut file = Assembler::new(&hierarchy, Cursor::new(Vec::new()), 100).unwrap();
        let chunks = chunks.iter().map(|(at, len, filter_mask)| StoredChunk {
            index: [*at],
            offset: 48,
            len: *len,
            filter_mask: *filter_mask,
        });
        file.chunks("/v", chunks).map(|()| file.finish().map(|_| ())).map_err(|error| error.to_string())
    };
    assert!(write(&[(0, 8, 0), (1, 8, 0)]).unwrap().is_ok());
    for (chunks, text) in [
        (vec![(0, 7, 0)], "must have 8"),
        (vec![(2, 8, 0)], "outside"),
        (vec![(1, 8, 0), (0, 8, 0)], "come after"),
        (vec![(1, 8, 0), (1, 8, 0)], "come after"),
        (vec![(1, 8, 1)], "filter mask"),
    ] {
        let error = write(&chunks).unwrap_err();
        assert!(error.contains(text), "{error}");
    }
}

#[test]
fn a_string_with_a_nul_is_refused_and_empty_ones_share_an_object() {
    let reserve = |_| 4096;
    let pack = |strings: &Strings| {
        let mut heap = StringHeap::default();
        let mut parts = heap.add(strings, 48, &reserve)?;
        parts.extend(heap.finish(&reserve));
        Ok::<_, Hdf5WriteError>(parts)
    };
    let lens = |parts: &[HeapPart]| parts.iter().map(|(_, bytes)| bytes.len()).collect::<Vec<_>>();
    let error = pack(&["a", "b\0c"].iter().collect()).unwrap_err();
    assert!(error.to_string().contains("string 1"), "{error}");
    let empty = pack(&std::iter::repeat_n("", 100_000).collect()).unwrap();
    assert_eq!(lens(&empty), [4096, 1_600_000]);
    assert_eq!(empty[1].0, 48);
    let long = pack(&["x".repeat(100_000), "y".to_owned()].iter().collect()).unwrap();
    assert!(lens(&long).iter().sum::<usize>() < 100_000 + 2 * 4096 + 64);
}

#[test]
fn chunks_share_collections_of_strings() {
    const FIRST: u64 = 100_000;
    let end = Cell::new(FIRST);
    let reserve = |len: u64| end.replace(end.get() + len);
    let mut heap = StringHeap::default();
    let mut parts = Vec::new();
    for chunk in 0..3000 {
        let strings: Strings = [format!("string {chunk}"), String::new()].iter().collect();
        parts.extend(heap.add(&strings, chunk * 32, &reserve).unwrap());
    }
    parts.extend(heap.finish(&reserve));
    let (collections, chunks): (Vec<_>, Vec<_>) = parts.into_iter().partition(|(at, _)| *at >= FIRST);
    assert_eq!((collections.len(), chunks.len()), (2, 3000));
    for (_, chunk) in chunks {
        for reference in chunk.chunks_exact(16) {
            let address = u64::from_le_bytes(reference[4..12].try_into().unwrap());
            assert!(collections.iter().any(|(at, _)| *at == address), "{address}");
        }
    }
}
