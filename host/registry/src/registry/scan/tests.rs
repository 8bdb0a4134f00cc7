//! The search over folders with real files, which a fake loader "opens" by their names.
use std::fs;

use ncz_codec::{AnyCoder, AnyConfig, Builtin, CodecError, CodecInfo};
use serde_json::{Map, Value};
use tempfile::TempDir;

use super::super::inspect::inspect_all;
use super::*;
use crate::pair::Prefer;
use crate::search_path::{Environment, Folder, SearchPath};
use crate::symbols::tests::compile;
use crate::trust::Trust;

/// Opens `lib<anything>-<parts>.so`, where the parts are `native307`, `hdf307`, `ncz307`, `def307`, and a version
/// `v1.2.0`.
struct Names;

#[derive(Debug)]
struct Fake(CodecInfo);

fn fake(name: String, id: u32) -> Arc<dyn CodecType> {
    Arc::new(Fake(CodecInfo {
        name: name.into(),
        filter_id: Some(id),
        numcodecs: [format!("codec{id}")].into_iter().collect(),
        zarr_v3: [format!("v3codec{id}")].into_iter().collect(),
        ..CodecInfo::new("", "").lossless()
    }))
}

impl CodecType for Fake {
    fn info(&self) -> &CodecInfo {
        &self.0
    }

    fn parse_json(
        &self,
        _: Dialect,
        _: &Map<String, Value>,
        _: &mut Vec<String>,
    ) -> Result<Arc<dyn AnyConfig>, CodecError> {
        Err(CodecError::unsupported("made up"))
    }

    fn parse_params(&self, _: &[u32]) -> Result<Arc<dyn AnyConfig>, CodecError> {
        Err(CodecError::unsupported("made up"))
    }

    fn coder(&self, _: &[u32]) -> Result<Arc<dyn AnyCoder>, CodecError> {
        Err(CodecError::unsupported("made up"))
    }
}

impl Loader for Names {
    type Hdf5 = (u32, bool);
    type Nczarr = u32;

    fn open(&self, path: &Path, _: &Symbols) -> Result<Opened<(u32, bool), u32>, String> {
        let stem = path.file_stem().unwrap().to_str().unwrap();
        if stem.contains("broken") {
            return Err("the info record is null".into());
        }
        let ids = |word: &str| -> Vec<u32> {
            stem.split('-').filter_map(|part| part.strip_prefix(word)?.parse().ok()).collect()
        };
        Ok(Opened {
            hdf5_provider: None,
            isolated: false,
            version: stem.split('-').find_map(|part| part.strip_prefix('v')?.parse().ok()),
            interface: None,
            natives: ids("native").into_iter().map(|id| fake(format!("native{id}"), id)).collect(),
            hdf5: ids("hdf").first().map(|&id| (id, stem.contains("late"))),
            nczarr: ids("ncz").first().copied(),
            defaults: ids("def"),
            refused: if stem.contains("odd") { vec!["class 2 is newer than ncz".into()] } else { vec![] },
        })
    }

    fn hdf5(&self, half: &(u32, bool)) -> (u32, String) {
        (half.0, format!("filter {}", half.0))
    }

    fn nczarr(&self, half: &u32) -> (u32, String) {
        (*half, format!("codec{half}"))
    }

    fn join(&self, hdf5: &(u32, bool), nczarr: Option<&u32>) -> Result<Arc<dyn CodecType>, String> {
        if hdf5.1 {
            return Err("its filter fails late".into());
        }
        let codec = nczarr.map_or_else(|| "alone".to_owned(), |id| format!("with codec{id}"));
        Ok(fake(format!("filter {} {codec}", hdf5.0), hdf5.0))
    }
}

struct Folders {
    root: TempDir,
    library: PathBuf,
    path: SearchPath,
    registered: Vec<Arc<dyn CodecType>>,
    builtins: Vec<Builtin>,
    requirements: Vec<Requirement>,
    prefer: Prefer,
    trust: Trust,
}

