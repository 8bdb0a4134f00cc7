//! The functions of libhdf5 and libnetcdf that foreign plugins call back, for a machine that has neither.
