use std::fs;
use std::path::{Path, PathBuf};

use ncz_test_support::python;
use serde_json::Value;

use crate::bench::{Run, command, run};

/// A folder with two plugins of hdf5plugin, which ncz lacks; `None` is a skip that was announced.
fn plugins() -> Option<(tempfile::TempDir, PathBuf)> {
    let from = python().ok()?.plugin_dir("hdf5plugin").unwrap();
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("plugins");
    fs::create_dir(&folder).unwrap();
    for name in ["libh5sperr.so", "libh5fcidecomp.so"] {
        fs::copy(from.join(name), folder.join(name)).unwrap();
    }
    Some((root, folder))
}

fn at(root: &Path, folder: &Path, args: &[&str]) -> Run {
    run(command().current_dir(root).env("HDF5_PLUGIN_PATH", folder).args(args))
}

#[test]
fn a_list_is_made_checked_and_obeyed() {
    let Some((root, folder)) = plugins() else { return };
    let ncz = |args: &[&str]| at(root.path(), &folder, args);
    let made = ncz(&["plugins", "lock"]).ends(0).stdout;
    assert!(made.contains("libh5sperr.so") && made.contains("ncz-plugins.lock: 2 plugins"), "{made}");
    let list: Value =
        serde_json::from_slice(&fs::read(root.path().join("ncz-plugins.lock")).unwrap()).unwrap();
    assert_eq!((&list["schema"], list["plugins"].as_array().unwrap().len()), (&Value::from(1), 2));
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 2, "nothing else is left");

    let checked = ncz(&["plugins", "lock", "--check"]).ends(0).stdout;
    assert_eq!(checked, "ncz-plugins.lock: 2 plugins as listed\n");
    ncz(&["--plugin-lock", "ncz-plugins.lock", "plugins", "avail", "32028"]).ends(0);

    // One more, one changed, one gone.
    fs::copy(folder.join("libh5sperr.so"), folder.join("libnew.so")).unwrap();
    let fcidecomp = folder.join("libh5fcidecomp.so");
    let mut bytes = fs::read(&fcidecomp).unwrap();
    bytes.push(0);
    fs::write(&fcidecomp, bytes).unwrap();
    fs::remove_file(folder.join("libh5sperr.so")).unwrap();
    let differs = ncz(&["plugins", "lock", "--check"]).ends(1).stdout;
    let lines: Vec<&str> = differs.lines().collect();
    assert_eq!(lines.len(), 3, "{differs}");
    assert!(lines[0].ends_with("libh5fcidecomp.so has changed"), "{differs}");
    assert!(lines[1].ends_with("libh5sperr.so is on the list and not found"), "{differs}");
    assert!(lines[2].ends_with("libnew.so is not on the list"), "{differs}");
    let json = ncz(&["plugins", "lock", "--check", "--json"]).ends(1).json();
    assert_eq!(json["differences"].as_array().unwrap().len(), 3);

    let refused = ncz(&["--plugin-lock", "ncz-plugins.lock", "plugins", "avail", "32028"]).ends(1).stdout;
    assert!(refused.contains("not on the plugin allow-list"), "{refused}");
    let why =
        ncz(&["--plugin-lock", "ncz-plugins.lock", "plugins", "why", "libh5fcidecomp.so"]).ends(1).stdout;
    assert!(why.contains("is refused: changed since it was put on the plugin allow-list"), "{why}");
    ncz(&["plugins", "avail", "32028"]).ends(0);
}

#[test]
fn a_list_of_the_environment_counts_and_one_that_is_missing_refuses_all() {
    let Some((root, folder)) = plugins() else { return };
    let with = |list: &str, args: &[&str]| {
        let mut command = command();
        run(command
            .current_dir(root.path())
            .env("HDF5_PLUGIN_PATH", &folder)
            .env("NCZ_PLUGIN_LOCK", list)
            .args(args))
    };
    let refused = with("no-such-list", &["plugins", "avail", "32028"]).ends(1).stdout;
    assert!(refused.contains("no-such-list cannot be read"), "{refused}");
    // The command makes the list that is configured.
    with("mine", &["plugins", "lock"]).ends(0);
    with("mine", &["plugins", "avail", "32028"]).ends(0);
    with("mine", &["plugins", "lock", "--check"]).ends(0);
    at(root.path(), &folder, &["plugins", "lock", "--check", "--output", "no-such-list"])
        .ends(3)
        .says(&["no-such-list cannot be read"]);
    at(root.path(), &folder, &["plugins", "lock", "--output", "no/such/folder/list"])
        .ends(3)
        .says(&["cannot write no/such/folder/list"]);
}

#[cfg(unix)]
#[test]
fn what_everyone_may_change_is_refused_and_left_out_of_the_list_unless_all_are_trusted() {
    use std::os::unix::fs::PermissionsExt;
    let Some((root, folder)) = plugins() else { return };
    let sperr = folder.join("libh5sperr.so");
    fs::set_permissions(&sperr, fs::Permissions::from_mode(0o666)).unwrap();
    let ncz = |args: &[&str]| at(root.path(), &folder, args);
    let why = ncz(&["plugins", "why", "libh5sperr.so"]).ends(1).stdout;
    assert!(why.contains(&format!("everyone may write to it; chmod o-w {}", sperr.display())), "{why}");
    let refused = ncz(&["plugins", "avail", "32028"]).ends(1).stdout;
    assert!(refused.contains("everyone may write to it"), "{refused}");
    let made = ncz(&["plugins", "lock"]).ends(1).stdout;
    assert!(made.contains("libh5sperr.so is left out: everyone may write to it"), "{made}");
    assert!(made.contains("1 plugin;"), "{made}");
    ncz(&["--trust-all", "plugins", "avail", "32028"]).ends(0);
    ncz(&["plugins", "list"]).ends(1);
    let list = ncz(&["--trust-all", "plugins", "list", "--json"]).ends(0).json();
    let files = list["folders"][0]["files"].as_array().unwrap();
    let printed =
        files.iter().find(|file| file["path"].as_str().unwrap().ends_with("libh5sperr.so")).unwrap();
    assert_eq!(printed["trust"][0], "everyone may write to it", "{printed}");
}
