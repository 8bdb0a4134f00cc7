//! Builds plugins, makes the Python environment with the peers, reads fixtures.