impl Folders {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let source = "int H5PLget_plugin_type(void){return 0;}\n\
                      const void* H5PLget_plugin_info(void){return 0;}";
        let library = compile(root.path(), "good", source, &[]);
        let path = SearchPath { folders: Vec::new(), switched_off: None, notes: Vec::new() };
        Self {
            root,
            library,
            path,
            registered: Vec::new(),
            builtins: Vec::new(),
            requirements: Vec::new(),
            prefer: Prefer::Builtins,
            trust: Trust::Careful,
        }
    }

    fn with(mut self, folder: &str, origin: Origin, names: &[&str]) -> Self {
        let path = self.root.path().join(folder);
        fs::create_dir_all(&path).unwrap();
        for name in names {
            fs::copy(&self.library, path.join(format!("lib{name}.so"))).unwrap();
        }
        self.path.folders.push(Folder { path, origin });
        self
    }

    fn builtin(mut self, id: u32) -> Self {
        let codec = Box::leak(Box::new(Fake(fake("built-in".into(), id).info().clone())));
        self.builtins.push(Builtin::new(codec, "0.1.0"));
        self
    }

    fn registered(mut self, name: &str, id: u32) -> Self {
        self.registered.push(fake(name.to_owned(), id));
        self
    }

    fn require(mut self, requirement: &str) -> Self {
        self.requirements.push(requirement.parse().unwrap());
        self
    }

    fn rules<'a>(&'a self, environment: &'a Environment) -> Rules<'a> {
        Rules {
            environment,
            path: &self.path,
            prefer: self.prefer,
            trust: self.trust,
            allow_list: None,
            registered: &self.registered,
            builtins: &self.builtins,
            requirements: &self.requirements,
            translators: true,
        }
    }

    fn scan(&self) -> Scan {
        self.run_in(&Environment::capture())
    }

    fn run_in(&self, environment: &Environment) -> Scan {
        let rules = self.rules(environment);
        Scan::run(rules, &inspect_all(rules), &Names)
    }

    fn look(&self) -> Report {
        let environment = Environment::capture();
        let rules = self.rules(&environment);
        Scan::look(rules, &inspect_all(rules))
    }

    fn file(&self, path: &str) -> String {
        self.root.path().join(path).display().to_string()
    }
}

fn verdicts(report: &Report) -> Vec<(String, Verdict, String)> {
    let name = |file: &FileReport| file.path.file_name().unwrap().to_string_lossy().into_owned();
    report.files().map(|file| (name(file), file.verdict, file.reason.clone())).collect()
}

fn verdict(report: &Report, name: &str) -> (Verdict, String) {
    let (_, verdict, reason) = verdicts(report).into_iter().find(|(file, ..)| file == name).unwrap();
    (verdict, reason)
}

#[test]
fn each_file_gets_its_verdict_and_one_bad_file_harms_no_other() {
    let folders = Folders::new().with(
        "a",
        Origin::Environment,
        &["x-hdf307-ncz307", "y-hdf307", "z-hdf999", "broken", "odd", "q-ncz998"],
    );
    let a = folders.root.path().join("a");
    fs::write(a.join("libtext.so"), "INPUT(x)").unwrap();
    fs::write(a.join("note.txt"), "").unwrap();
    std::os::unix::fs::symlink("libx-hdf307-ncz307.so", a.join("libzz.so")).unwrap();
    let scan = folders.scan();
    let winner = folders.file("a/libx-hdf307-ncz307.so");
    let expected = [
        ("libbroken.so", Verdict::Refused, "the info record is null".to_owned()),
        ("libodd.so", Verdict::Refused, "class 2 is newer than ncz".to_owned()),
        ("libq-ncz998.so", Verdict::Incomplete, "no HDF5 filter for this NCZarr codec".to_owned()),
        ("libtext.so", Verdict::Ignored, "not a shared library: text, perhaps a linker script".to_owned()),
        ("libx-hdf307-ncz307.so", Verdict::Loaded, String::new()),
        ("liby-hdf307.so", Verdict::Shadowed, format!("shadowed by {winner} (HDF5+NCZarr)")),
        ("libz-hdf999.so", Verdict::Incomplete, LACKS_CODEC.to_owned()),
        ("libzz.so", Verdict::Ignored, format!("the same file as {winner}")),
        ("note.txt", Verdict::Ignored, "name does not match lib*.so*".to_owned()),
    ];
    let expected: Vec<_> =
        expected.into_iter().map(|(name, verdict, reason)| (name.to_owned(), verdict, reason)).collect();
    assert_eq!(verdicts(&scan.report), expected);
    assert_eq!(scan.by_id[&307].info().name, "filter 307 with codec307");
    // A filter by itself works for HDF5 data.
    assert_eq!(scan.by_id[&999].info().name, "filter 999 alone");
    assert!(!scan.by_id.contains_key(&998));
    assert_eq!(scan.by_name.len(), 1);
}

