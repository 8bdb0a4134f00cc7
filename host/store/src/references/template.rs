//! Texts with names in double braces, as in the templates and the generated references of Kerchunk.
//!
//! Kerchunk gives them to Jinja. Here a name is replaced by its value, and arithmetic of integers is computed: `+ - * //
//! %` and parentheses. Anything else is refused, rather than understood in another way.

use std::collections::BTreeMap;

/// A value of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Text(String),
    Integer(i64),
}

/// The values of names.
pub(super) type Names = BTreeMap<String, Value>;

/// Returns the text with the values in place of the braces, of at most `most` bytes. The error is the reason.
pub(super) fn expand(text: &str, names: &Names, most: usize) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        let (inside, after) =
            after.split_once("}}").ok_or_else(|| format!("{text:?} has no }}}} after {{{{"))?;
        out.push_str(before);
        match evaluate(inside, names).map_err(|reason| format!("{inside:?} in {text:?}: {reason}"))? {
            Value::Text(value) => out.push_str(&value),
            Value::Integer(value) => out.push_str(&value.to_string()),
        }
        if out.len() > most {
            return Err(format!("{text:?} is longer than {most} bytes"));
        }
        rest = after;
    }
    if rest.contains("{%") || rest.contains("{#") || text.contains("{%") || text.contains("{#") {
        return Err(format!("{text:?} has statements of Jinja; only names and arithmetic are supported"));
    }
    out.push_str(rest);
    if out.len() > most {
        return Err(format!("{text:?} is longer than {most} bytes"));
    }
    Ok(out)
}

fn evaluate(text: &str, names: &Names) -> Result<Value, String> {
    if let Some(value) = names.get(text.trim()) {
        return Ok(value.clone());
    }
    let mut parser = Parser { rest: text.trim(), names, depth: 0 };
    let value = parser.sum()?;
    match parser.rest {
        "" => Ok(Value::Integer(value)),
        rest => Err(format!("{rest:?} is not supported; only names and arithmetic of integers are")),
    }
}

/// Parses and computes at the same time.
struct Parser<'a> {
    rest: &'a str,
    names: &'a Names,
    depth: u8,
}

impl Parser<'_> {
    fn sum(&mut self) -> Result<i64, String> {
        let mut value = self.product()?;
        loop {
            value = if self.takes("+") {
                value.checked_add(self.product()?)
            } else if self.takes("-") {
                value.checked_sub(self.product()?)
            } else {
                return Ok(value);
            }
            .ok_or("the result has more than 64 bits")?;
        }
    }

    fn product(&mut self) -> Result<i64, String> {
        let mut value = self.factor()?;
        loop {
            value = if self.rest.starts_with("**") {
                return Err("powers are not supported".to_owned());
            } else if self.takes("*") {
                value.checked_mul(self.factor()?)
            } else if self.takes("//") {
                floor_divide(value, self.factor()?).map(|(quotient, _)| quotient)
            } else if self.takes("%") {
                floor_divide(value, self.factor()?).map(|(_, rest)| rest)
            } else {
                return Ok(value);
            }
            .ok_or("the result does not exist, or has more than 64 bits")?;
        }
    }

    fn factor(&mut self) -> Result<i64, String> {
        self.depth += 1;
        if self.depth > 50 {
            return Err("it is nested too deeply".to_owned());
        }
        let value = if self.takes("-") {
            self.factor()?.checked_neg().ok_or("the result has more than 64 bits")?
        } else if self.takes("(") {
            let value = self.sum()?;
            if !self.takes(")") {
                return Err("a parenthesis is not closed".to_owned());
            }
            value
        } else {
            let end = self.rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(self.rest.len());
            let (word, rest) = self.rest.split_at(end);
            self.rest = rest.trim_start();
            match (word.parse(), self.names.get(word)) {
                (Ok(number), _) => number,
                (_, Some(Value::Integer(number))) => *number,
                (_, Some(Value::Text(_))) => return Err(format!("{word:?} is not a number")),
                _ if word.is_empty() => return Err("a number or a name is missing".to_owned()),
                _ => return Err(format!("there is no template or dimension {word:?}")),
            }
        };
        self.depth -= 1;
        Ok(value)
    }

    fn takes(&mut self, operator: &str) -> bool {
        let Some(rest) = self.rest.strip_prefix(operator) else { return false };
        self.rest = rest.trim_start();
        true
    }
}

/// Quotient and rest as Python has them: the rest has the sign of the divisor.
fn floor_divide(value: i64, by: i64) -> Option<(i64, i64)> {
    let (quotient, rest) = (value.checked_div(by)?, value.checked_rem(by)?);
    Some(if rest != 0 && (rest < 0) != (by < 0) { (quotient - 1, rest + by) } else { (quotient, rest) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        let integers = [("i", 7), ("j", -3)].map(|(name, value)| (name.to_owned(), Value::Integer(value)));
        integers.into_iter().chain([("u".to_owned(), Value::Text("s3://b/k".to_owned()))]).collect()
    }

    #[test]
    fn names_and_arithmetic_are_as_in_python() {
        for (text, want) in [
            ("", ""),
            ("{{u}}/a.nc", "s3://b/k/a.nc"),
            ("{{ u }}{{i}}", "s3://b/k7"),
            ("v.{{ i * 2 + 1 }}", "v.15"),
            ("{{(i + 1) * -j - 4 // 3}}", "23"),
            ("{{j // 2}} {{j % 2}} {{i % j}}", "-2 1 -2"),
            ("a } b", "a } b"),
        ] {
            assert_eq!(expand(text, &names(), 100).as_deref(), Ok(want), "{text}");
        }
    }

    #[test]
    fn what_is_not_supported_is_refused() {
        let deep = format!("{{{{{}1{}}}}}", "(".repeat(100), ")".repeat(100));
        for text in [
            "{{u",
            "{{k}}",
            "{{i / 2}}",
            "{{i ** 2}}",
            "{{'%02d' % i}}",
            "{{i | string}}",
            "{{f(i)}}",
            "{{}}",
            "{{i // 0}}",
            "{{u + 1}}",
            "{% if i %}",
            "{{9223372036854775807 + i}}",
            &deep,
            "{{u}}{{u}}{{u}}{{u}}{{u}}{{u}}{{u}}{{u}}{{u}}{{u}}{{u}}{{u}}{{u}}",
        ] {
            expand(text, &names(), 100).unwrap_err();
        }
    }
}
