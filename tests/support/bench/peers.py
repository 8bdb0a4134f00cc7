"""The peers' part of the benchmark table: netCDF4, zarr-python, zarr-python with the zarrs pipeline, tensorstore.

    peers.py --dir /dev/shm/bench                    every peer, every codec
    peers.py --dir /dev/shm/bench --ncz BENCH        with ncz, and a table at the end; BENCH is the program that
                                                     `cargo bench -p ncz --bench field --no-run` names
    peers.py --dir /dev/shm/bench --field-only       makes the field and prints its path

Writes and reads one variable of 60 x 721 x 1440 float32 (250 MB) in chunks of 1 x 721 x 1440, once for each peer and
codec, as often as --runs says. Prints one JSON object a line:

    {"peer", "codec", "op": "write" | "read", "seconds": median, "best", "runs", "threads", "bytes": of the stored
     dataset, "raw_bytes", "into": "caller" | "own" (read: whose buffer), "version"}

and for what a peer cannot do {"peer", "codec", "skipped": why}. What was read is compared with what was written; a
difference ends the program with status 1. Each pair of peer and codec runs in a process of its own. --dir must be a
folder of a memory file system for figures that mean something.
"""

import argparse
import functools
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

import numpy as np

SHAPE, CHUNK = (60, 721, 1440), (1, 721, 1440)
CODECS = ("none", "shuffle+zlib-4", "zstd-3", "blosc-lz4-5", "blosc-zstd-5")
PEERS = ("netcdf-c", "zarr-python", "zarr-python+zarrs", "tensorstore")


class Unsupported(Exception):
    """The peer does not have the codec."""


def make_field(path):
    """The field of the project's figures: large waves and red noise that drift, rounded to 0.01; little-endian float32."""
    rng = np.random.default_rng(721)
    steps, rows, columns = SHAPE
    lat = np.linspace(np.pi / 2, -np.pi / 2, rows)[:, None]
    lon = np.linspace(0, 2 * np.pi, columns, endpoint=False)[None, :]
    waves = [(rng.integers(1, 9), rng.integers(1, 7), rng.uniform(0.02, 0.3), rng.uniform(0, 6.28)) for _ in range(8)]
    frequency = np.hypot(np.fft.fftfreq(rows)[:, None] * rows, np.fft.rfftfreq(columns)[None, :] * columns)
    spectrum = np.fft.rfft2(rng.standard_normal((rows, columns))) / np.maximum(frequency, 1) ** 2.0
    noise = np.fft.irfft2(spectrum, (rows, columns))
    noise *= 2 / noise.std()
    partial = path.with_suffix(".partial")
    with partial.open("wb") as file:
        for step in range(steps):
            field = 273.15 + 30 * np.cos(lat) ** 2 + np.roll(noise, (step, 7 * step), (0, 1))
            for east, north, speed, phase in waves:
                field = field + 2 * np.cos(lat) * np.cos(east * lon + north * lat + speed * step + phase)
            file.write(np.round(field, 2).astype("<f4").tobytes())
    partial.replace(path)


# Each peer: a function (codec, folder, threads) -> (write(field), read() -> array, whose buffer, version).


def netcdf_c(codec, folder, threads):
    import netCDF4

    options = {
        "none": {"contiguous": False},
        "shuffle+zlib-4": {"compression": "zlib", "complevel": 4, "shuffle": True},
        "zstd-3": {"compression": "zstd", "complevel": 3, "shuffle": False},
        "blosc-lz4-5": {"compression": "blosc_lz4", "complevel": 5, "blosc_shuffle": 1},
        "blosc-zstd-5": {"compression": "blosc_zstd", "complevel": 5, "blosc_shuffle": 1},
    }[codec]
    url = f"file://{folder}#mode=nczarr,file"

    def write(field):
        with netCDF4.Dataset(url, "w") as ds:
            for name, length in zip("tyx", SHAPE):
                ds.createDimension(name, length)
            ds.createVariable("v", "f4", tuple("tyx"), chunksizes=CHUNK, fill_value=False, **options)[:] = field

    def read():
        with netCDF4.Dataset(url) as ds:
            ds.set_auto_maskandscale(False)
            return ds["v"][:]

    return write, read, "own", f"netCDF4 {netCDF4.__version__}, netcdf-c {netCDF4.__netcdf4libversion__}"


