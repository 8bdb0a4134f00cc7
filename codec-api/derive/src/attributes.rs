//! The contents of `#[codec(..)]`.

use syn::meta::ParseNestedMeta;
use syn::parse::Parse;
use syn::{Attribute, Expr, Ident, LitStr, Path, Result, Token, parse_quote};

/// The attributes of a struct.
#[derive(Default)]
pub(crate) struct StructAttributes {
    pub(crate) check: Option<Path>,
    pub(crate) max_words: Option<Expr>,
    pub(crate) omit_default_words: bool,
    pub(crate) unnamed: Option<LitStr>,
}

/// The attributes of a field.
#[derive(Default)]
pub(crate) struct FieldAttributes {
    pub(crate) key: Option<LitStr>,
    pub(crate) label: Option<LitStr>,
    pub(crate) range: Per<Expr>,
    pub(crate) default: Per<Expr>,
    pub(crate) missing: Per<Expr>,
    pub(crate) omit_default: Per<()>,
    pub(crate) only: Option<(Dialect, LitStr)>,
    pub(crate) no_word: Option<LitStr>,
    pub(crate) none: Option<Expr>,
    pub(crate) read: Option<Path>,
    pub(crate) write: Option<Path>,
    pub(crate) write_word: Option<Path>,
}

/// One value for each form of a configuration.
#[derive(Clone)]
pub(crate) struct Per<T> {
    pub(crate) numcodecs: Option<T>,
    pub(crate) zarr_v3: Option<T>,
    pub(crate) params: Option<T>,
}

/// A dialect of JSON.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Numcodecs,
    ZarrV3,
}

impl StructAttributes {
    pub(crate) fn parse(attributes: &[Attribute]) -> Result<Self> {
        let mut parsed = Self::default();
        each(attributes, |meta| {
            match name(&meta)?.as_str() {
                "check" => parsed.check = Some(value(&meta)?),
                "max_words" => parsed.max_words = Some(value(&meta)?),
                "omit_default_words" => parsed.omit_default_words = true,
                "unnamed" => parsed.unnamed = Some(value(&meta)?),
                other => return Err(meta.error(format!("unknown attribute {other} of a configuration"))),
            }
            Ok(())
        })?;
        Ok(parsed)
    }
}

impl FieldAttributes {
    pub(crate) fn parse(attributes: &[Attribute]) -> Result<Self> {
        let mut parsed = Self::default();
        each(attributes, |meta| {
            match name(&meta)?.as_str() {
                "key" => parsed.key = Some(value(&meta)?),
                "label" => parsed.label = Some(value(&meta)?),
                "range" => parsed.range = Per::parse(&meta)?,
                "default" if is_alone(&meta) => {
                    parsed.default = Per::all(parse_quote!(::core::default::Default::default()));
                }
                "default" => parsed.default = Per::parse(&meta)?,
                "missing" => parsed.missing = Per::parse(&meta)?,
                "omit_default" if is_alone(&meta) => parsed.omit_default = Per::all(()),
                "omit_default" => parsed.omit_default = Per::flags(&meta)?,
                "only" => parsed.only = Some(only(&meta)?),
                "no_word" => parsed.no_word = Some(value(&meta)?),
                "none" => parsed.none = Some(value(&meta)?),
                "read" => parsed.read = Some(value(&meta)?),
                "write" => parsed.write = Some(value(&meta)?),
                "write_word" => parsed.write_word = Some(value(&meta)?),
                other => return Err(meta.error(format!("unknown attribute {other} of a field"))),
            }
            Ok(())
        })?;
        Ok(parsed)
    }
}

/// The name of a variant in JSON, if it is given.
pub(crate) fn variant_name(attributes: &[Attribute]) -> Result<Option<LitStr>> {
    let mut given = None;
    each(attributes, |meta| {
        match name(&meta)?.as_str() {
            "name" => given = Some(value(&meta)?),
            other => return Err(meta.error(format!("unknown attribute {other} of a variant"))),
        }
        Ok(())
    })?;
    Ok(given)
}

impl<T> Default for Per<T> {
    fn default() -> Self {
        Self { numcodecs: None, zarr_v3: None, params: None }
    }
}

impl<T: Clone> Per<T> {
    fn all(value: T) -> Self {
        Self { numcodecs: Some(value.clone()), zarr_v3: Some(value.clone()), params: Some(value) }
    }

    /// The value in a dialect.
    pub(crate) fn json(&self, dialect: Dialect) -> Option<&T> {
        match dialect {
            Dialect::Numcodecs => self.numcodecs.as_ref(),
            Dialect::ZarrV3 => self.zarr_v3.as_ref(),
        }
    }
}

impl<T: Parse + Clone> Per<T> {
    /// `= value`, or `(numcodecs = value, ..)`.
    fn parse(meta: &ParseNestedMeta<'_>) -> Result<Self> {
        if !is_list(meta) {
            return value(meta).map(Self::all);
        }
        let mut per = Self::default();
        meta.parse_nested_meta(|meta| {
            let form = name(&meta)?;
            let given: T = value(&meta)?;
            match form.as_str() {
                "numcodecs" => per.numcodecs = Some(given),
                "zarr_v3" => per.zarr_v3 = Some(given),
                "json" => (per.numcodecs, per.zarr_v3) = (Some(given.clone()), Some(given)),
                "params" => per.params = Some(given),
                _ => return Err(meta.error("expected numcodecs, zarr_v3, json or params")),
            }
            Ok(())
        })?;
        Ok(per)
    }
}

impl Per<()> {
    /// `(numcodecs, ..)`.
    fn flags(meta: &ParseNestedMeta<'_>) -> Result<Self> {
        let mut per = Self::default();
        meta.parse_nested_meta(|meta| {
            match dialect(meta.path.require_ident()?)? {
                Dialect::Numcodecs => per.numcodecs = Some(()),
                Dialect::ZarrV3 => per.zarr_v3 = Some(()),
            }
            Ok(())
        })?;
        Ok(per)
    }
}

/// `(numcodecs, "message")`.
fn only(meta: &ParseNestedMeta<'_>) -> Result<(Dialect, LitStr)> {
    let content;
    syn::parenthesized!(content in meta.input);
    let dialect = dialect(&content.parse()?)?;
    content.parse::<Token![,]>()?;
    Ok((dialect, content.parse()?))
}

fn dialect(name: &Ident) -> Result<Dialect> {
    match name.to_string().as_str() {
        "numcodecs" => Ok(Dialect::Numcodecs),
        "zarr_v3" => Ok(Dialect::ZarrV3),
        _ => Err(syn::Error::new(name.span(), "expected numcodecs or zarr_v3")),
    }
}

fn each(attributes: &[Attribute], mut parse: impl FnMut(ParseNestedMeta<'_>) -> Result<()>) -> Result<()> {
    let ours = attributes.iter().filter(|attribute| attribute.path().is_ident("codec"));
    ours.into_iter().try_for_each(|attribute| attribute.parse_nested_meta(&mut parse))
}

fn name(meta: &ParseNestedMeta<'_>) -> Result<String> {
    Ok(meta.path.require_ident()?.to_string())
}

fn value<T: Parse>(meta: &ParseNestedMeta<'_>) -> Result<T> {
    meta.value()?.parse()
}

fn is_list(meta: &ParseNestedMeta<'_>) -> bool {
    meta.input.peek(syn::token::Paren)
}

fn is_alone(meta: &ParseNestedMeta<'_>) -> bool {
    !is_list(meta) && !meta.input.peek(Token![=])
}
