//! What the tests of remote stores share.
