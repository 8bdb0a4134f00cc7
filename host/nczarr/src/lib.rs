//! What the bytes of a dataset mean: Zarr and NCZarr metadata, types, chunks, slabs.
