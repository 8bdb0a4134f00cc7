//! How many tasks of an operation run at the same time.

use ncz_model::{Pool, Tasks};
use ncz_store::Store;

/// How the tiles of a variable are spread over threads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parallelism<'a> {
    pub(crate) pool: &'a Pool,
    /// The stores that are read and written. If one of them is remote, I/O threads replace the threads of the pool.
    pub(crate) stores: [&'a dyn Store; 2],
    /// The bytes that a task holds while it waits for a store.
    pub(crate) bytes: u64,
    /// Runs one task at a time on the calling thread, since each task uses all threads itself.
    pub(crate) one_by_one: bool,
    /// The limit of tasks at the same time, whatever the number of threads, which bounds memory.
    pub(crate) limit: u64,
}

impl Parallelism<'_> {
    /// Calls `step` for each of `count` tasks with the state of its thread, and returns the states.
    ///
    /// # Errors
    /// The first error of a step.
    pub(crate) fn for_each<S: Send, E: Send>(
        &self,
        count: u64,
        state: impl Fn() -> S + Sync,
        step: impl Fn(&mut S, u64) -> Result<(), E> + Sync,
    ) -> Result<Vec<S>, E> {
        if self.one_by_one {
            let mut state = state();
            (0..count).try_for_each(|number| step(&mut state, number))?;
            return Ok(vec![state]);
        }
        let tasks = Tasks::new(count).on(&self.stores, self.bytes).at_most(self.limit);
        self.pool.for_each(&tasks, state, step)
    }
}
