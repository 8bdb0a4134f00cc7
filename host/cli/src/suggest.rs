//! Messages about a name that does not exist: the closest one, and the known ones.

/// The names in a message at most.
const SHOWN: usize = 12;

/// "did you mean ...?" and the known names, to go behind "there is no ... {name}".
pub(crate) fn known<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    if names.is_empty() {
        return "there are none at all".to_owned();
    }
    let mut text = match closest(name, &names) {
        Some(close) => format!("did you mean {close:?}? known: "),
        None => "known: ".to_owned(),
    };
    text.push_str(&names[..names.len().min(SHOWN)].join(", "));
    if names.len() > SHOWN {
        text.push_str(&format!(" and {} more", names.len() - SHOWN));
    }
    text
}

/// The name that somebody may have meant.
pub(crate) fn closest<'a>(name: &str, names: &[&'a str]) -> Option<&'a str> {
    let lower = name.to_lowercase();
    names
        .iter()
        .map(|&known| (strsim::jaro_winkler(&lower, &known.to_lowercase()), known))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_recognised() {
        let names = ["/time", "/air_temperature", "/model/salinity"];
        assert_eq!(closest("/air_temprature", &names), Some("/air_temperature"));
        assert_eq!(closest("/Time", &names), Some("/time"));
        assert_eq!(closest("/zzz", &names), None);
        assert_eq!(known("/zzz", names), "known: /time, /air_temperature, /model/salinity");
        assert_eq!(known("x", []), "there are none at all");
    }
}
