//! Servers for tests, in this process: they count, wait and fail on demand.
