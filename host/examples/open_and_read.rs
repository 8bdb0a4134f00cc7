//! Opens a dataset, lists its variables, and reads a part of one as numbers.
//!
//!     cargo run -p ncz --example open_and_read -- ocean.zarr /air_temperature

use std::error::Error;

use ncz::prelude::*;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(path), Some(variable)) = (arguments.next(), arguments.next()) else {
        return Err("usage: open_and_read PATH_OR_URL VARIABLE".into());
    };
    println!("{}", first_mean(&path, &variable)?);
    Ok(())
}

/// The mean of the first record of a variable of 32-bit floats with three dimensions.
pub(crate) fn first_mean(path: &str, variable: &str) -> Result<f32, Box<dyn Error>> {
    // A directory, a zip file, s3:// or http://: storage, Zarr version and format are recognized.
    let dataset = ncz::open(path)?;
    for variable in dataset.hierarchy().variables() {
        println!("{} {:?} {}", variable.path, variable.shape, variable.dtype);
    }

    // The first index of the first dimension, all of the others. Only the chunks that are needed are read, on all
    // cores.
    let array = dataset.array(variable)?;
    let record: ArrayD<f32> = array.read(s![0, .., ..])?;
    println!("a record of shape {:?}", record.shape());

    // Another type than the stored one is an error that names both.
    if let Err(error) = array.read::<f64>(s![0, .., ..]) {
        println!("{error}");
    }
    record.mean().ok_or_else(|| "the record is empty".into())
}
