"""Compares each codec of ncz with a Python package that has it: one thread, in memory, alternating.

    cargo bench --no-run -p ncz --bench codecs_speed           prints the path of the program
    peers.py --dir DIR --field-only                            makes DIR/field.f32
    codecs.py --field DIR/field.f32 --ncz target/release/deps/codecs_speed-HASH [--only NAME] [--rounds 5]

Prints one line for each codec and peer. The program does a round when it is told to, so that both sides take turns; the
figures are medians of the rounds, MB of what enters the codec for each second of the thread's processor time. Where a
package takes a buffer to decode into, it is used again.
"""

import argparse
import json
import statistics
import subprocess
import time

import numpy as np

ROWS, COLUMNS = 721, 1440
TAKEN = (0, 15, 30, 45)
LEAST = 0.06


def numcodecs_peer(config, form=lambda chunk: chunk):
    import numcodecs
    import numcodecs.blosc
    import numcodecs.pcodec
    import numcodecs.zfpy

    numcodecs.blosc.set_nthreads(1)
    codec = numcodecs.get_codec(config)

    def decode(stream, out):
        codec.decode(stream, out=out)

    return f"numcodecs {numcodecs.__version__}", lambda chunk: codec.encode(form(chunk)), decode


def imagecodecs_peer(name, form=None, decoding=None, **options):
    import imagecodecs

    encoder, decoder = getattr(imagecodecs, f"{name}_encode"), getattr(imagecodecs, f"{name}_decode")
    decoding = options if decoding is None else decoding
    form = form or (lambda chunk: chunk.view("u1"))

    def decode(stream, out):
        decoder(stream, out=form(out), **decoding)

    return f"imagecodecs {imagecodecs.__version__}", lambda chunk: encoder(form(chunk), **options), decode


def hdf5_peer(filter_id, words, precision=None, library="HDF5"):
    """The filter in libhdf5, whose chunks stay in memory; its time is that of H5Dwrite and H5Dread."""
    import h5py

    if library == "hdf5plugin":
        import hdf5plugin

        library = f"hdf5plugin {hdf5plugin.version}"
    else:
        library = f"HDF5 {h5py.version.hdf5_version}"
    made = {}

    def dataset(dtype):
        if "id" not in made:
            access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
            access.set_fapl_core(1 << 20, False)
            access.set_cache(0, 0, 0, 0.0)
            file = h5py.h5f.create(f"codecs {filter_id} {words}".encode(), h5py.h5f.ACC_TRUNC, fapl=access)
            kind = h5py.h5t.py_create(dtype).copy()
            if precision:
                kind.set_precision(precision)
            creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            creation.set_chunk((ROWS, COLUMNS))
            creation.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
            if filter_id == 6:
                creation.set_scaleoffset(*words)
            else:
                creation.set_filter(filter_id, h5py.h5z.FLAG_MANDATORY, tuple(words))
            space = h5py.h5s.create_simple((ROWS, COLUMNS))
            made.update(file=file, kind=kind, id=h5py.h5d.create(file, b"v", kind, space, creation))
        return made["id"], made["kind"]

    def encode(chunk):
        chunk = table(chunk)
        id, kind = dataset(chunk.dtype)
        id.write(h5py.h5s.ALL, h5py.h5s.ALL, chunk, kind)
        return Stored(id)

    def decode(stream, out):
        stream.id.read(h5py.h5s.ALL, h5py.h5s.ALL, table(out), made["kind"])

    return library, encode, decode


def table(chunk):
    """Elements in rows and columns; what was shuffled is four bytes an element."""
    elements = chunk.view("<f4") if chunk.size == 4 * ROWS * COLUMNS else chunk
    return elements.reshape(ROWS, COLUMNS)


class Stored:
    """What HDF5 holds."""

    def __init__(self, id):
        self.id = id
        self.nbytes = id.get_storage_size()



