"""Every codec of numcodecs with every type, length and content: every_numcodec.py encode FOLDER, later decode FOLDER;
every_numcodec.py ids . prints the ids of all codecs.

encode: `cases.json`, a list of cases, and `blob`, the bytes that they point into. A case has the codec's JSON, the type and shape of
what is encoded (`raw`), what numcodecs makes of it (`encoded`; an error's text in `refused` instead), and what it decodes that to
(`decoded`, or `undecoded`). `exact` says that every encoder with the same library gives the same bytes.
decode: `ours.json`, a list of null or [offset, length, offset, length] into `ours`, has for each case a stream of ours and what
numcodecs must decode it to. Prints one line for each that differs.
"""

import json
import pathlib
import sys
import warnings

import numcodecs
import numpy as np

warnings.simplefilter("ignore")
np.seterr(all="ignore")
INTS = ["|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8", ">i2", ">i4", ">i8", ">u2", ">u4", ">u8"]
FLOATS = ["<f2", "<f4", "<f8", ">f2", ">f4", ">f8"]
OTHERS = ["|b1", "<c8", ">c8", "<c16", ">c16", "|S5", "<U3", ">U3", "|V6", "<M8[s]", ">M8[ns]", "<m8[ms]"]
ODD, CHUNK = 37, 256
BYTE_CODECS = [
    # the codec, and whether other encoders give the same bytes
    ({"id": "zlib", "level": 1}, False), ({"id": "zlib", "level": 9}, False), ({"id": "gzip", "level": 5}, False),
    ({"id": "bz2", "level": 1}, True),
    # numcodecs brings another libzstd
    ({"id": "zstd", "level": 3}, False), ({"id": "zstd", "level": -7, "checksum": True}, False),
    ({"id": "lz4", "acceleration": 1}, True), ({"id": "lz4", "acceleration": 50}, True),
    ({"id": "lzma", "preset": 0}, True), ({"id": "lzma", "preset": 1, "check": 10}, True), ({"id": "lzma", "format": 2, "preset": 0}, True),
    ({"id": "lzma", "format": 3, "filters": [{"id": 3, "dist": 4}, {"id": 0x21, "preset": 0}]}, True),
    *[({"id": "blosc", "cname": cname, "clevel": 5, "shuffle": shuffle, "blocksize": 0}, False)
      for cname, shuffle in (("blosclz", 1), ("lz4", 1), ("lz4hc", 0), ("zlib", 2), ("zstd", -1))],
    ({"id": "crc32"}, True), ({"id": "crc32", "location": "end"}, True), ({"id": "adler32"}, True), ({"id": "adler32", "location": "end"}, True),
    ({"id": "crc32c"}, True), ({"id": "crc32c", "location": "start"}, True), ({"id": "fletcher32"}, True),
    ({"id": "jenkins_lookup3"}, True), ({"id": "jenkins_lookup3", "initval": 2**32 - 1}, True),
]


def special(dtype):
    """The odd values of a type, from their bits, so that no NaN loses its payload on the way."""
    dtype = np.dtype(dtype)
    kind, size, order = dtype.kind, dtype.itemsize, dtype.str[0].replace("|", "<")
    if kind == "c":
        parts = special(f"{order}f{size // 2}")
        # numpy's resize and concatenate turn the bytes round
        n = np.arange(2 * len(parts))
        return parts[np.minimum(n, n[::-1])].view(dtype)
    if kind == "f":
        mantissa = {2: 10, 4: 23, 8: 52}[size]
        sign, infinity, quiet = 1 << 8 * size - 1, (1 << 8 * size - 1) - (1 << mantissa), 1 << mantissa - 1
        least = 1 << mantissa
        bits = [infinity + quiet, sign + infinity + quiet, infinity + quiet + 5, infinity + 1, sign + infinity + quiet - 1,  # NaN
                infinity, sign + infinity, 0, sign, 1, sign + 1, least - 1, sign + least - 1,  # infinities, zeros, subnormal
                least, infinity - 1, sign + infinity - 1]  # the least and the greatest
        return np.array(bits, f"{order}u{size}").view(dtype)
    if kind in "iuMm":
        bits = 8 * size
        edges = [0, 1, (1 << bits) - 1, (1 << bits - 1) - 1, 1 << bits - 1, (1 << bits - 1) + 1, 5]
        return np.array(edges, f"{order}u{size}").view(dtype)
    if kind == "b":
        return np.array([True, False, False])
    if kind == "U":
        return np.array(["", "a", "\u03a9\u00e9x", "\U0001f600", " b "], dtype)
    edges = [b"", b"a", b"\0b", b"\xff" * size, b"\0" * size]
    return np.array([edge.ljust(size, b"\0") for edge in edges], f"S{size}").view(dtype)


