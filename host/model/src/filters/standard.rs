//! The filters that netCDF knows by name, and quantization.

use super::{BLOSC, BZIP2, DEFLATE, FLETCHER32, FilterDefinition, Filters, SZIP, ZSTANDARD};
use crate::data_error::FilterError;
use crate::quantize::{Quantize, QuantizeError, QuantizeMode};
use crate::shuffle::SHUFFLE;

/// The parameters of szip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SzipFilter {
    /// The options: 4 for entropy coding (`EC`), 32 for nearest neighbours (`NN`).
    pub mask: u32,
    /// Pixels per block: an even number up to 32.
    pub pixels_per_block: u32,
}

/// The parameters of blosc.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BloscFilter {
    /// 0 blosclz, 1 lz4, 2 lz4hc, 3 snappy, 4 zlib, 5 zstd.
    pub subcompressor: u32,
    /// 0 to 9.
    pub level: u32,
    /// In bytes; 0 lets blosc choose.
    pub blocksize: u32,
    /// 0 none, 1 by bytes, 2 by bits.
    pub shuffle: u32,
}

impl FilterDefinition<'_> {
    /// Adds shuffle and deflate to the chain, or removes them (`nc_def_var_deflate`); `level` is `None` for no deflate.
    ///
    /// # Errors
    /// [`FilterError::Late`], and the errors of [`define`](Self::define).
    pub fn deflate(&mut self, shuffle: bool, level: Option<i32>) -> Result<(), FilterError> {
        self.whole_or_not(|filters| {
            filters.shuffle(shuffle)?;
            match level {
                // A negative level keeps its bits, and is out of range.
                Some(level) => filters.define(DEFLATE, &[level as u32]),
                None => filters.without(DEFLATE),
            }
        })
    }

    /// Adds shuffle to the chain with the size of the variable's type, or removes it.
    ///
    /// # Errors
    /// As for [`deflate`](Self::deflate).
    pub fn shuffle(&mut self, on: bool) -> Result<(), FilterError> {
        self.switch(SHUFFLE, on)
    }

    /// Adds a checksum to the chain, or removes it (`nc_def_var_fletcher32`).
    ///
    /// # Errors
    /// As for [`deflate`](Self::deflate).
    pub fn fletcher32(&mut self, on: bool) -> Result<(), FilterError> {
        self.switch(FLETCHER32, on)
    }

    /// Adds szip to the chain (`nc_def_var_szip`).
    ///
    /// # Errors
    /// The errors of [`define`](Self::define).
    pub fn szip(&mut self, szip: SzipFilter) -> Result<(), FilterError> {
        self.define(SZIP, &[szip.mask, szip.pixels_per_block])
    }

    /// Adds bzip2 with a level from 1 to 9 to the chain (`nc_def_var_bzip2`).
    ///
    /// # Errors
    /// [`FilterError::NotFound`], [`FilterError::Value`], then the errors of [`define`](Self::define).
    pub fn bzip2(&mut self, level: i32) -> Result<(), FilterError> {
        self.check_available(BZIP2)?;
        if !(1..=9).contains(&level) {
            return Err(self.value_error("bzip2", format!("has the levels 1 to 9, got {level}")));
        }
        self.define(BZIP2, &[level as u32])
    }

    /// Adds zstd with a level from -131072 to 22 to the chain (`nc_def_var_zstandard`).
    ///
    /// # Errors
    /// As for [`bzip2`](Self::bzip2).
    pub fn zstandard(&mut self, level: i32) -> Result<(), FilterError> {
        self.check_available(ZSTANDARD)?;
        if !(-131_072..=22).contains(&level) {
            return Err(self.value_error("zstd", format!("has the levels -131072 to 22, got {level}")));
        }
        self.define(ZSTANDARD, &[level as u32])
    }

    /// Adds blosc to the chain (`nc_def_var_blosc`).
    ///
    /// # Errors
    /// As for [`bzip2`](Self::bzip2).
    pub fn blosc(&mut self, blosc: BloscFilter) -> Result<(), FilterError> {
        self.check_available(BLOSC)?;
        let ranges = [
            ("shuffle", blosc.shuffle, 2),
            ("compressor", blosc.subcompressor, 5),
            ("level", blosc.level, 9),
            ("block size", blosc.blocksize, i32::MAX as u32),
        ];
        for (what, got, most) in ranges {
            if got > most {
                return Err(self.value_error("blosc", format!("has a {what} of at most {most}, got {got}")));
            }
        }
        self.define(BLOSC, &[0, 0, 0, blosc.blocksize, blosc.level, blosc.shuffle, blosc.subcompressor])
    }

    /// Sets how values are quantized when they are written (`nc_def_var_quantize`): the algorithm, and how many digits
    /// or bits it keeps; `None` for no quantization. The setting is stored in the attribute
    /// [`QuantizeMode::attribute_name`], which netcdf-c also reads.
    ///
    /// # Errors
    /// [`FilterError::Late`], [`FilterError::NotInDefinition`], and [`FilterError::Quantize`] if the type is neither
    /// `float` nor `double`, or the number is out of range.
    pub fn quantize(&mut self, quantize: Option<(QuantizeMode, i64)>) -> Result<(), FilterError> {
        self.check_written()?;
        self.check_phase()?;
        let path = self.path().to_owned();
        let variable = self.variable_mut()?;
        let attribute = match (quantize, variable.nc_type) {
            (None, _) => None,
            (Some((mode, significant)), Some(nc_type)) => Some(Quantize::new(mode, significant, nc_type)),
            (Some(_), None) => Some(Err(QuantizeError::Type { nc_type: None })),
        };
        let attribute =
            attribute.transpose().map_err(|source| FilterError::Quantize { variable: path, source })?;
        let other = |name: &str| {
            QuantizeMode::ALL
                .iter()
                .any(|&mode| mode.attribute_name() == name && attribute.map(Quantize::mode) != Some(mode))
        };
        variable.attributes.retain(|have| !other(&have.name));
        match attribute {
            Some(quantize) => Ok(variable.set_attribute(quantize.attribute())?),
            None => Ok(()),
        }
    }

    fn switch(&mut self, id: u32, on: bool) -> Result<(), FilterError> {
        self.check_written()?;
        if on { self.define(id, &[]) } else { self.without(id) }
    }
}

