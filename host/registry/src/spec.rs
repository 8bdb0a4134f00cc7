//! A chain as a user or a metadata document describes it: the codecs and their configuration, not yet looked up.

pub mod generic;
mod text;

use std::fmt;

use ncz_codec::{AnyConfig, CodecError, CodecInfo, Dialect};
use serde_json::{Map, Value};

pub use text::{SpecTextError, format_spec_text};

/// The prefix of Zarr v3 names that mean a numcodecs codec: `numcodecs.zlib`, with the
/// configuration that numcodecs defines. The names are in use and not registered.
pub const NUMCODECS_PREFIX: &str = "numcodecs.";

/// One codec of a chain, as a user wrote it.
#[derive(Debug, Clone, PartialEq)]
pub enum StageSpec {
    /// A codec by its name in a JSON dialect.
    Json {
        /// The form of the configuration.
        dialect: Dialect,
        /// The codec's name in that dialect.
        name: String,
        /// The configuration without the name.
        config: Map<String, Value>,
    },
    /// An HDF5 filter by number.
    Filter {
        /// The filter id, 1 to 65535.
        id: u32,
        /// Its parameter words (`cd_values`).
        params: Vec<u32>,
    },
    /// A codec by any of its names, with parameter words: `zstd,3`.
    Named {
        /// The name.
        name: String,
        /// The parameter words.
        params: Vec<u32>,
    },
}

/// A chain as a user wrote it: codecs in the order in which they encode.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChainSpec {
    stages: Vec<StageSpec>,
}

/// Why a chain's JSON is not usable.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpecError {
    /// The text form is malformed.
    #[error("filter specification {text:?}")]
    Text {
        /// The specification.
        text: String,
        /// The error in it.
        source: SpecTextError,
    },
    /// The text looks like JSON but is not.
    #[error("codec specification {text:?} is not JSON; an example is {{\"id\":\"zstd\",\"level\":3}}")]
    Json {
        /// The specification.
        text: String,
        /// The parser's message.
        source: serde_json::Error,
    },
    /// A codec's JSON is not an object, or has no name.
    #[error("codec {codec} is not of the form {wanted}")]
    Shape {
        /// The JSON found.
        codec: String,
        /// The expected form.
        wanted: &'static str,
    },
    /// A codec's JSON has a member that Zarr v3 does not define.
    #[error(
        "codec {codec} has a member {member:?}, which is not known; a codec has a name and a configuration"
    )]
    Member {
        /// The JSON found.
        codec: String,
        /// The member.
        member: String,
    },
    /// A codec cannot be written in the dialect.
    #[error("codec {name} cannot be written as {dialect} JSON")]
    Unwritable {
        /// The codec.
        name: String,
        /// The dialect.
        dialect: Dialect,
        /// Why.
        source: CodecError,
    },
}

impl ChainSpec {
    /// A chain of these codecs, in encoding order.
    pub fn new(stages: Vec<StageSpec>) -> Self {
        Self { stages }
    }

