//! What the forms of netcdf-c's URLs mean.

use super::super::{DatasetUrl, Location};
use super::*;

/// A row: text; shown; service; region; bucket; prefix; the position of the bucket in the URL.
type Row = (
    &'static str,
    &'static str,
    &'static str,
    Option<&'static str>,
    &'static str,
    &'static str,
    Option<Addressing>,
);

const VIRTUAL: Option<Addressing> = Some(Addressing::Virtual);
const PATH: Option<Addressing> = Some(Addressing::Path);

fn s3(text: &str) -> S3Location {
    match DatasetUrl::parse(text).unwrap_or_else(|error| panic!("{text}: {error}")).location {
        Location::S3(place) => *place,
        other => panic!("{text} is {other:?}"),
    }
}

#[track_caller]
fn check(rows: &[Row]) {
    for (text, shown, service, region, bucket, prefix, addressing) in rows {
        let place = s3(text);
        let said = match &place.service {
            Service::Unsaid => "",
            Service::Amazon => "amazon",
            Service::At(endpoint) => endpoint,
        };
        let found = (said, place.region.as_deref(), place.bucket.as_str(), place.prefix.as_str());
        assert_eq!(found, (*service, *region, *bucket, *prefix), "{text}");
        assert_eq!(place.addressing, *addressing, "{text}");
        assert_eq!(place.to_string(), *shown, "{text}");
        // The displayed URL means the same, except for the position of the bucket in a request.
        let mode = if place.needs_mode() { "#mode=s3" } else { "" };
        let again = s3(&format!("{shown}{mode}"));
        assert_eq!((&again.bucket, &again.prefix), (&place.bucket, &place.prefix), "{text}");
        assert_eq!(again.to_string(), *shown, "{text}");
    }
}

#[test]
fn the_ten_forms_of_netcdf_are_read() {
    let google = "https://storage.googleapis.com";
    check(&[
        // 1
        (
            "https://bucket.s3.us-west-2.amazonaws.com/a/b.zarr",
            "https://s3.us-west-2.amazonaws.com/bucket/a/b.zarr",
            "amazon",
            Some("us-west-2"),
            "bucket",
            "a/b.zarr",
            VIRTUAL,
        ),
        // 2
        (
            "https://bucket.s3.amazonaws.com/a",
            "https://s3.amazonaws.com/bucket/a",
            "amazon",
            None,
            "bucket",
            "a",
            VIRTUAL,
        ),
        // 3
        (
            "https://s3.eu-central-1.amazonaws.com/bucket/a/",
            "https://s3.eu-central-1.amazonaws.com/bucket/a",
            "amazon",
            Some("eu-central-1"),
            "bucket",
            "a",
            None,
        ),
        // 4
        (
            "https://s3.amazonaws.com/bucket/a",
            "https://s3.amazonaws.com/bucket/a",
            "amazon",
            None,
            "bucket",
            "a",
            None,
        ),
        // 5
        ("s3://bucket/a/b", "s3://bucket/a/b", "", None, "bucket", "a/b", None),
        ("S3://bucket", "s3://bucket", "", None, "bucket", "", None),
        ("s3://bucket/", "s3://bucket", "", None, "bucket", "", None),
        // 6
        (
            "https://storage.googleapis.com/bucket/a",
            "https://storage.googleapis.com/bucket/a",
            google,
            None,
            "bucket",
            "a",
            None,
        ),
        (
            "https://my.bucket.storage.googleapis.com/a",
            "https://storage.googleapis.com/my.bucket/a",
            google,
            None,
            "my.bucket",
            "a",
            PATH,
        ),
        // 7
        ("gs3://bucket/a", "https://storage.googleapis.com/bucket/a", google, None, "bucket", "a", None),
        (
            "s3://bucket/a#mode=gs3",
            "https://storage.googleapis.com/bucket/a",
            google,
            None,
            "bucket",
            "a",
            None,
        ),
        // 8
        (
            "http://127.0.0.1:9000/bucket/a#mode=s3",
            "http://127.0.0.1:9000/bucket/a",
            "http://127.0.0.1:9000",
            None,
            "bucket",
            "a",
            None,
        ),
        (
            "https://stratus.ucar.edu:443/bucket/a/b#mode=nczarr,s3",
            "https://stratus.ucar.edu/bucket/a/b",
            "https://stratus.ucar.edu",
            None,
            "bucket",
            "a/b",
            None,
        ),
        (
            "http://[::1]:9000/bucket#s3",
            "http://[::1]:9000/bucket",
            "http://[::1]:9000",
            None,
            "bucket",
            "",
            None,
        ),
        // 9
        (
            "https://bucket.s3.nl-ams.scw.cloud/a#mode=s3",
            "https://s3.nl-ams.scw.cloud/bucket/a",
            "https://s3.nl-ams.scw.cloud",
            Some("nl-ams"),
            "bucket",
            "a",
            VIRTUAL,
        ),
        (
            "http://bucket.s3.us-east-1.localhost:4566/a#mode=s3",
            "http://s3.us-east-1.localhost:4566/bucket/a",
            "http://s3.us-east-1.localhost:4566",
            Some("us-east-1"),
            "bucket",
            "a",
            VIRTUAL,
        ),
        // 10
        (
            "https://s3.us-west-004.backblazeb2.com/bucket/a#mode=s3",
            "https://s3.us-west-004.backblazeb2.com/bucket/a",
            "https://s3.us-west-004.backblazeb2.com",
            Some("us-west-004"),
            "bucket",
            "a",
            None,
        ),
    ]);
}

