//! Determines who could have created or changed a file, from owners and permissions.
//!
//! A plugin is code that runs with the user's rights. A file that every user can replace, or that belongs to another
//! user, is refused; one that a group can replace gets a note. Only the folder and the file themselves are checked, not
//! the parent folders.

use std::fmt;
use std::path::Path;

/// The policy for plugins that other users could have added or changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Trust {
    /// They are refused.
    #[default]
    Careful,
    /// They are used, and the report remarks on them. A process with more rights than its caller refuses them all
    /// the same.
    Everybody,
}

/// The owner and the permission bits of a file or folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ownership {
    /// The owner's number.
    pub owner: u32,
    /// The permission bits, as `chmod` takes them.
    pub mode: u32,
}

/// A note about who else can change a file or folder.
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

/// Returns the notes about something with this `ownership`, for the user with this number.
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

impl TrustNote {
    /// Whether it is a reason not to use a plugin.
    pub fn is_reason(self) -> bool {
        match self {
            Self::WorldWritable | Self::ForeignOwner(_) => true,
            Self::GroupWritable => false,
        }
    }

    /// Returns the remedy.
    fn remedy(self, path: &Path) -> String {
        let path = path.display();
        match self {
            Self::WorldWritable => format!("chmod o-w {path}"),
            Self::GroupWritable => format!("chmod g-w {path}"),
            Self::ForeignOwner(_) => "copy it to a folder of yours".to_owned(),
        }
    }
}

/// Returns the reason why a plugin is refused, if it is: the first of the folder and the file.
pub(crate) fn refusal(folder: (&Path, &[TrustNote]), file: (&Path, &[TrustNote])) -> Option<String> {
    let reason = |what: &str, (path, notes): (&Path, &[TrustNote])| {
        let note = notes.iter().copied().find(|note| note.is_reason())?;
        let said = note.to_string();
        let said = said.replacen("it belongs", &format!("{what} belongs"), 1).replacen(
            "to it",
            &format!("to {what}"),
            1,
        );
        Some(format!("{said}; {}, or --trust-all", note.remedy(path)))
    };
    reason("its folder", folder).or_else(|| reason("it", file))
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

    #[test]
    fn a_refusal_says_what_is_wrong_with_which_of_both_and_what_to_do() {
        let (folder, file) = (Path::new("/p"), Path::new("/p/libx.so"));
        let refusal =
            |of_folder: &[TrustNote], of_file: &[TrustNote]| refusal((folder, of_folder), (file, of_file));
        assert_eq!(refusal(&[TrustNote::GroupWritable], &[TrustNote::GroupWritable]), None);
        assert_eq!(
            refusal(&[], &[TrustNote::WorldWritable, TrustNote::GroupWritable]).unwrap(),
            "everyone may write to it; chmod o-w /p/libx.so, or --trust-all"
        );
        assert_eq!(
            refusal(&[TrustNote::GroupWritable, TrustNote::WorldWritable], &[]).unwrap(),
            "everyone may write to its folder; chmod o-w /p, or --trust-all"
        );
        assert_eq!(
            refusal(&[TrustNote::ForeignOwner(7)], &[TrustNote::WorldWritable]).unwrap(),
            "its folder belongs to user 7, neither root nor you; copy it to a folder of yours, or --trust-all"
        );
    }
}
