//! The types that numcodecs' codecs with a dtype key refuse in Zarr v3, for their tests. (The messages are tested
//! in `ncz_codec::number`.)
//!
//! Included by path, as `properties.rs` is: `#[path = "../../../shared/tests/v3_types.rs"] mod v3_types;`.

use ncz_codec::{Codec, Container, Dtype, Env, ErrorKind};

/// Returns the part of a codec that is refused in Zarr v3 for input elements of `dtype`: a key of its configuration, or
/// the elements. Zarr v2 must accept it: numcodecs views and casts as configured.
pub(crate) fn refused(codec: &impl Codec, dtype: Dtype) -> Option<String> {
    let env = |container| Env { dtype, array_shape: vec![100, 48], chunk_shape: vec![64, 48], container };
    let bind = |env: Env| codec.bind(&env.chunk(), &env).map(|_| ());
    assert_eq!(bind(env(Container::ZarrV2)), Ok(()));
    Some(match bind(env(Container::ZarrV3)).err()?.kind() {
        ErrorKind::Config { key } => key.to_string(),
        _ => "elements".to_owned(),
    })
}
