//! Datasets in S3 and on HTTP servers.

mod budget;
mod contract;
mod faults;
mod http_store;
mod moto; // an S3 service that others wrote
mod netcdf_files;
mod parts;
mod peers;
mod s3_store;
mod service;
mod stops;
