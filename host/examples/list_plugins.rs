//! Lists the codecs that can be used, and explains the origin of one of them.
//!
//!     HDF5_PLUGIN_PATH=/usr/lib/hdf5/plugins cargo run -p ncz --example list_plugins -- zstd

use ncz::registry::Registry;

fn main() {
    let query = std::env::args().nth(1).unwrap_or_else(|| "zstd".to_owned());
    let registry = Registry::builder().build();
    print!("{}{}", codecs(&registry), explanation(&registry, &query));
}

/// A line for each codec: HDF5 number, name, and origin.
pub(crate) fn codecs(registry: &Registry) -> String {
    // The report searches the path and loads what it finds, so it is complete.
    let report = registry.report();
    let mut text = String::new();
    for codec in &report.codecs {
        let number = codec.id.map_or_else(|| "-".to_owned(), |id| id.to_string());
        let used = codec.candidates.iter().find(|candidate| candidate.used);
        let origin = used.map_or_else(|| "not usable".to_owned(), |used| used.origin.to_string());
        text.push_str(&format!("{number:>5} {:<20} {origin}\n", codec.name));
    }
    // Files that are not plugins, or were refused, have a reason.
    for file in report.files() {
        text.push_str(&format!("{} {}\n", file.path.display(), file.reason));
    }
    text
}

/// Why a codec, given by name or number, or a file, is used or not.
pub(crate) fn explanation(registry: &Registry, query: &str) -> String {
    registry.explain(query).to_string()
}
