//! Values quantized here are bit for bit those that netcdf-c stores.

use std::path::Path;
use std::sync::Arc;

use ncz::model::{
    ByteOrder, Elements, Format, Hierarchy, NcType, Pool, Quantize, QuantizeMode, Quantizer, Session, Slab,
    VariableBuilder,
};
use ncz::store::{Access, CreateOptions, FileStore};
use ncz::zarr::Dataset;
use ncz::zarr::metadata::ReadOptions;
use ncz_test_support::python;

use crate::harness::{builtins, run_json, run_script};

const SCRIPT: &str = "quantize.py";

#[test]
fn every_way_to_quantize_gives_the_bits_of_netcdf_c() {
    let Ok(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (floats, doubles) = (float_bits(), double_bits());
    write(
        &folder.path().join("f4.bin"),
        &floats.iter().flat_map(|value| value.to_ne_bytes()).collect::<Vec<_>>(),
    );
    write(
        &folder.path().join("f8.bin"),
        &doubles.iter().flat_map(|value| value.to_ne_bytes()).collect::<Vec<_>>(),
    );
    let args = ["bits", folder.path().to_str().unwrap()];
    run_script(&python, SCRIPT, &args, None).success(SCRIPT).unwrap_or_else(|error| panic!("{error}"));
    let mut compared = 0;
    for mode in QuantizeMode::ALL {
        for (nc_type, dtype) in [(NcType::Float, "f4"), (NcType::Double, "f8")] {
            for number in 1..=i64::from(mode.most(nc_type).unwrap()) {
                let quantize = Quantize::new(mode, number, nc_type).unwrap();
                let mut ours = read(&folder.path().join(format!("{dtype}.bin")));
                let quantizer = match nc_type {
                    NcType::Float => Quantizer::float(quantize, 9.969_21e36),
                    _ => Quantizer::double(quantize, 9.969_209_968_386_869e36),
                };
                quantizer.apply(0, &mut ours);
                for format in ["nczarr", "hdf5"] {
                    let name = format!("{dtype}-{mode}-{number}-{format}");
                    let theirs = read(&folder.path().join(format!("{name}.bin")));
                    assert_eq!(theirs.len(), ours.len());
                    let size = if dtype == "f4" { 4 } else { 8 };
                    let pairs = ours.chunks_exact(size).zip(theirs.chunks_exact(size));
                    let different: Vec<_> = pairs.enumerate().filter(|(_, (a, b))| a != b).take(3).collect();
                    assert!(different.is_empty(), "{name}: {different:x?}");
                    compared += 1;
                }
            }
        }
    }
    assert_eq!(compared, 2 * (2 * 6 + 23 + 2 * 15 + 52));
}

/// What the documentation names as the one difference. If netcdf-c repairs it, the words go.
#[test]
fn infinities_stay_where_netcdf_c_makes_something_else_of_them() {
    let Ok(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let data = [f32::INFINITY, f32::INFINITY, f32::NEG_INFINITY, f32::NEG_INFINITY];
    write(
        &folder.path().join("f4.bin"),
        &data.iter().flat_map(|value| value.to_ne_bytes()).collect::<Vec<_>>(),
    );
    write(&folder.path().join("f8.bin"), &[]);
    let args = ["bits", folder.path().to_str().unwrap()];
    run_script(&python, SCRIPT, &args, None).success(SCRIPT).unwrap_or_else(|error| panic!("{error}"));
    let theirs = |name: &str| -> Vec<f32> {
        let bytes = read(&folder.path().join(name));
        bytes.as_chunks().0.iter().map(|value| f32::from_ne_bytes(*value)).collect()
    };
    let groomed = theirs("f4-BitGroom-3-nczarr.bin");
    assert!(groomed[0].is_infinite() && groomed[1].is_nan() && groomed[3].is_nan(), "{groomed:?}");
    assert_eq!(theirs("f4-GranularBitRound-3-nczarr.bin"), [0.0; 4]);
    assert_eq!(theirs("f4-BitRound-9-nczarr.bin"), data);
}

#[test]
fn slabs_are_quantized_as_netcdf_c_does_and_it_reads_ours() {
    let Ok(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let data: Vec<u8> = (0..754u32)
        .flat_map(|i| {
            if i % 11 == 5 { 9.969_21e36f32 } else { 1.234_567_8 * (i as f32 - 300.0) }.to_ne_bytes()
        })
        .collect();
    write(&folder.path().join("f4.bin"), &data);
    let args = ["slabs", folder.path().to_str().unwrap()];
    run_script(&python, SCRIPT, &args, None).success(SCRIPT).unwrap_or_else(|error| panic!("{error}"));

    let session = Session::new(Arc::new(builtins()), Pool::with_threads(2).unwrap());
    let mut hierarchy = Hierarchy::new(Format::NCZARR);
    hierarchy.add_dimension("/", "y", 20, false).unwrap();
    hierarchy.add_dimension("/", "x", 30, false).unwrap();
    let new = VariableBuilder::new("v", NcType::Float)
        .dimensions(["y", "x"])
        .chunks([7, 8])
        .byte_order(ByteOrder::Big);
    hierarchy.add_variable("/", new).unwrap();
    let mut filters = session.define_filters(&mut hierarchy, "/v").unwrap();
    filters.quantize(Some((QuantizeMode::BitGroom, 3))).unwrap();
    filters.deflate(true, Some(5)).unwrap();
    let path = folder.path().join("ours");
    let store = Arc::new(FileStore::create(&path, CreateOptions::default()).unwrap());
    let dataset = Dataset::create(store, hierarchy, session.clone(), false).unwrap();
    let array = dataset.array("/v").unwrap();
    let mut given = &data[..];
    for slab in
        [Slab::whole(&[20, 30]), Slab::new([3, 5], [7, 15]), Slab::new([1, 2], [7, 7]).with_stride([3, 4])]
    {
        let (now, rest) = given.split_at(slab.elements().unwrap() as usize * 4);
        array.write_bytes(&slab, Elements::Native, now).unwrap();
        given = rest;
    }
    assert!(given.is_empty());
    dataset.finish().unwrap();

    let values = |path: &Path| {
        let store = Arc::new(FileStore::open(path, Access::Read).unwrap());
        let dataset = Dataset::open(store, session.clone(), &ReadOptions::default()).unwrap();
        let mut out = vec![0; 600 * 4];
        dataset.array("/v").unwrap().read_bytes(&Slab::whole(&[20, 30]), Elements::Native, &mut out).unwrap();
        out
    };
    let ours = values(&path);
    assert!(ours != data[..2400], "nothing was quantized");
    assert_eq!(ours, values(&folder.path().join("theirs")));
    let read = run_json(&python, SCRIPT, &["read", path.to_str().unwrap()], None);
    assert_eq!(read["quantization"], serde_json::json!([3, "BitGroom"]));
    assert_eq!((&read["filters"]["zlib"], &read["filters"]["complevel"]), (&true.into(), &5.into()));
    let by_them = read["values"].as_array().unwrap().iter().map(|value| value.as_u64().unwrap() as u32);
    assert!(by_them.eq(ours.as_chunks().0.iter().map(|value| u32::from_ne_bytes(*value))));
}

fn float_bits() -> Vec<u32> {
    let tens = (-45..39).map(|power| format!("1e{power}").parse::<f32>().unwrap().to_bits());
    let near: Vec<u32> = tens.flat_map(|bits| [bits.saturating_sub(1), bits, bits + 1]).collect();
    let twos = (0..255).map(|exponent| exponent << 23).chain((0..23).map(|bit| 1 << bit));
    let halves = (1..255).map(|exponent| (exponent << 23) - 1);
    let usual = (0..2000u32).map(|i| ((i as f32 - 1000.0) * 0.012_345_678).to_bits());
    let random = random().map(|bits| bits as u32).take(10_000);
    let all = near.into_iter().chain(twos).chain(halves).chain(usual).chain(random);
    let all = all.chain([9.969_21e36f32.to_bits(), f32::NAN.to_bits(), 0, f32::MAX.to_bits()]);
    all.flat_map(|bits| [bits, bits ^ (1 << 31)])
        .filter(|bits| !f32::from_bits(*bits).is_infinite())
        .collect()
}

fn double_bits() -> Vec<u64> {
    let tens = (-323..309).map(|power| format!("1e{power}").parse::<f64>().unwrap().to_bits());
    let near: Vec<u64> = tens.flat_map(|bits| [bits.saturating_sub(1), bits, bits + 1]).collect();
    let twos = (0..2047).map(|exponent| exponent << 52).chain((0..52).map(|bit| 1 << bit));
    let usual = (0..2000u32).map(|i| ((f64::from(i) - 1000.0) * 0.012_345_678_901).to_bits());
    let all = near.into_iter().chain(twos).chain(usual).chain(random().take(10_000));
    let all = all.chain([9.969_209_968_386_869e36f64.to_bits(), f64::NAN.to_bits(), 0, f64::MAX.to_bits()]);
    all.flat_map(|bits| [bits, bits ^ (1 << 63)])
        .filter(|bits| !f64::from_bits(*bits).is_infinite())
        .collect()
}

/// Always the same numbers (xorshift).
pub(crate) fn random() -> impl Iterator<Item = u64> {
    let step = |state: &u64| {
        let mut next = *state;
        next ^= next << 13;
        next ^= next >> 7;
        next ^= next << 17;
        Some(next)
    };
    std::iter::successors(Some(0x9e37_79b9_7f4a_7c15), step)
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

fn write(path: &Path, bytes: &[u8]) {
    std::fs::write(path, bytes).unwrap();
}
