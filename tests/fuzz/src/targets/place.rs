use fastrand::Rng;
use ncz::location::{DatasetUrl, Location, Storage};

use super::{Target, explained};
use crate::{Case, mutate};

/// Locations as users type them.
pub(super) struct Places;

const TEXTS: [&str; 16] = [
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
    "https://bucket.s3.us-west-2.amazonaws.com/a/b%20c.zarr",
    "gs3://bucket/key",
    "http://[::1]:9000/bucket/key#mode=s3,zarr",
    "https://bucket.s3.nl-ams.scw.cloud/key#s3&aws.addressing_style=path",
    "[mode=nczarr][aws.region=eu-north-1]s3://bucket/key\\#aws.endpoint=http://h:1&AWS.SECRET_ACCESS_KEY=abcdefgh",
    "http://me:password@example.org:8080/x?token=abcdefgh#mode=zarr",
];

const WORDS: [&str; 32] = [
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
    "s3://",
    "gs3",
    "https://",
    "s3.",
    ".amazonaws.com",
    "us-east-1",
    "aws.region=",
    "aws.endpoint=",
    "%2F",
    "\\#",
    "[",
    ":9000",
];

impl Target for Places {
    fn seeds(&self) -> Vec<Case> {
        TEXTS.iter().map(|text| Case::new("", *text)).collect()
    }

    fn mutate(&self, case: &mut Case, other: &Case, rng: &mut Rng) {
        mutate::text::mutate(&mut case.bytes, &other.bytes, &WORDS, rng);
    }

    /// A path is part of its displayed text; a remote location is displayed as a text that means the same location;
    /// the modes agree with the parsed location.
    fn run(&mut self, case: &Case) -> String {
        let text = String::from_utf8_lossy(&case.bytes);
        let place = match DatasetUrl::parse(&text) {
            Ok(place) => place,
            Err(error) => return explained(&error),
        };
        match &place.location {
            Location::Path(path) => {
                let path = path.to_str().expect("the text was UTF-8");
                assert!(text.contains(path), "{path:?} is not part of {text:?}");
            }
            // An endpoint may have a name that would mean a bucket in a URL.
            _ if text.to_ascii_lowercase().contains("endpoint") => {}
            elsewhere => {
                let shown = elsewhere.to_string();
                let mode = if place.new_storage() == Storage::S3 { "#mode=s3" } else { "" };
                let again = DatasetUrl::parse(&format!("{shown}{mode}")).expect("what is shown can be read");
                assert_eq!(again.location.to_string(), shown, "of {text:?}");
            }
        }
        let storage = place.new_storage();
        assert!(place.mode.storage.is_none_or(|wanted| wanted == storage));
        format!("{:?} {storage}", place.mode)
    }
}