def noise(dtype, count):
    dtype = np.dtype(dtype)
    rng = np.random.default_rng(count)
    if dtype.kind == "b":
        return rng.integers(0, 2, count).astype(bool)
    if dtype.kind == "U":
        return np.array([chr(65 + n % 26) * (n % 4) for n in rng.integers(0, 999, count)], dtype)
    return rng.integers(0, 256, count * dtype.itemsize, "u1").view(dtype)


def ramp(dtype, count):
    """Values that change little, with tenths and halves where the type has them; none that a smaller type lacks."""
    dtype = np.dtype(dtype)
    n = np.arange(count) % 100
    if dtype.kind in "SV":
        return np.array([b"%03d" % value for value in n], f"S{dtype.itemsize}").view(dtype)
    if dtype.kind == "U":
        return np.array([str(value) for value in n], dtype)
    if dtype.kind == "b":
        return n % 3 == 0
    if dtype.kind in "fc":
        return (n * 0.35 - 3).astype(dtype)
    return n.astype(f"{dtype.str[0]}i{dtype.itemsize}").view(dtype) if dtype.kind in "Mm" else n.astype(dtype)


def arrays(dtype):
    """What is encoded, by name."""
    yield "empty", ramp(dtype, 0)
    yield "one", ramp(dtype, 13)[12:].copy()
    yield "equal, odd", np.repeat(ramp(dtype, 13)[12:], ODD)
    yield "ramp, odd", ramp(dtype, ODD)
    yield "ramp, whole", ramp(dtype, CHUNK)
    yield "noise, odd", noise(dtype, ODD)
    yield "noise, whole", noise(dtype, CHUNK)
    if np.dtype(dtype).kind == "b":
        yield "false, whole", np.zeros(CHUNK, bool)
        return
    if np.dtype(dtype).kind == "f":
        # numbers for which 2^30 or 2^62 over the largest of four is not a number of the type
        yield "tiny, odd", (ramp("<f8", ODD) * float(np.finfo(dtype).tiny) * 37).astype(dtype)
    values = special(dtype)
    yield "special, odd", values[np.arange(ODD) % len(values)]
    for number, value in enumerate(values):
        yield f"special {number}", np.repeat(values[number : number + 1], 3)


def number_codecs(dtype):
    """The codecs that compute, for data of one type."""
    kind, size, text = dtype.kind, dtype.itemsize, dtype.str
    if kind in "Mm":
        # zarr-python's users take times for integers
        text, kind = f"{text[0]}i8", "i"
    order = text[0].replace("|", "<")
    if kind in "iuf":
        for astype in dict.fromkeys([text, "<i2", "|u1", ">i4", "<i8", "<f4", ">f8"]):
            yield {"id": "delta", "dtype": text, "astype": astype}, True
            yield {"id": "astype", "encode_dtype": astype, "decode_dtype": text}, True
        for astype in dict.fromkeys([text, "|i1", "<u2", ">i4", "<f4", "<f8"]):
            for offset, scale in ((0, 1), (-5, 10), (0.5, 0.25), (1000, 2.0)):
                yield {"id": "fixedscaleoffset", "offset": offset, "scale": scale, "dtype": text, "astype": astype}, True
    if kind == "f":
        for astype in dict.fromkeys([text, "<f4", ">f8"]):
            for digits in (0, 1, 5, -1):
                yield {"id": "quantize", "digits": digits, "dtype": text, "astype": astype}, True
        for keepbits in (0, 1, 7, {2: 9, 4: 22, 8: 51}[size], {2: 10, 4: 23, 8: 52}[size], 53):
            yield {"id": "bitround", "keepbits": keepbits}, True
    if kind in "b" or text in ("|u1", "|i1"):
        yield {"id": "packbits"}, True
    if kind in "iufcbS":
        for more in ({}, {"level": 0}, {"delta_spec": "none", "mode_spec": "classic"}, {"delta_spec": "try_consecutive", "delta_encoding_order": 2},
                     {"delta_spec": "try_lookback"}, {"equal_pages_up_to": 7}):
            # The package pcodec is older than ours: other bytes
            yield {"id": "pcodec", **more}, False
        for more in ({}, {"tolerance": 0.01}, {"mode": 2, "rate": 7.5}, {"mode": 3, "precision": 11}):
            yield {"id": "zfpy", **more}, True
    if size > 1:
        yield {"id": "shuffle", "elementsize": size}, True
    yield {"id": "shuffle", "elementsize": 3}, True
    if kind == "f":
        yield {"id": "bitround", "keepbits": 3}, True
    if kind == "c":
        half = f"{order}f{size // 2}"
        yield {"id": "bitround", "keepbits": 3}, True
        # a complex number is two floating-point numbers to these
        yield {"id": "quantize", "digits": 1, "dtype": half}, True
        yield {"id": "delta", "dtype": half}, True


