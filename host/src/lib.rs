//! A host for compression plugins of scientific data.
//!
//! `ncz` finds HDF5 filter plugins and NCZarr codec plugins, pairs them into one codec registry, and
//! runs filter chains over the chunks of Zarr and NCZarr datasets.
//!
//! - [`registry`]: from `HDF5_PLUGIN_PATH` to codecs and chains of them.
//! - [`store`]: where the bytes of a dataset live.
//! - [`nczarr`]: what they mean: metadata, types, chunks, hyperslabs.
//! - [`generate`](mod@generate): from CDL to a dataset.
//! - [`place`]: from a path or a URL to an open dataset.
//! - [`bench`](mod@bench): which codecs suit a variable.
//! - [`readers`]: which program reads a dataset, and which codecs it lacks.
//! - [`codec`]: what the author of a plugin sees.
//!
//! End every change of a dataset with [`nczarr::Dataset::finish`]: one that is dropped without it loses what was not
//! flushed, a new one all of it. An event at `error` says so.
//!
//! With the feature `builtin` (on by default) the codecs of the folder `plugins/` are part of the program, and no
//! plugin need be installed for them.
//!
//! What it does can be watched with [`tracing`](https://docs.rs/tracing): targets `ncz`, `ncz_registry`, `ncz_nczarr`
//! and, for each request to a server, `ncz_store`. At `info` datasets that are opened and written, variables that are
//! copied, plugins that are chosen, requests that are tried again; at `debug` each request and each chain of codecs.
//! No event holds a secret. The library installs no subscriber, and makes no text unless one listens. A subscriber had
//! better keep to these targets: those of HTTP and AWS libraries may tell signatures and tokens.

#![forbid(unsafe_code)]

pub mod bench;
pub mod copy;
pub mod generate;
pub mod place;
pub mod readers;
pub mod repair;
mod trace;
pub mod verify;

pub use ncz_codec as codec;
pub use ncz_nczarr as nczarr;
pub use ncz_registry as registry;
pub use ncz_store as store;

// Linking a codec crate is what makes it a built-in.
#[cfg(feature = "builtin")]
use {
    ncz_adler32 as _, ncz_astype as _, ncz_bitround as _, ncz_bitroundh5 as _, ncz_bitshuffle as _,
    ncz_blosc as _, ncz_bzip2 as _, ncz_cast_value as _, ncz_crc32 as _, ncz_crc32c as _, ncz_deflate as _,
    ncz_delta as _, ncz_fixedscaleoffset as _, ncz_fletcher32 as _, ncz_gzip as _, ncz_jenkins_lookup3 as _,
    ncz_lz4 as _, ncz_lz4h5 as _, ncz_lzf as _, ncz_lzma as _, ncz_nbit as _, ncz_packbits as _,
    ncz_pcodec as _, ncz_quantize as _, ncz_scale_offset as _, ncz_scaleoffset as _, ncz_shuffle as _,
    ncz_szip as _, ncz_zfp as _, ncz_zstd as _,
};