    /// Reads any of the forms a user can type: codec JSON (`{"id":"zstd","level":3}`, or a list of
    /// such), or filter text (`2|1,6`, `zstd,3`, with an optional `[format]` in front).
    ///
    /// # Errors
    /// The text is in none of these forms.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        let trimmed = text.trim_start();
        // `[1]2|1,6` is a format prefix, `[{...}]` and `[]` are JSON.
        let json_list =
            trimmed.strip_prefix('[').is_some_and(|rest| rest.trim_start().starts_with(['{', ']', '"']));
        if !trimmed.starts_with('{') && !json_list {
            return text::parse_spec_text(text)
                .map(Self::new)
                .map_err(|source| SpecError::Text { text: text.to_owned(), source });
        }
        let value: Value =
            serde_json::from_str(text).map_err(|source| SpecError::Json { text: text.to_owned(), source })?;
        let list = match value {
            Value::Array(list) => list,
            one => vec![one],
        };
        let v3 = list.iter().any(|codec| codec.get("name").is_some() && codec.get("id").is_none());
        Self::from_json(if v3 { Dialect::ZarrV3 } else { Dialect::Numcodecs }, &list)
    }

    /// Reads a list of codecs as metadata hold it, in encoding order: for Zarr v2 the `filters`
    /// followed by the `compressor`.
    ///
    /// # Errors
    /// An entry is not an object or has no name.
    pub fn from_json(dialect: Dialect, codecs: &[Value]) -> Result<Self, SpecError> {
        codecs
            .iter()
            .map(|codec| StageSpec::from_json(dialect, codec))
            .collect::<Result<_, _>>()
            .map(Self::new)
    }

    /// The codecs, in encoding order.
    pub fn stages(&self) -> &[StageSpec] {
        &self.stages
    }

    /// Tests whether it has no codec.
    pub fn is_empty(&self) -> bool {
        self.stages.is_empty()
    }

    /// Adds a codec at the end; one that the chain already has is replaced in position, as
    /// in `nc_def_var_filter`.
    pub fn define(&mut self, stage: StageSpec) {
        match self.stages.iter_mut().find(|have| have.same_codec(&stage)) {
            Some(have) => *have = stage,
            None => self.stages.push(stage),
        }
    }

    pub(crate) fn push(&mut self, stage: StageSpec) {
        self.stages.push(stage);
    }

    pub(crate) fn replace(&mut self, place: usize, stage: StageSpec) {
        self.stages[place] = stage;
    }

    pub(crate) fn retain(&mut self, keep: impl FnMut(&StageSpec) -> bool) {
        self.stages.retain(keep);
    }
}

impl StageSpec {
    /// Reads one codec's JSON.
    ///
    /// # Errors
    /// No object, or no name in it.
    pub fn from_json(dialect: Dialect, codec: &Value) -> Result<Self, SpecError> {
        let shape = |wanted| SpecError::Shape { codec: abridged(codec), wanted };
        match dialect {
            Dialect::Numcodecs => {
                const WANTED: &str = "{\"id\":\"zstd\",\"level\":3}";
                let mut config = codec.as_object().ok_or_else(|| shape(WANTED))?.clone();
                // The order of the other keys is kept, so that the JSON can be shown as it was.
                let Some(Value::String(name)) = config.shift_remove("id") else { return Err(shape(WANTED)) };
                Ok(Self::Json { dialect, name, config })
            }
            Dialect::ZarrV3 => {
                const WANTED: &str = "{\"name\":\"zstd\",\"configuration\":{\"level\":3}}";
                if let Value::String(name) = codec {
                    return Ok(Self::Json { dialect, name: name.clone(), config: Map::new() });
                }
                let object = codec.as_object().ok_or_else(|| shape(WANTED))?;
                let Some(Value::String(name)) = object.get("name") else { return Err(shape(WANTED)) };
                // Skipping a codec would leave undecoded bytes, so the value of must_understand does not
                // matter.
                let known = |member: &str, value: &Value| match member {
                    "name" | "configuration" => true,
                    "must_understand" => value.is_boolean(),
                    _ => false,
                };
                if let Some((member, _)) = object.iter().find(|(member, value)| !known(member, value)) {
                    return Err(SpecError::Member { codec: abridged(codec), member: member.clone() });
                }
                let config = match object.get("configuration") {
                    None | Some(Value::Null) => Map::new(),
                    Some(Value::Object(config)) => config.clone(),
                    Some(_) => return Err(shape(WANTED)),
                };
                Ok(Self::Json { dialect, name: name.clone(), config })
            }
        }
    }

    /// Tests whether both name the same codec in the same form.
    pub(crate) fn same_codec(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Filter { id: a, .. }, Self::Filter { id: b, .. }) => a == b,
            (
                Self::Json { name: a, .. } | Self::Named { name: a, .. },
                Self::Json { name: b, .. } | Self::Named { name: b, .. },
            ) => a == b,
            _ => false,
        }
    }
}

