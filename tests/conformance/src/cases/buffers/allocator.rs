//! The allocator of the host.

use object::{Object, ObjectSymbol};

use ncz_registry::load::probe::{FilterCall, Host};

use crate::outcome::Ending;
use crate::trial::Trial;

use super::filter::{DIRECTIONS, Filter, contents, nothing_taken};

/// The function of libhdf5 that gives memory.
const ALLOCATE: &str = "H5allocate_memory";

pub(super) fn allocator(trial: &mut Trial) -> Result<(), Ending> {
    if !trial.has_exported_allocator() {
        return Err(Ending::skipped("this program offers no allocator; ncz-conform does"));
    }
    if !looks_for_allocator(trial)? {
        trial.warn(
            "it takes malloc's memory whatever the host offers: a libhdf5 that checks its memory, as debug builds up \
             to 1.14 do, aborts when it gets or frees such blocks",
        );
        return Ok(());
    }
    let (mut looked, mut replaced) = (0, 0);
    for (len, content) in contents() {
        let filter = Filter::usual(trial, len, content)?;
        for direction in DIRECTIONS {
            let Some(input) = filter.input(trial, direction)? else { continue };
            let what = format!("{} {}", direction.verb(), filter.sample.name());
            trial.step(&what);
            let Some(want) = filter.steady(&filter.call(direction, &input))? else { continue };
            if want.failed() {
                continue;
            }
            looked += 1;
            trial.step(format_args!("{what}, in blocks of the host's own"));
            Host::Marked.assume();
            let call = FilterCall { host: Host::Marked, ..filter.call(direction, &input) };
            let answer = filter.make(&call);
            let foreign_blocks = Host::foreign_blocks();
            let answer = answer?;
            replaced += usize::from(answer.replaced);
            let finding = if foreign_blocks > 0 {
                Some("gives a block of malloc's to the host's free".to_owned())
            } else if answer.lost() || answer.holds == 0 {
                Some("leaves a block that is not of the host's allocator".to_owned())
            } else if answer.failed() || answer.bytes() != want.bytes() {
                Some(format!("gives {} bytes, {} with malloc", answer.returned, want.returned))
            } else {
                None
            };
            match answer.holds {
                // The block belongs to nothing.
                0 => std::mem::forget(answer),
                _ => drop(answer),
            }
            Host::Malloc.assume();
            if let Some(finding) = finding {
                return Err(Ending::failed(format!("{what}: the filter {finding}")));
            }
        }
    }
    if looked == 0 {
        return Err(nothing_taken());
    }
    trial.figure("blocks replaced", replaced);
    Ok(())
}

/// Whether the library has a use for the host's allocator: the name among those it needs, or, without a function of
/// that name of its own, in its data.
fn looks_for_allocator(trial: &Trial) -> Result<bool, Ending> {
    let unreadable =
        |error: &dyn std::fmt::Display| Ending::failed(format!("the file cannot be read: {error}"));
    let bytes = std::fs::read(trial.path()).map_err(|error| unreadable(&error))?;
    let file = object::File::parse(&*bytes).map_err(|error| unreadable(&error))?;
    let mut symbols = file.dynamic_symbols().filter(|symbol| symbol.name() == Ok(ALLOCATE));
    Ok(match symbols.next() {
        Some(symbol) => symbol.is_undefined(),
        None => bytes.windows(ALLOCATE.len()).any(|window| window == ALLOCATE.as_bytes()),
    })
}
