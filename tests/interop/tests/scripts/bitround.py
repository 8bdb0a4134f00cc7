"""HDF5's BitRound (32032) by h5py with the plugin of HDF5_PLUGIN_PATH: bitround.py CASES FILE.

CASES is filter_32032.json. Each case is written to FILE, and its chunk and words are compared with those of The HDF
Group's plugin. Prints how many are the same, and what HDF5 says of those that are refused.
"""

import json
import sys

import h5py
import numpy as np
from h5py import h5d, h5p, h5s, h5t

BITROUND = 32032

same, untouched, refused = 0, 0, []
with open(sys.argv[1]) as text:
    cases = json.load(text)
with h5py.File(sys.argv[2], "w") as file:
    for number, case in enumerate(cases):
        values = np.frombuffer(bytes.fromhex(case["raw"]), case["dtype"])
        dcpl = h5p.create(h5p.DATASET_CREATE)
        dcpl.set_chunk(values.shape)
        if case["fill"] is not None:
            dcpl.set_fill_value(np.frombuffer(bytes.fromhex(case["fill"]), case["dtype"])[0:1].reshape(()))
        dcpl.set_filter(BITROUND, 0, tuple(case["given"]))
        name = b"case%d" % number
        try:
            data = h5d.create(file.id, name, h5t.py_create(values.dtype), h5s.create_simple(values.shape), dcpl)
        except ValueError as error:
            refused.append([case["dtype"], case["given"], "refused" in case, str(error)])
            continue
        data.write(h5s.ALL, h5s.ALL, np.ascontiguousarray(values))
        mask, chunk = data.read_direct_chunk((0,))
        assert mask == 0 and chunk.hex() == case["encoded"], case
        if case["stored"] is None:
            # The HDF Group's plugin has taken itself out.
            untouched += 1
            assert case["encoded"] == case["raw"]
        else:
            words = list(data.get_create_plist().get_filter(0)[2])
            used = 5 if words[2] else 3
            assert words[:used] == case["stored"][:used], (words, case)
            same += 1
with h5py.File(sys.argv[2]) as file:
    for number, case in enumerate(cases):
        if f"case{number}" in file:
            assert file[f"case{number}"][...].tobytes().hex() == case["encoded"], number
json.dump({"same": same, "untouched": untouched, "refused": refused}, sys.stdout)
