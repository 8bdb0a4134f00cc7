use fastrand::Rng;
use ncz::model::json::{parse, to_text, to_text_indented, to_text_lenient};

use super::{Target, explained};
use crate::fixtures::{datasets, documents};
use crate::{Case, mutate};

/// JSON documents: what was read is written so that it reads the same.
pub(super) struct Documents;

impl Target for Documents {
    fn seeds(&self) -> Vec<Case> {
        let texts = datasets("").into_values().flat_map(|objects| documents(&objects).into_values());
        let mut cases: Vec<Case> = texts.map(|text| Case::new("", text)).collect();
        cases.sort();
        cases.dedup();
        cases
    }

    fn mutate(&self, case: &mut Case, other: &Case, rng: &mut Rng) {
        mutate::json::mutate(&mut case.bytes, &other.bytes, rng);
    }

    fn run(&mut self, case: &Case) -> String {
        let parsed = match parse(&case.bytes) {
            Ok(parsed) => parsed,
            Err(error) => return explained(&error),
        };
        for text in [to_text_lenient(&parsed.value), to_text_indented(&parsed.value, true)] {
            let again = parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error} in {text}"));
            assert_eq!(again.value, parsed.value, "{text}");
            assert!(again.duplicates.is_empty());
            assert_eq!(again.bare_words, parsed.bare_words, "{text}");
        }
        // Strict text, where bare words are quoted, is JSON for every reader.
        for text in [to_text(&parsed.value), to_text_indented(&parsed.value, false)] {
            // A number that no double can hold is JSON, too.
            if let Err(error) = serde_json::from_str::<serde_json::Value>(&text) {
                assert!(error.to_string().starts_with("number out of range"), "{error} in {text}");
            }
            let again = parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error} in {text}"));
            assert!(!again.bare_words, "{text}");
            assert_eq!(to_text(&again.value), to_text(&parsed.value));
        }
        format!("read, {} bare words, {} keys twice", parsed.bare_words, parsed.duplicates.len().min(1))
    }
}
