//! Which program reads what, as data.
//!
//! Each cell is a word: `y` reads it; `n` does not; `w` opens it and gives other values; `+package` reads it with that
//! package or with plugins; `>version` reads it from that version on; `-` concerns what the program does not open. The
//! columns of programs that are tested are those of the test `tests/interop/tests/interop/readers.rs`; GDAL and MATLAB
//! are as documented.

use super::Reader;

/// The columns, in the order of the cells.
pub(super) const COLUMNS: [Reader; 8] = [
    Reader::NetcdfC,
    Reader::Hdf5,
    Reader::ZarrPython,
    Reader::Xarray,
    Reader::Zarrs,
    Reader::Tensorstore,
    Reader::Gdal,
    Reader::Matlab,
];

/// The versions that are tested; of zarrs the Python package. GDAL and MATLAB are not tested.
pub(super) const TESTED: [Option<&str>; 8] = [
    Some("4.10.1"),
    Some("2.0.0"),
    Some("3.1.6"),
    Some("2026.9.0"),
    Some("0.2.3"),
    Some("0.1.86"),
    None,
    None,
];

type Row = (&'static str, [&'static str; 8]);

#[rustfmt::skip]
pub(super) const TABLE: &[Row] = &[
    // Formats.                      netcdf-c    HDF5    zarr-python xarray zarrs tensorstore GDAL MATLAB
    ("format nczarr",               [">4.9.3", "n", "y", "y", "y", "y", "y", "n"]),
    ("format zarr2",                ["y", "n", "y", "y", "y", "y", "y", "n"]),
    ("format zarr3",                ["n", "n", ">3.0", "y", "y", "y", "y", "n"]),
    ("format nczarr3",              ["n", "n", ">3.0", "y", "y", "y", "y", "n"]),
    ("format netcdf4",              ["y", "y", "n", "y", "n", "n", "y", "y"]),
    ("format netcdf4-classic",      ["y", "y", "n", "y", "n", "n", "y", "y"]),
    ("format classic",              ["y", "n", "n", "y", "n", "n", "y", "y"]),
    ("format 64bit-offset",         ["y", "n", "n", "y", "n", "n", "y", "y"]),
    ("format cdf5",                 ["y", "n", "n", "y", "n", "n", "y", "y"]),
    ("zip file",                    ["n", "-", "y", "y", "y", "y", "y", "-"]),

    // Types in Zarr version 2.
    ("v2 type number",              ["y", "-", "y", "y", "y", "y", "y", "-"]),
    ("v2 type bool",                ["n", "-", "y", "y", "y", "y", "y", "-"]),
    ("v2 type float16",             ["n", "-", "y", "y", "y", "y", "y", "-"]),
    ("v2 type complex",             ["n", "-", "y", "y", "n", "y", "y", "-"]),
    ("v2 type datetime64",          ["n", "-", "y", "y", "n", "n", "n", "-"]),
    ("v2 type timedelta64",         ["n", "-", "y", "y", "n", "n", "n", "-"]),
    ("v2 type unicode",             ["n", "-", "y", "y", "n", "n", "y", "-"]),
    ("v2 type bytes",               ["y", "-", "y", "y", "n", "n", "y", "-"]),
    ("v2 type char",                ["y", "-", "y", "y", "n", "n", "y", "-"]),
    // netcdf-c gives them a byte order.
    ("v2 type char of NCZarr",      ["y", "-", "n", "n", "n", "n", "y", "-"]),
    ("v2 type string",              ["n", "-", "y", "y", "y", "n", "n", "-"]),
    ("v2 type variable_length_bytes", ["n", "-", "y", "y", "y", "n", "n", "-"]),
    ("v2 type other",               ["n", "-", "y", "y", "n", "n", "n", "-"]),

    // Types in Zarr version 3.
    ("v3 type number",              ["-",       "-",          "y", "y", "y", "y", "y", "-"]),
    ("v3 type bool",                ["-",       "-",          "y", "y", "y", "y", "y", "-"]),
    ("v3 type float16",             ["-",       "-",          "y", "y", "y", "y", "y", "-"]),
    ("v3 type complex",             ["-",       "-",          "y", "y", "y", "y", "y", "-"]),
    ("v3 type datetime64",          ["-",       "-",          "y", "y", "y", "n", "n", "-"]),
    ("v3 type timedelta64",         ["-",       "-",          "y", "y", "y", "n", "n", "-"]),
    ("v3 type unicode",             ["-",       "-",          "y", "y", "n", "n", "y", "-"]),
    ("v3 type bytes",               ["-",       "-",          "y", "y", "n", "n", "y", "-"]),
    ("v3 type char",                ["-",       "-",          "y", "y", "n", "n", "y", "-"]),
    ("v3 type string",              ["-",       "-",          "y", "y", "y", "n", "n", "-"]),
    ("v3 type variable_length_bytes", ["-",     "-",          "y", "y", "y", "n", "n", "-"]),
    ("v3 type other",               ["-",       "-",          "y", "y", "n", "n", "n", "-"]),

    // Types in netCDF and HDF5 files.
    ("file type number",            ["y",       "y",          "-", "y", "-", "-", "y", "y"]),
    ("file type bool",              ["y",       "y",          "-", "y", "-", "-", "y", "y"]),
    ("file type float16",           ["n",       "y",          "-", "n", "-", "-", "n", "n"]),
    ("file type complex",           ["y",       "y",          "-", "y", "-", "-", "n", "y"]),
    ("file type bytes",             ["y",       "y",          "-", "y", "-", "-", "y", "y"]),
    ("file type char",              ["y",       "y",          "-", "y", "-", "-", "y", "y"]),
    ("file type string",            ["y",       "y",          "-", "y", "-", "-", "y", "y"]),
    ("file type other",             ["y",       "y",          "-", "y", "-", "-", "n", "y"]),

    // Forms of arrays, fill values and names.
    ("v2 order F",                  ["w", "-", "y", "y", "n", "y", "y", "-"]),
    ("v2 several codecs",           ["y", "-", "y", "y", "y", "n", "y", "-"]),
    ("v2 big-endian",               ["y", "-", "y", "y", "n", "y", "y", "-"]),
    ("v2 fill of text",             ["y", "-", "y", "y", "y", "n", "y", "-"]),
    // netcdf-c writes the text itself, which zarr-python takes for Base64.
    ("v2 fill of text of NCZarr",   ["y", "-", "n", "n", "n", "n", "y", "-"]),
    ("v2 fill of structures",       ["n", "-", "y", "n", "n", "n", "n", "-"]),
    ("v2 unnamed dimensions",       ["y", "-", "y", "n", "y", "y", "y", "-"]),
    ("v3 fill of text",             ["-",       "-",          "y", "y", "n", "n", "y", "-"]),
    // As xarray reads none: see `Variable::has_fill_of_xarray` of `ncz-model`.
    ("v3 attribute _FillValue",     ["-",       "-",          "y", "n", "y", "y", "y", "-"]),
    ("v3 unnamed dimensions",       ["-",       "-",          "y", "n", "y", "y", "y", "-"]),
    ("v2 shuffle without size",     ["y", "-", "w", "w", "n", "n", "n", "-"]),
    ("v2 blosc of a scalar",        ["n", "-", "y", "y", "y", "y", "y", "-"]),
    ("v2 root array",               ["n", "-", "y", "n", "y", "y", "y", "-"]),
    ("v3 root array",               ["-",       "-",          "y", "n", "y", "y", "y", "-"]),
    ("v3 shards",                   ["-",       "-",          "y", "y", "y", "y", ">3.13", "-"]),
    ("v3 transpose",                ["-",       "-",          "y", "y", "y", "y", "y", "-"]),

    // Codecs in Zarr version 2 and NCZarr, by their numcodecs ids.
    ("v2 adler32",                  ["n", "-", "y", "y", "n", "n", "n", "-"]),
    ("v2 astype",                   ["n", "-", "y", "y", "n", "n", "n", "-"]),
    ("v2 bitround",                 ["n", "-", "y", "y", "n", "n", "n", "-"]),
    ("v2 blosc",                    ["y", "-", "y", "y", "y", "y", "y", "-"]),
    ("v2 bz2",                      ["y", "-", "y", "y", "y", "y", "n", "-"]),
    ("v2 crc32",                    ["n", "-", "y", "y", "n", "n", "n", "-"]),
    ("v2 crc32c",                   ["n", "-", "y", "y", "n", "n", "n", "-"]),
    ("v2 delta",                    ["n", "-", "y", "y", "n", "n", "y", "-"]),
    ("v2 fixedscaleoffset",         ["n", "-", "y", "y", "y", "n", ">3.8", "-"]),
    ("v2 fletcher32",               ["y", "-", "y", "y", "n", "n", "n", "-"]),
    ("v2 gzip",                     ["n", "-", "y", "y", "y", "y", "y", "-"]),
    ("v2 imagecodecs_bitshuffle",   ["n", "-", "w+imagecodecs", "w+imagecodecs", "n", "n", "n", "-"]),
    ("v2 imagecodecs_lz4h5",        ["+plugins", "-", "+imagecodecs", "+imagecodecs", "n", "n", "n", "-"]),
    ("v2 imagecodecs_lzf",          ["+plugins", "-", "+imagecodecs", "+imagecodecs", "n", "n", "n", "-"]),
    ("v2 jenkins_lookup3",          ["n", "-", "y", "y", "n", "n", "n", "-"]),
    ("v2 lz4",                      ["n", "-", "y", "y", "n", "n", "y", "-"]),
    ("v2 lzma",                     ["n", "-", "y", "y", "n", "n", "y", "-"]),
    ("v2 packbits",                 ["n", "-", "y", "y", "n", "n", "n", "-"]),
    ("v2 pcodec",                   ["n", "-", "+pcodec", "+pcodec", "n", "n", "n", "-"]),
    ("v2 quantize",                 ["n", "-", "y", "y", "n", "n", ">3.8", "-"]),
    ("v2 shuffle",                  ["y", "-", "y", "y", "y", "n", ">3.8", "-"]),
    ("v2 szip",                     ["y", "-", "n", "n", "n", "n", "n", "-"]),
    ("v2 zfpy",                     ["n", "-", "+zfpy", "+zfpy", "n", "n", "n", "-"]),
    ("v2 zlib",                     ["y", "-", "y", "y", "y", "y", "y", "-"]),
    ("v2 zstd",                     ["y", "-", "y", "y", "y", "y", "y", "-"]),

    // Codecs in Zarr version 3, by the names in its metadata.
    ("v3 bitround",                 ["-",       "-",          "n", "n", "n", "n", "n", "-"]),
    ("v3 blosc",                    ["-",       "-",          "y", "y", "y", "y", "y", "-"]),
    ("v3 cast_value",               ["-",       "-", ">3.4+cast-value-rs", "n", "n", "n", "n", "-"]),
    ("v3 crc32c",                   ["-",       "-",          "y", "y", "y", "y", "y", "-"]),
    ("v3 gzip",                     ["-",       "-",          "y", "y", "y", "y", "y", "-"]),
    ("v3 numcodecs.adler32",        ["-",       "-",          "y", "y", "n", "n", "n", "-"]),
    ("v3 numcodecs.astype",         ["-",       "-",          "y", "y", "n", "n", "n", "-"]),
    ("v3 numcodecs.bitround",       ["-",       "-",          "y", "y", "n", "n", "n", "-"]),
    ("v3 numcodecs.blosc",          ["-",       "-",          "y", "y", "n", "n", "n", "-"]),
    ("v3 numcodecs.bz2",            ["-",       "-",          "y", "y", "y", "n", "n", "-"]),
    ("v3 numcodecs.crc32",          ["-",       "-",          "y", "y", "n", "n", "n", "-"]),
    ("v3 numcodecs.crc32c",         ["-",       "-",          "y", "y", "n", "n", "n", "-"]),
    ("v3 numcodecs.delta",          ["-",       "-",          "y", "y", "n", "n", "n", "-"]),
    ("v3 numcodecs.fixedscaleoffset", ["-",     "-",          "y", "y", "y", "n", "n", "-"]),
    ("v3 numcodecs.fletcher32",     ["-",       "-",          "y", "y", "n", "n", "n", "-"]),
    ("v3 numcodecs.gzip",           ["-",       "-",          "y", "y", "n", "n", "n", "-"]),
    ("v3 numcodecs.jenkins_lookup3", ["-",      "-",          "y", "y", "n", "n", "n", "-"]),
    ("v3 numcodecs.lz4",            ["-",       "-",          "y", "y", "n", "n", "n", "-"]),
    ("v3 numcodecs.lzma",           ["-",       "-",          "y", "y", "n", "n", "n", "-"]),
    ("v3 numcodecs.packbits",       ["-",       "-",          "y", "y", "n", "n", "n", "-"]),
    ("v3 numcodecs.pcodec",         ["-",       "-", "+pcodec", "+pcodec", "y", "n", "n", "-"]),
    ("v3 numcodecs.quantize",       ["-",       "-",          "y", "y", "n", "n", "n", "-"]),
    ("v3 numcodecs.shuffle",        ["-",       "-",          "y", "y", "y", "n", "n", "-"]),
    ("v3 numcodecs.zfpy",           ["-",       "-",    "+zfpy", "+zfpy", "n", "n", "n", "-"]),
    ("v3 numcodecs.zlib",           ["-",       "-",          "y", "y", "y", "n", "n", "-"]),
    ("v3 numcodecs.zstd",           ["-",       "-",          "y", "y", "n", "n", "n", "-"]),
    ("v3 packbits",                 ["-",       "-",          "n", "n", "n", "n", "n", "-"]),
    ("v3 scale_offset",             ["-",       "-",          ">3.4", "n", "n", "n", "n", "-"]),
    ("v3 zfp",                      ["-",       "-",          "n", "n", "n", "n", "n", "-"]),
    ("v3 zstd",                     ["-",       "-",          "y", "y", "y", "y", "y", "-"]),

    // Filters in HDF5 files, by their numbers.
    ("filter 1",                    ["y",       "y",          "-", "y", "-", "-", "y", "y"]),
    ("filter 2",                    ["y",       "y",          "-", "y", "-", "-", "y", "y"]),
    ("filter 3",                    ["y",       "y",          "-", "y", "-", "-", "y", "y"]),
    ("filter 4",                    ["y",       "y",          "-", "y", "-", "-", "y", "n"]),
    ("filter 5",                    ["y",       "y",          "-", "y", "-", "-", "y", "y"]),
    ("filter 6",                    ["y",       "y",          "-", "y", "-", "-", "y", "y"]),
    ("filter 307",                  ["y",  "+hdf5plugin",     "-", "y", "-", "-", "+plugins", "+plugins"]),
    ("filter 32000",                ["+plugins", "+h5py", "-", "+plugins", "-", "-", "+plugins", "+plugins"]),
    ("filter 32001",                ["y",  "+hdf5plugin",     "-", "y", "-", "-", "+plugins", "+plugins"]),
    ("filter 32004",                ["+plugins", "+hdf5plugin", "-", "+plugins", "-", "-", "+plugins", "+plugins"]),
    ("filter 32008",                ["+plugins", "+hdf5plugin", "-", "+plugins", "-", "-", "+plugins", "+plugins"]),
    ("filter 32013",                ["+plugins", "+hdf5plugin", "-", "+plugins", "-", "-", "+plugins", "+plugins"]),
    ("filter 32015",                ["y",  "+hdf5plugin",     "-", "y", "-", "-", "+plugins", "+plugins"]),
    ("filter 32026",                ["+plugins", "+hdf5plugin", "-", "+plugins", "-", "-", "+plugins", "+plugins"]),
    ("filter 32032",                ["+plugins", "+plugins",  "-", "+plugins", "-", "-", "+plugins", "+plugins"]),
];
