//! The calls that filters are protected from, and the filters that are called from many threads.

use std::path::Path;
use std::sync::Arc;

use ncz_codec::{AnyCoder, CodecType, Container, Env};
use ncz_registry::load::{self, ForeignCodec};

use super::oracle::dtype;
use super::{HDF5PLUGIN, NETCDF4, child_folder, debian, package};

fn coder(library: &Path, text: &str, shape: &[u64], given: &[u32]) -> Arc<dyn AnyCoder> {
    let half = load::open(library).unwrap().hdf5().unwrap().unwrap();
    let codec = ForeignCodec::new(Some(Arc::new(half)), None);
    let env = Env {
        dtype: dtype(text),
        array_shape: shape.to_vec(),
        chunk_shape: shape.to_vec(),
        container: Container::ZarrV2,
    };
    codec.parse_params(given).unwrap().bind(&env.chunk(), &env).unwrap().coder
}

fn encode(coder: &dyn AnyCoder, chunk: &[u8]) -> Result<Vec<u8>, ncz_codec::CodecError> {
    let mut room = vec![0; 2 * chunk.len() + 100_000];
    let len = coder.encode(&mut coder.scratch(), chunk, &mut room)?;
    room.truncate(len);
    Ok(room)
}

fn decode(coder: &dyn AnyCoder, stored: &[u8], len: usize) -> Result<Vec<u8>, ncz_codec::CodecError> {
    let mut chunk = vec![0; len];
    let found = coder.decode(&mut coder.scratch(), stored, &mut chunk)?;
    chunk.truncate(found);
    Ok(chunk)
}

/// Numbers that every filter takes, others for every seed.
fn field(text: &str, count: usize, seed: usize) -> Vec<u8> {
    let value = |i: usize| (((i + 31 * seed) as f32) / (17.0 + seed as f32)).sin() * 50.0 + 60.0;
    match text {
        "u1" => (0..count).map(|i| value(i) as u8).collect(),
        _ => (0..count).flat_map(|i| value(i).to_le_bytes()).collect(),
    }
}

#[test]
fn no_chunk_makes_blosc2_run_a_shell() {
    let Some(folder) = package(HDF5PLUGIN) else { return };
    let library = folder.join("libh5blosc2.so");
    let chunk = field("f4", 4096, 1);
    let coder = coder(&library, "f4", &[64, 64], &[0, 0, 0, 0, 5, 1, 1]);
    let stored = encode(coder.as_ref(), &chunk).unwrap();
    assert_eq!(decode(coder.as_ref(), &stored, chunk.len()).unwrap(), chunk);
    let header = u32::from_be_bytes(stored[11..15].try_into().unwrap()) as usize;
    // Compressor 37 in the header of the chunk, as found to run `python` in a shell.
    let mut evil = stored.clone();
    evil[header + 2] = (evil[header + 2] & 0x1f) | 0xc0;
    evil[header + 22] = 37;
    let error = decode(coder.as_ref(), &evil, chunk.len()).unwrap_err();
    assert!(error.to_string().contains("compressor 37 by running a shell"), "{error}");
    // The same chunk after the index, which is changed to point there.
    let mut hidden = stored.clone();
    let at = u64::from_be_bytes(stored[39..47].try_into().unwrap()) as usize;
    hidden.extend_from_slice(&evil[header..header + at]);
    let offset = (stored.len() - header) as i64;
    hidden[header + at + 32..header + at + 40].copy_from_slice(&offset.to_le_bytes());
    assert!(decode(coder.as_ref(), &hidden, chunk.len()).unwrap_err().to_string().contains("a shell"));
    for cut in 0..stored.len() {
        assert!(decode(coder.as_ref(), &stored[..cut], chunk.len()).is_err());
    }
    // Parameters that request it are refused before the call.
    let half = load::open(&library).unwrap().hdf5().unwrap().unwrap();
    let codec = ForeignCodec::new(Some(Arc::new(half)), None);
    let coder = codec.coder(&[1, 0, 4, 16_384, 5, 1, 36, 2, 64, 64]).unwrap();
    assert!(encode(coder.as_ref(), &chunk).unwrap_err().to_string().contains("compressor 36"));
}