def zarr_python(codec, folder, threads, pipeline=None):
    import numcodecs
    import zarr
    from zarr.core.buffer import default_buffer_prototype

    settings = {"threading.max_workers": threads, "async.concurrency": threads, "array.write_empty_chunks": True}
    version = f"zarr {zarr.__version__}, numcodecs {numcodecs.__version__}"
    if pipeline:
        import importlib.metadata

        # strict: an error instead of a silent return to zarr-python's own pipeline
        settings |= {"codec_pipeline.path": pipeline, "codec_pipeline.strict": True,
                     "codec_pipeline.chunk_concurrent_maximum": threads}
        version = f"zarr {zarr.__version__}, zarrs {importlib.metadata.version('zarrs')}"
    zarr.config.set(settings)
    filters, compressor = {
        "none": (None, None),
        "shuffle+zlib-4": ([numcodecs.Shuffle(4)], numcodecs.Zlib(4)),
        "zstd-3": (None, numcodecs.Zstd(3)),
        "blosc-lz4-5": (None, numcodecs.Blosc("lz4", 5, numcodecs.Blosc.SHUFFLE)),
        "blosc-zstd-5": (None, numcodecs.Blosc("zstd", 5, numcodecs.Blosc.SHUFFLE)),
    }[codec]

    def write(field):
        array = zarr.create_array(str(folder), shape=SHAPE, chunks=CHUNK, dtype="<f4", zarr_format=2, filters=filters,
                                  compressors=compressor, fill_value=0)
        array[:] = field

    buffer = np.zeros(SHAPE, "f4")

    def read():
        out = default_buffer_prototype().nd_buffer.from_numpy_array(buffer)
        zarr.open_array(str(folder), mode="r", zarr_format=2).get_basic_selection(Ellipsis, out=out)
        return buffer

    return write, read, "caller", version


def tensorstore(codec, folder, threads):
    import importlib.metadata

    import tensorstore as ts

    if codec == "shuffle+zlib-4":
        raise Unsupported("its driver for Zarr v2 takes no filters")
    compressor = {
        "none": None,
        "zstd-3": {"id": "zstd", "level": 3},
        "blosc-lz4-5": {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1},
        "blosc-zstd-5": {"id": "blosc", "cname": "zstd", "clevel": 5, "shuffle": 1},
    }[codec]
    context = {"data_copy_concurrency": {"limit": threads}, "file_io_concurrency": {"limit": threads},
               "file_io_sync": False}
    spec = {"driver": "zarr", "kvstore": {"driver": "file", "path": f"{folder}/"}}
    metadata = {"shape": SHAPE, "chunks": CHUNK, "dtype": "<f4", "compressor": compressor, "filters": None,
                "fill_value": 0, "order": "C", "zarr_format": 2, "dimension_separator": "."}

    def write(field):
        array = ts.open(spec | {"metadata": metadata, "store_data_equal_to_fill_value": True},
                        create=True, context=ts.Context(context)).result()
        array.write(field).result()

    buffer = np.zeros(SHAPE, "f4")

    def read():
        array = ts.open(spec, context=ts.Context(context)).result()
        ts.array(buffer).write(array).result()
        return buffer

    return write, read, "caller", f"tensorstore {importlib.metadata.version('tensorstore')}"


MAKERS = {
    "netcdf-c": netcdf_c,
    "zarr-python": zarr_python,
    "zarr-python+zarrs": functools.partial(zarr_python, pipeline="zarrs.ZarrsCodecPipeline"),
    "tensorstore": tensorstore,
}


def timed(action):
    start = time.perf_counter()
    result = action()
    return time.perf_counter() - start, result


