//! The program as a user meets it: what it prints, and how it ends.

#![expect(clippy::unwrap_used, reason = "helpers of tests are outside test functions")]

/// Records that go on after those of a target: their coordinates and texts.
mod append_fixed;
mod append_values;
/// Running the program, and datasets to run it on.
mod bench;
/// `ncz bench`: what it measures is what a copy stores.
mod bench_command;
/// Filters that metadata name by their number.
mod by_number;
mod byte_order;
/// `ncz cat`: the values of one variable.
mod cat;
/// `ncz codec`: a chain in all its spellings.
mod codec;
/// `ncz conform`: the sibling program that it starts.
mod conform;
/// `ncz copy`: what is written, and what is refused.
mod copy;
/// `ncz copy --plan`, `--part`, `--finish`: the same bytes as one copy, whatever is killed, changed or missing.
mod copy_in_parts;
/// Copies in parts that go wrong: what is said is true, and what it advises helps.
mod copy_in_parts_remedies;
/// Parts, appending and going on with a copy.
mod copy_parts;
/// `ncz dump` against ncdump.
mod dump;
/// Each system call fails once, and the process is killed there: nothing is lost, and what is said is true.
mod faults;
/// `ncz gen` and ncgen.
mod generate;
/// `ncz info`: the contents, and anomalies.
mod info;
/// Plugins in worker processes.
mod isolate;
/// Links of the documents, and the tests that they name.
mod links;
/// Locations that are not a dataset, and the remedy in the message.
mod locations;
/// Symbolic links that lead in circles, and those that do not.
mod loops;
/// `ncz ls`: what is in a dataset and in a folder.
mod ls;
/// What readers of a copy take for missing, for text and for the length of a dimension.
mod masks;
/// What xarray masks in a copy and not in its source, and the notes that name it.
mod masks_noted;
/// Patterns for names, and suggestions for names that do not exist.
mod names;
/// ncz as nccopy, against nccopy.
mod nccopy;
/// ncz under the name ncdump, against ncdump.
mod ncdump;
/// Copies of netCDF files as other programs read them: empty texts, names, and what was never written.
mod netcdf_c_files;
/// netCDF files as sources, against their own readers.
mod netcdf_files;
mod netcdf_readers;
/// netCDF files as targets.
mod netcdf_targets;
/// `ncz new-codec`: a project from the template.
mod new_codec;
/// The commands of the pages that users paste from.
mod pages;
/// `ncz plugins` with our own shared libraries and with files that are none.
mod plugins;
/// Plugin files that are damaged, or fail while they are opened.
mod plugins_damaged;
/// `ncz plugins lock`, `--plugin-lock`, `--trust-all`: the plugins that are allowed.
mod plugins_lock;
/// Help, exit codes, output that cannot be written, Ctrl-C.
mod process;
/// Which programs read a dataset.
mod readers;
/// References as targets and as sources.
mod references;
/// Remedies in messages: they name what helps.
mod remedies;
/// `ncz copy --salvage`, damage that a copy without it notices, and `ncz verify --missing`.
mod salvage;
/// No secret is seen, however much is said.
mod secrets;
/// `--shards`: chunks in shards of Zarr version 3.
mod shards;
/// Completions, manual pages and the links of netCDF's tools.
mod shell;
/// What `-v`, `NCTRACING` and `NCLOGGING` show.
mod trace;
/// Enumerations, opaque bytes, compounds and rows of any length: dumped, as JSON, copied, refused.
mod user_heaps;
mod user_types;
/// `ncz verify`: what is found, what is repaired, and how it ends.
mod verify;
/// `ncz verify` on the faults of netcdf-c and zarr-python, and what these read afterwards.
mod verify_peers;
