//! Where the bytes of a dataset live: memory and directories behind one trait.
