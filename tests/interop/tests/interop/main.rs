//! Against other programs, and against the design itself: one test binary.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail the test")]

mod harness;

// The direction of dependencies, read from cargo.
mod dependencies;
// Targets without tests, which cargo builds no test program for.
mod targets;
// Chunks that HDF5 stored, through our chains: built in, as plugins, mixed with foreign plugins.
mod hdf5_chunks;
// HDF5 itself with our plugins.
mod h5py;
// Every HDF5 filter with every type, shape and content, against HDF5.
mod hdf5_filters;
// LZ4, bitshuffle and LZF, by HDF5 and by netcdf-c.
mod hdf5_codecs;
// Blosc2, by our plugin and by hdf5plugin's.
mod hdf5_blosc2;
// netcdf-c with our plugins.
mod netcdf4;
// numcodecs' streams, and datasets that zarr-python and netcdf-c wrote.
mod zarr_python;
// Every codec of numcodecs, both ways.
mod numcodecs;
// Arrays with each of them, by itself and in chains.
mod numcodecs_arrays;
// The byte codecs of Zarr v3 against zarr-python and tensorstore.
mod zarr_v3_codecs;
// Arrays of Zarr v3 with codecs that change types and fill values, or pack bits.
mod zarr_v3_arrays;
// Metadata of Zarr v3, exchanged with zarr-python and tensorstore.
mod zarr3_metadata;
// Shards, orders, types and keys of Zarr v3, exchanged with zarr-python and tensorstore.
mod zarr3_data;
// `ncz copy`, read by netcdf-c and zarr-python.
mod copy;
// Damaged and absurd input through the command.
mod bad_input;
// The plugin template, copied out of the tree.
mod template;
// The worked example of the book.
mod guide;
// The first hour of a newcomer, by scripts that have only commands of the documents.
mod first_hour;
// Our shared libraries in programs that know nothing of us.
mod third_party;
// HDF5's BitRound, by HDF5 and by ncz.
mod bitround;
// netcdf-c's test filters, by netcdf-c and by ncz.
mod netcdf_filters;
// The filter functions, call by call against netcdf-c's.
mod filter_api;
// Quantized values, bit by bit against netcdf-c's.
mod quantize;
// Types that netCDF lacks, and strings, as other programs read them.
mod types;
// Missing values in copies, by the masks that other programs return.
mod missing_values;
// Datasets that one program made and others let grow.
mod growing;
// Every dataset of the fixtures, in both storages.
mod all_data;
// Every type with every codec, with every peer in both directions.
mod matrix;
// The table of readers, against each of them.
mod readers;
