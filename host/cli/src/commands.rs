//! One module for each command.

pub(crate) mod codec;
pub(crate) mod conform;
pub(crate) mod copy;
pub(crate) mod dump;
pub(crate) mod info;
pub(crate) mod plugins;
pub(crate) mod verify;