#[test]
fn blosc_does_not_encode_by_the_environment() {
    if let Some((folder, found)) = child_folder() {
        return in_an_environment(&folder, found);
    }
    let Some(folder) = package(HDF5PLUGIN) else { return };
    let shared = tempfile::tempdir().unwrap();
    std::fs::write(shared.path().join("plugins.txt"), folder.display().to_string()).unwrap();
    let environment = [("BLOSC_TYPESIZE", "8")];
    let found = super::in_a_child_with(
        "known_hazards::blosc_does_not_encode_by_the_environment",
        shared.path(),
        &environment,
    );
    assert_eq!(
        found.matches("the environment variable BLOSC_TYPESIZE makes blosc ignore").count(),
        2,
        "{found}"
    );
}

fn in_an_environment(folder: &Path, found: impl Fn(&str)) {
    let plugins = std::fs::read_to_string(folder.join("plugins.txt")).unwrap();
    let tell = |name: &str| {
        let coder = coder(&Path::new(&plugins).join(name), "f4", &[64, 64], &[0, 0, 0, 0, 5, 1, 1]);
        encode(coder.as_ref(), &field("f4", 4096, 1)).unwrap_err().to_string()
    };
    found(&format!("{}\n{}\n", tell("libh5blosc.so"), tell("libh5blosc2.so")));
}

#[test]
fn fcidecomp_is_not_given_what_it_would_lose() {
    let Some(folder) = package(HDF5PLUGIN) else { return };
    let library = folder.join("libh5fcidecomp.so");
    let flat = coder(&library, "u1", &[3, 16, 24], &[]);
    assert!(encode(flat.as_ref(), &field("u1", 1152, 1)).is_ok());
    let deep = coder(&library, "u1", &[2, 3, 16, 24], &[]);
    let error = encode(deep.as_ref(), &field("u1", 2304, 1)).unwrap_err();
    assert!(error.to_string().contains("keeps 96 of the 2304 bytes"), "{error}");
}

/// A coder, a chunk, what it is stored as, and what that decodes to.
type Job = (Arc<dyn AnyCoder>, Vec<u8>, Vec<u8>, Vec<u8>);

/// Runs `threads` threads over the same jobs; each result must equal that of a single thread.
fn compare(coders: &[Job], threads: usize) {
    std::thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || {
                for round in 0..60 {
                    let (coder, chunk, stored, back) = &coders[(thread + round) % coders.len()];
                    assert!(
                        encode(coder.as_ref(), chunk).unwrap() == *stored,
                        "thread {thread}, round {round}"
                    );
                    assert!(decode(coder.as_ref(), stored, chunk.len()).unwrap() == *back);
                }
            });
        }
    });
}

#[test]
fn filters_that_run_in_many_threads_give_what_one_gives() {
    const ZFP: &[u32] = &[3, 0, 3_539_053_052, 1_062_232_653];
    let kinds: [(&str, &str, [&[u32]; 2]); 8] = [
        ("libh5bshuf.so", "f4", [&[0, 2], &[0, 3, 7]]),
        ("libh5bzip2.so", "f4", [&[9], &[1]]),
        ("libh5lz4.so", "f4", [&[], &[1024]]),
        ("libh5zstd.so", "f4", [&[3], &[9]]),
        ("libh5zfp.so", "f4", [ZFP, &[2, 0, 16]]),
        ("libh5sperr.so", "f4", [&[940_177_214, 0], &[940_177_214, 1]]),
        ("libh5htj2k.so", "u1", [&[], &[]]),
        ("libh5blosc2.so", "f4", [&[0, 0, 0, 0, 5, 1, 1], &[0, 0, 0, 0, 5, 2, 5]]),
    ];
    let Some(first) = package(HDF5PLUGIN) else { return };
    let mut jobs: Vec<_> =
        kinds.iter().map(|(name, dtype, given)| (first.join(name), *dtype, *given)).collect();
    if let Some(folder) = debian() {
        jobs.push((folder.join("libh5lz4.so"), "f4", [&[], &[1024]]));
        jobs.push((folder.join("libh5zzfp.so"), "f4", [ZFP, &[2, 0, 16]]));
    }
    if let Some(folder) = package(NETCDF4) {
        jobs.push((folder.join("lib__nch5zstd.so"), "f4", [&[3], &[9]]));
    }
    for (library, dtype, given) in jobs {
        let coders: Vec<_> = (0..4)
            .map(|seed| {
                let coder = coder(&library, dtype, &[64, 64], given[seed % 2]);
                let chunk = field(dtype, 4096, seed);
                let stored = encode(coder.as_ref(), &chunk).unwrap();
                let back = decode(coder.as_ref(), &stored, chunk.len()).unwrap();
                (coder, chunk, stored, back)
            })
            .collect();
        compare(&coders, 4);
        println!("{}: {}", library.display(), load::open(&library).unwrap().hdf5_provider());
    }
}
