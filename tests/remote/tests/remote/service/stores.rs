//! The service, and locations in it.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use ncz_store::Secret;
use ncz_store::s3::{Credentials, S3Config, S3Store};
use ncz_store::{Access, Depth, EntryKind, Key, Prefix, Store};
use ncz_test_support::python;

use crate::moto::Moto;

const HOST: &str = "NCZARR_S3_TEST_HOST";
const BUCKET: &str = "NCZARR_S3_TEST_BUCKET";

/// What is tested.
enum Service {
    /// At this address; who asks, and the region, are as everywhere: `AWS_ACCESS_KEY_ID` and so on.
    Named { endpoint: String, bucket: String },
    /// Nothing was named.
    Moto(Moto),
}

/// A unique prefix. Everything below it is removed when this is dropped, however the test ends.
pub(crate) struct Place(pub(crate) S3Config);

impl Place {
    /// Makes a new one; `None` if there is neither a service nor moto.
    pub(crate) fn new() -> Option<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let random = RandomState::new().hash_one(std::process::id());
        let prefix = format!("ncz-test-{random:016x}/{}", NEXT.fetch_add(1, Ordering::Relaxed));
        Some(Self(match service()? {
            Service::Named { endpoint, bucket } => S3Config::new(bucket, prefix).with_endpoint(endpoint),
            Service::Moto(moto) => {
                let keys =
                    Credentials::Keys { id: "test".to_owned(), secret: Secret::new("testtest"), token: None };
                let mut config =
                    S3Config::new("data", prefix).with_endpoint(&moto.endpoint).with_credentials(keys);
                config.region = Some("us-east-1".to_owned());
                config
            }
        }))
    }

    pub(crate) fn open(&self) -> S3Store {
        S3Store::open(self.0.clone(), Access::ReadWrite).unwrap()
    }

    /// Removes all objects, and gives how many there were.
    pub(crate) fn remove(&self) -> usize {
        let store = self.open();
        let listing = store.list(Prefix::ROOT, Depth::All, 10_000).unwrap();
        let objects = listing.entries.iter().filter(|entry| entry.kind == EntryKind::Object);
        objects.filter(|object| store.delete(object.key.as_key()).unwrap()).count()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let removed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.remove()));
        if removed.is_err() {
            eprintln!("objects are left in {}; remove them", self.0);
        }
    }
}

fn service() -> Option<&'static Service> {
    static SERVICE: OnceLock<Option<Service>> = OnceLock::new();
    SERVICE.get_or_init(find).as_ref()
}

fn find() -> Option<Service> {
    let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    match (variable(HOST), variable(BUCKET)) {
        (Some(host), Some(bucket)) => {
            let endpoint = if host.contains("://") { host } else { format!("https://{host}") };
            Some(Service::Named { endpoint, bucket })
        }
        (None, None) => Some(Service::Moto(Moto::start(&python().ok()?, "data"))),
        _ => panic!("set both of {HOST} and {BUCKET}, or none"),
    }
}

/// Holds one claim against a store of the service.
pub(crate) fn each(claim: impl Fn(&dyn Store)) {
    if let Some(place) = Place::new() {
        eprintln!("against {}", place.0);
        claim(&place.open());
    }
}

pub(crate) fn key(text: &str) -> Key<'_> {
    Key::parse(text).unwrap()
}
