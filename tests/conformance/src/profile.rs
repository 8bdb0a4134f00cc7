//! What is known of registered filters: working parameters for a chunk, and how far values come back.

use ncz_codec::Dtype;

/// How far decoded values agree with the encoded ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fidelity {
    /// To the byte.
    Exact,
    /// Only in length.
    Lossy,
}

/// One set of parameters for a chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParameterSet {
    /// `cd_values` as a filter function gets them.
    pub working: Vec<u32>,
    /// As users give them.
    pub given: Vec<u32>,
    /// How far values come back.
    pub fidelity: Fidelity,
}

/// Why a filter has no parameters for a chunk: it does not take such chunks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotForThis(pub String);

/// The parameter sets of the registered filter `id` for a chunk, the ordinary one first; nothing if the filter is
/// not known here.
pub fn of(id: u32, dtype: Dtype, shape: &[u64]) -> Option<Result<Vec<ParameterSet>, NotForThis>> {
    let _ = (id, dtype, shape);
    None
}
