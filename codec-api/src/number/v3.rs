//! Types of numbers in the configurations of Zarr v3, where the metadata tell them too.

use super::Number;
use crate::error::{CodecError, Result};
use crate::repr::{ByteOrder, Container, Env, Repr};

/// Refuses types of which readers of Zarr v3 would make other numbers; `data` is that as which a codec takes elements
/// and
/// `stored` that which leaves, each with its key in the configuration. Other containers have numcodecs' rules.
///
/// Elements have the type that the metadata say, and a codec is told it again by its configuration. Where the two
/// differ,
/// zarr-python takes the bytes as one and the numbers as the other. The order of bytes is for the codec `bytes` alone:
/// zarr-python drops what a codec says of it, and takes it from `bytes` when it reads.
///
/// # Errors
/// Elements enter that are not numbers, are big-endian, or of another type than `data`; or `stored` is big-endian.
pub fn check_types(input: &Repr, env: &Env, data: (&str, Number), stored: (&str, Number)) -> Result<()> {
    if env.container != Container::ZarrV3 {
        return Ok(());
    }
    if let Repr::Array { dtype, .. } = input {
        let enters = Number::new(*dtype)?;
        if enters.is_big() {
            return Err(CodecError::unsupported(format!(
                "elements of type {enters} enter a codec with a type of its own, which takes little-endian ones alone in \
                 Zarr v3; make the array little-endian"
            )));
        }
        let (key, data) = data;
        if data.to_string() != enters.to_string() {
            let text = format!(
                "elements of type {enters} enter, of which readers of Zarr v3 would make other numbers as {data}; give \
                 \"{enters}\""
            );
            return Err(CodecError::config(key, text));
        }
    }
    let (key, stored) = stored;
    if stored.is_big() {
        let little = format!("<{}", &stored.to_string()[1..]);
        let text = format!(
            "other readers of Zarr v3 take {stored} for {little}, because the codec \"bytes\" alone says the order of \
             bytes; give \"{little}\""
        );
        return Err(CodecError::config(key, text));
    }
    Ok(())
}

impl Number {
    fn is_big(self) -> bool {
        self.0.size > 1 && self.0.order == ByteOrder::Big
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repr::{Dtype, Kind};

    fn check(
        entering: Dtype,
        data: &str,
        stored: &str,
        container: Container,
    ) -> std::result::Result<(), String> {
        let env = Env { dtype: entering, array_shape: vec![9], chunk_shape: vec![9], container };
        let [data, stored] = [data, stored].map(|number| number.parse().unwrap());
        check_types(&env.chunk(), &env, ("dtype", data), ("astype", stored))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn types_of_which_other_readers_would_make_other_numbers_are_refused_with_those_to_give() {
        let (little, big) = (Dtype::little(Kind::Float, 8), Dtype::big(Kind::Float, 8));
        for (entering, data, stored, refusal) in [
            (
                little,
                ">f8",
                "<i4",
                r#"configuration key "dtype" is not usable: elements of type <f8 enter, of which readers of Zarr v3 would make other numbers as >f8; give "<f8""#,
            ),
            (
                little,
                "<f8",
                ">i4",
                r#"configuration key "astype" is not usable: other readers of Zarr v3 take >i4 for <i4, because the codec "bytes" alone says the order of bytes; give "<i4""#,
            ),
            (
                big,
                ">f8",
                "<i4",
                "not supported: elements of type >f8 enter a codec with a type of its own, which takes little-endian ones \
                 alone in Zarr v3; make the array little-endian",
            ),
        ] {
            assert_eq!(check(entering, data, stored, Container::ZarrV3), Err(refusal.to_owned()));
            assert_eq!(check(entering, data, stored, Container::ZarrV2), Ok(()));
        }
        assert_eq!(check(little, "<f8", "<i4", Container::ZarrV3), Ok(()));
    }
}
