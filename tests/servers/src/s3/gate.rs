use hyper::StatusCode;
use s3s::access::{S3Access, S3AccessContext};
use s3s::auth::{S3Auth, SecretKey};
use s3s::host::{S3Host, VirtualHost};
use s3s::{S3Error, S3ErrorCode, S3Result, s3_error};

use crate::operation::bucket_of_host;
use crate::s3::Credentials;
use crate::s3::memory::Memory;

/// Knows the secret of one key, and refuses all others.
pub(crate) struct Keys(pub(crate) Credentials);

#[async_trait::async_trait]
impl S3Auth for Keys {
    async fn get_secret_key(&self, access_key: &str) -> S3Result<SecretKey> {
        if access_key == self.0.key {
            return Ok(SecretKey::from(self.0.secret.as_str()));
        }
        let message = "The AWS Access Key Id you provided does not exist in our records.";
        let mut error = S3Error::with_message(S3ErrorCode::InvalidAccessKeyId, message);
        error.set_status_code(StatusCode::FORBIDDEN);
        Err(error)
    }
}

/// Lets the holder of the key do everything, if the session token is right, and everybody read public buckets.
pub(crate) struct Gate {
    pub(crate) credentials: Credentials,
    pub(crate) memory: Memory,
}

#[async_trait::async_trait]
impl S3Access for Gate {
    async fn check(&self, cx: &mut S3AccessContext<'_>) -> S3Result<()> {
        if cx.credentials().is_some() {
            let given = cx.headers().get("x-amz-security-token").map(|token| token.as_bytes());
            if given == self.credentials.token.as_ref().map(String::as_bytes) {
                return Ok(());
            }
            return Err(s3_error!(InvalidToken, "The provided token is malformed or otherwise invalid."));
        }
        let reads = matches!(
            cx.s3_op().name(),
            "GetObject" | "HeadObject" | "HeadBucket" | "ListObjects" | "ListObjectsV2"
        );
        let public = |name| self.memory.lock().buckets.get(name).is_none_or(|bucket| bucket.public);
        if reads && cx.s3_path().get_bucket_name().is_some_and(public) {
            return Ok(());
        }
        Err(s3_error!(AccessDenied, "Access Denied"))
    }
}

/// Finds the bucket in the host name.
pub(crate) struct Hosts;

impl S3Host for Hosts {
    fn parse_host_header<'a>(&'a self, host: &'a str) -> S3Result<VirtualHost<'a>> {
        let named = VirtualHost::new(host);
        Ok(match bucket_of_host(host) {
            Some(bucket) => named.with_bucket(bucket),
            None => named,
        })
    }
}
