//! Notes about codecs that several commands print.

use ncz::registry::chain::Stage;
use ncz::registry::spec::generic;

/// Returns the note for a codec that metadata can name only by its HDF5 filter number.
pub(crate) fn written_by_number(stage: &Stage) -> Option<String> {
    let id = stage.info.filter_id.filter(|_| stage.is_by_number())?;
    Some(format!("filter {id} is written as {:?}, which no other program reads", generic::NAME))
}
