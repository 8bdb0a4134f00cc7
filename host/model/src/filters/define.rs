//! Changes the filters of a variable that is being defined.

use crate::data_error::FilterError;
use crate::format::Format;

use crate::hierarchy::{Hierarchy, Storage, Variable};
use ncz_registry::spec::{ChainSpec, StageSpec};

use super::{DEFLATE, Filters, Phase, SZIP, chain_of, is_written, last_is_unlimited};
use crate::session::Session;

/// The levels of deflate.
const LEVELS: std::ops::RangeInclusive<u32> = 0..=9;
/// The most pixels of a block of szip.
const MAX_PIXELS: u32 = 32;

/// The filters of one variable that is being defined. A call that fails changes nothing.
#[derive(Debug)]
pub struct FilterDefinition<'a> {
    session: &'a Session,
    hierarchy: &'a mut Hierarchy,
    path: String,
    phase: Phase,
}

impl<'a> FilterDefinition<'a> {
    pub(super) fn new(
        session: &'a Session,
        hierarchy: &'a mut Hierarchy,
        path: &str,
    ) -> Result<Self, FilterError> {
        let path = hierarchy.variable(path)?.path.clone();
        Ok(Self { session, hierarchy, path, phase: Phase::Definition })
    }

    /// Sets the phase, for callers with their own define mode, like netCDF: nothing can change in [`Phase::Data`].
    #[must_use]
    pub fn in_phase(mut self, phase: Phase) -> Self {
        self.phase = phase;
        self
    }

