//! A dataset as a user names it: a path or a URL, with mode words after `#` or without.

use std::sync::Arc;

use ncz_model::{DataError, Format, MetadataError, Session, limits};
use ncz_netcdf::NetcdfFile;
use ncz_store::{
    Access, CreateOptions, Depth, Entry, EntryKind, KeyBuf, Prefix, Store, StoreError, Unlisted,
};
use ncz_zarr::Dataset as ZarrDataset;
use ncz_zarr::metadata::document;
use ncz_zarr::metadata::{ConsolidatedPolicy, ReadOptions};

use super::{
    FILE_EXTENSIONS, Location, LocationError, Metadata, Mode, Nesting, Storage, found, is_dataset, parse,
    stores,
};
use crate::dataset::Dataset;

/// The extensions of folders with references in Parquet.
const TABLES: [&str; 2] = ["parq", "parquet"];

/// A dataset as a user names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatasetUrl {
    /// Its location.
    pub location: Location,
    /// The mode words after `#`.
    pub mode: Mode,
}

impl DatasetUrl {
    /// Parses a path, or a URL of a file, of S3 or of an HTTP server, with `#mode=...` after it or not. Neither the
    /// location nor the environment is consulted.
    ///
    /// ```
    /// use ncz::location::DatasetUrl;
    ///
    /// for (text, shown) in [
    ///     ("ocean.zip#mode=zarr", "ocean.zip"),
    ///     ("s3://bucket/ocean.zarr", "s3://bucket/ocean.zarr"),
    ///     ("https://bucket.s3.us-west-2.amazonaws.com/a", "https://s3.us-west-2.amazonaws.com/bucket/a"),
    ///     ("http://127.0.0.1:9000/bucket/a#mode=s3", "http://127.0.0.1:9000/bucket/a"),
    ///     ("https://me:password@example.org/a.zarr/", "https://example.org/a.zarr"),
    /// ] {
    ///     assert_eq!(DatasetUrl::parse(text)?.location.to_string(), shown);
    /// }
    /// # Ok::<(), ncz::location::LocationError>(())
    /// ```
    ///
    /// # Errors
    /// [`LocationError::Text`] for a URL of another kind, one that contradicts itself, and for unknown words and keys
    /// after `#`.
    pub fn parse(text: &str) -> Result<Self, LocationError> {
        parse::parse(text).map_err(|reason| LocationError::text(text, &reason))
    }

    /// What the dataset is stored in. In S3 and on an HTTP server only the URL decides.
    ///
    /// # Errors
    /// There is nothing, or something that is not a dataset, or the mode asks for another storage.
    pub fn storage(&self) -> Result<Storage, LocationError> {
        let found = match &self.location {
            Location::Path(path) => found::storage(path)?,
            _ if self.names_file() => return Ok(Storage::File),
            _ if self.has_extension(&["json"]) || self.has_extension(&TABLES) => {
                return Ok(Storage::References);
            }
            Location::S3(_) => Storage::S3,
            Location::Http(_) => Storage::Http,
        };
        let contradicts = match self.mode.storage {
            Some(wanted) => (wanted != found).then(|| wanted.mode_word()),
            None if found == Storage::File => self.mode.zarr_word(),
            None => (self.mode.bytes).then(|| Storage::File.mode_word()),
        };
        match contradicts {
            Some(word) => Err(LocationError::NotADataset {
                location: self.location.clone(),
                reason: format!("is {found}, but the mode after # says {word}; leave {word} out"),
            }),
            None => Ok(found),
        }
    }

    /// Whether references are a folder of tables (Parquet), and not one file.
    pub(crate) fn is_folder_of_references(&self) -> bool {
        match &self.location {
            Location::Path(path) => path.is_dir(),
            _ => self.has_extension(&TABLES),
        }
    }

    /// Whether a new dataset of this name is one of references: a file `.json` on this machine, or a folder `.parq`.
    #[must_use]
    pub fn names_references(&self) -> bool {
        let plain = Self { mode: Mode::default(), ..self.clone() };
        plain.has_extension(&TABLES) || self.location.path().is_some() && plain.has_extension(&["json"])
    }

    /// Whether the URL names one file, by its mode or its extension.
    fn names_file(&self) -> bool {
        self.mode.bytes || self.has_extension(&FILE_EXTENSIONS)
    }

    /// Whether the name has one of these extensions, and the mode does not say that it is a folder of Zarr.
    fn has_extension(&self, extensions: &[&str]) -> bool {
        let has_extension = |name: String| {
            let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
            extension.is_some_and(|extension| extensions.contains(&extension.as_str()))
        };
        self.mode.zarr_word().is_none() && self.location.file_name().is_some_and(has_extension)
    }

