#!/usr/bin/env -S bash -eu
# A codec in Rust and one in C, as in host/docs/src/plugin-guide.md. It begins in a clone.
clone=$PWD && cd "$(mktemp -d)"
ncz new-codec acme-fpz --id 32900 --codec-api "$clone/codec-api" && cd acme-fpz
cargo test
cargo build --release
ncz conform target/release/libh5acme_fpz.so
export HDF5_PLUGIN_PATH=$PWD/target/release
ncz plugins why acme-fpz
python - <<'END'
import h5py, numpy as np
data = np.arange(1000, dtype="<i4").reshape(20, 50)
with h5py.File("acme.h5", "w") as file:
    file.create_dataset("v", data=data, chunks=(10, 50), compression=32900, compression_opts=(4,))
with h5py.File("acme.h5") as file:
    print((file["v"][...] == data).all(), file["v"].id.get_create_plist().get_filter(0))
END

cd "$(mktemp -d)"
ncz new-codec acme-fp2 --id 32901 --c && cd acme-fp2
cc -shared -fPIC -O2 -fvisibility=hidden -I include -o libh5acme_fp2.so acme_fp2.c
ncz conform libh5acme_fp2.so
export HDF5_PLUGIN_PATH=$PWD
ncz plugins why acme-fp2
python - <<'END'
import h5py, numpy as np
data = np.arange(1000, dtype="<i4").reshape(20, 50)
with h5py.File("acme.h5", "w") as file:
    file.create_dataset("v", data=data, chunks=(10, 50), compression=32901, compression_opts=(4,))
with h5py.File("acme.h5") as file:
    print((file["v"][...] == data).all(), file["v"].id.get_create_plist().get_filter(0))
END
