//! A bound on answers that are not objects.

use aws_sdk_s3::config::interceptors::BeforeDeserializationInterceptorContextMut;
use aws_sdk_s3::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_s3::error::BoxError;
use aws_sdk_s3::primitives::SdkBody;
use http_body_util::Limited;

/// Most bytes of a list or an error: 1000 names of 1024 bytes, all of them percent-encoded, take a quarter of this.
const MOST: usize = 16 << 20;

/// Ends an answer that the SDK collects in memory before it looks at it, when it becomes too long. Objects are read
/// piece by piece and have limits of their own.
#[derive(Debug)]
pub(super) enum SmallAnswers {
    /// For every request: answers that are errors.
    Errors,
    /// For requests whose good answers are collected too.
    All,
}

impl Intercept for SmallAnswers {
    fn name(&self) -> &'static str {
        "SmallAnswers"
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
