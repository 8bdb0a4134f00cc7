//! Reads values that another process wrote, with limits that are checked before memory is allocated: functions for
//! `#[serde(with = ..)]`.

use std::fmt;
use std::marker::PhantomData;

use ncz_codec::abi::hdf5;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use serde::{Deserialize, Serializer};

/// The longest name of a filter or codec.
pub(crate) const NAME_MAX: usize = 1024;
/// The most parameters.
pub(crate) const PARAMS_MAX: usize = 1 << 16;
/// The longest text for people.
pub(crate) const TEXT_MAX: usize = 4096;

/// A text of at most `MAX` bytes.
pub(crate) fn text<'de, D: Deserializer<'de>, const MAX: usize>(from: D) -> Result<String, D::Error> {
    struct Text<const MAX: usize>;

    impl<const MAX: usize> Visitor<'_> for Text<MAX> {
        type Value = String;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "a text of at most {MAX} bytes")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<String, E> {
            if text.len() <= MAX { Ok(text.to_owned()) } else { Err(E::invalid_length(text.len(), &self)) }
        }
    }

    from.deserialize_str(Text::<MAX>)
}

/// A list of at most `MAX` elements.
pub(crate) fn list<'de, D, T, const MAX: usize>(from: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    struct List<T, const MAX: usize>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>, const MAX: usize> Visitor<'de> for List<T, MAX> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "at most {MAX} elements")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Vec<T>, A::Error> {
            let claimed = elements.size_hint().unwrap_or(0);
            if claimed > MAX {
                return Err(A::Error::invalid_length(claimed, &self));
            }
            let mut list = Vec::new();
            while let Some(element) = elements.next_element()? {
                if list.len() == MAX {
                    return Err(A::Error::invalid_length(MAX + 1, &self));
                }
                list.push(element);
            }
            Ok(list)
        }
    }

    from.deserialize_seq(List::<T, MAX>(PhantomData))
}

/// Parameters of a filter.
pub(crate) fn params<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u32>, D::Error> {
    list::<D, u32, PARAMS_MAX>(from)
}

/// The id of a filter.
pub(crate) fn filter_id<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    let id = u32::deserialize(from)?;
    let range = 1..=hdf5::FILTER_MAX as u32;
    if range.contains(&id) { Ok(id) } else { Err(D::Error::custom("not the id of a filter")) }
}

/// A name as records have them, which may be empty.
pub(crate) fn name<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let name = text::<D, NAME_MAX>(from)?;
    if name.contains(char::is_control) {
        Err(D::Error::custom("a name that steers a terminal"))
    } else {
        Ok(name)
    }
}

/// A name that is not empty.
pub(crate) fn codec_id<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let name = name(from)?;
    if name.is_empty() { Err(D::Error::custom("a codec without a name")) } else { Ok(name) }
}

/// A human-readable text: truncated when it is written, and stripped of terminal control characters when it is read.
pub(crate) mod plain {
    use serde::{Deserializer, Serializer};

    use super::TEXT_MAX;

    pub(crate) fn serialize<S: Serializer>(text: &str, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&text[..text.floor_char_boundary(TEXT_MAX)])
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
        super::text::<D, TEXT_MAX>(from).map(|text| text.replace(char::is_control, " "))
    }
}

/// A path, with any bytes.
pub(crate) mod path {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::path::{Path, PathBuf};

    use super::{Deserializer, Error, Serializer, Visitor, fmt};

    /// The longest path of Linux; other systems have shorter ones.
    const PATH_MAX: usize = 4096;

    pub(crate) fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bytes(path.as_os_str().as_bytes())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
        struct Bytes;

        impl Visitor<'_> for Bytes {
            type Value = PathBuf;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a path of at most {PATH_MAX} bytes")
            }

            fn visit_bytes<E: Error>(self, path: &[u8]) -> Result<PathBuf, E> {
                if path.len() > PATH_MAX {
                    return Err(E::invalid_length(path.len(), &self));
                }
                Ok(Path::new(OsStr::from_bytes(path)).to_owned())
            }
        }

        from.deserialize_bytes(Bytes)
    }
}
