//! Against real HDF5, netcdf-c, zarr-python and tensorstore.
