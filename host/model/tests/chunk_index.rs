//! Chunks that are not objects: ranges of one object, bytes in the index, filters that were skipped.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that fails panics")]

use std::sync::Arc;

use ncz_model::{
    Array, ChunkError, ChunkIndex, ChunkLocation, Container, DataError, Elements, Extent, Format, Hierarchy,
    LossyGuard, NcType, Pool, Session, Slab, Value, Variable, VariableBuilder,
};
use ncz_registry::Registry;
use ncz_registry::chain::FilterChain;
use ncz_registry::spec::ChainSpec;
use ncz_store::{Key, MemoryStore, Store, WriteMode};

const PACKED: &str = "packed";

/// A dataset whose chunks are in sequence in one object, as in a netCDF file.
#[derive(Debug)]
struct Packed {
    store: Arc<dyn Store>,
    hierarchy: Hierarchy,
    session: Session,
    chunks: Vec<ChunkLocation>,
}

#[derive(Debug)]
struct PackedIndex(Vec<ChunkLocation>);

impl ChunkIndex for PackedIndex {
    fn locate(&self, object: &[u64], location: &mut ChunkLocation) -> Result<(), ChunkError> {
        self.0[object[0] as usize].clone_into(location);
        Ok(())
    }

    fn object_index(&self, _: &str) -> Option<Vec<u64>> {
        None
    }

    fn prefix(&self) -> &str {
        ""
    }
}

impl Container for Packed {
    fn hierarchy(&self) -> &Hierarchy {
        &self.hierarchy
    }

    fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    fn session(&self) -> &Session {
        &self.session
    }

    fn chain(&self, variable: &Variable) -> Result<FilterChain, DataError> {
        self.session.bind(variable, self.hierarchy.format, &ChainSpec::default())
    }

    fn chunks(&self, _: &Variable) -> Result<Arc<dyn ChunkIndex>, DataError> {
        Ok(Arc::new(PackedIndex(self.chunks.clone())))
    }
}

/// Ten numbers in chunks of four: the first at an offset, the second in the index, the third never written.
fn packed() -> Packed {
    let mut hierarchy = Hierarchy::new(Format::NCZARR);
    hierarchy.add_dimension("/", "x", 10, false).unwrap();
    let variable = VariableBuilder::new("v", NcType::Short)
        .dimensions(["x"])
        .chunks([4])
        .fill(ncz_model::NewFill::Value(Value::from(-1i16)));
    hierarchy.add_variable("/", variable).unwrap();
    let bytes = |values: [i16; 4]| values.map(i16::to_le_bytes).concat();
    let store = MemoryStore::new("memory");
    let object = [b"head".to_vec(), bytes([1, 2, 3, 4]), b"tail".to_vec()].concat();
    store.write(Key::parse(PACKED).unwrap(), &object, WriteMode::Replace).unwrap();
    let location = |extent| ChunkLocation { key: PACKED.to_owned(), extent, filter_mask: 0 };
    let session = Session::new(Arc::new(Registry::builder().no_plugins(true).build()), Pool::serial());
    assert_eq!(session.lossy_guard, LossyGuard::Off);
    Packed {
        store: Arc::new(store),
        hierarchy,
        session,
        chunks: vec![
            location(Extent::Range(4..12)),
            location(Extent::Inline(bytes([5, 6, 7, 8]).into())),
            location(Extent::Missing),
        ],
    }
}

fn shorts(array: &Array, slab: &Slab) -> Result<Vec<i16>, DataError> {
    let mut bytes = vec![0; slab.elements().unwrap() as usize * 2];
    array.read_bytes(slab, Elements::Native, &mut bytes)?;
    Ok(bytes.as_chunks().0.iter().map(|bytes| i16::from_ne_bytes(*bytes)).collect())
}

#[test]
fn a_slab_is_read_from_ranges_from_the_index_and_from_fill() {
    let array = packed().array("/v").unwrap();
    assert_eq!(shorts(&array, &Slab::whole(&[10])).unwrap(), [1, 2, 3, 4, 5, 6, 7, 8, -1, -1]);
    assert_eq!(shorts(&array, &Slab::new([2], [4])).unwrap(), [3, 4, 5, 6]);
    let every_third = Slab::new([0], [4]).with_stride([3]);
    assert_eq!(shorts(&array, &every_third).unwrap(), [1, 4, 7, -1]);
}

#[test]
fn each_chunk_has_a_location() {
    let array = packed().array("/v").unwrap();
    let mut worker = array.worker();
    assert_eq!(array.locate(&mut worker, &[0]).unwrap().extent, Extent::Range(4..12));
    assert_eq!(array.locate(&mut worker, &[2]).unwrap().extent, Extent::Missing);
    assert!(array.locate(&mut worker, &[3]).is_err());
}

#[test]
fn a_range_that_the_object_does_not_have_is_an_error_that_names_the_chunk() {
    let mut dataset = packed();
    dataset.chunks[0].extent = Extent::Range(12..20);
    let error = shorts(&dataset.array("/v").unwrap(), &Slab::new([0], [1])).unwrap_err();
    let DataError::Chunk { variable, source, .. } = error else { panic!("{error:?}") };
    assert_eq!(variable, "/v");
    let ChunkError::InShard { index, source } = *source else { panic!("{source:?}") };
    assert_eq!(index, [0]);
    assert!(matches!(*source, ChunkError::Length { .. }), "{source:?}");
    dataset.chunks[0].extent = Extent::Range(0..u64::MAX);
    assert!(shorts(&dataset.array("/v").unwrap(), &Slab::new([0], [1])).is_err(), "too long for a chunk");
}

#[test]
fn a_chunk_inside_a_file_is_not_replaced_separately() {
    let dataset = packed();
    let array = dataset.array("/v").unwrap();
    let error = array.write_bytes(&Slab::new([0], [4]), Elements::Native, &[0; 8]).unwrap_err();
    let DataError::Chunk { source, .. } = error else { panic!("{error:?}") };
    let ChunkError::InShard { source, .. } = *source else { panic!("{source:?}") };
    assert!(matches!(*source, ChunkError::NotAnObject), "{source:?}");
    assert_eq!(shorts(&array, &Slab::new([0], [2])).unwrap(), [1, 2], "nothing was written");
}
