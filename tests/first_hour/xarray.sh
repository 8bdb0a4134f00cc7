#!/usr/bin/env -S bash -eu
# xarray reads the copy, as in host/docs/src/tutorial.md. It begins in a clone.
clone=$PWD && cd "$(mktemp -d)" && cp -r "$clone/tests/fixtures/ocean.nczarr" .
ncz copy -q ocean.nczarr ocean.nc
ncz copy ocean.nc ocean.zarr --format zarr3 --codec zstd,5 --consolidated --verify
python - <<'END'
import netCDF4, xarray
print(netCDF4.Dataset("ocean.nc")["air_temperature"][0, 36, :3])
print(xarray.open_zarr("ocean.zarr")["air_temperature"][0, 36, :3].values)
END
