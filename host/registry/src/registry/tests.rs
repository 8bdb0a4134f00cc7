//! The registry as an embedder sees it.

use std::fs;

use ncz_codec::{
    Bound, Codec, CodecConfig, CodecError, CodecInfo, Coder, Container, Dtype, Env, Erased, Kind, Repr, Size,
};

use super::*;
use crate::chain::FilterChain;
use crate::search_path::Platform;
use crate::spec::ChainSpec;

/// A codec that is linked into these tests.
#[derive(Debug, Clone, CodecConfig)]
struct Copy {}

/// A codec that a test registers; it claims the numcodecs name of [`Copy`], too.
#[derive(Debug, Clone, CodecConfig)]
struct Invert {}

#[derive(Debug)]
struct CopyCoder;

ncz_codec::register!(Copy);

impl Codec for Copy {
    const INFO: CodecInfo = CodecInfo::new("registry test copy", "copies")
        .filter_id(40_321)
        .numcodecs(&["registry-test-copy"])
        .lossless();

    type Coder = CopyCoder;

    fn bind(&self, _: &Repr, _: &Env) -> Result<Bound<Self>, CodecError> {
        let output = Repr::Bytes { size: Size::Unknown };
        Ok(Bound { stored: Self {}, working: Vec::new(), output, coder: CopyCoder })
    }

    fn coder(_: &[u32]) -> Result<CopyCoder, CodecError> {
        Ok(CopyCoder)
    }
}

impl Coder for CopyCoder {
    type Scratch = ();

    fn scratch(&self) {}

    fn max_encoded_len(&self, len: usize) -> Option<usize> {
        Some(len)
    }

    fn encode(&self, (): &mut (), input: &[u8], output: &mut [u8]) -> Result<usize, CodecError> {
        output[..input.len()].copy_from_slice(input);
        Ok(input.len())
    }

    fn decode(&self, (): &mut (), input: &[u8], output: &mut [u8]) -> Result<usize, CodecError> {
        self.encode(&mut (), input, output)
    }
}

#[derive(Debug)]
struct InvertCoder;

impl Codec for Invert {
    const INFO: CodecInfo = CodecInfo::new("registry test invert", "inverts all bits")
        .filter_id(40_323)
        .numcodecs(&["registry-test-invert", "registry-test-copy"])
        .zarr_v3(&["registry_test.invert"])
        .lossless();

    type Coder = InvertCoder;

    fn bind(&self, _: &Repr, _: &Env) -> Result<Bound<Self>, CodecError> {
        let output = Repr::Bytes { size: Size::Unknown };
        Ok(Bound { stored: Self {}, working: Vec::new(), output, coder: InvertCoder })
    }

    fn coder(_: &[u32]) -> Result<InvertCoder, CodecError> {
        Ok(InvertCoder)
    }
}

impl Coder for InvertCoder {
    type Scratch = ();

    fn scratch(&self) {}

    fn max_encoded_len(&self, len: usize) -> Option<usize> {
        Some(len)
    }

    fn encode(&self, (): &mut (), input: &[u8], output: &mut [u8]) -> Result<usize, CodecError> {
        input.iter().zip(output).for_each(|(from, to)| *to = !from);
        Ok(input.len())
    }

    fn decode(&self, (): &mut (), input: &[u8], output: &mut [u8]) -> Result<usize, CodecError> {
        self.encode(&mut (), input, output)
    }
}

fn environment(plugin_path: &str) -> Environment {
    Environment {
        platform: Platform::Linux,
        plugin_path: Some(plugin_path.into()),
        preload: None,
        allow_list: None,
        exe_dir: None,
        cache: None,
        user: None,
        elevated: false,
    }
}

#[test]
fn a_registry_can_be_shared_between_threads() {
    fn shared<T: Send + Sync>(_: &T) {}
    shared(&Registry::default());
}

#[test]
fn no_folder_is_searched_before_a_codec_is_needed_that_is_not_built_in() {
    let registry = Registry::builder().environment(environment("/no/such/folder")).build();
    let entry = registry.by_id(40_321).unwrap();
    assert_eq!(*entry.origin(), CodecOrigin::Builtin);
    assert_eq!(registry.by_name(Dialect::Numcodecs, "registry-test-copy").unwrap().info(), entry.info());
    assert!(registry.scan.get().is_none());

    let error = registry.by_id(40_322).unwrap_err();
    assert!(registry.scan.get().is_some());
    assert!(error.to_string().contains("/no/such/folder (which does not exist)"), "{error}");
    assert_eq!(*registry.by_id(40_321).unwrap().origin(), CodecOrigin::Builtin);
}

#[test]
fn an_explicit_path_or_a_preference_for_plugins_is_searched_even_for_built_ins() {
    let folder = tempfile::tempdir().unwrap();
    let registry = Registry::builder().plugin_path(vec![folder.path().to_owned()]).build();
    registry.by_id(40_321).unwrap();
    assert!(registry.scan.get().is_some());
    let registry = Registry::builder().environment(environment("/no/such")).prefer(Prefer::Plugins).build();
    registry.by_id(40_321).unwrap();
    assert!(registry.scan.get().is_some());
}

