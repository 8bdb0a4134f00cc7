//! The remedies of errors.

/// A remedy for an error, or for the finding of a check.
///
/// It is a value, so that each program can phrase it in its own way: as an option, an argument or a button.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Remedy {
    /// Repair the dataset.
    Repair,
    /// Say which byte order the variable has, and repair the dataset.
    ChooseByteOrder,
    /// Say what the element size of shuffle means: that of the type, or the stored number.
    ChooseShuffleSize,
    /// Copy the dataset to a new one.
    Copy,
    /// Consolidate the metadata.
    Consolidate,
    /// Copy the chunks that can be read, without those that cannot.
    Salvage,
    /// Leave these variables out, or choose another format.
    Exclude,
    /// See whether the records are there already, and append them in any order if they are not.
    AnyOrder,
}
