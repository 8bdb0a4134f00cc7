//! Datasets in S3 and behind HTTP servers.
