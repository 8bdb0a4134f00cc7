//! Finds, loads, pairs and runs codec plugins.
