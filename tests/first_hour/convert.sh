#!/usr/bin/env -S bash -eu
# From a netCDF-4 file to Zarr, as in host/docs/src/tutorial.md. It begins in a clone.
clone=$PWD && cd "$(mktemp -d)" && cp -r "$clone/tests/fixtures/ocean.nczarr" .
ncz copy -q ocean.nczarr ocean.nc
ncz info ocean.nc
ncz verify ocean.nc
ncz copy ocean.nc ocean.zarr --format zarr3 --codec zstd,5 --consolidated --verify
