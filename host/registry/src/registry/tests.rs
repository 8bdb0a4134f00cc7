//! What an embedder sees of the registry.

use std::borrow::Cow;
use std::fs;

use ncz_codec::{Bound, Codec, CodecError, CodecInfo, Coder, Env, Repr, Size};
use serde_json::{Map, Value};

use super::*;
use crate::search_path::Platform;

/// A codec that is linked into these tests.
#[derive(Debug, Clone)]
struct Copy;

#[derive(Debug)]
struct CopyCoder;

ncz_codec::register!(Copy);

impl Codec for Copy {
    const INFO: CodecInfo = CodecInfo {
        name: Cow::Borrowed("registry test copy"),
        summary: Cow::Borrowed("copies"),
        filter_id: Some(40_321),
        numcodecs: Cow::Borrowed(&[Cow::Borrowed("registry-test-copy")]),
        zarr_v3: Cow::Borrowed(&[]),
        has_working_params: false,
        has_checksum: false,
        lossy: Some(false),
    };

    type Coder = CopyCoder;

    fn from_json(_: Dialect, _: &Map<String, Value>, _: &mut Vec<String>) -> Result<Self, CodecError> {
        Ok(Self)
    }

    fn to_json(&self, _: Dialect) -> Result<Map<String, Value>, CodecError> {
        Ok(Map::new())
    }

    fn from_params(_: &[u32]) -> Result<Self, CodecError> {
        Ok(Self)
    }

    fn to_params(&self) -> Result<Vec<u32>, CodecError> {
        Ok(Vec::new())
    }

    fn bind(&self, _: &Repr, _: &Env) -> Result<Bound<Self>, CodecError> {
        let output = Repr::Bytes { size: Size::Unknown };
        Ok(Bound { stored: Self, working: Vec::new(), output, coder: CopyCoder })
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

fn environment(plugin_path: &str) -> Environment {
    Environment {
        platform: Platform::Linux,
        plugin_path: Some(plugin_path.into()),
        preload: None,
        lock: None,
        all_users_profile: None,
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
fn no_folder_is_looked_at_before_a_codec_is_wanted_that_is_not_built_in() {
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
    let why = registry.why("registry-test-copy");
    assert!(why.found, "{why}");
}
