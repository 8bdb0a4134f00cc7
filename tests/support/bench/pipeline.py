"""Compares pipelines of zarr-python: ncz's, its own (the default, and the fused one where there is one) and zarrs.

    pipeline.py --dir /dev/shm/bench                 every pipeline, every cell; ncz and zarrs must be importable
    pipeline.py --dir /dev/shm/bench --calls         one call of a codec: numcodecs and ncz, beside the C function

Writes and reads one Zarr 2 array of float32 (the field of peers.py) in a folder, in chunks of 4 MB and of 256 kB. Each
pipeline runs in a process of its own; those of a cell run in turns, as often as --runs says. Prints a table of MB of decoded
data a second, the median of the runs, and how much faster ncz is than the best other. What was read is compared with what
was written before anything is timed; a fallback to another pipeline ends the program with status 1. --dir must be a folder
of a memory file system for figures that mean something.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

import numpy as np
from peers import SHAPE, make_field

CHUNKS = {"4 MB": (1, 721, 1440), "256 kB": (1, 181, 360)}
CODECS = ("none", "shuffle+zlib-4", "zstd-3", "blosc-lz4-5", "blosc-zstd-5")
PIPELINES = {
    "default": "zarr.core.codec_pipeline.BatchedCodecPipeline",
    "fused": "zarr.core.codec_pipeline.FusedCodecPipeline",
    "zarrs": "zarrs.ZarrsCodecPipeline",
    "ncz": "ncz.zarr.CodecPipeline",
}


def serve(args):
    """Answers lines of JSON on the input: {codec, chunks, action}; with seconds and processor seconds."""
    import numcodecs
    import zarr
    from zarr.core.buffer import default_buffer_prototype

    settings = {"threading.max_workers": args.threads, "async.concurrency": args.threads * 4}
    settings |= {"array.write_empty_chunks": True, "codec_pipeline.strict": True}
    zarr.config.set(settings | {"codec_pipeline.path": PIPELINES[args.serve]})
    codecs = {
        "none": (None, None),
        "shuffle+zlib-4": ([numcodecs.Shuffle(4)], numcodecs.Zlib(4)),
        "zstd-3": (None, numcodecs.Zstd(3)),
        "blosc-lz4-5": (None, numcodecs.Blosc("lz4", 5, numcodecs.Blosc.SHUFFLE)),
        "blosc-zstd-5": (None, numcodecs.Blosc("zstd", 5, numcodecs.Blosc.SHUFFLE)),
    }
    field = np.fromfile(args.field, "<f4").reshape(SHAPE)
    buffer = np.empty(SHAPE, "f4")
    out = default_buffer_prototype().nd_buffer.from_numpy_array(buffer)
    for line in sys.stdin:
        cell = json.loads(line)
        folder = args.dir / f"{args.serve}-array"
        filters, compressor = codecs[cell["codec"]]
        options = {"shape": SHAPE, "chunks": CHUNKS[cell["chunks"]], "dtype": "<f4", "zarr_format": 2, "fill_value": 0}
        if cell["action"] == "write":
            shutil.rmtree(folder, ignore_errors=True)
            array = zarr.create_array(str(folder), filters=filters, compressors=compressor, **options)
            action = lambda: array.__setitem__(Ellipsis, field)  # noqa: B023, E731
        else:
            buffer.fill(-1)
            array = zarr.open_array(str(folder), mode="r", zarr_format=2)
            action = lambda: array.get_basic_selection(Ellipsis, out=out)  # noqa: B023, E731
        start, cpu = time.perf_counter(), time.process_time()
        action()
        seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
        same = cell["action"] == "write" or bool(np.array_equal(buffer, field))
        print(json.dumps({"seconds": seconds, "cpu": cpu, "same": same}), flush=True)


class Pipeline:
    """A process with one pipeline."""

    def __init__(self, name, args):
        limits = {key: str(args.threads) for key in ("RAYON_NUM_THREADS", "OMP_NUM_THREADS", "NCZ_THREADS")}
        command = [sys.executable, __file__, "--serve", name, "--dir", args.dir, "--field", args.field]
        command += ["--threads", str(args.threads)]
        self.process = subprocess.Popen(
            command, env=os.environ | limits, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, codec, chunks, action):
        self.process.stdin.write(json.dumps({"codec": codec, "chunks": chunks, "action": action}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{self.process.args[3]}, {codec}, {chunks}: the pipeline failed")
        answer = json.loads(line)
        if not answer["same"]:
            sys.exit(f"{self.process.args[3]}, {codec}, {chunks}: what was read is not what was written")
        return answer


def compare(args):
    """Prints the table."""
    import zarr.core.codec_pipeline as own

    names = [name for name in args.pipelines if name != "fused" or hasattr(own, "FusedCodecPipeline")]
    pipelines = {name: Pipeline(name, args) for name in names}
    megabytes = 4 * np.prod(SHAPE) / 1e6
    others = [name for name in names if name != "ncz"]
    print(f"| chunks | codec | op | {' | '.join(names)} | ncz / best other | processor seconds |")
    print("| --- " * (len(names) + 5) + "|")
    for chunks in args.chunks:
        for codec in args.codecs:
            for pipeline in pipelines.values():
                pipeline.ask(codec, chunks, "write")
                pipeline.ask(codec, chunks, "read")
            runs = {(name, action): [] for name in names for action in ("write", "read")}
            for _ in range(args.runs):
                for action in ("write", "read"):
                    for name, pipeline in pipelines.items():
                        runs[name, action].append(pipeline.ask(codec, chunks, action))
            for action in ("write", "read"):
                middle = {n: statistics.median(run["seconds"] for run in runs[n, action]) for n in names}
                cpu = [f"{statistics.median(run['cpu'] for run in runs[n, action]):.2f}" for n in names]
                cells = " | ".join(f"{megabytes / middle[name]:.0f}" for name in names)
                times = f"{min(middle[n] for n in others) / middle['ncz']:.2f}" if "ncz" in names and others else ""
                print(f"| {chunks} | {codec} | {action} | {cells} | {times} | {', '.join(cpu)} |", flush=True)
    for name, pipeline in pipelines.items():
        pipeline.process.stdin.close()
        pipeline.process.wait()
        shutil.rmtree(args.dir / f"{name}-array", ignore_errors=True)


def calls():
    """Prints what one call of a codec costs with 16 bytes, where the codec does next to nothing."""
    import ctypes
    import timeit
    import zlib

    import numcodecs

    import ncz.numcodecs

    def microseconds(call):
        return min(timeit.repeat(call, number=10000, repeat=7)) * 100

    data = np.arange(16, dtype="u1")
    print("| codec | numcodecs encode, decode | ncz encode, decode |\n| --- | --- | --- |")
    for codec in ({"id": "crc32"}, {"id": "adler32"}, {"id": "lz4"}, {"id": "zstd", "level": 1}, {"id": "zlib", "level": 1}):
        config = dict(codec)
        ours = ncz.numcodecs.codec_class(config.pop("id"))(**config)
        cells = []
        for one in (numcodecs.get_codec(codec), ours):
            stored = one.encode(data)
            times = [microseconds(lambda: one.encode(data)), microseconds(lambda: one.decode(stored))]  # noqa: B023
            cells.append(", ".join(f"{value:.2f} us" for value in times))
        print(f"| {codec['id']} | {' | '.join(cells)} |")
    # The C function through ctypes costs what a call from Python costs at least; zlib's through its module likewise.
    libzlib = ctypes.CDLL("libz.so.1")
    stored = bytes(data)
    print(f"C crc32 by ctypes: {microseconds(lambda: libzlib.crc32(0, stored, 16)):.2f} us, "
          f"by the module zlib: {microseconds(lambda: zlib.crc32(stored)):.2f} us")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", type=pathlib.Path, help="a folder for the datasets, on tmpfs")
    parser.add_argument("--field", type=pathlib.Path, help="raw little-endian float32; made if it is not there")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--pipelines", nargs="+", choices=PIPELINES, default=list(PIPELINES))
    parser.add_argument("--codecs", nargs="+", choices=CODECS, default=CODECS)
    parser.add_argument("--chunks", nargs="+", choices=CHUNKS, default=list(CHUNKS))
    parser.add_argument("--calls", action="store_true", help="the cost of one call")
    parser.add_argument("--serve", choices=PIPELINES, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.calls:
        return calls()
    if args.dir is None:
        parser.error("--dir is missing")
    args.dir = args.dir.resolve()
    args.dir.mkdir(parents=True, exist_ok=True)
    args.field = (args.field or args.dir / "field.f32").resolve()
    if args.serve:
        return serve(args)
    if not args.field.exists():
        make_field(args.field)
    compare(args)


if __name__ == "__main__":
    main()
