"""What h5py records, writes and reads with the plugins of hdf5plugin.

`create DIR` makes datasets of every type, chunk shape and set of parameters, and leaves in DIR
    cases.tsv   a line a case: library, filter, dtype, chunk shape, given words, what came of it
    blobs.bin   chunks: as given, as stored, as read back
`check DIR` reads the chunks that another program encoded (ours.tsv, ours.bin) and says which read wrongly.

HDF5 crashes or hangs in some cases, so each plugin's cases run in a child that is replaced when it dies.
"""

import os
import select
import signal
import sys

import h5py
import hdf5plugin
import numpy as np
from h5py import h5d, h5f, h5p, h5s, h5t, h5z

SECONDS = 1.5
NINE = (0, 1062232653, 3539053052, 0, 0, 0, 0, 0, 0)
RATE = (1, 0, 0, 1076101120, 0, 0)
PLUGINS = [
    # library, filter, given words
    ("libh5blosc.so", 32001, [(), (0, 0, 0, 0, 5, 1, 1), (0, 0, 0, 0, 9), (0, 0, 0, 0, 5, 2, 5)]),
    ("libh5blosc2.so", 32026, [(), (0, 0, 0, 0, 5, 1, 1), (0, 0, 0, 0, 5, 1, 5)]),
    ("libh5bshuf.so", 32008, [(), (0, 2), (0, 3, 7), (512, 2), (13, 2)]),
    ("libh5bzip2.so", 307, [(), (9,)]),
    ("libh5fcidecomp.so", 32018, [()]),
    ("libh5htj2k.so", 32033, [()]),
    ("libh5lz4.so", 32004, [(), (1024,)]),
    ("libh5sperr.so", 32028, [(940177214, 0), (940177214, 1), (940177214, 2)]),
    ("libh5sz.so", 32017, [NINE, ()]),
    ("libh5sz3.so", 32024, [NINE, ()]),
    (
        "libh5zfp.so",
        32013,
        [RATE, (2, 0, 16), (3, 0, 3539053052, 1062232653), (5,), (4, 0, 1, 16657, 64, 4294966222), ()],
    ),
    ("libh5zstd.so", 32015, [(), (3,)]),
]
DTYPES = "f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 >f2 >f4 >f8 >i2 >i4 >i8 >u2 >u4 >u8 b1 c8 c16 >c8 S5 V7".split()
SHAPES = [
    (768,),
    (32, 24),
    (1, 32, 24),
    (3, 16, 24),
    (24, 16, 3),
    (1, 1, 32, 24),
    (2, 3, 16, 12),
    (1, 2, 2, 16, 12),
    (2, 2, 4, 6, 8),
    (1,),
]
# Here HDF5 hangs or crashes with every shape: two shapes show it as well as ten.
GRIM = {
    "libh5sz.so": lambda dtype, given: given == (),
    "libh5sz3.so": lambda dtype, given: dtype[0] == ">",
    "libh5zfp.so": lambda dtype, given: False,
}


# sz and sz3 damage memory over these, which shows in later cases: no case comes after one in the same child.
DIRTY = ("libh5sz.so", "libh5sz3.so"), "f2 >f2 i1 u1 i2 u2 >i2 >u2".split()
SPENT = 42


def cases():
    number = 0
    for library, filter_id, words in PLUGINS:
        for dtype in DTYPES:
            for given in words:
                for shape in SHAPES:
                    grim = GRIM.get(library, lambda dtype, given: False)(dtype, given)
                    if not grim or shape in SHAPES[1:3]:
                        yield number, library, filter_id, dtype, shape, given
                        number += 1


def chunk(dtype, shape):
    """Values that filters for images and fields can do something with."""
    count = int(np.prod(shape))
    ramp = np.arange(count)
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return (np.sin(ramp / 11.0) * 100 + ramp % 7).astype(dtype).reshape(shape)
    if dtype.kind == "c":
        return (np.sin(ramp / 11.0) + 1j * np.cos(ramp / 5.0)).astype(dtype).reshape(shape)
    if dtype.kind == "b":
        return (ramp % 3 == 0).reshape(shape)
    if dtype.kind in "SV":
        text = np.array([b"%05d" % (i % 97) for i in ramp], "S5")
        if dtype.kind == "S":
            return text.reshape(shape)
        return np.frombuffer(b"".join(bytes(t).ljust(7, b"z") for t in text), dtype).reshape(shape)
    return (50 + 30 * np.sin(ramp / 9.0) + ramp % 5).astype(dtype).reshape(shape)


def new_file():
    access = h5p.create(h5p.FILE_ACCESS)
    access.set_fapl_core(1 << 16, False)
    return h5f.create(b"oracle-%d" % os.getpid(), fapl=access)


def new_dataset(file, filter_id, dtype, shape, given):
    plist = h5p.create(h5p.DATASET_CREATE)
    plist.set_chunk(shape)
    plist.set_filter(filter_id, 0, given)
    plist.set_fill_time(h5d.FILL_TIME_NEVER)
    return h5d.create(file, None, h5t.py_create(np.dtype(dtype), logical=True), h5s.create_simple(shape), plist)


