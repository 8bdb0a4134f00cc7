//! Who could have put a file in place: owners and permissions as remarks of the report.
//!
//! A plugin is code that runs with the user's rights. What somebody else may replace is named here;
//! it is not refused.

use std::fmt;

/// The owner and the permission bits of a file or folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ownership {
    /// The owner's number.
    pub owner: u32,
    /// The permission bits, as `chmod` takes them.
    pub mode: u32,
}

/// A remark about who else can change a file or folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TrustNote {
    /// Everyone may write to it.
    WorldWritable,
    /// It belongs neither to root nor to the user.
    ForeignOwner(u32),
    /// The group may write to it, as is usual in conda and HPC trees.
    GroupWritable,
}

/// What is to be said about something with this `ownership`, for the user with this number.
pub fn trust_notes(ownership: Ownership, user: u32) -> Vec<TrustNote> {
    let mut notes = Vec::new();
    if ownership.mode & 0o002 != 0 {
        notes.push(TrustNote::WorldWritable);
    }
    if ownership.owner != 0 && ownership.owner != user {
        notes.push(TrustNote::ForeignOwner(ownership.owner));
    }
    if ownership.mode & 0o020 != 0 {
        notes.push(TrustNote::GroupWritable);
    }
    notes
}

impl fmt::Display for TrustNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WorldWritable => f.write_str("everyone may write to it"),
            Self::ForeignOwner(owner) => write!(f, "it belongs to user {owner}, neither root nor you"),
            Self::GroupWritable => f.write_str("its group may write to it"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_can_change_is_named() {
        let notes = |owner, mode| trust_notes(Ownership { owner, mode }, 1000);
        assert_eq!(notes(0, 0o755), []);
        assert_eq!(notes(1000, 0o644), []);
        assert_eq!(notes(1000, 0o775), [TrustNote::GroupWritable]);
        assert_eq!(notes(1000, 0o777), [TrustNote::WorldWritable, TrustNote::GroupWritable]);
        assert_eq!(notes(77, 0o755), [TrustNote::ForeignOwner(77)]);
        assert_eq!(trust_notes(Ownership { owner: 1000, mode: 0o755 }, 0), [TrustNote::ForeignOwner(1000)]);
        assert_eq!(notes(0, 0o1777), [TrustNote::WorldWritable, TrustNote::GroupWritable]);
    }
}
