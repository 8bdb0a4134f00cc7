//! Ownership and lengths of buffers.

mod allocator;
mod failures;
mod filter;
mod leak;
mod native;

use crate::check::{Check, Scope};

/// The checks of this group.
pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "buffers.size",
        level: 1,
        scope: Scope::Hdf5,
        about: "*buf_size is the size of the block that the filter leaves, and no less than the length it returns",
        run: filter::size,
    },
    Check {
        id: "buffers.failure-value",
        level: 1,
        scope: Scope::Hdf5,
        about: "a filter that fails returns 0, no error code that passes for a length",
        run: failures::value,
    },
    Check {
        id: "buffers.failure-buffer",
        level: 2,
        scope: Scope::Hdf5,
        about: "a filter that fails leaves the buffer, its size and its content as they were",
        run: failures::buffer,
    },
    Check {
        id: "buffers.capacity",
        level: 2,
        scope: Scope::Hdf5,
        about: "a buffer that is larger than the chunk makes no difference",
        run: filter::capacity,
    },
    Check {
        id: "buffers.beyond-output",
        level: 2,
        scope: Scope::Coding,
        about: "nothing is written after the end of the output",
        run: native::beyond_output,
    },
    Check {
        id: "buffers.beyond-input",
        level: 3,
        scope: Scope::Coding,
        about: "bytes after the input are not read, even for truncated streams",
        run: native::beyond_input,
    },
    Check {
        id: "buffers.beyond-parameters",
        level: 2,
        scope: Scope::Hdf5,
        about: "no cd_values are read that were not given",
        run: filter::beyond_parameters,
    },
    Check {
        id: "buffers.input-kept",
        level: 2,
        scope: Scope::Native,
        about: "the input is not written to",
        run: native::input_kept,
    },
    Check {
        id: "buffers.small-output",
        level: 2,
        scope: Scope::Native,
        about: "an output that is too small is an error, however small it is",
        run: native::small_output,
    },
    Check {
        id: "buffers.allocator",
        level: 3,
        scope: Scope::Hdf5,
        about: "blocks come from the allocator of a host that has one, and go back to it",
        run: allocator::allocator,
    },
    Check {
        id: "buffers.leak",
        level: 4,
        scope: Scope::Each,
        about: "calls that are repeated, good and failing ones, do not take more and more memory",
        run: leak::leak,
    },
];
