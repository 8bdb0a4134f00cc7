use fastrand::Rng;
use ncz::place::Place;

use super::{Target, explained};
use crate::{Case, mutate};

/// Places as users type them.
pub(super) struct Places;

const TEXTS: [&str; 10] = [
    "ocean.nczarr",
    "a/b.zarr#mode=zarr,v2",
    "file:///data/x.zip#mode=nczarr,zip",
    "file://x#mode=nczarr,file&v3",
    "x#zarr",
    "x#mode=xarray&consolidated",
    "https://example.org/x#mode=nczarr,s3",
    "s3://bucket/key#mode=zarr,s3&aws.profile=none",
    "C:\\data\\x.zip",
    "a#b#mode=noxarray,file",
];

const WORDS: [&str; 20] = [
    "#",
    "mode=",
    "MODE=",
    ",",
    "&",
    "=",
    "file",
    "zip",
    "zarr",
    "nczarr",
    "xarray",
    "noxarray",
    "v2",
    "v3",
    "consolidated",
    "file://",
    "://",
    "/",
    "s3",
    ".zip",
];

impl Target for Places {
    fn seeds(&self) -> Vec<Case> {
        TEXTS.iter().map(|text| Case::new("", *text)).collect()
    }

    fn mutate(&self, case: &mut Case, other: &Case, rng: &mut Rng) {
        mutate::text::mutate(&mut case.bytes, &other.bytes, &WORDS, rng);
    }

    /// A place without mode is its path again, and what behind `#` was read is not part of the path.
    fn run(&mut self, case: &Case) -> String {
        let text = String::from_utf8_lossy(&case.bytes);
        let place = match Place::parse(&text) {
            Ok(place) => place,
            Err(error) => return explained(&error),
        };
        let path = place.location.path().and_then(std::path::Path::to_str).expect("the text was UTF-8");
        assert!(text.contains(path), "{path:?} is no part of {text:?}");
        let storage = place.new_storage();
        assert!(place.mode.storage.is_none_or(|wanted| wanted == storage));
        format!("{:?} {storage}", place.mode)
    }
}
