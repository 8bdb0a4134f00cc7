//! The note about files of a dataset that a copy leaves out.

use ncz::copy::ForeignObjects;

/// Returns the note about objects in the source that do not belong to the dataset, if there are any.
pub(crate) fn left_out(left_out: &ForeignObjects) -> Option<String> {
    const SHOWN: usize = 5;
    let more = left_out.keys.len().saturating_sub(SHOWN) as u64 + left_out.more;
    let mut text = left_out.keys.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    if more > 0 {
        text.push_str(&format!(" and {more} more"));
    }
    (!text.is_empty()).then(|| format!("not copied, because no metadata of the source refer to it: {text}"))
}