    /// Opens the store of an existing dataset.
    ///
    /// # Errors
    /// As [`storage`](Self::storage), and failures of the store.
    pub fn open_store(&self, access: Access) -> Result<Arc<dyn Store>, LocationError> {
        let store = stores::open(self, access)?;
        if self.location.path().is_none() {
            let error =
                |source| LocationError::Store { location: self.location.clone(), source: Box::new(source) };
            if !is_dataset(&*store).map_err(error)? {
                return Err(stores::nothing(self, &*store));
            }
        }
        Ok(store)
    }

    /// Opens the store to look around in it, whether it holds a dataset or not. A local path must hold one.
    ///
    /// # Errors
    /// As [`storage`](Self::storage), and failures of the store.
    pub fn open_folder(&self) -> Result<Arc<dyn Store>, LocationError> {
        stores::open(self, Access::Read)
    }

    /// Opens the dataset for reading: infers storage, version and format, unless the mode says them. The experimental
    /// draft of NCZarr over Zarr version 3 is not inferred: `#mode=nczarr,v3` asks for it.
    ///
    /// # Errors
    /// There is no dataset; it can be read in several ways; its root metadata are damaged.
    pub fn open(&self, session: Session) -> Result<Dataset, LocationError> {
        match self.storage()? {
            Storage::File => self.open_file(session),
            _ => self.open_zarr(Access::Read, session).map(Dataset::new),
        }
    }

    /// Opens a Zarr dataset, for reading or also for writing.
    ///
    /// # Errors
    /// As [`open`](Self::open), and [`LocationError::NetcdfFile`].
    pub fn open_zarr(&self, access: Access, session: Session) -> Result<ZarrDataset, LocationError> {
        let location = || self.location.clone();
        let store = stores::open(self, access)?;
        let mut options = self.read_options();
        if access == Access::ReadWrite && options.consolidated == ConsolidatedPolicy::Prefer {
            // Changing a dataset needs all of its documents.
            options.consolidated = ConsolidatedPolicy::Compare;
        }
        ZarrDataset::open(Arc::clone(&store), session, &options).map_err(|error| match error {
            DataError::Metadata(source @ MetadataError::Ambiguous { .. }) => {
                LocationError::Ambiguous { location: location(), source }
            }
            // It is not checked earlier whether there is a dataset: that would be one more request each time.
            DataError::Metadata(MetadataError::NotADataset) if self.location.path().is_none() => {
                stores::nothing(self, &*store)
            }
            source => LocationError::Dataset { location: location(), source: Box::new(source) },
        })
    }

    /// Opens the store around the file that the dataset is in, and returns the key of the file.
    pub(crate) fn open_file_store(&self) -> Result<(Arc<dyn Store>, KeyBuf), LocationError> {
        stores::open_file(self)
    }

    /// Opens the store at the location, whatever it holds.
    pub(crate) fn open_any_store(&self, access: Access) -> Result<Arc<dyn Store>, LocationError> {
        stores::open(self, access)
    }

    /// Reserves a location in S3 for a dataset that several programs write; see
    /// [`S3Store::begin_shared`](ncz_store::s3::S3Store::begin_shared).
    pub(crate) fn begin_shared(&self, token: &str) -> Result<(), StoreError> {
        stores::begin_shared(self, token)
    }

    /// Opens the store of a dataset in S3 that several programs write.
    pub(crate) fn open_shared(&self, token: &str) -> Result<Arc<dyn Store>, StoreError> {
        stores::open_shared(self, token)
    }

    /// Opens a netCDF or HDF5 file.
    fn open_file(&self, session: Session) -> Result<Dataset, LocationError> {
        let (store, key) = stores::open_file(self)?;
        let store = match self.location.path() {
            Some(path) => Unlisted::of_file(store, path),
            None => Unlisted::new(store),
        };
        let file = NetcdfFile::open(Arc::new(store), key, session);
        let failed =
            |source| LocationError::Dataset { location: self.location.clone(), source: Box::new(source) };
        Ok(Dataset::new(file.map_err(failed)?))
    }

