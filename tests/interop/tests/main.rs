//! Against other programs, and against the design itself: one test binary.

mod dependencies;