    /// Returns the current filters.
    ///
    /// # Errors
    /// None, because the variable was found before.
    pub fn filters(&self) -> Result<Filters<'_>, FilterError> {
        Ok(Filters::new(self.session, self.variable()?, self.format()))
    }

    /// Adds a filter by number and parameters (`nc_def_var_filter`). A filter that the variable already has is changed
    /// at its position. The variable becomes chunked.
    ///
    /// # Errors
    /// In this order: [`FilterError::NotInDefinition`], [`Scalar`](FilterError::Scalar), [`Late`](FilterError::Late),
    /// invalid parameters for deflate or szip, a combination of the two, an invalid number, a filter that is not found,
    /// parameters that the codec refuses.
    pub fn define(&mut self, id: u32, params: &[u32]) -> Result<(), FilterError> {
        self.define_stage(StageSpec::Filter { id, params: params.to_vec() })
    }

    /// Adds a codec by its JSON (`{"id":"zstd","level":3}`), or by filter text with name or number (`zstd,3`).
    ///
    /// # Errors
    /// As for [`define`](Self::define); or the text is malformed, or names several codecs.
    pub fn define_text(&mut self, text: &str) -> Result<(), FilterError> {
        let spec = ChainSpec::parse(text)
            .map_err(|source| FilterError::Spec { variable: self.path.clone(), source: Box::new(source) })?;
        match spec.stages() {
            [stage] => self.define_stage(stage.clone()),
            stages => Err(FilterError::Several {
                variable: self.path.clone(),
                text: text.to_owned(),
                got: stages.len(),
            }),
        }
    }

    /// Adds a codec in any of its spellings.
    ///
    /// # Errors
    /// As for [`define`](Self::define).
    pub fn define_stage(&mut self, stage: StageSpec) -> Result<(), FilterError> {
        self.check_phase()?;
        if self.variable()?.dimensions.is_empty() {
            return Err(FilterError::Scalar { variable: self.path.clone() });
        }
        self.check_written()?;
        match &stage {
            StageSpec::Filter { id, params } => {
                self.check_params(*id, params)?;
                self.session.find_filter(*id, &self.path)?;
            }
            StageSpec::Named { .. } | StageSpec::Json { .. } => {
                let entry = self.session.find_stage(&stage).map_err(|source| FilterError::NotFound {
                    variable: self.path.clone(),
                    source: Box::new(source),
                })?;
                match (entry.info().filter_id, &stage) {
                    (Some(id), StageSpec::Named { params, .. }) if !params.is_empty() => {
                        self.check_params(id, params)?;
                    }
                    (Some(id), _) => self.check_clash(id)?,
                    (None, _) => {}
                }
            }
        }
        let mut chain = chain_of(self.variable()?, self.format())?;
        chain.define_with(&self.session.registry, stage);
        self.set(&chain)?;
        let variable = self.variable_mut()?;
        variable.storage = Storage::Chunked;
        Ok(())
    }

    /// Removes a filter, which netcdf-c cannot do.
    ///
    /// # Errors
    /// [`FilterError::NotInDefinition`], [`FilterError::Late`], [`FilterError::NotInChain`]; or the remaining codecs no
    /// longer fit, or are not found.
    pub fn remove(&mut self, id: u32) -> Result<(), FilterError> {
        self.check_phase()?;
        self.check_written()?;
        let mut chain = chain_of(self.variable()?, self.format())?;
        if !chain.remove(&self.session.registry, id) {
            return Err(FilterError::NotInChain { variable: self.path.clone(), filter: id.to_string() });
        }
        self.set(&chain)
    }

    /// Removes all filters, including those that are not found or have no number.
    ///
    /// # Errors
    /// [`FilterError::NotInDefinition`], [`FilterError::Late`].
    pub fn clear(&mut self) -> Result<(), FilterError> {
        self.check_phase()?;
        self.check_written()?;
        self.variable_mut()?.filters.clear();
        Ok(())
    }

    /// Runs `change`; if it fails, the variable keeps its filters.
    pub(super) fn whole_or_not(
        &mut self,
        change: impl FnOnce(&mut Self) -> Result<(), FilterError>,
    ) -> Result<(), FilterError> {
        let variable = self.variable()?;
        let (filters, storage) = (variable.filters.clone(), variable.storage);
        change(self).or_else(|error| {
            let variable = self.variable_mut()?;
            (variable.filters, variable.storage) = (filters, storage);
            Err(error)
        })
    }

    /// Removes a filter if the variable has it.
    pub(super) fn without(&mut self, id: u32) -> Result<(), FilterError> {
        if self.filters()?.has(id)? { self.remove(id) } else { Ok(()) }
    }

    pub(super) fn check_written(&self) -> Result<(), FilterError> {
        if is_written(self.variable()?) {
            return Err(FilterError::Late { variable: self.path.clone() });
        }
        Ok(())
    }

    /// Checks that a filter that netCDF knows by name is available.
    pub(super) fn check_available(&self, id: u32) -> Result<(), FilterError> {
        self.session.find_filter(id, &self.path).map(drop)
    }

    pub(super) fn value_error(&self, filter: &'static str, reason: String) -> FilterError {
        FilterError::Value { variable: self.path.clone(), filter, reason }
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    pub(super) fn variable(&self) -> Result<&Variable, FilterError> {
        Ok(self.hierarchy.variable(&self.path)?)
    }

    pub(super) fn variable_mut(&mut self) -> Result<&mut Variable, FilterError> {
        Ok(self.hierarchy.variable_mut(&self.path)?)
    }

    fn format(&self) -> Format {
        self.hierarchy.format
    }

    pub(super) fn check_phase(&self) -> Result<(), FilterError> {
        match self.phase {
            Phase::Definition => Ok(()),
            Phase::Data => Err(FilterError::NotInDefinition { variable: self.path.clone() }),
        }
    }

    /// Makes the checks of deflate and szip parameters that netCDF makes itself.
    fn check_params(&self, id: u32, params: &[u32]) -> Result<(), FilterError> {
        match (id, params) {
            (DEFLATE, &[level]) if !LEVELS.contains(&level) => {
                Err(self.value_error("deflate", format!("has the levels 0 to 9, got {}", level as i32)))
            }
            (SZIP, &[_, pixels]) if pixels % 2 != 0 || pixels > MAX_PIXELS => Err(self.value_error(
                "szip",
                format!("takes an even number of pixels per block up to 32, got {pixels}"),
            )),
            (DEFLATE, &[_]) => self.check_clash(id),
            (SZIP, &[_, pixels]) => {
                self.check_clash(id)?;
                self.check_block(pixels)
            }
            (DEFLATE | SZIP, _) => Err(FilterError::Count {
                variable: self.path.clone(),
                filter: if id == DEFLATE { "deflate" } else { "szip" },
                want: if id == DEFLATE { 1 } else { 2 },
                got: params.len(),
            }),
            _ => Ok(()),
        }
    }

    /// Refuses the combination of deflate and szip, as netCDF does.
    fn check_clash(&self, id: u32) -> Result<(), FilterError> {
        let (filter, other, name) = match id {
            DEFLATE => ("deflate", SZIP, "szip"),
            SZIP => ("szip", DEFLATE, "deflate"),
            _ => return Ok(()),
        };
        if self.filters()?.has(other)? {
            return Err(FilterError::Conflict { variable: self.path.clone(), filter, other: name });
        }
        Ok(())
    }

    /// Checks that a chunk has at least one block of `pixels`, and that it will always be read with the scanline it was
    /// written with.
    fn check_block(&self, pixels: u32) -> Result<(), FilterError> {
        let variable = self.variable()?;
        let elements = variable.chunk_elements().unwrap_or(u64::MAX);
        if u64::from(pixels) > elements {
            let reason =
                format!("has blocks of {pixels} pixels here, but a chunk has only {elements} elements");
            return Err(self.value_error("szip", reason));
        }
        if last_is_unlimited(self.hierarchy, variable) {
            let reason =
                "depends on the length of the last dimension, which is unlimited here; older chunks could not be read \
                 after it has grown"
                    .to_owned();
            return Err(self.value_error("szip", reason));
        }
        Ok(())
    }

    fn set(&mut self, chain: &ChainSpec) -> Result<(), FilterError> {
        let format = self.format();
        let session = self.session;
        session.define(self.variable_mut()?, format, chain)?;
        Ok(())
    }
}
