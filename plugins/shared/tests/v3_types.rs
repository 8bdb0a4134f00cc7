//! Which types the codecs of numcodecs that have a type of their own refuse in Zarr v3, for their tests. (What the
//! refusals
//! say is tested where they are made, in `ncz_codec::number`.)
//!
//! Included by path, as `properties.rs` is: `#[path = "../../shared/tests/v3_types.rs"] mod v3_types;`.

use ncz_codec::{Codec, Container, Dtype, Env, ErrorKind};

/// What of a codec is refused in Zarr v3 where elements of `dtype` enter: a key of its configuration, or the elements.
/// Zarr v2 must take it: numcodecs views and casts as it is told.
pub(crate) fn refused(codec: &impl Codec, dtype: Dtype) -> Option<String> {
    let env = |container| Env { dtype, array_shape: vec![100, 48], chunk_shape: vec![64, 48], container };
    let bind = |env: Env| codec.bind(&env.chunk(), &env).map(|_| ());
    assert_eq!(bind(env(Container::ZarrV2)), Ok(()));
    Some(match bind(env(Container::ZarrV3)).err()?.kind() {
        ErrorKind::Config { key } => key.to_string(),
        _ => "elements".to_owned(),
    })
}
