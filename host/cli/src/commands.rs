//! One module for each command.

pub(crate) mod bench;
pub(crate) mod cat;
pub(crate) mod codec;
pub(crate) mod completions;
pub(crate) mod conform;
pub(crate) mod copy;
pub(crate) mod dump;
pub(crate) mod generate;
pub(crate) mod info;
pub(crate) mod links;
pub(crate) mod ls;
pub(crate) mod man;
pub(crate) mod new_codec;
pub(crate) mod plugins;
pub(crate) mod verify;
