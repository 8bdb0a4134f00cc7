//! What the name of a host says of service, region and bucket.

use super::super::url::Url;
use super::{Found, GOOGLE, Service};

/// `storage.googleapis.com`, with a bucket before it or not.
pub(super) fn google(url: &Url) -> Option<Found> {
    let host = url.host.to_ascii_lowercase();
    let bucket = host.strip_suffix("storage.googleapis.com")?;
    let bucket = match bucket.strip_suffix('.') {
        Some(bucket) if !bucket.is_empty() => Some(bucket.to_owned()),
        None if bucket.is_empty() => None,
        _ => return None,
    };
    let service = match url.port {
        None if url.scheme == "https" => GOOGLE.to_owned(),
        _ => url.origin("storage.googleapis.com"),
    };
    Some(Found::new(Service::At(service), None, bucket))
}

/// Amazon's hosts: `s3.amazonaws.com` and `s3.REGION.amazonaws.com`, also with a bucket before them, `s3-REGION` as in
/// old URLs, and the special ones (`dualstack`, `s3-accelerate`, `s3-fips`, endpoints of private networks). A host of
/// Amazon without `s3` in its name is some machine, whatever netcdf-c takes it for.
pub(super) fn amazon(url: &Url) -> Option<Result<Found, String>> {
    let host = url.host.to_ascii_lowercase();
    let (rest, suffix) = [".amazonaws.com", ".amazonaws.com.cn"]
        .iter()
        .find_map(|suffix| Some((host.strip_suffix(suffix)?, *suffix)))?;
    let labels: Vec<&str> = rest.split('.').collect();
    let at = labels.iter().rposition(|label| *label == "s3" || label.starts_with("s3-"))?;
    let bucket = (at > 0).then(|| labels[..at].join("."));
    if labels[at].starts_with("s3-website") {
        return Some(Err("this host serves web pages; name the bucket as s3://BUCKET/KEY".to_owned()));
    }
    let (region, is_usual) = match (labels[at], &labels[at + 1..]) {
        ("s3", []) => (None, true),
        ("s3", [region]) => (Some(*region), true),
        ("s3", ["dualstack", region]) | ("s3-fips", [region] | ["dualstack", region]) => {
            (Some(*region), false)
        }
        ("s3-accelerate", [] | ["dualstack"]) => (None, false),
        (old, []) if old.len() > "s3-".len() => (old.strip_prefix("s3-"), true),
        // What precedes is part of the host, as in vpce-1-2.s3.us-east-1.vpce.amazonaws.com.
        (_, after) => {
            return Some(Ok(Found::new(Service::At(url.origin(&host)), after.first().copied(), None)));
        }
    };
    let in_its_country =
        region.is_some_and(|region| region.starts_with("cn-")) == (suffix == ".amazonaws.com.cn");
    let service = match is_usual && in_its_country && url.scheme == "https" && url.port.is_none() {
        true => Service::Amazon,
        false => Service::At(url.origin(&format!("{}{suffix}", labels[at..].join(".")))),
    };
    Some(Ok(Found::new(service, region, bucket)))
}

/// Any other host: `bucket.s3.region.domain` and `s3.region.domain`, else all of it is the service's.
///
/// netcdf-c cuts such names at a fixed position; here the label `s3` decides. The next one is a region if it looks like
/// one (`eu-central-1`) or if a domain of two labels follows it; `s3.example.org` has none.
pub(super) fn other(url: &Url) -> Found {
    let host = url.host.to_ascii_lowercase();
    let labels: Vec<&str> = host.split('.').collect();
    let whole = || Found::new(Service::At(url.origin(&host)), None, None);
    let Some(at) = labels.iter().rposition(|label| *label == "s3") else { return whole() };
    let region = match labels[at + 1..] {
        // A service of Kubernetes in the namespace s3.
        ["svc", ..] => None,
        [region, _, _, ..] => Some(region),
        [region, _] if looks_like_region(region) => Some(region),
        _ => None,
    };
    let Some(region) = region else { return whole() };
    let bucket = (at > 0).then(|| labels[..at].join("."));
    Found::new(Service::At(url.origin(&labels[at..].join("."))), Some(region), bucket)
}

/// Words, and a number at the end: `us-gov-west-1`, `eu-central-003`.
fn looks_like_region(label: &str) -> bool {
    match label.rsplit_once('-') {
        Some((words, number)) => {
            !number.is_empty()
                && number.bytes().all(|b| b.is_ascii_digit())
                && words
                    .split('-')
                    .all(|word| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase()))
        }
        None => false,
    }
}