def run_case(file, case):
    """Yields what came of it as it comes: the child may die in between."""
    _, _, filter_id, dtype, shape, given = case
    try:
        dataset = new_dataset(file, filter_id, dtype, shape, given)
    except Exception:
        yield "refused", b""
        return
    recorded = dataset.get_create_plist().get_filter_by_id(filter_id)
    yield "words", ",".join(map(str, recorded[1])).encode()
    data = chunk(dtype, shape)
    try:
        dataset.write(h5s.ALL, h5s.ALL, data)
        dataset.flush()
        mask, stored = dataset.read_direct_chunk((0,) * len(shape))
    except Exception:
        yield "unwritten", b""
        return
    if mask:
        yield "unwritten", b""
        return
    # A new dataset, because the chunk of this one may still be decoded in the cache.
    other = new_dataset(file, filter_id, dtype, shape, given)
    other.write_direct_chunk((0,) * len(shape), stored)
    back = np.zeros(shape, data.dtype)
    try:
        other.read(h5s.ALL, h5s.ALL, back)
    except Exception:
        yield "unreadable", b""
        return
    yield "stored", stored
    yield "back", back.tobytes()


def child(todo, out):
    """Runs the cases; writes (number, word, bytes) records to a pipe."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(1, 2)
    file = new_file()
    with os.fdopen(out, "wb") as pipe:
        for case in todo:
            for word, blob in run_case(file, case):
                pipe.write(b"%d %s %d\n" % (case[0], word.encode(), len(blob)) + blob)
                pipe.flush()
            pipe.write(b"%d done 0\n" % case[0])
            pipe.flush()
            if case[1] in DIRTY[0] and case[3] in DIRTY[1]:
                os._exit(SPENT)
    os._exit(0)


class Group:
    """The cases of one plugin, and the child that is at them."""

    def __init__(self, todo):
        self.todo, self.at, self.found = todo, 0, {case[0]: {} for case in todo}
        self.start()

    def start(self):
        reader, writer = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(reader)
            child(self.todo[self.at :], writer)
        os.close(writer)
        self.pipe, self.buffer = reader, b""

    def step(self):
        """Reads the child's output. Returns whether cases are left."""
        ready, _, _ = select.select([self.pipe], [], [], SECONDS)
        data = os.read(self.pipe, 1 << 20) if ready else None
        if data:
            self.buffer += data
            self.parse()
            return True
        # The end of the pipe, or no word for too long.
        if data is None:
            os.kill(self.pid, signal.SIGKILL)
        _, status = os.waitpid(self.pid, 0)
        os.close(self.pipe)
        is_spent = os.WIFEXITED(status) and os.WEXITSTATUS(status) == SPENT
        if not is_spent and self.at < len(self.todo):
            self.found[self.todo[self.at][0]]["hang" if data is None else "crash"] = b""
            self.at += 1
        if self.at < len(self.todo):
            self.start()
            return True
        return False

    def parse(self):
        while b"\n" in self.buffer:
            head, rest = self.buffer.split(b"\n", 1)
            number, word, length = head.split()
            if len(rest) < int(length):
                return
            self.buffer = rest[int(length) :]
            if word == b"done":
                self.at += 1
            else:
                self.found[int(number)][word.decode()] = rest[: int(length)]


def create(folder):
    every = list(cases())
    groups = [[case for case in every if case[1] == plugin[0]] for plugin in PLUGINS]
    parts = [os.fork() for _ in range(1)]
    # Two processes share the plugins.
    mine = 0 if parts[0] else 1
    found = {}
    for place, todo in enumerate(groups):
        if place % 2 == mine:
            group = Group(todo)
            while group.step():
                pass
            found.update(group.found)
    part = os.path.join(folder, f"part{mine}.npy")
    np.save(part, found, allow_pickle=True)
    if mine:
        os._exit(0)
    _, status = os.waitpid(parts[0], 0)
    if status:
        sys.exit("the second half failed")
    found.update(np.load(os.path.join(folder, "part1.npy"), allow_pickle=True).item())
    blobs, places = open(os.path.join(folder, "blobs.bin"), "wb"), {}

    def place_of(blob):
        if blob is None:
            return "-"
        if blob not in places:
            places[blob] = f"{blobs.tell()}:{len(blob)}"
            blobs.write(blob)
        return places[blob]

    with open(os.path.join(folder, "cases.tsv"), "w") as table:
        for case in every:
            number, library, filter_id, dtype, shape, given = case
            result = found[number]
            ends = [word for word in ("refused", "unwritten", "unreadable", "crash", "hang") if word in result]
            row = [
                number,
                library,
                filter_id,
                dtype,
                "x".join(map(str, shape)),
                ",".join(map(str, given)),
                ends[0] if ends else "good",
                result.get("words", b"").decode(),
                place_of(chunk(dtype, shape).tobytes()),
                place_of(result.get("stored")),
                place_of(result.get("back")),
            ]
            print(*row, sep="\t", file=table)
    blobs.close()


def check(folder):
    """Reads the encoding of another program: each chunk must decode to the values in the table."""
    every = {case[0]: case for case in cases()}
    file = new_file()
    ours = open(os.path.join(folder, "ours.bin"), "rb").read()
    bad = 0
    count = 0
    for line in open(os.path.join(folder, "ours.tsv")):
        number, stored, wanted = line.split("\t")
        number, library, filter_id, dtype, shape, given = every[int(number)]
        start, length = map(int, stored.split(":"))
        dataset = new_dataset(file, filter_id, dtype, shape, given)
        dataset.write_direct_chunk((0,) * len(shape), ours[start : start + length])
        back = np.zeros(shape, dtype)
        count += 1
        try:
            dataset.read(h5s.ALL, h5s.ALL, back)
        except Exception as error:
            print("unread", library, dtype, shape, given, error)
            bad += 1
            continue
        start, length = map(int, wanted.split(":"))
        if back.tobytes() != ours[start : start + length]:
            print("differs", library, dtype, shape, given)
            bad += 1
    print("checked", count, "bad", bad)


if __name__ == "__main__":
    {"create": create, "check": check}[sys.argv[1]](sys.argv[2])
