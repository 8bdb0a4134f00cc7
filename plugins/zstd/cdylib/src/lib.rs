//! The zstd codec as a plugin for HDF5, netcdf-c and ncz.
