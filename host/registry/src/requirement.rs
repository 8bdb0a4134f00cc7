//! Requirements on the version of a codec: `blosc>=1.2`.

use std::fmt;
use std::str::FromStr;

use semver::{Version, VersionReq};
use serde::{Deserialize, Serialize};

/// A requirement on the version of a codec, as text `blosc>=1.2` or `32001>=1.2,<2`: the codec's name or HDF5 filter
/// id, then what [`VersionReq`] reads.
///
/// A codec that states no version does not meet any requirement; this includes HDF5 filters and NCZarr codecs of C
/// libraries.
///
/// ```
/// use ncz_registry::requirement::Requirement;
///
/// let requirement: Requirement = "blosc>=1.2".parse().unwrap();
/// assert!(requirement.is_met_by(Some(&"1.3.0".parse().unwrap())));
/// assert!(!requirement.is_met_by(Some(&"1.1.9".parse().unwrap())));
/// assert!(!requirement.is_met_by(None));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Requirement {
    codec: String,
    versions: VersionReq,
}

/// Why a text is not a requirement.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequirementError {
    /// The codec or the condition is missing.
    #[error("expected a codec and a condition on its version, such as blosc>=1.2, got {0:?}")]
    Form(String),
    /// The condition cannot be read.
    #[error("expected a condition on a version, such as >=1.2, got {condition:?}: {source}")]
    Versions {
        /// The condition.
        condition: String,
        /// The error in it.
        source: semver::Error,
    },
}

impl Requirement {
    /// The codec, by one of its names or its HDF5 filter id.
    pub fn codec(&self) -> &str {
        &self.codec
    }

    /// Tests whether a codec of this version meets it; `None`: the codec states no version.
    pub fn is_met_by(&self, version: Option<&Version>) -> bool {
        version.is_some_and(|version| self.versions.matches(version))
    }
}

impl FromStr for Requirement {
    type Err = RequirementError;

    fn from_str(text: &str) -> Result<Self, RequirementError> {
        let form = || RequirementError::Form(text.to_owned());
        let at = text.find(['<', '>', '=', '~', '^']).ok_or_else(form)?;
        let (codec, condition) = (text[..at].trim(), text[at..].trim());
        if codec.is_empty() || codec.contains(char::is_whitespace) {
            return Err(form());
        }
        let versions = VersionReq::parse(condition)
            .map_err(|source| RequirementError::Versions { condition: condition.to_owned(), source })?;
        Ok(Self { codec: codec.to_owned(), versions })
    }
}

impl TryFrom<String> for Requirement {
    type Error = RequirementError;

    fn try_from(text: String) -> Result<Self, RequirementError> {
        text.parse()
    }
}

impl From<Requirement> for String {
    fn from(requirement: Requirement) -> Self {
        requirement.to_string()
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.codec, self.versions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_requirement_is_a_codec_and_a_condition() {
        for (text, codec, met) in [
            ("blosc>=1.2", "blosc", "1.2.0"),
            ("32001 >= 1.2, <2", "32001", "1.9.9"),
            ("numcodecs.zlib~1.2.3", "numcodecs.zlib", "1.2.9"),
            ("zstd=1", "zstd", "1.5.7"),
            ("zstd^0.3", "zstd", "0.3.9"),
        ] {
            let requirement: Requirement = text.parse().unwrap();
            assert_eq!(requirement.codec(), codec);
            assert!(requirement.is_met_by(Some(&Version::parse(met).unwrap())), "{text}");
            assert!(!requirement.is_met_by(Some(&Version::new(3, 0, 0))) || text == "blosc>=1.2", "{text}");
            assert_eq!(requirement.to_string().parse::<Requirement>().unwrap(), requirement);
        }
    }

    #[test]
    fn anything_else_is_refused_with_an_example() {
        for text in ["", "blosc", ">=1.2", "blosc 2>=1"] {
            let error = text.parse::<Requirement>().unwrap_err().to_string();
            assert!(error.contains("such as blosc>=1.2, got"), "{error}");
        }
        let error = "blosc>=new".parse::<Requirement>().unwrap_err().to_string();
        assert!(error.contains("expected a condition on a version, such as >=1.2, got \">=new\""), "{error}");
    }
}
