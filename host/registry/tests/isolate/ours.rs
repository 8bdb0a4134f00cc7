//! Our own libraries by their C faces only, in this process and in workers, against their native face.

use std::collections::BTreeMap;

use ncz_codec::{CodecType, Container, Dtype, Env, Kind};
use ncz_registry::isolate::Selected;
use ncz_registry::load::{self, FilterFunction, ForeignCodec, JsonTranslator};

use super::*;

/// Parameters that a user can give to some of the filters.
const GIVEN: [&[u32]; 21] = [
    &[],
    &[0],
    &[3],
    &[6],
    &[9],
    &[4096],
    &[0, 2],
    &[0, 3, 3],
    &[0, 0],
    &[2, 0],
    &[2, 3],
    &[0, 1],
    &[4, 16],
    &[32, 8],
    &[0, 0, 0, 0, 5, 1, 1],
    &[0, 0, 0, 0, 9, 2, 4],
    &[0, 0, 0, 0, 1, 0, 5],
    // zfp: a rate of 10, a precision of 16, an accuracy of 1e-3, reversible.
    &[1, 0, 0, 1_076_101_120, 0, 0],
    &[2, 0, 16],
    &[3, 0, 3_539_053_052, 1_062_232_653],
    &[5],
];
const ZFP: u32 = 32_013;
const SHAPES: [&[u64]; 8] =
    [&[], &[1], &[64], &[5, 7], &[16, 12], &[1, 9, 8], &[4, 3, 8, 5], &[2, 3, 4, 2, 3]];

/// HDF5 has no byte order for bytes and for types that are not numbers.
fn dtypes() -> Vec<Dtype> {
    let kinds = [
        (Kind::Int, &[1, 2, 4, 8][..]),
        (Kind::UInt, &[1, 2, 4, 8]),
        (Kind::Float, &[2, 4, 8]),
        (Kind::Bool, &[1]),
        (Kind::Complex, &[8, 16]),
        (Kind::Opaque, &[1, 5, 24]),
    ];
    let sizes = kinds.into_iter().flat_map(|(kind, sizes)| sizes.iter().map(move |&size| (kind, size)));
    let orders = sizes.flat_map(|(kind, size)| {
        let big = size > 1 && matches!(kind, Kind::Int | Kind::UInt | Kind::Float);
        [Some(Dtype::little(kind, size)), big.then(|| Dtype::big(kind, size))]
    });
    orders.flatten().collect()
}

fn env(dtype: Dtype, shape: &[u64], container: Container) -> Env {
    let array_shape = shape.iter().map(|len| len * 3 - 1).collect();
    Env { dtype, array_shape, chunk_shape: shape.to_vec(), container }
}

/// Small integers, which every filter takes, of any type.
fn chunk(env: &Env) -> Vec<u8> {
    let len = env.chunk_shape.iter().product::<u64>() as usize;
    let Dtype { kind, size, order } = env.dtype;
    let mut bytes = Vec::with_capacity(len * size);
    for at in 0..len {
        let value = (at / 3 % 2) as u8;
        let mut number = match (kind, size) {
            (Kind::Float, 2) => [0, 0x3c * value].to_vec(),
            (Kind::Float, 4) => f32::from(value).to_le_bytes().to_vec(),
            (Kind::Float, _) => f64::from(value).to_le_bytes().to_vec(),
            _ => std::iter::once(value).chain(std::iter::repeat_n(0, size - 1)).collect(),
        };
        if order == ncz_codec::ByteOrder::Big {
            number.reverse();
        }
        bytes.extend(number);
    }
    bytes
}

fn encoded(coder: &dyn AnyCoder, chunk: &[u8]) -> Result<Vec<u8>, CodecError> {
    let mut out = vec![0; coder.max_encoded_len(chunk.len()).unwrap()];
    let len = coder.encode(&mut coder.scratch(), chunk, &mut out)?;
    out.truncate(len);
    Ok(out)
}

fn decoded(coder: &dyn AnyCoder, stream: &[u8], len: usize) -> Result<Vec<u8>, CodecError> {
    let mut out = vec![0; len];
    let len = coder.decode(&mut coder.scratch(), stream, &mut out)?;
    out.truncate(len);
    Ok(out)
}

/// The C faces of a codec that the native face is compared with.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Faces {
    /// Only the filter, which knows what HDF5 reports.
    Hdf5,
    /// The filter, and the NCZarr codec that netcdf-c asks, which knows types of netCDF only.
    Both,
}

/// The results for a chunk: the words, if the codec computes them, its encoding, and the decoding of that.
#[derive(Debug, PartialEq)]
struct Outcome {
    stored: Option<Vec<u32>>,
    working: Option<Vec<u32>>,
    stream: Vec<u8>,
    back: Vec<u8>,
}

fn outcome(
    codec: &dyn CodecType,
    given: &[u32],
    env: &Env,
    chunk: &[u8],
    faces: Faces,
) -> Result<Outcome, CodecError> {
    let bound = codec.parse_params(given)?.bind(&env.chunk(), env)?;
    let stream = encoded(&*bound.coder, chunk)?;
    let back = decoded(&*bound.coder, &stream, chunk.len())?;
    // If a filter computes no words, the given ones are unchanged.
    let makes = codec.info().has_working_params;
    let stored = if makes && faces == Faces::Both { Some(bound.stored.to_params()?) } else { None };
    Ok(Outcome { stored, working: makes.then_some(bound.working), stream, back })
}

