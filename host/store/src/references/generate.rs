//! References that a rule makes for each combination of the values of some dimensions.

use std::collections::HashMap;

use serde::Deserialize;

use super::document::{Document, MOST_REFERENCES, MOST_URL, Reference};
use super::template::{self, Names, Value};

/// A rule of `gen`.
#[derive(Debug, Deserialize)]
pub(super) struct Rule {
    key: String,
    url: String,
    offset: Option<Number>,
    length: Option<Number>,
    /// By name, in the order of the document: the last changes fastest.
    dimensions: serde_json::Map<String, serde_json::Value>,
}

/// A number, or a text with braces that gives one.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Number {
    Plain(u64),
    Text(String),
}

/// The values of a dimension.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Values {
    List(Vec<Item>),
    Range {
        #[serde(default)]
        start: i64,
        stop: i64,
        #[serde(default = "one")]
        step: i64,
    },
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Item {
    Integer(i64),
    Text(String),
}

fn one() -> i64 {
    1
}

impl Values {
    fn count(&self) -> Option<usize> {
        match self {
            Self::List(items) => Some(items.len()),
            Self::Range { start, stop, step } => {
                let (low, high) = if *step > 0 { (*start, *stop) } else { (*stop, *start) };
                let span = u64::try_from(i128::from(high) - i128::from(low)).unwrap_or(0);
                usize::try_from(span.div_ceil(Some(step.unsigned_abs()).filter(|step| *step > 0)?)).ok()
            }
        }
    }

    fn value(&self, number: usize) -> Option<Value> {
        Some(match self {
            Self::List(items) => match items.get(number)? {
                Item::Integer(value) => Value::Integer(*value),
                Item::Text(text) => Value::Text(text.clone()),
            },
            Self::Range { start, step, .. } => {
                let far = i64::try_from(number).ok()?.checked_mul(*step)?;
                Value::Integer(start.checked_add(far)?)
            }
        })
    }
}

/// Adds the references of a rule. The error is the reason.
pub(super) fn apply(rule: &Rule, templates: &Names, document: &mut Document) -> Result<(), String> {
    let of_rule = |reason: String| format!("the rule in \"gen\" with the key {:?}: {reason}", rule.key);
    if rule.offset.is_some() != rule.length.is_some() {
        return Err(of_rule("it has only one of offset and length".to_owned()));
    }
    let mut counts = Vec::new();
    for (name, values) in &rule.dimensions {
        let values = Values::deserialize(values)
            .map_err(|_| of_rule(format!("the dimension {name:?} is neither a list nor a range")))?;
        let count = values.count();
        let count =
            count.ok_or_else(|| of_rule("a dimension has a step of 0, or too many values".to_owned()))?;
        counts.push((name, values, count));
    }
    let total = counts.iter().try_fold(1usize, |total, (_, _, count)| total.checked_mul(*count));
    let most = MOST_REFERENCES.saturating_sub(document.references.len());
    let total = total.filter(|total| *total <= most);
    let total = total.ok_or_else(|| of_rule(format!("it makes more than {MOST_REFERENCES} references")))?;
    let mut urls: HashMap<String, u32> = HashMap::new();
    let mut names = templates.clone();
    for mut number in 0..total {
        for (name, values, count) in counts.iter().rev() {
            if let Some(value) = values.value(number % count) {
                names.insert((*name).clone(), value);
            }
            number /= count;
        }
        let expand = |text: &str| template::expand(text, &names, MOST_URL).map_err(of_rule);
        let evaluated = |number: &Number| match number {
            Number::Plain(value) => Ok(*value),
            Number::Text(text) => {
                let text = expand(text)?;
                text.trim().parse().map_err(|_| of_rule(format!("{text:?} is not an offset or length")))
            }
        };
        let url = expand(&rule.url)?;
        let url = match urls.get(&url) {
            Some(number) => *number,
            None => {
                let number = document.add_url(Some(url.clone())).map_err(of_rule)?;
                urls.insert(url, number);
                number
            }
        };
        let reference = match (&rule.offset, &rule.length) {
            (Some(offset), Some(len)) => {
                let (offset, len) = (evaluated(offset)?, evaluated(len)?);
                let end = offset.checked_add(len);
                end.ok_or_else(|| of_rule("a range does not end within 64 bits".to_owned()))?;
                Reference::Range { url, offset, len }
            }
            _ => Reference::Whole(url),
        };
        let key = expand(&rule.key)?;
        document.count_key(&key).map_err(of_rule)?;
        document.references.insert(key, reference);
    }
    Ok(())
}
