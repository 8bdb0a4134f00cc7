//! The C faces of a library that runs in this process.

use ncz_codec::Result;
use serde_json::{Map, Value};

use super::c_faces::{Direction, FilterFacts, FilterFunction, JsonFacts, JsonTranslator, Modified, Variable};
use super::hdf5_filter::Hdf5Filter;
use super::nczarr_codec::NczarrCodec;
use super::{filter_call, libnetcdf, set_local};

impl FilterFunction for Hdf5Filter {
    fn facts(&self) -> &FilterFacts {
        self.facts()
    }

    fn prepare(&self) -> Result<()> {
        self.library().initialize();
        Ok(())
    }

    fn set_local(&self, given: &[u32], variable: &Variable) -> Result<Vec<u32>> {
        self.library().initialize();
        set_local::working(self, given, variable)
    }

    fn run(&self, direction: Direction, params: &[u32], input: &[u8], output: &mut [u8]) -> Result<usize> {
        filter_call::run(self, direction, params, input, output)
    }
}

impl JsonTranslator for NczarrCodec {
    fn facts(&self) -> &JsonFacts {
        self.facts()
    }

    fn prepare(&self) -> Result<()> {
        self.library().initialize();
        Ok(())
    }

    fn to_params(&self, config: &Map<String, Value>) -> Result<Vec<u32>> {
        self.call_to_params(config)
    }

    fn to_json(&self, params: &[u32]) -> Result<Map<String, Value>> {
        self.call_to_json(params)
    }

    fn modify_parameters(&self, visible: &[u32], variable: &Variable) -> Result<Modified> {
        libnetcdf::modify(self, visible, variable)
    }
}