#[test]
fn other_hosts_of_amazon_are_read() {
    check(&[
        (
            "https://my.bucket.s3.us-west-2.amazonaws.com/a",
            "https://s3.us-west-2.amazonaws.com/my.bucket/a",
            "amazon",
            Some("us-west-2"),
            "my.bucket",
            "a",
            PATH,
        ),
        (
            "https://bucket.s3-eu-west-1.amazonaws.com/a",
            "https://s3.eu-west-1.amazonaws.com/bucket/a",
            "amazon",
            Some("eu-west-1"),
            "bucket",
            "a",
            VIRTUAL,
        ),
        (
            "https://s3.cn-north-1.amazonaws.com.cn/bucket/a",
            "https://s3.cn-north-1.amazonaws.com.cn/bucket/a",
            "amazon",
            Some("cn-north-1"),
            "bucket",
            "a",
            None,
        ),
        (
            "https://bucket.s3.dualstack.us-east-2.amazonaws.com/a",
            "https://s3.dualstack.us-east-2.amazonaws.com/bucket/a",
            "https://s3.dualstack.us-east-2.amazonaws.com",
            Some("us-east-2"),
            "bucket",
            "a",
            VIRTUAL,
        ),
        (
            "https://bucket.s3-accelerate.amazonaws.com/a",
            "https://s3-accelerate.amazonaws.com/bucket/a",
            "https://s3-accelerate.amazonaws.com",
            None,
            "bucket",
            "a",
            VIRTUAL,
        ),
        (
            "https://vpce-1-2.s3.us-east-1.vpce.amazonaws.com/bucket/a",
            "https://vpce-1-2.s3.us-east-1.vpce.amazonaws.com/bucket/a",
            "https://vpce-1-2.s3.us-east-1.vpce.amazonaws.com",
            Some("us-east-1"),
            "bucket",
            "a",
            None,
        ),
        (
            "http://s3.us-west-2.amazonaws.com/bucket/a",
            "http://s3.us-west-2.amazonaws.com/bucket/a",
            "http://s3.us-west-2.amazonaws.com",
            Some("us-west-2"),
            "bucket",
            "a",
            None,
        ),
        // As in netcdf-c's documents.
        (
            "s3://s3.us-west-1.amazonaws.com/datasetbucket/a",
            "https://s3.us-west-1.amazonaws.com/datasetbucket/a",
            "amazon",
            Some("us-west-1"),
            "datasetbucket",
            "a",
            None,
        ),
    ]);
}

#[test]
fn hosts_without_a_region_are_whole() {
    for (text, service) in [
        ("https://s3.example.org/bucket/a#mode=s3", "https://s3.example.org"),
        ("https://minio.s3.svc.cluster.local/bucket/a#mode=s3", "https://minio.s3.svc.cluster.local"),
        ("https://nyc3.digitaloceanspaces.com/bucket/a#mode=s3", "https://nyc3.digitaloceanspaces.com"),
    ] {
        let place = s3(text);
        assert_eq!((place.service, place.region), (Service::At(service.to_owned()), None), "{text}");
        assert_eq!((place.bucket.as_str(), place.prefix.as_str()), ("bucket", "a"), "{text}");
    }
}

#[test]
fn keys_are_decoded_and_shown_so_that_they_mean_the_same() {
    check(&[
        ("s3://b/a%20b/c%23d%25", "s3://b/a b/c%23d%25", "", None, "b", "a b/c#d%", None),
        ("s3://b/größe", "s3://b/größe", "", None, "b", "größe", None),
        ("s3://b/a+b", "s3://b/a+b", "", None, "b", "a+b", None),
        ("s3://b/a\\#mode=zarr", "s3://b/a", "", None, "b", "a", None),
        ("s3://b/a%3Fb", "s3://b/a%3Fb", "", None, "b", "a?b", None),
    ]);
}

