//! Checks number types in Zarr v3 configurations, in which the metadata state the type too.

use super::Number;
use crate::error::{CodecError, Result};
use crate::repr::{ByteOrder, Container, Env, Repr};

/// Refuses types that other readers of Zarr v3 would decode to other numbers. `data` is the type in which the codec
/// reads elements and `stored` the type that it writes, each with its key in the configuration. In other containers
/// numcodecs' rules apply.
///
/// The metadata state the type of the elements, and the codec's configuration repeats it. If the two differ,
/// zarr-python reads the bytes as one type and interprets the numbers as the other. Only the codec `bytes` defines the
/// byte order: zarr-python ignores the byte order in other codecs.
///
/// # Errors
/// The input elements are not numbers, are big-endian, or have another type than `data`; or `stored` is big-endian.
pub fn check_types(input: &Repr, env: &Env, data: (&str, Number), stored: (&str, Number)) -> Result<()> {
    if env.container != Container::ZarrV3 {
        return Ok(());
    }
    if let Repr::Array { dtype, .. } = input {
        let enters = Number::new(*dtype)?;
        if enters.is_big() {
            return Err(CodecError::unsupported(format!(
                "elements of type {enters} enter a codec with a dtype key, which takes only little-endian elements in \
                 Zarr v3; make the array little-endian"
            )));
        }
        let (key, data) = data;
        if data.to_string() != enters.to_string() {
            let text = format!(
                "the elements have type {enters}, and readers of Zarr v3 would decode them to other numbers as {data}; give \
                 \"{enters}\""
            );
            return Err(CodecError::config(key, text));
        }
    }
    let (key, stored) = stored;
    if stored.is_big() {
        let little = format!("<{}", &stored.to_string()[1..]);
        let text = format!(
            "other readers of Zarr v3 read {stored} as {little}, because only the codec \"bytes\" states the byte \
             order; give \"{little}\""
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
                r#"configuration key "dtype" is not usable: the elements have type <f8, and readers of Zarr v3 would decode them to other numbers as >f8; give "<f8""#,
            ),
            (
                little,
                "<f8",
                ">i4",
                r#"configuration key "astype" is not usable: other readers of Zarr v3 read >i4 as <i4, because only the codec "bytes" states the byte order; give "<i4""#,
            ),
            (
                big,
                ">f8",
                "<i4",
                "not supported: elements of type >f8 enter a codec with a dtype key, which takes only little-endian \
                 elements in Zarr v3; make the array little-endian",
            ),
        ] {
            assert_eq!(check(entering, data, stored, Container::ZarrV3), Err(refusal.to_owned()));
            assert_eq!(check(entering, data, stored, Container::ZarrV2), Ok(()));
        }
        assert_eq!(check(little, "<f8", "<i4", Container::ZarrV3), Ok(()));
    }
}
