//! The JSON of references, versions 0 and 1 (fsspec, "ReferenceFileSystem").

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::document::{Document, MOST_BYTES, MOST_REFERENCES, MOST_URL, Reference};
use super::generate::{self, Rule};
use super::template::{self, Names, Value};
use super::{SOURCES, Sources};

/// Parses a document. The error is the reason.
pub(super) fn parse(bytes: &[u8]) -> Result<Document, String> {
    if bytes.len() as u64 > MOST_BYTES {
        return Err(format!("it has {} bytes, the limit is {MOST_BYTES}", bytes.len()));
    }
    let raw: Raw<'_> = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let mut urls = Urls::default();
    let mut references = BTreeMap::new();
    match raw.version {
        None => {
            for (key, value) in raw.others {
                add(&mut references, key, reference(value, &mut urls))?;
            }
            if !raw.refs.0.is_empty() || !raw.gen_rules.is_empty() {
                return Err("it has \"refs\" or \"gen\", but no \"version\"".to_owned());
            }
        }
        Some(1) => {
            for (key, value) in raw.refs.0 {
                add(&mut references, key, reference(value, &mut urls))?;
            }
        }
        Some(version) => return Err(format!("its version is {version}; supported are 0 (none) and 1")),
    }
    let mut document = Document::default();
    (document.references, document.sources) = (references, raw.sources);
    for url in urls {
        let url = url.map(|url| template::expand(&url, &raw.names, MOST_URL)).transpose()?;
        document.add_url(url)?;
    }
    for rule in raw.gen_rules {
        generate::apply(&rule, &raw.names, &mut document)?;
    }
    Ok(document)
}

fn add(
    references: &mut BTreeMap<String, Reference>,
    key: String,
    reference: Result<Reference, String>,
) -> Result<(), String> {
    let reference = reference.map_err(|reason| format!("{key:?}: {reason}"))?;
    if references.len() >= MOST_REFERENCES {
        return Err(format!("it has more than {MOST_REFERENCES} references"));
    }
    references.insert(key, reference);
    Ok(())
}

/// URLs that were met, by number.
type Urls = indexmap::IndexSet<Option<String>>;

/// Returns the number of a URL.
fn number_of(urls: &mut Urls, url: Option<String>) -> Result<u32, String> {
    if url.as_ref().is_some_and(|url| url.len() > MOST_URL) {
        return Err(format!("a URL is longer than {MOST_URL} bytes"));
    }
    u32::try_from(urls.insert_full(url).0).map_err(|_| "it has too many URLs".to_owned())
}

/// Reads the value of a reference.
fn reference(value: &RawValue, urls: &mut Urls) -> Result<Reference, String> {
    let text = value.get();
    match text.as_bytes().first() {
        Some(b'"') => {
            let text: String = serde_json::from_str(text).map_err(|error| error.to_string())?;
            inline(text)
        }
        Some(b'{') => Ok(Reference::Inline(text.as_bytes().into())),
        Some(b'[') => {
            let list: Vec<Part> = serde_json::from_str(text).map_err(|error| error.to_string())?;
            match list.as_slice() {
                [Part::Url(url)] => Ok(Reference::Whole(number_of(urls, url.clone())?)),
                [Part::Url(url), Part::Number(offset), Part::Number(len)] => {
                    offset.checked_add(*len).ok_or("its range does not end within 64 bits")?;
                    Ok(Reference::Range { url: number_of(urls, url.clone())?, offset: *offset, len: *len })
                }
                _ => Err("expected [url] or [url, offset, length]".to_owned()),
            }
        }
        _ => Err("expected a text, an object, or a list with a URL".to_owned()),
    }
}

/// The content of a text: its bytes, or Base64.
fn inline(text: String) -> Result<Reference, String> {
    let Some(base64) = text.strip_prefix("base64:") else {
        return Ok(Reference::Inline(text.into_bytes().into()));
    };
    let bytes = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, base64);
    bytes.map(|bytes| Reference::Inline(bytes.into())).map_err(|error| format!("its Base64: {error}"))
}

/// An item of a list.
#[derive(Deserialize)]
#[serde(untagged)]
enum Part {
    Number(u64),
    Url(Option<String>),
}

/// The document before its references are read.
#[derive(Default)]
struct Raw<'a> {
    version: Option<u64>,
    names: Names,
    gen_rules: Vec<Rule>,
    refs: Entries<'a>,
    sources: Sources,
    /// The keys of version 0.
    others: Vec<(String, &'a RawValue)>,
}

/// Keys and values in their order.
#[derive(Default)]
struct Entries<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Entries<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visit;
        impl<'de> Visitor<'de> for Visit {
            type Value = Entries<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of references")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    if entries.len() >= MOST_REFERENCES {
                        return Err(de::Error::custom(format!("more than {MOST_REFERENCES} references")));
                    }
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(Visit)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Raw<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visit;
        impl<'de> Visitor<'de> for Visit {
            type Value = Raw<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of references")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut raw = Raw::default();
                while let Some(key) = map.next_key::<String>()? {
                    match key.as_str() {
                        "version" => raw.version = Some(map.next_value()?),
                        "refs" => raw.refs = map.next_value()?,
                        SOURCES => raw.sources = map.next_value()?,
                        "gen" => raw.gen_rules = map.next_value()?,
                        "templates" => {
                            let templates: BTreeMap<String, String> = map.next_value()?;
                            let templates = templates.into_iter();
                            raw.names = templates.map(|(name, value)| (name, Value::Text(value))).collect();
                        }
                        _ if raw.others.len() >= MOST_REFERENCES => {
                            return Err(de::Error::custom(format!("more than {MOST_REFERENCES} references")));
                        }
                        _ => raw.others.push((key, map.next_value()?)),
                    }
                }
                if let Some((name, _)) = raw.names.iter().find(|(_, value)| is_template(value)) {
                    return Err(de::Error::custom(format!(
                        "the template {name:?} has braces itself, which is not supported; write its text without"
                    )));
                }
                Ok(raw)
            }
        }
        deserializer.deserialize_map(Visit)
    }
}

fn is_template(value: &Value) -> bool {
    matches!(value, Value::Text(text) if text.contains("{{") || text.contains("{%"))
}
