//! The limit on responses that are not objects.

use aws_sdk_s3::config::interceptors::BeforeDeserializationInterceptorContextMut;
use aws_sdk_s3::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_s3::error::BoxError;
use aws_sdk_s3::primitives::SdkBody;
use http_body_util::Limited;

/// The most bytes of a list or an error: 1000 names of 1024 bytes, all of them percent-encoded, take a quarter of this.
const MOST: usize = 16 << 20;

/// Limits the length of a response that the SDK collects in memory before it parses it. Objects are streamed and have
/// their own limits.
#[derive(Debug)]
pub(super) enum AnswerLimit {
    /// Limits responses that are errors; for every request.
    Errors,
    /// Limits all responses; for requests whose successful responses are collected, too.
    All,
}

impl Intercept for AnswerLimit {
    fn name(&self) -> &'static str {
        "AnswerLimit"
    }

    fn modify_before_deserialization(
        &self,
        context: &mut BeforeDeserializationInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let response = context.response_mut();
        if matches!(self, Self::All) || !response.status().is_success() {
            let body = std::mem::replace(response.body_mut(), SdkBody::taken());
            *response.body_mut() = SdkBody::from_body_1_x(Limited::new(body, MOST));
        }
        Ok(())
    }
}