def make_cases():
    for text in INTS + FLOATS + OTHERS:
        dtype = np.dtype(text)
        codecs = BYTE_CODECS + list(number_codecs(dtype))
        for name, array in arrays(text):
            # one element thrice is for those that compute
            for codec, exact in codecs[len(BYTE_CODECS):] if name.startswith("special ") else codecs:
                yield text, name, array, codec, exact
    # zfp works on fields
    for text in ("<f4", "<f8", "<i4", "<i8"):
        for shape in ((1, 7), (9, 10), (5, 4, 6), (3, 2, 5, 6), (4, 4)):
            for codec in ({"id": "zfpy"}, {"id": "zfpy", "tolerance": 0.5}, {"id": "zfpy", "mode": 2, "rate": 12}, {"id": "zfpy", "mode": 3, "precision": 20}):
                array = ramp(text, int(np.prod(shape))).reshape(shape)
                yield text, f"ramp {shape}", array, codec, True


def as_bytes(encoded):
    return encoded if isinstance(encoded, bytes) else np.ascontiguousarray(encoded).tobytes()


def decoded(codec, stream):
    back = codec.decode(np.frombuffer(stream, "u1"))
    if back is None:
        raise ValueError("nothing came of it")
    return as_bytes(back)


def encode(folder):
    cases = []
    with open(folder / "blob", "wb") as blob:
        def put(data):
            start = blob.tell()
            return [start, blob.write(data)]

        for dtype, name, array, config, exact in make_cases():
            case = {"codec": config, "dtype": dtype, "shape": array.shape, "name": name, "exact": exact, "raw": put(array.tobytes())}
            cases.append(case)
            if config["id"] == "zfpy" and array.size == 0:
                case["refused"] = "zfpy ends the process, sooner or later"
                continue
            codec = numcodecs.get_codec(config)
            try:
                encoded = as_bytes(codec.encode(array))
            except Exception as error:
                case["refused"] = f"{type(error).__name__}: {error}"
                continue
            case["encoded"] = put(encoded)
            try:
                case["decoded"] = put(decoded(codec, encoded))
            except Exception as error:
                case["undecoded"] = f"{type(error).__name__}: {error}"
    (folder / "cases.json").write_text(json.dumps(cases))


def decode(folder):
    ours = (folder / "ours").read_bytes()
    lengths = json.loads((folder / "ours.json").read_text())
    for case, length in zip(json.loads((folder / "cases.json").read_text()), lengths, strict=True):
        if length is None:
            continue
        stream, wanted = (ours[at : at + count] for at, count in (length[:2], length[2:]))
        what = f"{case['codec']} {case['dtype']} {case['name']}"
        try:
            if decoded(numcodecs.get_codec(case["codec"]), stream) != wanted:
                print(f"{what}: other bytes")
        except Exception as error:
            print(f"{what}: {error}")


def ids(_folder):
    print(*sorted(numcodecs.registry.codec_registry))


if __name__ == "__main__":
    {"encode": encode, "decode": decode, "ids": ids}[sys.argv[1]](pathlib.Path(sys.argv[2]))
