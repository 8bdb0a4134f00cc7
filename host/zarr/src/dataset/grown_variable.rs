//! A variable after growth.

use std::sync::Arc;

use ncz_model::{Array, DataError, LossyTerms, Pool, StringArray, Variable};
use ncz_registry::chain::FilterChain;
use ncz_store::Store;

/// A variable after growth.
#[derive(Clone)]
pub(super) struct GrownVariable {
    pub(super) store: Arc<dyn Store>,
    pub(super) variable: Variable,
    pub(super) chain: FilterChain,
    pub(super) terms: LossyTerms,
    pub(super) pool: Pool,
}

impl GrownVariable {
    pub(super) fn array(self) -> Result<Array, DataError> {
        let shape = self.variable.shape.clone();
        let array = Array::new(self.store, &self.variable, shape, self.chain, self.pool)?;
        Ok(array.with_terms(self.terms))
    }

    /// Checks that it can be read and written.
    pub(super) fn check(self) -> Result<(), DataError> {
        if self.variable.dtype.is_variable_length() {
            self.strings().map(|_| ())
        } else {
            self.array().map(|_| ())
        }
    }

    pub(super) fn strings(self) -> Result<StringArray, DataError> {
        let shape = self.variable.shape.clone();
        StringArray::new(self.store, &self.variable, shape, self.chain, self.pool)
    }
}
