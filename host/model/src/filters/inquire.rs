//! Inquires the filters of a variable.

use crate::data_error::{DataError, FilterError};
use crate::format::Format;
use crate::hierarchy::Variable;
use crate::json;
use std::sync::Arc;

use ncz_registry::spec::{ChainSpec, StageSpec};
use ncz_registry::{Entry, NotFound};

use super::{MAX_ID, chain_of};
use crate::session::Session;

/// The filters of one variable, in encoding order.
#[derive(Debug)]
pub struct Filters<'a> {
    pub(super) session: &'a Session,
    pub(super) variable: &'a Variable,
    format: Format,
}

impl Session {
    /// Checks whether a filter can be used for Zarr data (`nc_inq_filter_avail`).
    ///
    /// # Errors
    /// [`FilterError::Id`], [`FilterError::NotFound`].
    pub fn filter_available(&self, id: u32) -> Result<(), FilterError> {
        self.find_filter(id, "").map(drop)
    }

    /// Returns the codec of a filter number. A codec that metadata cannot name is written by number.
    pub(super) fn find_filter(&self, id: u32, variable: &str) -> Result<Arc<Entry>, FilterError> {
        let variable = || variable.to_owned();
        if !(1..=MAX_ID).contains(&id) {
            return Err(FilterError::Id { variable: variable(), id });
        }
        self.registry
            .by_id(id)
            .map_err(|source| FilterError::NotFound { variable: variable(), source: Box::new(source) })
    }

    /// Returns the codec of a stage.
    pub(super) fn find_stage(&self, stage: &StageSpec) -> Result<Arc<Entry>, NotFound> {
        stage.entry(&self.registry)
    }
}

impl<'a> Filters<'a> {
    pub(super) fn new(session: &'a Session, variable: &'a Variable, format: Format) -> Self {
        Self { session, variable, format }
    }

    /// Returns the numbers of the filters (`nc_inq_var_filter_ids`); 0 for a codec that is not found or has no number.
    ///
    /// # Errors
    /// [`FilterError::Spec`] if the metadata are malformed.
    pub fn ids(&self) -> Result<Vec<u32>, FilterError> {
        let chain = chain_of(self.variable, self.format)?;
        Ok(chain.stages().iter().map(|stage| self.id_of(stage)).collect())
    }

    /// Whether the variable has the filter.
    ///
    /// # Errors
    /// As for [`ids`](Self::ids).
    pub fn has(&self, id: u32) -> Result<bool, FilterError> {
        Ok(id != 0 && self.ids()?.contains(&id))
    }

    /// The parameters of a filter (`nc_inq_var_filter_info`), as a user gives them.
    ///
    /// # Errors
    /// [`FilterError::NotInChain`] if the variable does not have the filter, or it is not found; or the codec refuses
    /// the metadata, or parameters cannot express them (a checksum of zstd).
    pub fn params(&self, id: u32) -> Result<Vec<u32>, FilterError> {
        let chain = chain_of(self.variable, self.format)?;
        match chain.stages().iter().find(|stage| id != 0 && self.id_of(stage) == id) {
            Some(stage) => self.params_of(stage.clone()),
            None => Err(FilterError::NotInChain { variable: self.path(), filter: id.to_string() }),
        }
    }

    /// Returns the number and parameters of the first filter (`nc_inq_var_filter`); `None` if there is no filter. The
    /// number is 0 for a codec that is not found.
    ///
    /// # Errors
    /// As for [`params`](Self::params).
    pub fn first(&self) -> Result<Option<(u32, Vec<u32>)>, FilterError> {
        match self.ids()?.first() {
            None => Ok(None),
            Some(0) => Ok(Some((0, Vec::new()))),
            Some(&id) => Ok(Some((id, self.params(id)?))),
        }
    }

    /// Returns the codecs as JSON, including those that are not found: netCDF's special attribute `_Codecs`.
    #[must_use]
    pub fn codecs(&self) -> String {
        json::codecs_text(&self.variable.filters)
    }

    /// Returns the parameters of a filter that netCDF knows by name; `None` if the variable does not have it.
    pub(super) fn known(&self, id: u32) -> Result<Option<Vec<u32>>, FilterError> {
        self.session.find_filter(id, &self.variable.path)?;
        if self.has(id)? { self.params(id).map(Some) } else { Ok(None) }
    }

    pub(super) fn path(&self) -> String {
        self.variable.path.clone()
    }

    fn id_of(&self, stage: &StageSpec) -> u32 {
        self.session.find_stage(stage).ok().and_then(|entry| entry.info().filter_id).unwrap_or(0)
    }

    fn params_of(&self, stage: StageSpec) -> Result<Vec<u32>, FilterError> {
        let resolved = ChainSpec::new(vec![stage])
            .resolve(&self.session.registry)
            .map_err(|source| DataError::Resolve { variable: self.path(), source: Box::new(source) })?;
        let params = resolved.iter().map(|stage| {
            stage.config.to_params().map_err(|source| FilterError::NoParams {
                variable: self.path(),
                filter: stage.info.name.to_string(),
                source,
            })
        });
        Ok(params.collect::<Result<Vec<_>, _>>()?.concat())
    }
}
