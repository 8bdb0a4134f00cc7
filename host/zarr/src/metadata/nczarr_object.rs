//! NCZarr's objects in documents of Zarr.

use indexmap::IndexSet;
use ncz_model::json::{Json, Map};

/// Returns one of NCZarr's objects: from the attributes, else from the other document, with its name in lower or upper
/// case.
pub(super) fn nczarr_object<'a>(
    what: &str,
    zattrs: Option<&'a Map>,
    other: Option<&'a Map>,
) -> Option<&'a Map> {
    let small = format!("_nczarr_{what}");
    let capital = small.to_uppercase();
    [(zattrs, &small), (other, &small), (zattrs, &capital), (other, &capital)]
        .into_iter()
        .find_map(|(document, name)| document?.get(name)?.as_object())
}

/// The names of the arrays and groups that NCZarr lists in a group, each once.
pub(super) fn inside(info: &Map) -> (Vec<String>, Vec<String>) {
    let list = |new: &str, old: &str| -> Vec<String> {
        let value = info.get(new).or_else(|| info.get(old));
        let names = value.and_then(Json::as_array).into_iter().flatten();
        let names: IndexSet<String> = names.filter_map(Json::as_str).map(str::to_owned).collect();
        names.into_iter().collect()
    };
    (list("arrays", "vars"), list("groups", "groups"))
}
