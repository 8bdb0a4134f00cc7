//! Messages about a name that does not exist: the closest one, and the known ones.

use ncz::registry::known::closest;

/// The names in a message at most.
const SHOWN: usize = 12;

/// "did you mean ...?" and the known names, to go behind "there is no ... {name}".
pub(crate) fn known<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    if names.is_empty() {
        return "there are none at all".to_owned();
    }
    let mut text = match closest(name, names.iter().copied()) {
        Some(close) => format!("did you mean {close:?}? known: "),
        None => "known: ".to_owned(),
    };
    text.push_str(&names[..names.len().min(SHOWN)].join(", "));
    if names.len() > SHOWN {
        text.push_str(&format!(" and {} more", names.len() - SHOWN));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_recognised() {
        let names = ["/time", "/air_temperature", "/model/salinity"];
        assert_eq!(closest("/air_temprature", names), Some("/air_temperature"));
        assert_eq!(closest("/Time", names), Some("/time"));
        assert_eq!(closest("/zzz", names), None);
        assert_eq!(known("/zzz", names), "known: /time, /air_temperature, /model/salinity");
        assert_eq!(known("x", []), "there are none at all");
    }
}
