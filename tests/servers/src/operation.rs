use std::fmt;

use hyper::Method;
use hyper::http::request::Parts;
use percent_encoding::percent_decode_str;

/// What a request asks for, read only from its method, path and query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names are those of the S3 API, and the methods of HTTP")]
pub enum Operation {
    AbortMultipartUpload,
    CompleteMultipartUpload,
    CopyObject,
    CreateBucket,
    CreateMultipartUpload,
    DeleteBucket,
    DeleteObject,
    DeleteObjects,
    GetBucketLocation,
    GetObject,
    HeadBucket,
    HeadObject,
    ListBuckets,
    ListMultipartUploads,
    ListObjects,
    ListObjectsV2,
    ListParts,
    PutObject,
    UploadPart,
    UploadPartCopy,
    /// GET of a file server.
    Get,
    /// HEAD of a file server.
    Head,
    /// Everything else.
    Other,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// An operation and what it is done to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) operation: Operation,
    pub(crate) bucket: Option<String>,
    pub(crate) key: Option<String>,
}

impl Target {
    /// The target of a request to a file server: its path without the leading slash.
    pub(crate) fn of_file(parts: &Parts) -> Self {
        let operation = match parts.method {
            Method::GET => Operation::Get,
            Method::HEAD => Operation::Head,
            _ => Operation::Other,
        };
        Self { operation, bucket: None, key: Some(decoded(parts.uri.path().trim_start_matches('/'))) }
    }

    /// The target of a request to S3, in path style or virtual-host style.
    pub(crate) fn of_s3(parts: &Parts) -> Self {
        let path = parts.uri.path().trim_start_matches('/');
        let (bucket, key) = match host(parts).and_then(bucket_of_host) {
            Some(bucket) => (bucket.to_owned(), decoded(path)),
            None => {
                let (bucket, key) = path.split_once('/').unwrap_or((path, ""));
                (decoded(bucket), decoded(key))
            }
        };
        let bucket = Some(bucket).filter(|bucket| !bucket.is_empty());
        let key = Some(key).filter(|key| !key.is_empty());
        Self { operation: s3_operation(parts, bucket.is_some(), key.is_some()), bucket, key }
    }
}

/// The host that a request names, with its port.
pub(crate) fn host(parts: &Parts) -> Option<&str> {
    let header = parts.headers.get(hyper::header::HOST).and_then(|host| host.to_str().ok());
    header.or_else(|| parts.uri.authority().map(|authority| authority.as_str()))
}

/// The bucket in a host name of virtual-host style: `<bucket>.localhost` or `<bucket>.s3.<region>.amazonaws.com`.
pub(crate) fn bucket_of_host(host: &str) -> Option<&str> {
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    if let Some(bucket) = name.strip_suffix(".localhost") {
        return Some(bucket);
    }
    let service = name.strip_suffix(".amazonaws.com")?;
    let at = service.rfind(".s3.").or_else(|| service.rfind(".s3-"));
    at.or_else(|| service.ends_with(".s3").then(|| service.len() - 3)).map(|at| &service[..at])
}

/// The value of `name` in a query, decoded.
pub(crate) fn query(parts: &Parts, name: &str) -> Option<String> {
    let pairs = parts.uri.query()?.split('&');
    pairs
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .find(|(key, _)| *key == name)
        .map(|(_, value)| decoded(value))
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

fn s3_operation(parts: &Parts, bucket: bool, key: bool) -> Operation {
    let has = |name| query(parts, name).is_some();
    let copies = parts.headers.contains_key("x-amz-copy-source");
    match (&parts.method, bucket, key) {
        (&Method::GET, false, _) => Operation::ListBuckets,
        (&Method::GET, true, false) if has("location") => Operation::GetBucketLocation,
        (&Method::GET, true, false) if has("uploads") => Operation::ListMultipartUploads,
        (&Method::GET, true, false) if query(parts, "list-type").as_deref() == Some("2") => {
            Operation::ListObjectsV2
        }
        (&Method::GET, true, false) => Operation::ListObjects,
        (&Method::GET, true, true) if has("uploadId") => Operation::ListParts,
        (&Method::GET, true, true) => Operation::GetObject,
        (&Method::HEAD, true, false) => Operation::HeadBucket,
        (&Method::HEAD, true, true) => Operation::HeadObject,
        (&Method::PUT, true, false) => Operation::CreateBucket,
        (&Method::PUT, true, true) if has("uploadId") && copies => Operation::UploadPartCopy,
        (&Method::PUT, true, true) if has("uploadId") => Operation::UploadPart,
        (&Method::PUT, true, true) if copies => Operation::CopyObject,
        (&Method::PUT, true, true) => Operation::PutObject,
        (&Method::POST, true, false) if has("delete") => Operation::DeleteObjects,
        (&Method::POST, true, true) if has("uploads") => Operation::CreateMultipartUpload,
        (&Method::POST, true, true) if has("uploadId") => Operation::CompleteMultipartUpload,
        (&Method::DELETE, true, false) => Operation::DeleteBucket,
        (&Method::DELETE, true, true) if has("uploadId") => Operation::AbortMultipartUpload,
        (&Method::DELETE, true, true) => Operation::DeleteObject,
        _ => Operation::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(method: &str, uri: &str, host: &str) -> Target {
        let request =
            hyper::Request::builder().method(method).uri(uri).header("host", host).body(()).unwrap();
        Target::of_s3(&request.into_parts().0)
    }

    #[test]
    fn the_bucket_is_in_the_path_or_in_the_host() {
        let path = target("GET", "/air/a%20b/c?x-id=GetObject", "127.0.0.1:9000");
        assert_eq!((path.bucket.as_deref(), path.key.as_deref()), (Some("air"), Some("a b/c")));
        assert_eq!(path.operation, Operation::GetObject);
        let host = target("GET", "/?list-type=2&prefix=a", "air.localhost:9000");
        assert_eq!((host.bucket.as_deref(), host.key.as_deref()), (Some("air"), None));
        assert_eq!(host.operation, Operation::ListObjectsV2);
    }

    #[test]
    fn hosts_of_the_service_name_their_bucket() {
        assert_eq!(bucket_of_host("air.s3.eu-west-1.amazonaws.com"), Some("air"));
        assert_eq!(bucket_of_host("air.quality.s3.amazonaws.com:443"), Some("air.quality"));
        assert_eq!(bucket_of_host("s3.eu-west-1.amazonaws.com"), None);
        assert_eq!(bucket_of_host("localhost:9000"), None);
        assert_eq!(bucket_of_host("127.0.0.1"), None);
    }
}
