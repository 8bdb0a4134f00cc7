//! The text of an error with its causes.

use std::error::Error;
use std::fmt;

/// The error of a `main` function, or of any function that only passes errors on: its text, also that of `Debug` with
/// which Rust prints the error of `main`, is the message of the error and those of its causes.
///
/// ```
/// fn main() -> Result<(), ncz::MainError> {
///     let opened = ncz::open("no.zarr");
/// #   assert!(format!("{:?}", ncz::MainError::from(opened.unwrap_err())).contains("no.zarr"));
/// #   let opened = Ok::<(), ncz::location::LocationError>(());
///     let dataset = opened?;
///     Ok(())
/// }
/// ```
pub struct MainError(Box<dyn Error + Send + Sync>);

impl MainError {
    /// The error.
    #[must_use]
    pub fn get(&self) -> &(dyn Error + Send + Sync + 'static) {
        &*self.0
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for MainError {
    fn from(error: E) -> Self {
        Self(Box::new(error))
    }
}

impl fmt::Display for MainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&with_causes(&*self.0))
    }
}

impl fmt::Debug for MainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Returns the message of an error followed by those of its causes. A cause that the text already contains is left out.
#[must_use]
pub fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_main_shows_its_causes() {
        fn fails() -> Result<(), MainError> {
            Err(crate::open("/nowhere/at/all.nc").map(|_| ()).unwrap_err())?;
            Ok(())
        }
        let error = fails().unwrap_err();
        let text = format!("{error:?}");
        assert!(text.contains("/nowhere/at/all.nc") && !text.contains('{'), "{text}");
        assert_eq!(text, with_causes(error.get()));
    }
}