#[test]
fn keys_after_the_hash_and_before_the_url_are_taken() {
    let place =
        s3("[aws.profile=me][mode=zarr]s3://b/a#AWS.REGION=eu-north-1&aws.endpoint=http://h:9/&MODE=V2");
    assert_eq!(place.options.profile.as_deref(), Some("me"));
    assert_eq!(place.options.region.as_deref(), Some("eu-north-1"));
    assert_eq!(place.to_string(), "http://h:9/b/a");
    let place =
        s3("s3://b/a#mode=nczarr&awsprofile=unidata&aws.default_region=r-1&aws.addressing_style=virtual");
    assert_eq!(place.options.profile.as_deref(), Some("unidata"));
    assert_eq!(place.options.region(), Some("r-1"));
    assert_eq!(place.options.addressing, VIRTUAL);
    let place = s3("s3://b/a#aws.default_region=r-1&aws.region=r-2");
    assert_eq!(place.options.region(), Some("r-2"));
}

#[test]
fn contradictions_and_invalid_s3_locations_are_refused() {
    for (text, wanted) in [
        ("s3://", "the host is missing or not valid"),
        ("s3:///a", "the host is missing or not valid"),
        ("https://s3.amazonaws.com/", "the bucket is missing"),
        ("http://localhost:9000#mode=s3", "the bucket is missing"),
        ("s3://localhost:9000/b/a", "https://localhost:9000/BUCKET/KEY#mode=s3"),
        ("s3://b/a//c", "key of a dataset"),
        ("s3://b/../c", "key of a dataset"),
        ("s3://b/50%", "%25"),
        ("s3://b/%ff", "UTF-8"),
        ("s3://b/a?x=1", "%3F"),
        ("https://k:s@s3.amazonaws.com/b/a", "AWS_ACCESS_KEY_ID"),
        ("s3://b/a#mode=file", "mode=file is for a directory"),
        ("s3://b/a#mode=zip", "this machine only"),
        ("s3://b/a#mode=zip,s3", "contradicts"),
        ("s3://b/a#aws.region=a b", "not a region"),
        ("s3://b/a#aws.endpoint=localhost:9000", "http://HOST"),
        ("s3://b/a#aws.endpoint=http://k:s@h", "an endpoint is"),
        ("gs3://b/a#aws.endpoint=http://h", "names the service already"),
        ("https://s3.us-east-1.amazonaws.com/b/a#aws.region=us-west-2", "give one of them"),
        ("s3://b/a#aws.profile=x&aws.profile=y", "is given twice"),
        ("s3://b/a#aws.profile", "aws.profile has no value"),
        ("s3://b/a#aws.profile=", "aws.profile has no value"),
        ("s3://b/a#aws.profil=x", "did you mean \"aws.profile\"?"),
        ("s3://b/a#bogus=1", "for S3 aws.profile, aws.region"),
        ("s3://b/a#mode=nczar", "did you mean \"nczarr\"?"),
        ("s3://b/a#mode=bytes,zarr", "\"bytes\" is for one netCDF or HDF5 file and contradicts \"zarr\""),
        ("s3://b/a.nc#mode=netcdf-4", "write mode=bytes"),
        ("https://h/a#mode=dap4", "OPeNDAP is not supported yet"),
        ("dods://h/a", "OPeNDAP is not supported yet"),
        ("dap4://h/a", "OPeNDAP is not supported yet"),
        ("https://h/a#log", "-v"),
        ("https://h/a#show=fetch", "-vv"),
        ("https://bucket.s3-website-us-east-1.amazonaws.com/a", "s3://BUCKET/KEY"),
        ("https://h/a#aws.profile=me", "add mode=s3"),
        ("https://h/a#mode=zip", "this machine only"),
        ("https://h/a#mode=file", "this is a URL"),
        ("https://h:x/a", "expected a port"),
        ("https://h:0/a", "expected a port"),
        ("https://a b/c", "the host is missing or not valid"),
        ("file://a#mode=s3", "a path is not in S3"),
        ("a#s3", "a path is not in S3"),
        ("a#aws.profile=me", "the keys aws.* are for S3"),
        ("[mode=zarr https://h/a", "has no ]"),
    ] {
        let error = DatasetUrl::parse(text).map(|url| url.location.to_string()).unwrap_err().to_string();
        assert!(error.contains(wanted), "{text}: {error}");
    }
}

#[test]
fn plain_http_stays_http() {
    for (text, shown) in [
        ("https://example.org/a/b.zarr/", "https://example.org/a/b.zarr"),
        ("HTTP://Example.ORG:80/A", "http://example.org/A"),
        ("http://h:8080/a?token=geheim#mode=zarr", "http://h:8080/a"),
        ("https://me:geheim@h/a", "https://h/a"),
        // A machine at Amazon, not its S3.
        ("https://ec2-1-2.compute-1.amazonaws.com/a", "https://ec2-1-2.compute-1.amazonaws.com/a"),
        ("[mode=zarr]https://h/a", "https://h/a"),
    ] {
        let url = DatasetUrl::parse(text).unwrap();
        assert!(matches!(url.location, Location::Http(_)), "{text}");
        assert_eq!(url.location.to_string(), shown);
        assert!(!format!("{url:?}").contains("geheim"), "{url:?}");
    }
}