# Name of the case, what enters, and its peers.
CASES = [
    ("adler32", "plain", [lambda: numcodecs_peer({"id": "adler32"})]),
    ("astype", "hundredths", [lambda: numcodecs_peer({"id": "astype", "encode_dtype": "<i2", "decode_dtype": "<i4"})]),
    ("bitround 9", "plain", [lambda: numcodecs_peer({"id": "bitround", "keepbits": 9})]),
    ("bitshuffle", "plain", [lambda: imagecodecs_peer("bitshuffle", None, itemsize=4)]),
    ("bitshuffle lz4", "plain", [lambda: hdf5_peer(32008, (0, 2), library="hdf5plugin")]),
    ("bitshuffle zstd", "plain", [lambda: hdf5_peer(32008, (0, 3), library="hdf5plugin")]),
    ("blosc lz4 5", "plain", [lambda: numcodecs_peer({"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1})]),
    ("blosc zstd 5", "plain", [lambda: numcodecs_peer({"id": "blosc", "cname": "zstd", "clevel": 5, "shuffle": 1})]),
    ("blosc2 lz4 5", "plain", [lambda: hdf5_peer(32026, (0, 0, 0, 0, 5, 1, 1), library="hdf5plugin")]),
    ("blosc2 zstd 5", "plain", [lambda: hdf5_peer(32026, (0, 0, 0, 0, 5, 1, 5), library="hdf5plugin")]),
    ("bzip2 9", "plain", [lambda: numcodecs_peer({"id": "bz2", "level": 9})]),
    ("crc32", "plain", [lambda: numcodecs_peer({"id": "crc32"})]),
    ("crc32c", "plain", [lambda: numcodecs_peer({"id": "crc32c"})]),
    ("deflate 4", "shuffled", [lambda: numcodecs_peer({"id": "zlib", "level": 4})]),
    ("delta", "hundredths", [lambda: numcodecs_peer({"id": "delta", "dtype": "<i4"})]),
    ("fixedscaleoffset", "plain", [lambda: numcodecs_peer(
        {"id": "fixedscaleoffset", "offset": 273, "scale": 100, "dtype": "<f4", "astype": "<i2"})]),
    ("fletcher32", "plain", [lambda: numcodecs_peer({"id": "fletcher32"})]),
    ("gzip 4", "shuffled", [lambda: numcodecs_peer({"id": "gzip", "level": 4})]),
    ("jenkins_lookup3", "plain", [lambda: numcodecs_peer({"id": "jenkins_lookup3"})]),
    ("lz4", "shuffled", [lambda: numcodecs_peer({"id": "lz4", "acceleration": 1})]),
    ("lz4h5", "shuffled", [lambda: imagecodecs_peer("lz4h5", None, {}),
                           lambda: hdf5_peer(32004, (), library="hdf5plugin")]),
    ("lzf", "shuffled", [lambda: hdf5_peer(32000, ())]),
    ("lzma", "plain", [lambda: numcodecs_peer({"id": "lzma"})]),
    ("nbit", "hundredths", [lambda: hdf5_peer(5, (), precision=16)]),
    ("packbits", "above", [lambda: numcodecs_peer({"id": "packbits"})]),
    ("pcodec 8", "plain", [lambda: numcodecs_peer({"id": "pcodec"})]),
    ("pcodec 8 classic", "plain", [lambda: numcodecs_peer({"id": "pcodec", "mode_spec": "classic"})]),
    ("quantize 2", "plain", [lambda: numcodecs_peer({"id": "quantize", "digits": 2, "dtype": "<f4"})]),
    ("scaleoffset float 2", "plain", [lambda: hdf5_peer(6, (0, 2))]),
    ("scaleoffset int", "hundredths", [lambda: hdf5_peer(6, (2, 0))]),
    ("shuffle", "plain", [lambda: numcodecs_peer({"id": "shuffle", "elementsize": 4})]),
    ("szip nn 32", "plain", [lambda: imagecodecs_peer(
        "szip", None, options_mask=0xa9, pixels_per_block=32, bits_per_pixel=32, pixels_per_scanline=1440, header=True)]),
    ("zfp accuracy", "plain", [lambda: imagecodecs_peer(
        "zfp", table, {}, level=0.01, mode="a")]),
    ("zfpy accuracy", "plain", [lambda: numcodecs_peer({"id": "zfpy", "mode": 4, "tolerance": 0.01}, table)]),
    ("zstd 3", "plain", [lambda: numcodecs_peer({"id": "zstd", "level": 3})]),
]


def rate(inputs, bytes, run):
    start, done = time.thread_time(), 0
    while True:
        for item in inputs:
            run(item)
            done += bytes
            if (taken := time.thread_time() - start) >= LEAST:
                return done / taken / 1e6


class Peer:
    def __init__(self, make, chunks):
        self.name, self.encode, decode = make()
        self.chunks, self.bytes = chunks, chunks[0].nbytes
        # libhdf5 holds the chunk that was written last.
        one = isinstance(self.encode(chunks[0]), Stored)
        self.streams = [self.encode(chunk) for chunk in (chunks[:1] if one else chunks)]
        sizes = [stream.nbytes if hasattr(stream, "nbytes") else len(stream) for stream in self.streams]
        self.ratio = self.bytes * len(sizes) / sum(sizes)
        self.out = np.empty_like(chunks[0])
        self.decode = decode

    def round(self):
        encode = rate(self.chunks, self.bytes, self.encode)
        return encode, rate(self.streams, self.bytes, lambda stream: self.decode(stream, self.out))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--field", required=True)
    parser.add_argument("--ncz", required=True, help="the benchmark codecs_speed, built by cargo bench --no-run")
    parser.add_argument("--only", help="cases whose names begin so")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()

    field = np.fromfile(args.field, "<f4").reshape(-1, ROWS * COLUMNS)[list(TAKEN)]
    data = {
        "plain": list(field),
        "shuffled": [np.ascontiguousarray(chunk.view("u1").reshape(-1, 4).T).reshape(-1) for chunk in field],
        "hundredths": list(np.round(field * np.float32(100)).astype("<i4")),
        "above": list(field > 290),
    }
    with subprocess.Popen([args.ncz, args.field, "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as ncz:
        print(f"{'codec':20} {'ratio':>6} {'encode':>7} {'decode':>7}  {'':6} {'encode':>7} {'decode':>7}  ours/theirs  peer")
        for name, form, makers in CASES:
            if args.only and not name.startswith(args.only):
                continue
            for make in makers:
                peer, ours, theirs = Peer(make, data[form]), [], []
                for _ in range(args.rounds):
                    print(name, file=ncz.stdin, flush=True)
                    ours.append(json.loads(ncz.stdout.readline()))
                    if "error" in ours[0]:
                        break
                    theirs.append(peer.round())
                if not theirs:
                    print(f"{name:20} {ours[0]['error']}")
                    continue
                own = [statistics.median(row[op] for row in ours) for op in ("encode", "decode")]
                other = [statistics.median(row[at] for row in theirs) for at in (0, 1)]
                print(f"{name:20} {ours[0]['ratio']:6.2f} {own[0]:7.0f} {own[1]:7.0f}  {peer.ratio:6.2f} {other[0]:7.0f} "
                      f"{other[1]:7.0f}  {own[0] / other[0]:5.2f} {own[1] / other[1]:5.2f}  {peer.name}", flush=True)
        ncz.stdin.close()


if __name__ == "__main__":
    main()
