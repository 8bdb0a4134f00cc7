//! The direction of dependencies, read from cargo itself.

use std::collections::{BTreeMap, BTreeSet};

use cargo_metadata::{DependencyKind, MetadataCommand};

/// What several codecs have in common.
const SHARED: [&str; 5] =
    ["ncz-blosc-shuffles", "ncz-checksum", "ncz-libdeflate", "ncz-lz4-block", "ncz-packed-bits"];

/// What a package of the workspace may use of the others. Nothing else is allowed.
fn allowed(package: &str, plugins: &BTreeSet<String>) -> BTreeSet<String> {
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    match package {
        "ncz-codec" => set(&["ncz-codec-derive"]),
        "ncz-codec-derive" | "ncz-h5shim" | "ncz-store" | "ncz-test-servers" | "ncz-test-support" => set(&[]),
        "ncz-registry" => set(&["ncz-codec", "ncz-h5shim"]),
        "ncz-model" => set(&["ncz-codec", "ncz-registry", "ncz-store"]),
        "ncz-zarr" => set(&["ncz-codec", "ncz-model", "ncz-registry", "ncz-store"]),
        "ncz-cdl" => set(&["ncz-model"]),
        "ncz-netcdf" => set(&["ncz-codec", "ncz-model", "ncz-registry", "ncz-store"]),
        "ncz" => {
            let layers =
                ["ncz-cdl", "ncz-codec", "ncz-model", "ncz-netcdf", "ncz-registry", "ncz-store", "ncz-zarr"];
            &set(&layers) | plugins
        }
        // The worker is a program of the command that links only the registry.
        "ncz-cli" => set(&["ncz", "ncz-registry"]),
        "ncz-netcdf-tools" | "ncz-python" => set(&["ncz"]),
        "ncz-bad-plugins" => set(&["ncz-codec"]),
        "ncz-netcdf-filters" => set(&["ncz-codec", "ncz-bad-plugins"]),
        "ncz-conform" => set(&["ncz-codec", "ncz-registry"]),
        "ncz-interop" => set(&["ncz", "ncz-test-support"]),
        "ncz-fuzz" => set(&["ncz", "ncz-jenkins-lookup3", "ncz-netcdf", "ncz-test-support"]),
        "ncz-remote-tests" => set(&["ncz", "ncz-test-servers", "ncz-test-support"]),
        shared if SHARED.contains(&shared) => set(&["ncz-codec"]),
        plugin if plugins.contains(plugin) => &set(&SHARED) | &set(&["ncz-codec"]),
        library => {
            let codec = library.strip_suffix("-plugin").filter(|name| plugins.contains(*name));
            let codec = codec.unwrap_or_else(|| panic!("{library} is not in the design; add it here"));
            set(&["ncz-codec", codec])
        }
    }
}

#[test]
fn dependencies_point_the_way_the_design_says() {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml");
    let metadata = MetadataCommand::new().manifest_path(manifest).no_deps().exec().unwrap();
    let ours: BTreeMap<_, _> = metadata.packages.iter().map(|p| (p.name.to_string(), p)).collect();
    let is_plugin = |p: &cargo_metadata::Package| {
        let folder = p.manifest_path.parent().unwrap();
        folder.parent().unwrap().file_name() == Some("plugins")
    };
    let plugins: BTreeSet<_> =
        ours.iter().filter(|(_, p)| is_plugin(p)).map(|(name, _)| name.clone()).collect();
    assert!(plugins.len() >= 26, "the plugins were not found: {plugins:?}");
    for (name, package) in &ours {
        let uses: BTreeSet<_> = package
            .dependencies
            .iter()
            // Tests may build plugins and read fixtures.
            .filter(|d| d.kind != DependencyKind::Development)
            .map(|d| d.name.clone())
            .filter(|used| ours.contains_key(used))
            .collect();
        let allowed = allowed(name, &plugins);
        assert!(uses.is_subset(&allowed), "{name} uses {:?}", &uses - &allowed);
    }
}
