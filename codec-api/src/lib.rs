//! The codec plugin API of ncz: one codec, three faces (HDF5, NCZarr, native).