/// Compares the native face of a codec with others; returns how many cases both served alike, and notes the others.
fn compare(native: &dyn CodecType, other: &dyn CodecType, faces: Faces, faults: &mut Vec<String>) -> usize {
    let id = native.info().filter_id.unwrap();
    let mut served = 0;
    // The filter functions accept recorded words of other implementations that these codecs do not write, such as more
    // words.
    let given: Vec<_> = GIVEN.into_iter().filter(|given| native.parse_params(given).is_ok()).collect();
    let is_of_netcdf = |dtype: &Dtype| match dtype.kind {
        Kind::Int | Kind::UInt => true,
        Kind::Float => dtype.size >= 4,
        _ => dtype.size == 1,
    };
    for dtype in dtypes().into_iter().filter(|dtype| faces == Faces::Hdf5 || is_of_netcdf(dtype)) {
        for (shape, given) in SHAPES.iter().flat_map(|shape| given.iter().map(move |given| (shape, given))) {
            let env = env(dtype, shape, Container::NczarrV2);
            // HDF5 does not report the whole array, and has no chunks without a dimension.
            let chunk_shape = if shape.is_empty() { vec![1] } else { shape.to_vec() };
            let in_hdf5 = Env {
                dtype: as_described(dtype),
                array_shape: chunk_shape.clone(),
                chunk_shape,
                container: Container::Hdf5,
            };
            let in_netcdf = Env { dtype: as_described(dtype), ..env.clone() };
            let chunk = chunk(&env);
            let natives = if faces == Faces::Hdf5 { &in_hdf5 } else { &in_netcdf };
            let native = outcome(native, given, natives, &chunk, faces);
            let other = outcome(other, given, &env, &chunk, faces);
            match (&native, &other) {
                (Ok(native), Ok(other)) if native == other => served += 1,
                (Err(_), Err(_)) => {}
                // The words of zfp record that numbers are integers, but not that they are unsigned: only the native
                // face knows when a loss would make one negative.
                (Err(_), Ok(_)) if id == ZFP && as_described(dtype).kind == Kind::UInt => {}
                _ => {
                    let mut text =
                        format!("filter {id} {given:?} {dtype:?} {shape:?}: {native:?} but {other:?}");
                    text.truncate(600);
                    faults.push(text);
                }
            }
        }
    }
    served
}

/// A type as HDF5 and netCDF describe it: neither has booleans, nor complex numbers.
fn as_described(dtype: Dtype) -> Dtype {
    match dtype.kind {
        Kind::Bool => Dtype { kind: Kind::UInt, ..dtype },
        Kind::Complex => Dtype { kind: Kind::Opaque, ..dtype },
        _ => dtype,
    }
}

fn check(faults: &[String]) {
    let shown: Vec<_> = faults.iter().step_by(faults.len() / 12 + 1).collect();
    assert!(faults.is_empty(), "{} faults: {shown:#?}", faults.len());
}

/// The native codecs with an HDF5 face, by filter.
fn natives(folder: &Path) -> BTreeMap<u32, (PathBuf, Arc<dyn CodecType>)> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let library = load::open(&path).unwrap();
        for codec in library.native().unwrap() {
            if let Some(id) = codec.info().filter_id {
                found.insert(id, (path.clone(), Arc::new(codec) as _));
            }
        }
    }
    found
}

#[test]
fn our_libraries_do_the_same_by_their_c_faces_as_by_the_native_one() {
    let folder = build_plugins().unwrap();
    let natives = natives(&folder);
    assert!(natives.len() >= 13, "{}", natives.len());
    let mut faults = Vec::new();
    for (id, (path, native)) in &natives {
        let library = load::open(path).unwrap();
        let filter = Arc::new(library.hdf5().unwrap().unwrap()) as Arc<dyn FilterFunction>;
        let by_filter = ForeignCodec::new(Some(Arc::clone(&filter)), None);
        let alone = compare(&**native, &by_filter, Faces::Hdf5, &mut faults);
        let codec = library.codecs().pop().map(|half| Arc::new(half.unwrap()) as Arc<dyn JsonTranslator>);
        let both = codec.map(|codec| {
            let by_both = ForeignCodec::new(Some(filter), Some(codec));
            compare(&**native, &by_both, Faces::Both, &mut faults)
        });
        println!("filter {id}: {alone} cases, {both:?} with its JSON");
        assert!(alone >= 50 && both.is_none_or(|both| both >= 50), "filter {id}: {alone} {both:?}");
    }
    check(&faults);
}

#[test]
fn our_libraries_do_the_same_in_workers() {
    let folder = build_plugins().unwrap();
    let natives = natives(&folder);
    let selected = natives.values().map(|(path, _)| Selected::Path(path.clone())).collect();
    let registry = registry(&folder, Isolation { which: Which::Only(selected), ..isolation() });
    let mut faults = Vec::new();
    for (id, (path, native)) in &natives {
        let entry = registry.by_id(*id).unwrap();
        let origin = entry.origin().to_string();
        assert!(origin.contains("worker"), "{origin}");
        let has_json = !load::open(path).unwrap().codecs().is_empty();
        let faces = if has_json { Faces::Both } else { Faces::Hdf5 };
        let served = compare(&**native, entry.codec(), faces, &mut faults);
        assert!(served >= 50, "filter {id}: {served}");
    }
    check(&faults);
}