#[test]
fn what_everyone_may_replace_is_refused_with_a_remedy_and_used_for_those_who_trust_everybody() {
    use std::os::unix::fs::PermissionsExt;
    let mut folders = Folders::new()
        .with("open", Origin::Environment, &["a-hdf307-ncz307"])
        .with("own", Origin::Environment, &["b-hdf308-ncz308", "c-hdf309-ncz309", "d-hdf310-ncz310"])
        .with("sticky", Origin::Environment, &["e-hdf311-ncz311"]);
    let allow = |path: &str, mode| {
        fs::set_permissions(folders.root.path().join(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    // Parent folders are not checked: every user can write to /tmp.
    allow(".", 0o1777);
    allow("open", 0o757);
    allow("own", 0o755);
    allow("sticky", 0o1777);
    allow("own/libb-hdf308-ncz308.so", 0o646);
    allow("own/libc-hdf309-ncz309.so", 0o664);
    let (open, b) = (folders.file("open"), folders.file("own/libb-hdf308-ncz308.so"));
    let sticky = folders.file("sticky");
    let refused = |reason: String| (Verdict::Refused, reason);
    let to_folder =
        |path: &str| format!("everyone may write to its folder; chmod o-w {path}, or --trust-all");
    let scan = folders.scan();
    assert_eq!(verdict(&scan.report, "liba-hdf307-ncz307.so"), refused(to_folder(&open)));
    assert_eq!(
        verdict(&scan.report, "libb-hdf308-ncz308.so"),
        refused(format!("everyone may write to it; chmod o-w {b}, or --trust-all"))
    );
    assert_eq!(verdict(&scan.report, "libc-hdf309-ncz309.so").0, Verdict::Loaded);
    assert_eq!(verdict(&scan.report, "libd-hdf310-ncz310.so").0, Verdict::Loaded);
    assert_eq!(verdict(&scan.report, "libe-hdf311-ncz311.so"), refused(to_folder(&sticky)));
    let mut ids: Vec<_> = scan.by_id.keys().copied().collect();
    ids.sort_unstable();
    assert_eq!(ids, [309, 310]);
    // The same without opening anything.
    let look = folders.look();
    assert_eq!(verdict(&look, "liba-hdf307-ncz307.so").0, Verdict::Refused);
    assert_eq!(verdict(&look, "libd-hdf310-ncz310.so").0, Verdict::Candidate);

    folders.trust = Trust::Everybody;
    assert_eq!(folders.scan().by_id.len(), 5);
}

#[test]
fn what_belongs_to_somebody_else_is_refused() {
    let folders = Folders::new().with("a", Origin::Environment, &["x-hdf307-ncz307"]);
    let me = rustix::process::geteuid().as_raw();
    // Root's files are trusted by everyone, so this tests nothing if the tests run as root.
    let other_user = Environment { user: Some(me + 1), ..Environment::capture() };
    let reason = verdict(&folders.run_in(&other_user).report, "libx-hdf307-ncz307.so").1;
    if me == 0 {
        assert_eq!(reason, "");
    } else {
        assert!(
            reason.starts_with(&format!("its folder belongs to user {me}, neither root nor you")),
            "{reason}"
        );
    }
}

#[test]
fn a_part_that_fails_late_is_replaced_by_the_next() {
    let folders = Folders::new().with("a", Origin::Explicit, &["a-late-hdf307-ncz307", "b-hdf307-ncz307"]);
    let scan = folders.scan();
    let second = folders.file("a/libb-hdf307-ncz307.so");
    assert!(scan.by_id[&307].origin().to_string().starts_with(&second));
    assert!(scan.by_name[&(Dialect::Numcodecs, "codec307".into())].origin().to_string().starts_with(&second));
    assert_eq!(
        verdict(&scan.report, "liba-late-hdf307-ncz307.so"),
        (Verdict::Refused, "refused: its filter fails late".into())
    );
    assert_eq!(verdict(&scan.report, "libb-hdf307-ncz307.so").0, Verdict::Loaded);
}

#[test]
fn an_environment_library_is_passed_over_for_a_built_in_and_a_line_says_so() {
    let mut folders = Folders::new().builtin(307).with("e", Origin::Environment, &["x-hdf307-ncz307"]);
    let scan = folders.scan();
    let path = folders.file("e/libx-hdf307-ncz307.so");
    assert_eq!(*scan.by_id[&307].origin(), CodecOrigin::Builtin);
    assert_eq!(scan.by_id[&307].others()[0].state, "shadowed by built-in");
    let title = &scan.by_id[&307].info().name;
    let note =
        |who: &str| format!("{who} passed over for the built-in {title}; `--prefer plugins` would use it");
    assert_eq!(scan.report.notes, [note(&format!("{path} is"))]);
    assert_eq!(verdict(&scan.report, "libx-hdf307-ncz307.so").1, "shadowed by built-in");
    // Of many libraries there is still one line.
    let three = ["a-hdf307-ncz307", "b-hdf307-ncz307", "c-hdf307-ncz307"];
    let more = Folders::new().builtin(307).with("e", Origin::Environment, &three);
    let first = more.file("e/liba-hdf307-ncz307.so");
    assert_eq!(more.scan().report.notes, [note(&format!("{first} and 2 more are"))]);

    folders.prefer = Prefer::Plugins;
    let scan = folders.scan();
    assert!(scan.by_id[&307].origin().to_string().starts_with(&path));
    assert!(scan.report.notes.is_empty());
    // The plugin's C face has no Zarr v3 name: that name still means the built-in.
    assert_eq!(*scan.by_name[&(Dialect::ZarrV3, "v3codec307".into())].origin(), CodecOrigin::Builtin);
}

#[test]
fn a_preferred_filter_borrows_the_json_of_the_built_in() {
    let folders = Folders::new().builtin(307).with("e", Origin::Explicit, &["x-hdf307"]);
    let scan = folders.scan();
    let CodecOrigin::Plugin { face, translator, .. } = scan.by_id[&307].origin() else { panic!() };
    assert_eq!((*face, translator.as_ref()), (Face::Hdf5AndNczarr, Some(&TranslatorOrigin::Builtin)));
    assert_eq!(scan.by_id[&307].info().name, "filter 307 alone");
    assert!(scan.by_name[&(Dialect::ZarrV3, "v3codec307".into())].origin() != &CodecOrigin::Builtin);
}

#[test]
fn a_known_layout_lends_its_name_to_a_foreign_lz4() {
    let scan = Folders::new().with("e", Origin::Environment, &["x-hdf32004"]).scan();
    let entry = &scan.by_name[&(Dialect::Numcodecs, "imagecodecs_lz4h5".into())];
    assert_eq!(entry.info().name, "filter 32004 alone");
    assert_eq!(entry.info().numcodecs.first(), Some("imagecodecs_lz4h5"));
    // Without a filter there is nothing to report.
    assert!(Folders::new().scan().report.codecs.is_empty());
}

#[test]
fn different_ids_in_one_library_refuse_it() {
    let scan = Folders::new().with("e", Origin::Explicit, &["x-hdf307-ncz308", "y-hdf307-ncz307"]).scan();
    let (state, reason) = verdict(&scan.report, "libx-hdf307-ncz308.so");
    assert_eq!(state, Verdict::Refused);
    assert!(reason.contains("its two ids differ"), "{reason}");
    assert_eq!(verdict(&scan.report, "liby-hdf307-ncz307.so").0, Verdict::Loaded);
}

#[test]
fn a_native_half_is_used_by_its_face_and_defaults_only_where_needed() {
    let scan = Folders::new()
        .with("e", Origin::Environment, &["a-native307-hdf307-ncz307", "b-def500-def307", "c-hdf500"])
        .scan();
    let CodecOrigin::Plugin { face, .. } = scan.by_id[&307].origin() else { panic!() };
    assert_eq!(*face, Face::Native);
    assert_eq!(scan.by_id[&500].info().name, "filter 500 with codec500");
    let defaults = scan.report.files().find(|file| file.path.ends_with("libb-def500-def307.so")).unwrap();
    assert_eq!(defaults.verdict, Verdict::Loaded);
    assert_eq!(defaults.face, Some(Face::Nczarr));
    assert_eq!(
        defaults.offers.iter().map(|offer| (offer.id, offer.part)).collect::<Vec<_>>(),
        [(Some(500), "NCZarr default"), (Some(307), "NCZarr default")]
    );
    let native = scan.report.files().next().unwrap();
    assert_eq!(native.offers[1].state, "used, by its native face");
}

#[test]
fn looking_without_loading_opens_nothing_and_names_candidates() {
    let folders = Folders::new().with("e", Origin::Environment, &["x-hdf307", "broken"]);
    let report = folders.look();
    assert!(!report.loaded && report.codecs.is_empty());
    for file in report.files() {
        assert_eq!((file.verdict, file.load_time), (Verdict::Candidate, None));
        assert_eq!(file.exports, ["H5PLget_plugin_type", "H5PLget_plugin_info"]);
    }
}

#[test]
fn the_json_of_a_report_carries_its_schema_and_everything_found() {
    let folders = Folders::new().with("e", Origin::Environment, &["x-hdf307-ncz307"]).with(
        "missing/..",
        Origin::Environment,
        &[],
    );
    let json = folders.scan().report.to_json();
    assert_eq!(json["schema"], 1);
    let file = &json["folders"][0]["files"][0];
    assert_eq!(file["verdict"], "loaded");
    assert_eq!(file["face"], "HDF5+NCZarr");
    assert_eq!(file["offers"][0]["id"], 307);
    assert!(file["load_ms"].is_f64() || file["load_ms"].is_number());
    assert_eq!(json["codecs"][0]["candidates"][0]["used"], true);
    assert_eq!(json["codecs"][0]["numcodecs"][0], "codec307");
}

#[test]
fn the_story_of_an_id_a_name_and_a_file_is_reported() {
    let folders = Folders::new().builtin(307).with(
        "e",
        Origin::Environment,
        &["x-hdf307-ncz307", "y-hdf32013", "broken"],
    );
    let report = folders.scan().report;
    let story = |query: &str| crate::explain::explain(&report, &folders.path, query);

    let why = story("307");
    assert!(why.found);
    assert!(why.to_string().starts_with("built-in (HDF5 filter 307) comes from: built-in\n"), "{why}");
    assert!(why.to_string().contains("libx-hdf307-ncz307.so (HDF5+NCZarr): shadowed by built-in"), "{why}");
    assert_eq!(story("codec307").lines, why.lines);

    let why = story("libbroken.so");
    assert!(!why.found);
    assert!(why.to_string().contains("libbroken.so is refused: the info record is null"), "{why}");
    assert_eq!(story(&folders.file("e/libbroken.so")).lines, why.lines);

    let why = story("32013");
    assert!(why.to_string().contains("no NCZarr codec"), "{why}");

    let why = story("32008");
    assert!(!why.found);
    assert!(why.to_string().contains("no codec found for HDF5 filter 32008 (bitshuffle)"), "{why}");
    assert!(why.to_string().contains("3 plugins in 3 files"), "{why}");
    assert!(why.to_string().contains("libbroken.so: refused: the info record is null"), "{why}");

    let why = story(&folders.file("good"));
    assert!(why.to_string().contains("is not in a folder that is searched"), "{why}");
    assert_eq!(why.elsewhere.len(), 1);
    assert_eq!(story("/no/such/libx.so").to_json()["found"], false);
}

#[test]
fn what_is_not_found_names_folders_near_misses_and_the_remedy() {
    let folders = Folders::new().with("e", Origin::Environment, &["broken", "q-ncz32015"]).with(
        "f",
        Origin::Environment,
        &[],
    );
    let gone = folders.root.path().join("f");
    fs::remove_dir(&gone).unwrap();
    let report = folders.scan().report;
    let text = crate::not_found::explain(crate::error::Wanted::Id(32_015), None, &report).to_string();
    assert!(
        text.starts_with("no codec for HDF5 filter 32015 (Zstandard): not built in, and not found in "),
        "{text}"
    );
    assert!(text.contains(&format!("{} (which does not exist)", gone.display())), "{text}");
    assert!(text.contains("libbroken.so: refused: the info record is null"), "{text}");
    assert!(text.contains("libq-ncz32015.so: NCZarr face of codec32015: no HDF5 filter"), "{text}");
    assert!(text.contains("install the Python package hdf5plugin"), "{text}");
    assert!(text.contains("HDF5_PLUGIN_PATH"), "{text}");
}

/// The path of the library that is used for filter 307.
fn used(scan: &Scan) -> String {
    match scan.by_id[&307].origin() {
        CodecOrigin::Plugin { path, .. } => path.display().to_string(),
        other => other.to_string(),
    }
}

#[test]
fn of_two_equal_codecs_of_one_folder_the_newer_is_used() {
    let folders = Folders::new()
        .with("a", Origin::Environment, &["x-native307-v1.9.0", "y-native307-v1.10.0", "z-native307-v1.10.0"])
        .with("b", Origin::Environment, &["later-native307-v9.0.0"]);
    let scan = folders.scan();
    assert_eq!(used(&scan), folders.file("a/liby-native307-v1.10.0.so"));
    assert_eq!(scan.by_id[&307].version().unwrap().to_string(), "1.10.0");
    let reason = |name: &str| verdict(&scan.report, name).1;
    let winner = folders.file("a/liby-native307-v1.10.0.so");
    assert_eq!(
        reason("libx-native307-v1.9.0.so"),
        format!(
            "shadowed by {winner} (native): of one folder the newer is used, and its version 1.10.0 is newer than 1.9.0"
        )
    );
    for other in ["libz-native307-v1.10.0.so", "liblater-native307-v9.0.0.so"] {
        assert_eq!(reason(other), format!("shadowed by {winner} (native)"));
    }
    let why = crate::explain::explain(&scan.report, &folders.path, "307").to_string();
    assert!(why.contains("its version 1.10.0 is newer than 1.9.0"), "{why}");
    assert!(why.contains("\n  version 1.10.0\n"), "{why}");
}

#[test]
fn libraries_without_a_version_keep_their_positions() {
    let folders = Folders::new().with(
        "a",
        Origin::Environment,
        &["a-hdf307-ncz307", "b-native307-v1.0.0", "c-hdf307-ncz307", "d-native307-v2.0.0"],
    );
    let scan = folders.scan();
    let codec = scan.report.codecs.iter().find(|codec| codec.id == Some(307)).unwrap();
    let order: Vec<String> = codec.candidates.iter().map(|candidate| candidate.origin.to_string()).collect();
    let at = |name: &str| order.iter().position(|origin| origin.contains(name)).unwrap();
    assert_eq!([at("liba-"), at("libd-"), at("libc-"), at("libb-")], [0, 1, 2, 3], "{order:?}");
}

#[test]
fn a_required_version_passes_over_what_does_not_meet_it() {
    let folders = Folders::new().builtin(307).with(
        "a",
        Origin::Environment,
        &["x-hdf307-ncz307", "y-native307-v1.1.0", "z-native307-v1.3.0"],
    );
    assert_eq!(used(&folders.scan()), "built-in");
    let folders = folders.require("codec307>=1.2");
    let scan = folders.scan();
    assert_eq!(used(&scan), folders.file("a/libz-native307-v1.3.0.so"));
    let reason = |name: &str| verdict(&scan.report, name).1;
    assert_eq!(
        reason("libx-hdf307-ncz307.so"),
        "refused: it states no version, and codec307>=1.2 is required"
    );
    assert_eq!(
        reason("liby-native307-v1.1.0.so"),
        "refused: its version is 1.1.0, and codec307>=1.2 is required"
    );

    for requirement in ["307>=2", "bzip2>=2", "v3codec307>=2"] {
        let folders = Folders::new().builtin(307).require(requirement).with("a", Origin::Environment, &[]);
        let scan = folders.scan();
        assert!(scan.by_id.is_empty() && scan.by_name.is_empty(), "{requirement}");
        let error = crate::not_found::explain(crate::error::Wanted::Id(307), None, &scan.report).to_string();
        let reason = format!("built-in: refused: its version is 0.1.0, and {requirement} is required");
        assert!(error.contains("not usable as built in, and not found in"), "{error}");
        assert!(error.contains(&reason), "{error}");
    }
}

#[test]
fn what_the_program_registers_comes_first_and_the_rest_is_listed() {
    let folders = Folders::new().builtin(307).registered("first", 307).registered("second", 307).with(
        "a",
        Origin::Explicit,
        &["x-native307"],
    );
    let scan = folders.scan();
    let entry = &scan.by_id[&307];
    assert_eq!((entry.info().name.as_ref(), entry.origin()), ("first", &CodecOrigin::Registered));
    let others: Vec<_> =
        entry.others().iter().map(|other| (other.origin.to_string(), &*other.state)).collect();
    let shadowed = "shadowed by registered by the program";
    assert_eq!(
        others,
        [
            ("registered by the program".to_owned(), shadowed),
            (format!("{} (native)", folders.file("a/libx-native307.so")), shadowed),
            ("built-in".to_owned(), shadowed),
        ]
    );
}