/// The JSON of one codec: its name and configuration in the shape of the dialect.
pub fn codec_json(dialect: Dialect, name: &str, config: Map<String, Value>) -> Value {
    let mut object = Map::new();
    match dialect {
        Dialect::Numcodecs => {
            object.insert("id".to_owned(), Value::String(name.to_owned()));
            object.extend(config);
        }
        Dialect::ZarrV3 => {
            object.insert("name".to_owned(), Value::String(name.to_owned()));
            // zarr-python refuses most codecs without this member, and every reader takes an empty one.
            object.insert("configuration".to_owned(), Value::Object(config));
        }
    }
    Value::Object(object)
}

/// The JSON of a codec for metadata. In Zarr v3 a codec without a name there is written by its numcodecs
/// id, `numcodecs.zlib`, with its configuration in that dialect.
///
/// # Errors
/// The codec has no name in the dialect, or its configuration cannot be expressed there.
pub fn stored_codec_json(
    info: &CodecInfo,
    config: &dyn AnyConfig,
    dialect: Dialect,
) -> Result<Value, SpecError> {
    let unwritable = |source| SpecError::Unwritable { name: info.name.to_string(), dialect, source };
    let own = info.names(dialect).first().map(|name| (name.to_string(), dialect));
    let lent = || {
        let id = info.numcodecs.first().filter(|_| dialect == Dialect::ZarrV3)?;
        Some((format!("{NUMCODECS_PREFIX}{id}"), Dialect::Numcodecs))
    };
    let Some((name, spelling)) = own.or_else(lent) else {
        // The codec itself can best suggest a replacement.
        let nameless = || CodecError::unsupported(format!("the codec has no {dialect} name"));
        return Err(unwritable(config.to_json(dialect).err().unwrap_or_else(nameless)));
    };
    Ok(codec_json(dialect, &name, config.to_json(spelling).map_err(unwritable)?))
}

impl fmt::Display for StageSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json { dialect, name, config } => {
                write!(f, "{}", codec_json(*dialect, name, config.clone()))
            }
            Self::Filter { id, params } => f.write_str(&format_spec_text(&[(*id, params.as_slice())])),
            Self::Named { name, params } => {
                f.write_str(name)?;
                params.iter().try_for_each(|word| write!(f, ",{word}"))
            }
        }
    }
}

/// A JSON text cut to what fits a message.
fn abridged(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(120) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_forms_are_distinguished() {
        let json = ChainSpec::parse(r#"{"id":"zstd","level":3}"#).unwrap();
        assert!(
            matches!(&json.stages()[0], StageSpec::Json { dialect: Dialect::Numcodecs, name, .. } if name == "zstd")
        );
        let list =
            ChainSpec::parse(r#" [{"name":"zstd","configuration":{"level":3}}, {"name":"crc32c"}]"#).unwrap();
        assert_eq!(list.stages().len(), 2);
        assert!(matches!(&list.stages()[1], StageSpec::Json { dialect: Dialect::ZarrV3, .. }));
        let text = ChainSpec::parse("[1]2|1,6").unwrap();
        assert_eq!(text.stages()[1], StageSpec::Filter { id: 1, params: vec![6] });
        let named = ChainSpec::parse("zstd,3").unwrap();
        assert_eq!(named.stages()[0], StageSpec::Named { name: "zstd".into(), params: vec![3] });
        assert!(ChainSpec::parse("[]").unwrap().is_empty());
    }

    #[test]
    fn redefining_a_codec_keeps_its_position() {
        let mut chain = ChainSpec::parse("2|1,6|3").unwrap();
        chain.define(StageSpec::Filter { id: 1, params: vec![9] });
        assert_eq!(chain, ChainSpec::parse("2|1,9|3").unwrap());
        chain.define(StageSpec::Filter { id: 307, params: vec![9] });
        assert_eq!(chain.stages().len(), 4);
    }

    #[test]
    fn json_without_a_name_is_refused_with_an_example() {
        for text in
            [r#"{"level":3}"#, r#"[{"id":3}]"#, r#"["zstd", 3]"#, r#"[{"name":"zstd","configuration":3}]"#]
        {
            let error = ChainSpec::parse(text).unwrap_err();
            assert!(error.to_string().contains("is not of the form {"), "{text}: {error}");
        }
        assert!(ChainSpec::parse(r#"{"id":"#).unwrap_err().to_string().contains("is not JSON"));
    }
}
