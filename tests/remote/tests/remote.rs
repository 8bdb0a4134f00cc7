//! Datasets in S3 and on HTTP servers.
