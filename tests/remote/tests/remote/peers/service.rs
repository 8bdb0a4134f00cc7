//! Either service, and scripts and commands that know it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use ncz::location::DatasetUrl;
use ncz::store::{Access, CreateOptions, FileStore};
use ncz::zarr::Dataset;
use ncz_remote_tests::client::{self, BUCKET, session};
use ncz_remote_tests::{Sample, explained};
use ncz_test_servers::S3Server;
use ncz_test_support::{Output, Python, build_binary};

use crate::moto::Moto;

const LIMIT: Duration = Duration::from_secs(180);

const ID: &str = "test";
const SECRET: &str = "testtest";

/// A service with the bucket [`BUCKET`].
#[expect(clippy::large_enum_variant, reason = "there are two at a time")]
pub(crate) enum Service {
    Ours(S3Server),
    Moto(Moto),
}

impl Service {
    /// Each of them.
    pub(crate) fn all(python: &Python) -> [Self; 2] {
        let ours = client::server();
        assert_eq!((ours.credentials().key.as_str(), ours.credentials().secret.as_str()), (ID, SECRET));
        [Self::Ours(ours), Self::Moto(Moto::start(python, BUCKET))]
    }

    pub(crate) fn endpoint(&self) -> String {
        match self {
            Self::Ours(server) => server.endpoint(),
            Self::Moto(moto) => moto.endpoint.clone(),
        }
    }

    /// The dataset at a prefix, by the address of the service.
    pub(crate) fn by_address(&self, prefix: &str) -> String {
        format!("{}/{BUCKET}/{prefix}#mode=s3", self.endpoint())
    }

    /// Opens the dataset at a prefix, named in both ways.
    pub(crate) fn open(&self, prefix: &str) -> [Dataset; 2] {
        let keys = format!("aws.access_key_id={ID}&aws.secret_access_key={SECRET}&aws.region=us-east-1");
        [
            format!("{}&{keys}", self.by_address(prefix)),
            format!("s3://{BUCKET}/{prefix}#aws.endpoint={}&{keys}", self.endpoint()),
        ]
        .map(|place| open(&place))
    }

    /// Asserts that the sample is at a prefix, whole.
    pub(crate) fn check(&self, prefix: &str) {
        eprintln!("reading {prefix} at {}", self.endpoint());
        for dataset in self.open(prefix) {
            Sample::NCZARR.check(&dataset).unwrap_or_else(|error| panic!("{prefix}: {}", explained(&error)));
        }
    }

    /// Sets the credentials and the endpoint of `s3://` in the environment of a child.
    fn introduce(&self, command: &mut Command) {
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("AWS_")) {
            command.env_remove(name);
        }
        command
            .env("AWS_ACCESS_KEY_ID", ID)
            .env("AWS_SECRET_ACCESS_KEY", SECRET)
            .env("AWS_REGION", "us-east-1");
        command.env("AWS_ENDPOINT_URL", self.endpoint()).env("AWS_EC2_METADATA_DISABLED", "true");
        command.env("AWS_CONFIG_FILE", "/dev/null").env("AWS_SHARED_CREDENTIALS_FILE", "/dev/null");
    }

    /// Runs the script of the peers with steps as `write,PEER,FORMAT,PREFIX`.
    pub(crate) fn peers<S: AsRef<OsStr>>(&self, python: &Python, steps: &[S]) {
        let mut command = python.command(&[]);
        self.introduce(&mut command);
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts/s3_peers.py");
        command.arg(script).args([&self.endpoint(), BUCKET]).args(steps);
        let output = ncz_test_support::run(&mut command, LIMIT).unwrap();
        output.success("s3_peers.py").unwrap_or_else(|error| panic!("at {}: {error}", self.endpoint()));
    }

    /// Runs `ncz`, whatever its status.
    pub(crate) fn ncz(&self, args: &[&str]) -> Output {
        let mut command = Command::new(build_binary("ncz").unwrap());
        self.introduce(&mut command);
        command.env_remove("HDF5_PLUGIN_PATH").env_remove("HDF5_PLUGIN_PRELOAD").env("NO_COLOR", "1");
        ncz_test_support::run(command.args(args), LIMIT).unwrap()
    }

    /// Runs `ncz` with success.
    pub(crate) fn ncz_ok(&self, args: &[&str]) {
        let output = self.ncz(args).success("ncz");
        output.unwrap_or_else(|error| panic!("{args:?} at {}: {error}", self.endpoint()));
    }
}

/// Opens a dataset for reading.
pub(crate) fn open(place: &str) -> Dataset {
    let opened = DatasetUrl::parse(place).and_then(|place| place.open_zarr(Access::Read, session()));
    opened.unwrap_or_else(|error| panic!("{place}: {}", explained(&error)))
}

/// Asserts that a dataset is the sample, whole.
pub(crate) fn check(place: &str) {
    Sample::NCZARR.check(&open(place)).unwrap_or_else(|error| panic!("{place}: {}", explained(&error)));
}

/// A sample in a folder below `folder`.
pub(crate) fn sample(sample: Sample, folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    let store = FileStore::create(&path, CreateOptions::new()).unwrap();
    sample.create(Arc::new(store)).unwrap_or_else(|error| panic!("{}", explained(&error)));
    path
}
