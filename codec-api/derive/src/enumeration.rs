//! `#[derive(ConfigEnum)]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Error, Fields, Result};

use crate::attributes;

pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let Data::Enum(data) = &input.data else {
        return Err(Error::new_spanned(input, "expected an enumeration"));
    };
    let name = &input.ident;
    let mut values = Vec::new();
    for variant in &data.variants {
        if !matches!(variant.fields, Fields::Unit) {
            return Err(Error::new_spanned(variant, "expected a variant without fields"));
        }
        let ident = &variant.ident;
        let text = match attributes::variant_name(&variant.attrs)? {
            Some(given) => given.value(),
            None => snake_case(&ident.to_string()),
        };
        values.push(quote!((Self::#ident, #text, Self::#ident as u32)));
    }
    Ok(quote! {
        #[automatically_derived]
        impl ::ncz_codec::config::ConfigEnum for #name {
            const VALUES: &'static [(Self, &'static str, u32)] = &[#(#values),*];
        }
    })
}

fn snake_case(name: &str) -> String {
    let mut text = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.extend(letter.to_lowercase());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variant_is_called_by_its_words() {
        assert_eq!(snake_case("FirstByte"), "first_byte");
        assert_eq!(snake_case("None"), "none");
    }
}
