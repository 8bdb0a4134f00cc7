//! Suggestions for a name that does not exist: the closest known name, and a list of known names.

use ncz::registry::known::closest;

/// Maximum number of names in a message.
const SHOWN: usize = 12;

/// Returns "did you mean ...?" and the known names, to follow "there is no ... {name}".
pub(crate) fn known<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    if names.is_empty() {
        return "there are none".to_owned();
    }
    let mut text = match close_to(name, &names) {
        Some(close) => format!("did you mean {close:?}? known: "),
        None => "known: ".to_owned(),
    };
    text.push_str(&names[..names.len().min(SHOWN)].join(", "));
    if names.len() > SHOWN {
        text.push_str(&format!(" and {} more", names.len() - SHOWN));
    }
    text
}

/// Returns the closest path. A name without a group can match a path in any group.
fn close_to<'a>(name: &str, paths: &[&'a str]) -> Option<&'a str> {
    let name = name.trim_start_matches('/');
    let as_named = |path: &'a str| match name.contains('/') {
        true => path.trim_start_matches('/'),
        false => path.rsplit('/').next().unwrap_or(path),
    };
    let close = closest(name, paths.iter().map(|path| as_named(path)))?;
    paths.iter().copied().find(|path| as_named(path) == close)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_gives_a_suggestion() {
        let names = ["/time", "/air_temperature", "/model/salinity"];
        for (name, close) in [
            ("/air_temprature", Some("/air_temperature")),
            ("/Time", Some("/time")),
            ("tme", Some("/time")),
            ("salinty", Some("/model/salinity")),
            ("modl/salinty", Some("/model/salinity")),
            ("/zzz", None),
        ] {
            assert_eq!(close_to(name, &names), close, "{name}");
        }
        assert_eq!(known("/zzz", names), "known: /time, /air_temperature, /model/salinity");
        assert_eq!(known("x", []), "there are none");
    }
}
