//! The interface between a new dataset and its format.

use crate::container::Container;
use crate::data_error::DataError;
use crate::hierarchy::Hierarchy;

/// A new dataset, which others do not see until it is published.
///
/// Its data are written through [`array`](Container::array) and [`strings`](Container::strings). Then come
/// [`complete`](Self::complete) and [`publish`](Self::publish), or [`discard`](Self::discard).
pub trait ContainerWriter: Container {
    /// Ends the data and writes the metadata that do not make the dataset visible. Arrays that are made afterwards read
    /// what is stored, as readers of the dataset will.
    ///
    /// # Errors
    /// The store fails, or the format cannot hold what was written.
    fn complete(&self) -> Result<(), DataError>;

    /// The hierarchy as readers of the dataset will see it, after [`complete`](Self::complete).
    ///
    /// # Errors
    /// The metadata cannot be read again.
    fn read_back(&self) -> Result<Hierarchy, DataError>;

    /// Makes the dataset durable and visible, as a whole or not at all.
    ///
    /// # Errors
    /// As for [`complete`](Self::complete), which is done first if it was not.
    fn publish(self: Box<Self>) -> Result<(), DataError>;

    /// Discards the dataset. What was at the target stays as it was.
    fn discard(self: Box<Self>);
}
