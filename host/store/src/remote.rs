//! What stores behind a network share.

mod options;
mod secret;

pub use options::RemoteOptions;
pub use secret::Secret;
