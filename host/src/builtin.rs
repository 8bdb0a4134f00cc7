//! Links the built-in codecs: a codec crate registers its codec when it is part of the program.

#[cfg(feature = "adler32")]
use ncz_adler32 as _;
#[cfg(feature = "astype")]
use ncz_astype as _;
#[cfg(feature = "bitround")]
use ncz_bitround as _;
#[cfg(feature = "bitshuffle")]
use ncz_bitshuffle as _;
#[cfg(feature = "blosc")]
use ncz_blosc as _;
#[cfg(feature = "blosc2")]
use ncz_blosc2 as _;
#[cfg(feature = "bzip2")]
use ncz_bzip2 as _;
#[cfg(feature = "cast-value")]
use ncz_cast_value as _;
#[cfg(feature = "crc32")]
use ncz_crc32 as _;
#[cfg(feature = "crc32c")]
use ncz_crc32c as _;
#[cfg(feature = "deflate")]
use ncz_deflate as _;
#[cfg(feature = "delta")]
use ncz_delta as _;
#[cfg(feature = "fixedscaleoffset")]
use ncz_fixedscaleoffset as _;
#[cfg(feature = "fletcher32")]
use ncz_fletcher32 as _;
#[cfg(feature = "gzip")]
use ncz_gzip as _;
#[cfg(feature = "hdf5-bitround")]
use ncz_hdf5_bitround as _;
#[cfg(feature = "hdf5-lz4")]
use ncz_hdf5_lz4 as _;
#[cfg(feature = "hdf5-scaleoffset")]
use ncz_hdf5_scaleoffset as _;
#[cfg(feature = "jenkins-lookup3")]
use ncz_jenkins_lookup3 as _;
#[cfg(feature = "lz4")]
use ncz_lz4 as _;
#[cfg(feature = "lzf")]
use ncz_lzf as _;
#[cfg(feature = "lzma")]
use ncz_lzma as _;
#[cfg(feature = "nbit")]
use ncz_nbit as _;
#[cfg(feature = "packbits")]
use ncz_packbits as _;
#[cfg(feature = "pcodec")]
use ncz_pcodec as _;
#[cfg(feature = "quantize")]
use ncz_quantize as _;
#[cfg(feature = "shuffle")]
use ncz_shuffle as _;
#[cfg(feature = "szip")]
use ncz_szip as _;
#[cfg(feature = "zarr-scale-offset")]
use ncz_zarr_scale_offset as _;
#[cfg(feature = "zfp")]
use ncz_zfp as _;
#[cfg(feature = "zstd")]
use ncz_zstd as _;