def measure(peer, codec, args):
    """Writes and reads `args.runs` times; prints the two lines."""
    field = np.fromfile(args.field, "<f4").reshape(SHAPE)
    folder = args.dir / f"{peer}-{codec}"
    row = {"peer": peer, "codec": codec}
    try:
        write, read, into, version = MAKERS[peer](codec, folder, args.threads)
    except Unsupported as why:
        print(json.dumps(row | {"skipped": str(why)}), flush=True)
        return
    seconds = {"write": [], "read": []}
    try:
        for _ in range(args.runs):
            shutil.rmtree(folder, ignore_errors=True)
            seconds["write"].append(timed(lambda: write(field))[0])
        stored = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        if codec != "none" and stored > 0.9 * field.nbytes:
            sys.exit(f"{peer}, {codec}: {stored} of {field.nbytes} bytes: stored without the codec")
        for _ in range(args.runs):
            taken, got = timed(read)
            seconds["read"].append(taken)
            if got.dtype != np.dtype("f4") or not np.array_equal(got, field):
                sys.exit(f"{peer}, {codec}: what was read is not what was written")
            if into == "caller":
                got.fill(-1)  # the next read must not find the answer there
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    # netcdf-c has one thread, except for those of blosc inside a chunk
    threads = 1 if peer == "netcdf-c" and "blosc" not in codec else args.threads
    row |= {"runs": args.runs, "threads": threads, "bytes": stored,
            "raw_bytes": field.nbytes, "version": version}
    for op, values in seconds.items():
        line = row | {"op": op, "seconds": round(statistics.median(values), 4), "best": round(min(values), 4)}
        print(json.dumps(line | ({"into": into} if op == "read" else {})), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", type=pathlib.Path, required=True, help="a folder for the datasets, on tmpfs")
    parser.add_argument("--field", type=pathlib.Path, help="raw little-endian float32; made if it is not there")
    parser.add_argument("--field-only", action="store_true", help="make the field, print its path, measure nothing")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=PEERS)
    parser.add_argument("--codecs", nargs="+", choices=CODECS, default=CODECS)
    parser.add_argument("--ncz", type=pathlib.Path, help="the benchmark program of ncz")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    args.dir = args.dir.resolve()
    args.dir.mkdir(parents=True, exist_ok=True)
    args.field = (args.field or args.dir / "field.f32").resolve()

    if args.worker:
        return measure(args.peers[0], args.codecs[0], args)
    if not args.field.exists():
        make_field(args.field)
    if args.field.stat().st_size != 4 * np.prod(SHAPE):
        sys.exit(f"{args.field} does not hold {SHAPE} float32 values")
    if args.field_only:
        return print(args.field)
    failed = 0
    rows = []

    def show(command, env):
        """Runs a program that prints rows, passes them on and keeps them."""
        nonlocal failed
        with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as program:
            for line in program.stdout:
                print(line, end="", flush=True)
                rows.append(json.loads(line))
        failed |= program.returncode

    for codec in args.codecs:
        # no thread pool of a library beyond the requested threads; blosc's is the only one that netcdf-c can have
        limits = {name: str(args.threads) for name in ("RAYON_NUM_THREADS", "OMP_NUM_THREADS", "BLOSC_NTHREADS")}
        for peer in args.peers:
            command = [sys.executable, __file__, "--worker", "--peers", peer, "--codecs", codec]
            for name in ("dir", "field", "runs", "threads"):
                command += [f"--{name}", str(getattr(args, name))]
            show(command, os.environ | limits)
        if args.ncz:
            show([args.ncz, "--rows", args.field, "--codec", codec, "--dir", args.dir, "--pairs", str(args.runs),
                  "--threads", str(args.threads)], os.environ)
    if args.ncz:
        print_table(rows, args)
    sys.exit(1 if failed else 0)


def print_table(rows, args):
    """MB of decoded data a second, median of the runs; the fastest of each line in bold."""
    peers = [*args.peers, "ncz"]
    print(f"\n| codec | op | {' | '.join(peers)} |\n{'| --- ' * (len(peers) + 2)}|")
    for codec in args.codecs:
        for op in ("write", "read"):
            speed = {row["peer"]: row["raw_bytes"] / 1e6 / row["seconds"]
                     for row in rows if row["codec"] == codec and row.get("op") == op}
            cells = (f"{speed[peer]:.0f}" if peer in speed else "-" for peer in peers)
            best = f"{max(speed.values()):.0f}"
            print(f"| {codec} | {op} | {' | '.join(f'**{cell}**' if cell == best else cell for cell in cells)} |")

if __name__ == "__main__":
    main()
