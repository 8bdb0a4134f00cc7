//! Stores in S3, each empty and at its own location.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use ncz_store::s3::{Checksums, Credentials, S3Config, S3Store};
use ncz_store::{Access, CreateOptions, Key, Store, WriteMode};
use ncz_test_servers::S3Server;
use ncz_test_support::takes_all;

/// A store and what is called so.
pub(crate) struct Fixture {
    pub(crate) name: &'static str,
    pub(crate) store: Arc<dyn Store>,
}

/// How many sequences of operations are tried; `NCZ_LASTING=all` takes more.
pub(crate) fn sequences() -> u32 {
    if takes_all("NCZ_LASTING") { 300 } else { 20 }
}

/// Every way to a store in S3.
pub(crate) fn stores() -> Vec<Fixture> {
    let open = |config| Arc::new(S3Store::open(config, Access::ReadWrite).unwrap());
    let create = |config, options| Arc::new(S3Store::create(config, options).unwrap());
    let fixture = |name, store: Arc<S3Store>| Fixture { name, store };

    let mut no_checksums = place();
    no_checksums.checksums = Checksums::WhenRequired;
    let old = open(place());
    let of_old = {
        let config = place();
        open(config.clone()).write(key(".zgroup"), b"{}", WriteMode::Replace).unwrap();
        create(config, CreateOptions::new().replace_if(|_| Ok(true)))
    };
    let published = create(place(), CreateOptions::new());
    published.publish().unwrap();
    vec![
        fixture("opened", old),
        fixture("without checksums", open(no_checksums)),
        fixture("whole bucket", open(bucket())),
        fixture("new", create(place(), CreateOptions::new())),
        fixture("published", published),
        fixture("in place of another", of_old),
    ]
}

/// Holds one claim against every store; a failure says which.
pub(crate) fn each(claim: impl Fn(&dyn Store)) {
    for fixture in stores() {
        eprintln!("against {}", fixture.name);
        claim(&*fixture.store);
    }
}

pub(crate) fn key(text: &str) -> Key<'_> {
    Key::parse(text).unwrap()
}

fn number() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

fn place() -> S3Config {
    config("contract", &format!("some where/{}.zarr", number()))
}

fn bucket() -> S3Config {
    let name = format!("contract-{}", number());
    server().create_bucket(&name);
    config(&name, "")
}

fn config(bucket: &str, prefix: &str) -> S3Config {
    let known = server().credentials();
    let credentials = Credentials::Keys {
        id: known.key.clone(),
        secret: ncz_store::Secret::new(&known.secret),
        token: None,
    };
    S3Config::new(bucket, prefix).with_endpoint(server().endpoint()).with_credentials(credentials)
}

fn server() -> &'static S3Server {
    static SERVER: OnceLock<S3Server> = OnceLock::new();
    SERVER.get_or_init(|| {
        let server = S3Server::start_with("contract").unwrap();
        server.keep_no_log();
        server.set_page_size(Some(3));
        server
    })
}