#[test]
fn without_built_ins_and_plugins_there_is_nothing_and_the_error_says_why() {
    let registry = Registry::builder().builtins(false).no_plugins(true).build();
    let error = registry.by_id(40_321).unwrap_err();
    assert!(error.to_string().contains("plugins are switched off by request"), "{error}");
    assert!(error.remedy().contains("allow plugins"), "{error}");
    let preload = Environment { preload: Some("::".into()), ..environment("/x") };
    let registry = Registry::builder().environment(preload).builtins(false).build();
    let error = registry.by_name(Dialect::Numcodecs, "zstd").unwrap_err();
    assert!(error.to_string().contains("HDF5_PLUGIN_PRELOAD=::"), "{error}");
    assert!(registry.report().switched_off.is_some());
}

#[test]
fn folders_full_of_rubbish_are_survived_and_reported() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("libjunk.so"), "junk").unwrap();
    let file = folder.path().join("libfile.so");
    fs::write(&file, "").unwrap();
    let registry =
        Registry::builder().plugin_path(vec![folder.path().to_owned(), file, "/no/such".into()]).build();
    assert_eq!(registry.report().folders.len(), 3);
    assert!(registry.report_without_loading().files().all(|file| file.load_time.is_none()));
    assert!(registry.report().codecs.iter().any(|codec| codec.id == Some(40_321)));
    let why = registry.explain("registry-test-copy");
    assert!(why.found, "{why}");
}

#[test]
fn a_registered_codec_is_found_by_id_and_by_its_names_and_runs_in_a_chain() {
    let builder = Registry::builder().environment(environment("/no/such/folder"));
    let registry = builder.codec(Erased::<Invert>::new()).build();
    let by_id = registry.by_id(40_323).unwrap();
    assert_eq!((by_id.origin(), by_id.version()), (&CodecOrigin::Registered, None));
    for (dialect, name) in
        [(Dialect::Numcodecs, "registry-test-invert"), (Dialect::ZarrV3, "registry_test.invert")]
    {
        assert_eq!(registry.by_name(dialect, name).unwrap().info(), by_id.info());
    }
    assert_eq!(registry.by_any_name("registry test invert").unwrap().info(), by_id.info());
    // The path is not searched: no plugin could take precedence.
    assert!(registry.scan.get().is_none());

    let env = Env {
        dtype: Dtype::little(Kind::UInt, 1),
        array_shape: vec![4],
        chunk_shape: vec![4],
        container: Container::ZarrV2,
    };
    let stages = ChainSpec::parse(r#"{"id":"registry-test-invert"}"#).unwrap().resolve(&registry).unwrap();
    let chain = FilterChain::bind(&stages, &env).unwrap();
    let (mut scratch, mut read) = (chain.scratch(), [0; 4]);
    let stored = chain.encode(&mut scratch, &[1, 2, 3, 4]).unwrap().to_vec();
    assert_eq!(stored, [254, 253, 252, 251]);
    chain.decode(0, &mut scratch, &stored, &mut read).unwrap();
    assert_eq!(read, [1, 2, 3, 4]);
}

#[test]
fn a_name_that_a_registered_codec_takes_from_another_is_reported() {
    let builder = Registry::builder().environment(environment("/no/such/folder"));
    let registry = builder.codec(Erased::<Invert>::new()).build();
    let named = registry.by_name(Dialect::Numcodecs, "registry-test-copy").unwrap();
    assert_eq!(named.info().filter_id, Some(40_323));
    let conflict = &registry.report().conflicts[0];
    assert_eq!(conflict.name, "registry-test-copy");
    assert_eq!(conflict.holder, "HDF5 filter 40323, registered by the program");
    assert_eq!(conflict.loser, "HDF5 filter 40321, built-in");
    let json = registry.report().to_json();
    let codec = json["codecs"].as_array().unwrap().iter().find(|codec| codec["id"] == 40_323).unwrap();
    assert_eq!(codec["candidates"][0]["origin"], "registered");
}

#[test]
fn a_required_version_that_is_not_there_is_an_error_that_says_so() {
    let version = env!("CARGO_PKG_VERSION");
    let builder = || Registry::builder().environment(environment("/no/such/folder"));
    let met = builder().require(format!("registry-test-copy>={version}").parse().unwrap()).build();
    assert_eq!(met.by_id(40_321).unwrap().version().unwrap().to_string(), version);
    let unmet = builder().require("registry-test-copy>=99".parse().unwrap()).build();
    let error = unmet.by_name(Dialect::Numcodecs, "registry-test-copy").unwrap_err().to_string();
    let reason =
        format!("built-in: refused: its version is {version}, and registry-test-copy>=99 is required");
    assert!(error.contains(&reason), "{error}");
    let mistyped = builder().require("no-such-codec>=1".parse().unwrap()).build();
    let note = "no-such-codec>=1 is required, but there is no codec no-such-codec";
    assert!(mistyped.report().notes.iter().any(|known| known == note), "{:?}", mistyped.report().notes);
}