    /// Returns how to read metadata in this mode. If each document costs a round trip, consolidated metadata are
    /// preferred.
    #[must_use]
    pub fn read_options(&self) -> ReadOptions {
        let consolidated = match (self.mode.consolidated, &self.location) {
            (true, _) => ConsolidatedPolicy::Only,
            // They have nothing else.
            _ if self.is_folder_of_references() && matches!(self.storage(), Ok(Storage::References)) => {
                ConsolidatedPolicy::Only
            }
            (false, Location::Path(_)) => ConsolidatedPolicy::Compare,
            (false, Location::S3(_) | Location::Http(_)) => ConsolidatedPolicy::Prefer,
        };
        ReadOptions {
            consolidated,
            pure: self.mode.metadata == Some(Metadata::Zarr),
            version: self.mode.version,
            nczarr3: self.mode.new_format() == Some(Format::Nczarr3),
            ..ReadOptions::default()
        }
    }

    /// What a new dataset is stored in: as the mode says, else a zip file if the path ends in `.zip`.
    #[must_use]
    pub fn new_storage(&self) -> Storage {
        let path = match &self.location {
            Location::Path(path) => path,
            Location::S3(_) => return Storage::S3,
            Location::Http(_) => return Storage::Http,
        };
        let is_zip = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("zip"));
        self.mode.storage.unwrap_or(if is_zip { Storage::Zip } else { Storage::Directory })
    }

    /// Checks whether a dataset can be created at this URL at all, as far as the URL decides it. Call it before
    /// expensive work.
    ///
    /// # Errors
    /// The URL is that of an HTTP server, or of a kind that this program was built without.
    pub fn check_new(&self) -> Result<(), StoreError> {
        stores::check_new(self)
    }

    /// Creates the store of a new dataset; it becomes visible when it is published.
    ///
    /// # Errors
    /// Something exists there already; with `overwrite`, anything but a dataset in the same storage without other files
    /// next to it. The location cannot be written to, or with `overwrite` it is a whole bucket that is not empty.
    /// `NC_DEFAULT_CREATE_PERMS` or `NC_DEFAULT_DIR_PERMS` in the environment is not a number.
    pub fn create_store(&self, overwrite: bool) -> Result<Arc<dyn Store>, StoreError> {
        let mut options = CreateOptions::new();
        if overwrite {
            options = options.replace_if(may_be_replaced);
        }
        stores::create(self, options)
    }

    /// Whether one of two locations is inside the other one, so that writing to it would change the other.
    #[must_use]
    pub fn nests(&self, other: &Self) -> Option<Nesting> {
        stores::nests(&self.location, &other.location)
    }
}

