//! Opens a public dataset in S3 anonymously, and reads a part of it.
//!
//!     cargo run -p ncz --features s3 --example open_from_s3 -- 's3://BUCKET/KEY#aws.profile=no&aws.region=us-east-1' VARIABLE
//!
//! `aws.profile=no` sends no credentials. Without it they are found as by other programs: environment, profiles,
//! instance. Your own S3-compatible service: `http://localhost:9000/BUCKET/KEY#mode=s3`.

use std::error::Error;

use ncz::prelude::*;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(url), Some(variable)) = (arguments.next(), arguments.next()) else {
        return Err("usage: open_from_s3 URL VARIABLE".into());
    };
    println!("{:?}", first_values(&url, &variable)?);
    Ok(())
}

/// The first ten values of a variable of 64-bit floats with one dimension.
pub(crate) fn first_values(url: &str, variable: &str) -> Result<Vec<f64>, Box<dyn Error>> {
    let dataset = ncz::open(url)?;
    let array = dataset.array(variable)?;
    let len = array.shape().first().copied().unwrap_or(0).min(10);
    Ok(array.read_vec(s![..len])?)
}
