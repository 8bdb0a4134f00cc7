//! `#[derive(CodecConfig)]`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Data, DeriveInput, Error, Expr, Fields, GenericArgument, Ident, PathArguments, Result, Type};

use crate::attributes::{Dialect, FieldAttributes, StructAttributes};

const DIALECTS: [Dialect; 2] = [Dialect::Numcodecs, Dialect::ZarrV3];

/// A field of a configuration.
struct Field {
    ident: Ident,
    outer: Type,
    /// Its type; for an `Option`, the inner type.
    value: Type,
    is_option: bool,
    key: String,
    /// Its index in the words.
    word: Option<usize>,
    given: FieldAttributes,
}

pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let given = StructAttributes::parse(&input.attrs)?;
    let fields = fields(input)?;
    let name = &input.ident;
    let (impl_generics, type_generics, where_clause) = input.generics.split_for_impl();
    let named = named(&given);
    let check = |source: TokenStream| given.check.as_ref().map(|check| quote!(#check(&__config, #source)?;));
    let idents: Vec<&Ident> = fields.iter().map(|field| &field.ident).collect();

    let read_json = fields.iter().map(Field::read_json);
    let write_json = fields.iter().map(Field::write_json);
    let check_json = check(quote!(::ncz_codec::config::Source::Json));

    let words: Vec<&Field> = fields.iter().filter(|field| field.word.is_some()).collect();
    let least = words.iter().take_while(|field| field.is_required_word()).count();
    let most = match &given.max_words {
        Some(most) => quote!(#most),
        None => {
            let most = words.len();
            quote!(#most)
        }
    };
    let word_keys = words.iter().map(|field| &field.key);
    let check_params = check(quote!(::ncz_codec::config::Source::Params(&[#(#word_keys),*])));
    let read_params = fields.iter().map(Field::read_params);
    let refuse = fields.iter().filter_map(Field::refuse_without_word);
    let write_params = words.iter().map(|field| field.write_params());
    let omit = words.iter().rev().filter(|_| given.omit_default_words).filter_map(|field| field.omit_word());

    Ok(quote! {
        #[automatically_derived]
        #[allow(unused, clippy::all)]
        impl #impl_generics ::ncz_codec::CodecConfig for #name #type_generics #where_clause {
            fn from_json(
                __dialect: ::ncz_codec::Dialect,
                __config: &::ncz_codec::serde_json::Map<::std::string::String, ::ncz_codec::serde_json::Value>,
                __notes: &mut ::std::vec::Vec<::std::string::String>,
            ) -> ::ncz_codec::Result<Self> {
                #named
                let mut __reader = ::ncz_codec::ConfigReader::new(__dialect, __config);
                #(#read_json)*
                __reader.finish(__notes)?;
                let __config = Self { #(#idents),* };
                #check_json
                ::core::result::Result::Ok(__config)
            }

            fn to_json(
                &self,
                __dialect: ::ncz_codec::Dialect,
            ) -> ::ncz_codec::Result<
                ::ncz_codec::serde_json::Map<::std::string::String, ::ncz_codec::serde_json::Value>,
            > {
                #named
                let Self { #(#idents),* } = ::core::clone::Clone::clone(self);
                let mut __map = ::ncz_codec::serde_json::Map::new();
                #(#write_json)*
                ::core::result::Result::Ok(__map)
            }

            fn from_params(__words: &[u32]) -> ::ncz_codec::Result<Self> {
                let __name = &<Self as ::ncz_codec::Codec>::INFO.name;
                ::ncz_codec::params::check_count(__name, __words, #least, #most)?;
                #(#read_params)*
                let __config = Self { #(#idents),* };
                #check_params
                ::core::result::Result::Ok(__config)
            }

            fn to_params(&self) -> ::ncz_codec::Result<::std::vec::Vec<u32>> {
                let Self { #(#idents),* } = ::core::clone::Clone::clone(self);
                let mut __words = ::std::vec::Vec::new();
                #(#refuse)*
                'words: {
                    #(#write_params)*
                }
                #(#omit)*
                ::core::result::Result::Ok(__words)
            }
        }
    })
}

/// Refuses a dialect in which the codec has no name.
fn named(given: &StructAttributes) -> TokenStream {
    match &given.unnamed {
        None => quote!(<Self as ::ncz_codec::Codec>::INFO.require_name(__dialect)?;),
        Some(text) => quote! {
            if <Self as ::ncz_codec::Codec>::INFO.names(__dialect).is_empty() {
                return ::core::result::Result::Err(::ncz_codec::CodecError::unsupported(#text));
            }
        },
    }
}

fn fields(input: &DeriveInput) -> Result<Vec<Field>> {
    let Data::Struct(data) = &input.data else {
        return Err(Error::new_spanned(input, "expected a struct"));
    };
    let named = match &data.fields {
        Fields::Named(fields) => fields.named.iter().collect(),
        Fields::Unit => Vec::new(),
        Fields::Unnamed(_) => {
            return Err(Error::new_spanned(input, "expected a struct with named fields, or without fields"));
        }
    };
    let mut words = 0..;
    let field = |field: &&syn::Field| -> Result<Field> {
        let given = FieldAttributes::parse(&field.attrs)?;
        let ident = field.ident.clone().unwrap_or_else(|| format_ident!("unnamed"));
        let inner = option(&field.ty);
        if given.no_word.is_some() && given.default.params.is_none() && inner.is_none() {
            return Err(Error::new_spanned(field, "expected a default, because the field has no word"));
        }
        if given.none.is_some() && inner.is_none() {
            return Err(Error::new_spanned(field, "expected an Option, because there is a word for None"));
        }
        Ok(Field {
            key: given.key.as_ref().map_or_else(|| ident.to_string(), syn::LitStr::value),
            word: if given.no_word.is_none() { words.next() } else { None },
            is_option: inner.is_some(),
            value: inner.unwrap_or(&field.ty).clone(),
            outer: field.ty.clone(),
            ident,
            given,
        })
    };
    named.iter().map(field).collect()
}

/// The type in an `Option`.
fn option(outer: &Type) -> Option<&Type> {
    let Type::Path(path) = outer else { return None };
    let last = path.path.segments.last().filter(|last| last.ident == "Option")?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match arguments.args.first() {
        Some(GenericArgument::Type(inner)) => Some(inner),
        _ => None,
    }
}

impl Field {
    /// The value of a missing key, or the return of an error.
    fn missing(&self, dialect: Dialect) -> TokenStream {
        let key = &self.key;
        let error = |text: TokenStream| quote!(return ::core::result::Result::Err(::ncz_codec::CodecError::config(#key, #text)));
        match (self.given.default.json(dialect), self.given.missing.json(dialect)) {
            (Some(default), _) => quote!(#default),
            (None, Some(text)) => error(quote!(#text)),
            (None, None) if self.is_option => quote!(::core::option::Option::None),
            (None, None) => error(quote!("it is missing")),
        }
    }

    fn read_json(&self) -> TokenStream {
        let Self { ident, value, key, .. } = self;
        let missing = DIALECTS.map(|dialect| self.missing(dialect));
        let missing = by_dialect(&missing);
        let read = match &self.given.read {
            Some(read) => quote!(#read(&mut __reader, __notes)?),
            None => {
                let range = by_dialect(&DIALECTS.map(|dialect| range(self.given.range.json(dialect))));
                let found = if self.is_option {
                    quote!(value @ ::core::option::Option::Some(_) => value)
                } else {
                    quote!(::core::option::Option::Some(value) => value)
                };
                quote! {
                    match <#value as ::ncz_codec::config::ConfigValue>::read(&mut __reader, #key, #range)? {
                        #found,
                        ::core::option::Option::None => #missing,
                    }
                }
            }
        };
        match &self.given.only {
            None => quote!(let #ident = #read;),
            Some((dialect, _)) => {
                let dialect = variant(*dialect);
                quote!(let #ident = if __dialect == #dialect { #read } else { #missing };)
            }
        }
    }

    fn write_json(&self) -> TokenStream {
        let Self { ident, key, .. } = self;
        let value = match &self.given.write {
            Some(write) => quote!(#write(value, __dialect)?),
            None => quote!(::ncz_codec::config::ConfigValue::to_json(value)),
        };
        let insert = quote!(__map.insert(::std::string::String::from(#key), #value););
        let insert = if self.is_option {
            let none = by_dialect(&DIALECTS.map(|dialect| match self.given.missing.json(dialect) {
                Some(_) => {
                    quote!(return ::core::result::Result::Err(
                        ::ncz_codec::CodecError::config(#key, "it is not known yet")
                    ))
                }
                None => quote!(()),
            }));
            quote! {
                match &#ident {
                    ::core::option::Option::Some(value) => { #insert }
                    ::core::option::Option::None => #none,
                }
            }
        } else {
            quote!({ let value = &#ident; #insert })
        };
        let is_default = |dialect| self.given.default.json(dialect).map(|default| self.is(default));
        let insert = match DIALECTS.map(|dialect| self.given.omit_default.json(dialect).is_some()) {
            [false, false] => insert,
            flags => {
                let omit = DIALECTS.map(|dialect| {
                    let is_default = is_default(dialect).filter(|_| flags[dialect as usize]);
                    is_default.unwrap_or_else(|| quote!(false))
                });
                let omit = by_dialect(&omit);
                quote!(if !(#omit) { #insert })
            }
        };
        let Some((only, text)) = &self.given.only else { return insert };
        let other = if *only == Dialect::Numcodecs { Dialect::ZarrV3 } else { Dialect::Numcodecs };
        let is_default = is_default(other).unwrap_or_else(|| quote!(true));
        let dialect = variant(*only);
        quote! {
            if __dialect == #dialect {
                #insert
            } else if !(#is_default) {
                return ::core::result::Result::Err(::ncz_codec::CodecError::config(#key, #text));
            }
        }
    }

    /// Tests whether the field has this value.
    fn is(&self, value: &Expr) -> TokenStream {
        let Self { ident, outer, .. } = self;
        quote!({ let default: #outer = #value; #ident == default })
    }

    fn is_required_word(&self) -> bool {
        self.given.default.params.is_none() && !self.is_option
    }

    fn limits(&self) -> TokenStream {
        let label = self.given.label.as_ref().map_or_else(|| self.key.clone(), syn::LitStr::value);
        let range = range(self.given.range.params.as_ref());
        quote!(::ncz_codec::config::Limits { label: #label, range: #range })
    }

    fn read_params(&self) -> TokenStream {
        let Self { ident, value, .. } = self;
        let default = match &self.given.default.params {
            Some(default) => quote!(#default),
            None => quote!(::core::option::Option::None),
        };
        let Some(at) = self.word else {
            return quote!(let #ident = #default;);
        };
        let limits = self.limits();
        let read = quote!(<#value as ::ncz_codec::config::ConfigValue>::from_word(__words, #at, #limits)?);
        let read = match (&self.given.none, self.is_option) {
            (Some(none), _) => quote! {
                if __words[#at] == #none { ::core::option::Option::None } else { ::core::option::Option::Some(#read) }
            },
            (None, true) => quote!(::core::option::Option::Some(#read)),
            (None, false) => read,
        };
        if self.is_required_word() {
            quote!(let #ident = #read;)
        } else {
            quote!(let #ident = if __words.len() > #at { #read } else { #default };)
        }
    }

    /// Refuses a value that the words cannot express.
    fn refuse_without_word(&self) -> Option<TokenStream> {
        let Self { ident, key, .. } = self;
        let text = self.given.no_word.as_ref()?;
        let is_default = match &self.given.default.params {
            Some(default) => self.is(default),
            None => quote!(#ident.is_none()),
        };
        Some(quote! {
            if !(#is_default) {
                return ::core::result::Result::Err(::ncz_codec::CodecError::config(#key, #text));
            }
        })
    }

    fn write_params(&self) -> TokenStream {
        let Self { ident, key, .. } = self;
        let limits = self.limits();
        let word = match &self.given.write_word {
            Some(write) => quote!(#write(value)?),
            None => quote!(::ncz_codec::config::ConfigValue::to_word(value, #key, #limits)?),
        };
        match (&self.given.none, self.is_option) {
            (Some(none), _) => quote! {
                __words.push(match &#ident {
                    ::core::option::Option::Some(value) => #word,
                    ::core::option::Option::None => #none,
                });
            },
            (None, true) => quote! {
                let ::core::option::Option::Some(value) = &#ident else {
                    break 'words;
                };
                __words.push(#word);
            },
            (None, false) => quote! {
                let value = &#ident;
                __words.push(#word);
            },
        }
    }

    /// Removes the word if it is the last one and has its default.
    fn omit_word(&self) -> Option<TokenStream> {
        let at = self.word?;
        let is_default = self.is(self.given.default.params.as_ref()?);
        Some(quote! {
            if __words.len() == #at + 1 && #is_default {
                __words.pop();
            }
        })
    }
}

/// Selects one of two texts by the dialect.
fn by_dialect([numcodecs, zarr_v3]: &[TokenStream; 2]) -> TokenStream {
    if numcodecs.to_string() == zarr_v3.to_string() {
        return numcodecs.clone();
    }
    quote! {
        match __dialect {
            ::ncz_codec::Dialect::Numcodecs => #numcodecs,
            ::ncz_codec::Dialect::ZarrV3 => #zarr_v3,
        }
    }
}

fn variant(dialect: Dialect) -> TokenStream {
    match dialect {
        Dialect::Numcodecs => quote!(::ncz_codec::Dialect::Numcodecs),
        Dialect::ZarrV3 => quote!(::ncz_codec::Dialect::ZarrV3),
    }
}

fn range(given: Option<&Expr>) -> TokenStream {
    match given {
        Some(range) => quote!(::core::option::Option::Some(#range)),
        None => quote!(::core::option::Option::None),
    }
}
