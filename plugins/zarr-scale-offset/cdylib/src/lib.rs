//! The scale_offset codec as a plugin for ncz.
ncz_codec::export!(native: ncz_zarr_scale_offset::ScaleOffset);
