//! A host for compression plugins of scientific data: registry, chains, stores, Zarr and NCZarr datasets.