impl Filters<'_> {
    /// The level of deflate (`nc_inq_var_deflate`); `None` if the variable is not deflated.
    ///
    /// # Errors
    /// As for [`params`](Self::params); or the filter is not found.
    pub fn deflate(&self) -> Result<Option<u32>, FilterError> {
        Ok(self.known(DEFLATE)?.and_then(|params| params.first().copied()))
    }

    /// Whether bytes are shuffled (`nc_inq_var_deflate`).
    ///
    /// # Errors
    /// As for [`ids`](Self::ids).
    pub fn shuffle(&self) -> Result<bool, FilterError> {
        self.has(SHUFFLE)
    }

    /// Whether chunks carry a checksum (`nc_inq_var_fletcher32`).
    ///
    /// # Errors
    /// As for [`ids`](Self::ids).
    pub fn fletcher32(&self) -> Result<bool, FilterError> {
        self.has(FLETCHER32)
    }

    /// The parameters of szip (`nc_inq_var_szip`); `None` if the variable does not have it.
    ///
    /// # Errors
    /// As for [`deflate`](Self::deflate).
    pub fn szip(&self) -> Result<Option<SzipFilter>, FilterError> {
        Ok(match self.known(SZIP)?.as_deref() {
            Some(&[mask, pixels_per_block, ..]) => Some(SzipFilter { mask, pixels_per_block }),
            _ => None,
        })
    }

    /// The level of bzip2 (`nc_inq_var_bzip2`).
    ///
    /// # Errors
    /// As for [`deflate`](Self::deflate).
    pub fn bzip2(&self) -> Result<Option<u32>, FilterError> {
        Ok(self.known(BZIP2)?.and_then(|params| params.first().copied()))
    }

    /// The level of zstd (`nc_inq_var_zstandard`).
    ///
    /// # Errors
    /// As for [`deflate`](Self::deflate).
    pub fn zstandard(&self) -> Result<Option<i32>, FilterError> {
        Ok(self.known(ZSTANDARD)?.and_then(|params| params.first().map(|&level| level as i32)))
    }

    /// The parameters of blosc (`nc_inq_var_blosc`); `None` if the variable does not have it.
    ///
    /// # Errors
    /// As for [`deflate`](Self::deflate).
    pub fn blosc(&self) -> Result<Option<BloscFilter>, FilterError> {
        Ok(match self.known(BLOSC)?.as_deref() {
            Some(&[_, _, _, blocksize, level, shuffle, subcompressor]) => {
                Some(BloscFilter { subcompressor, level, blocksize, shuffle })
            }
            _ => None,
        })
    }

    /// How values are quantized (`nc_inq_var_quantize`).
    ///
    /// # Errors
    /// [`FilterError::Quantize`] if the attributes are invalid or contradict each other.
    pub fn quantize(&self) -> Result<Option<Quantize>, FilterError> {
        Quantize::of(self.variable).map_err(|source| FilterError::Quantize { variable: self.path(), source })
    }
}