/// Whether a store holds a dataset and nothing else that would be lost with it.
///
/// Foreign files are an error and not `false`: the store also replaces an unfinished dataset, which this function
/// answers with `false`.
fn may_be_replaced(store: &dyn Store) -> Result<bool, StoreError> {
    let root = store.list(Prefix::ROOT, Depth::One, limits::CHILDREN)?;
    let is_foreign = |entry: &Entry| {
        let name = entry.key.as_str();
        // The chunks of an array at the root begin with a digit.
        let belongs = document::ALL.contains(&name)
            || name == ".DS_Store"
            || name.starts_with(|c: char| c.is_ascii_digit());
        entry.kind == EntryKind::Object && !belongs
    };
    let is_dataset = is_dataset(store)?;
    if !root.entries.iter().any(is_foreign) {
        return Ok(is_dataset);
    }
    let reason = if is_dataset {
        "holds other files beside the dataset"
    } else {
        "holds files, but not a dataset that may be replaced"
    };
    Err(StoreError::NotADataset { location: store.to_string(), reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> (String, Mode) {
        let url = DatasetUrl::parse(text).unwrap();
        (url.location.to_string(), url.mode)
    }

    fn words(fragment: &str) -> Mode {
        super::super::fragment::Fragment::parse(fragment.split('&')).unwrap().mode
    }

    #[test]
    fn paths_and_file_urls_are_read() {
        assert_eq!(parsed("a/b.zarr"), ("a/b.zarr".into(), Mode::default()));
        assert_eq!(parsed("a#b"), ("a#b".into(), Mode::default()));
        assert_eq!(parsed("file:///a/b#mode=nczarr,file"), ("/a/b".into(), words("mode=nczarr,file")));
        assert_eq!(parsed("file://b#mode=nczarr,zarr"), ("b".into(), words("mode=zarr")));
        assert_eq!(parsed("b#mode=zarr"), ("b".into(), words("mode=zarr")));
        assert_eq!(parsed("b#zarr"), ("b".into(), words("mode=zarr")));
        assert_eq!(parsed("FILE://b"), ("b".into(), Mode::default()));
    }

    #[test]
    fn what_is_not_built_or_not_known_is_refused_by_name() {
        for (text, want) in [
            ("gopher://x", "gopher"),
            ("file://x#mode=nczarr,s3", "S3"),
            ("file://x#mode=bogus", "bogus"),
            ("file://x#checksum=1", "checksum"),
            ("file://", "the path is empty"),
        ] {
            let error = DatasetUrl::parse(text).unwrap_err().to_string();
            assert!(error.contains(want), "{text}: {error}");
        }
    }

    #[test]
    fn modes_of_netcdf_mean_what_they_mean_there() {
        // Each was tried with netcdf-c 4.10; capitals in the first word, which it refuses, are accepted here.
        for text in [
            "file://a#mode=nczarr",
            "file://a#mode=nczarr,FILE",
            "file://a#MODE=nczarr",
            "file://a#mode=nczarr&mode=file",
            "[mode=nczarr,file]file://a",
            "[mode=nczarr][mode=file]file://a",
            "file://a#mode=NCZARR,file",
            "file://a\\#mode=nczarr,file",
        ] {
            let url = DatasetUrl::parse(text).unwrap();
            assert_eq!(url.location.to_string(), "a", "{text}");
            assert_eq!(url.mode.metadata, Some(Metadata::Nczarr), "{text}");
            assert_eq!(url.new_storage(), Storage::Directory, "{text}");
        }
        for pure in ["zarr", "xarray", "zarr,xarray", "nczarr,xarray", "zarr,noxarray"] {
            let mode = DatasetUrl::parse(&format!("file://a#mode={pure}")).unwrap().mode;
            assert_eq!(mode.metadata, Some(Metadata::Zarr), "{pure}");
            assert_eq!(mode.noxarray, pure.ends_with("noxarray"), "{pure}");
        }
    }

    #[test]
    fn a_single_s3_is_nczarr_unless_another_word_says_more() {
        let format = |text: &str| DatasetUrl::parse(text).unwrap().mode.new_format();
        assert_eq!(format("http://h/b/k#s3"), Some(Format::NCZARR));
        assert_eq!(format("http://h/b/k#mode=s3"), None);
        assert_eq!(format("s3://b/k"), None);
        assert_eq!(format("http://h/b/k#s3&zarr"), Some(Format::Zarr2));
        assert_eq!(format("http://h/b/k#s3&v3"), Some(Format::Zarr3));
    }

    #[test]
    fn consolidated_metadata_are_preferred_where_documents_cost_round_trips() {
        let policy = |text: &str| DatasetUrl::parse(text).unwrap().read_options().consolidated;
        assert_eq!(policy("a"), ConsolidatedPolicy::Compare);
        assert_eq!(policy("s3://b/a"), ConsolidatedPolicy::Prefer);
        assert_eq!(policy("http://h/a"), ConsolidatedPolicy::Prefer);
        assert_eq!(policy("s3://b/a#consolidated"), ConsolidatedPolicy::Only);
    }

    #[test]
    fn the_way_to_say_a_version_keeps_what_makes_it_s3() {
        let location = |text: &str| DatasetUrl::parse(text).unwrap().location;
        let error =
            |text| LocationError::Ambiguous { location: location(text), source: MetadataError::NotADataset };
        assert!(error("a").to_string().ends_with("a#mode=v2 or a#mode=v3"));
        let text = error("http://h/b/k#mode=s3").to_string();
        assert!(text.ends_with("http://h/b/k#mode=s3,v2 or http://h/b/k#mode=s3,v3"), "{text}");
    }

    #[test]
    fn elsewhere_a_file_is_recognised_by_its_mode_or_its_extension() {
        let storage = |text: &str| DatasetUrl::parse(text).unwrap().storage().unwrap();
        for text in [
            "s3://b/a.nc",
            "s3://b/a/b.HDF5",
            "https://h/a.nc?token=x",
            "https://h/a#mode=bytes",
            "https://h/a.zarr#bytes",
            "https://s3.us-east-1.amazonaws.com/b/a#mode=bytes",
            "https://h/b/a#mode=s3,bytes",
        ] {
            assert_eq!(storage(text), Storage::File, "{text}");
        }
        for (text, wanted) in [
            ("s3://b/a.nc#mode=zarr", Storage::S3),
            ("s3://b/nc", Storage::S3),
            ("https://h/a.nc/b.zarr", Storage::Http),
            ("https://h/a.nc#mode=nczarr", Storage::Http),
        ] {
            assert_eq!(storage(text), wanted, "{text}");
        }
    }

    #[test]
    fn nested_locations_are_found() {
        let nests = |one: &str, other: &str| {
            DatasetUrl::parse(one).unwrap().nests(&DatasetUrl::parse(other).unwrap())
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a").to_string_lossy().into_owned();
        std::fs::create_dir(&path).unwrap();
        assert_eq!(nests(&format!("{path}/b"), &path), Some(Nesting::Inside));
        assert_eq!(nests(&path, &format!("{path}/b")), Some(Nesting::Around));
        assert_eq!(nests(&path, &path), None);
        assert_eq!(nests(&path, &format!("{path}b")), None);
        assert_eq!(nests("http://h/a/b", "http://h/a"), Some(Nesting::Inside));
        assert_eq!(nests("http://h/a", &path), None);
    }

    #[cfg(feature = "s3")]
    #[test]
    fn nested_locations_are_found_in_s3() {
        let nests = |one: &str, other: &str| {
            DatasetUrl::parse(one).unwrap().nests(&DatasetUrl::parse(other).unwrap())
        };
        let there = "http://h:9/b/a#mode=s3";
        assert_eq!(nests("s3://b/a/c#aws.endpoint=http://h:9", there), Some(Nesting::Inside));
        assert_eq!(nests(there, "s3://b/a/c#aws.endpoint=http://h:9"), Some(Nesting::Around));
        assert_eq!(nests(there, "s3://b#aws.endpoint=http://h:9"), Some(Nesting::Inside));
        assert_eq!(nests(there, "http://h:9/b/ab#mode=s3"), None);
        assert_eq!(nests(there, "https://h:9/b/a/c#mode=s3"), None);
        assert_eq!(nests(there, there), None);
        let amazon = "https://b.s3.us-east-1.amazonaws.com/a";
        assert_eq!(nests(amazon, "https://s3.amazonaws.com/b"), Some(Nesting::Inside));
    }

    mod generated {
        use proptest::prelude::*;

        use super::super::*;

        fn piece() -> impl Strategy<Value = String> {
            let words = [
                "#",
                "\\",
                "://",
                "s3",
                "gs3",
                "http",
                "https",
                "file",
                "mode=",
                "&",
                "=",
                ",",
                "/",
                ":",
                "@",
                "?",
                "[",
                "]",
                "%",
                "%2",
                "%41",
                ".",
                "s3.",
                "amazonaws.com",
                "us-east-1",
                "aws.",
                "endpoint",
                "profile",
                "aws.secret_access_key=",
                "ä",
                "\n",
                "9000",
                "zarr",
            ];
            prop_oneof![proptest::sample::select(words.to_vec()).prop_map(str::to_owned), "\\PC{0,3}"]
        }

        proptest! {
            #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

            #[test]
            fn no_text_makes_it_panic(pieces in proptest::collection::vec(piece(), 0..12)) {
                if let Ok(url) = DatasetUrl::parse(&pieces.concat()) {
                    let _ = (url.location.to_string(), url.location.file_name(), url.new_storage());
                }
            }

            #[test]
            fn secrets_are_never_shown(
                secret in "[A-Za-z0-9+/]{8,40}",
                head in prop::sample::select(vec![
                    "s3://b/k#", "https://h/b/k#mode=s3&", "[zarr]s3://b/k#", "https://h/k#", "a/b#", "gs3://b/k#log&",
                ]),
                tail in "(&[a-z.]{1,8}(=[a-z]{1,4})?)?",
            ) {
                let user = percent_encoding::utf8_percent_encode(&secret, percent_encoding::NON_ALPHANUMERIC);
                for text in [
                    format!("{head}aws.access_key_id=me&AWS.SECRET_ACCESS_KEY={secret}{tail}"),
                    format!("{head}aws.secret_access_key={secret}&aws.session_token={secret}{tail}"),
                    format!("https://me:{user}@h/k#mode=zarr{tail}"),
                    format!("https://h/k?sig={secret}#mode=zarr{tail}"),
                ] {
                    let shown = match DatasetUrl::parse(&text) {
                        Ok(url) => format!("{} {url:?}", url.location),
                        Err(error) => format!("{error} {error:?}"),
                    };
                    prop_assert!(!shown.contains(&secret) && !shown.contains(&user.to_string()), "{shown}");
                }
            }
        }
    }

    #[test]
    fn the_ending_says_what_a_new_dataset_is_stored_in_unless_the_mode_does() {
        for (text, want) in [
            ("a.zarr", Storage::Directory),
            ("a.zip", Storage::Zip),
            ("a.ZIP", Storage::Zip),
            ("file://a.zip#mode=nczarr,file", Storage::Directory),
            ("a.nczarr#mode=zip", Storage::Zip),
        ] {
            assert_eq!(DatasetUrl::parse(text).unwrap().new_storage(), want, "{text}");
        }
    }
}
