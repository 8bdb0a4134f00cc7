//! `--slab time=0:24,lat=3`: selects a part of each dimension.

use std::num::NonZeroU64;

use crate::escape::{rsplit_once, split, unescape};

/// The selected part of one dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SlabRequest {
    /// Its name, or its path such as `/model/depth`.
    pub(crate) dimension: String,
    /// The indices.
    pub(crate) indices: Indices,
}

/// Indices of a dimension as they were given; negative ones count from its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Indices {
    /// `DIM=INDEX`
    One(i64),
    /// `DIM=START:STOP[:STEP]`; the stop is excluded.
    Range {
        /// 0 unless written.
        start: Option<i64>,
        /// The length unless written.
        stop: Option<i64>,
        /// 1 unless written.
        step: Option<NonZeroU64>,
    },
}

/// Indices of a dimension whose length is known: `start`, `start + step`, ... `count` of them, at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Selected {
    /// The first index.
    pub(crate) start: u64,
    /// The number of indices.
    pub(crate) count: u64,
    /// The distance from one to the next, at least 1.
    pub(crate) step: u64,
}

/// An error in the text of a slab, or a slab that does not fit the dimensions.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SlabRequestError {
    /// A piece without `=`.
    #[error("{0:?} is not DIM=START:STOP, DIM=START:STOP:STEP or DIM=INDEX")]
    Form(String),
    /// A text that is not an integer.
    #[error("{text:?} in {piece:?} is not an integer")]
    Number {
        /// The text.
        text: String,
        /// The piece that contains it.
        piece: String,
    },
    /// A step below 1.
    #[error("the step in {0:?} is less than 1")]
    Step(String),
    /// A dimension that is named twice.
    #[error("dimension {0:?} is named twice")]
    Twice(String),
    /// An index outside the dimension.
    #[error("index {index} is outside dimension {dimension:?}, whose length is {length}")]
    Beyond {
        /// The dimension.
        dimension: String,
        /// Its length.
        length: u64,
        /// The index.
        index: i64,
    },
    /// A stop that is not after the start.
    #[error("{start}:{stop} selects no index of dimension {dimension:?} (length {length})")]
    Empty {
        /// The dimension.
        dimension: String,
        /// Its length.
        length: u64,
        /// The start.
        start: i64,
        /// The stop.
        stop: i64,
    },
    /// A dimension that does not exist.
    #[error("there is no dimension {name:?}; {known}")]
    Unknown {
        /// The name.
        name: String,
        /// The closest name, and the known ones.
        known: String,
    },
}

/// Parses `DIM=INDICES,DIM=INDICES`. A backslash escapes a comma or `=` in a name.
pub(crate) fn parse(text: &str) -> Result<Vec<SlabRequest>, SlabRequestError> {
    let mut specs: Vec<SlabRequest> = Vec::new();
    for piece in split(text, ',') {
        let form = || SlabRequestError::Form(piece.to_owned());
        let (name, indices) = rsplit_once(piece, '=').ok_or_else(form)?;
        let dimension = unescape(name.trim());
        if dimension.is_empty() {
            return Err(form());
        }
        if specs.iter().any(|spec| spec.dimension == dimension) {
            return Err(SlabRequestError::Twice(dimension));
        }
        specs.push(SlabRequest { dimension, indices: Indices::parse(indices.trim(), piece)? });
    }
    Ok(specs)
}

impl Indices {
    fn parse(text: &str, piece: &str) -> Result<Self, SlabRequestError> {
        let number = |text: &str| {
            let fault = || SlabRequestError::Number { text: text.to_owned(), piece: piece.to_owned() };
            text.trim().parse::<i64>().map_err(|_| fault())
        };
        let optional = |text: &str| if text.trim().is_empty() { Ok(None) } else { number(text).map(Some) };
        let parts: Vec<&str> = text.split(':').collect();
        match parts.as_slice() {
            [index] => number(index).map(Self::One),
            [start, stop] => Ok(Self::Range { start: optional(start)?, stop: optional(stop)?, step: None }),
            [start, stop, step] => {
                let step = optional(step)?.map(|step| {
                    let step = u64::try_from(step).ok().and_then(NonZeroU64::new);
                    step.ok_or_else(|| SlabRequestError::Step(piece.to_owned()))
                });
                Ok(Self::Range { start: optional(start)?, stop: optional(stop)?, step: step.transpose()? })
            }
            _ => Err(SlabRequestError::Form(piece.to_owned())),
        }
    }
}

impl SlabRequest {
    /// Whether it means the dimension at this path: it has the path, or the name after the last `/`.
    pub(crate) fn means(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        self.dimension == name || self.dimension.trim_start_matches('/') == path.trim_start_matches('/')
    }

    /// Returns the indices in a dimension of this length.
    ///
    /// # Errors
    /// An index outside the dimension, or an empty range.
    pub(crate) fn resolve(&self, length: u64) -> Result<Selected, SlabRequestError> {
        let position = |index: i64| match index {
            0.. => Some(index.unsigned_abs()),
            _ => length.checked_sub(index.unsigned_abs()),
        };
        let beyond =
            |index: i64| SlabRequestError::Beyond { dimension: self.dimension.clone(), length, index };
        match self.indices {
            Indices::One(index) => {
                let start = position(index).filter(|at| *at < length).ok_or_else(|| beyond(index))?;
                Ok(Selected { start, count: 1, step: 1 })
            }
            Indices::Range { start, stop, step } => {
                let edge =
                    |index: i64| position(index).filter(|at| *at <= length).ok_or_else(|| beyond(index));
                let first = start.map_or(Ok(0), edge)?;
                let end = stop.map_or(Ok(length), edge)?;
                let step = step.map_or(1, NonZeroU64::get);
                match end.checked_sub(first) {
                    None | Some(0) => Err(SlabRequestError::Empty {
                        dimension: self.dimension.clone(),
                        length,
                        start: start.unwrap_or(0),
                        stop: stop.unwrap_or(i64::try_from(length).unwrap_or(i64::MAX)),
                    }),
                    Some(span) => Ok(Selected { start: first, count: span.div_ceil(step), step }),
                }
            }
        }
    }
}

impl Selected {
    /// Selects all indices of a dimension, which can have none.
    pub(crate) fn all(length: u64) -> Self {
        Self { start: 0, count: length, step: 1 }
    }
}

/// Returns what is selected of each dimension of a variable, given as path and length, in order: everything of those that
/// are not named.
///
/// # Errors
/// As [`SlabRequest::resolve`], and [`SlabRequestError::Unknown`] for a name that none of them has.
pub(crate) fn resolve(
    specs: &[SlabRequest],
    dimensions: &[(String, u64)],
) -> Result<Vec<Selected>, SlabRequestError> {
    if let Some(unknown) = specs.iter().find(|spec| !dimensions.iter().any(|(path, _)| spec.means(path))) {
        let paths = dimensions.iter().map(|(path, _)| path.trim_start_matches('/'));
        return Err(SlabRequestError::Unknown {
            name: unknown.dimension.clone(),
            known: crate::suggest::known(&unknown.dimension, paths),
        });
    }
    dimensions
        .iter()
        .map(|(path, length)| match specs.iter().find(|spec| spec.means(path)) {
            Some(spec) => spec.resolve(*length),
            None => Ok(Selected::all(*length)),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn selected(text: &str, length: u64) -> Result<(u64, u64, u64), String> {
        let spec = parse(text).map_err(|error| error.to_string())?.remove(0);
        spec.resolve(length)
            .map(|found| (found.start, found.count, found.step))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn ranges_and_indices_are_those_of_python() {
        for (text, wanted) in [
            ("x=3", (3, 1, 1)),
            ("x=-1", (9, 1, 1)),
            ("x=0:4", (0, 4, 1)),
            ("x=:", (0, 10, 1)),
            ("x=-3:", (7, 3, 1)),
            ("x=:-8", (0, 2, 1)),
            ("x=1:10:4", (1, 3, 4)),
            ("x=::3", (0, 4, 3)),
            (" x = 2 : 5 ", (2, 3, 1)),
        ] {
            assert_eq!(selected(text, 10), Ok(wanted), "{text}");
        }
    }

    #[test]
    fn an_invalid_slab_is_reported() {
        for (text, reason) in [
            ("x", "\"x\" is not DIM=START:STOP, DIM=START:STOP:STEP or DIM=INDEX"),
            ("=1", "\"=1\" is not DIM=START:STOP, DIM=START:STOP:STEP or DIM=INDEX"),
            ("x=1:2:3:4", "\"x=1:2:3:4\" is not DIM=START:STOP, DIM=START:STOP:STEP or DIM=INDEX"),
            ("x=a:2", "\"a\" in \"x=a:2\" is not an integer"),
            ("x=", "\"\" in \"x=\" is not an integer"),
            ("x=0:4:0", "the step in \"x=0:4:0\" is less than 1"),
            ("x=0:4:-1", "the step in \"x=0:4:-1\" is less than 1"),
            ("x=10", "index 10 is outside dimension \"x\", whose length is 10"),
            ("x=-11", "index -11 is outside dimension \"x\", whose length is 10"),
            ("x=0:11", "index 11 is outside dimension \"x\", whose length is 10"),
            ("x=4:4", "4:4 selects no index of dimension \"x\" (length 10)"),
        ] {
            assert_eq!(selected(text, 10), Err(reason.to_owned()), "{text}");
        }
        assert_eq!(parse("x=1,x=2"), Err(SlabRequestError::Twice("x".to_owned())));
    }

    #[test]
    fn dimensions_are_named_by_name_or_path_and_the_others_are_whole() {
        let dimensions = [("/time".to_owned(), 40), ("/model/depth".to_owned(), 5)];
        let found = |text: &str| resolve(&parse(text).unwrap(), &dimensions);
        let wanted = vec![Selected { start: 0, count: 24, step: 1 }, Selected::all(5)];
        assert_eq!(found("time=0:24"), Ok(wanted.clone()));
        assert_eq!(found("/time=0:24"), Ok(wanted));
        let one = Selected { start: 4, count: 1, step: 1 };
        assert_eq!(found("model/depth=-1"), Ok(vec![Selected::all(40), one]));
        assert_eq!(found("depth=-1"), Ok(vec![Selected::all(40), one]));
        let error = found("tme=1").unwrap_err().to_string();
        assert_eq!(error, "there is no dimension \"tme\"; did you mean \"time\"? known: time, model/depth");
    }

    proptest! {
        #[test]
        fn every_index_of_a_range_is_one_of_the_dimension(
            length in 1u64..50, start in -60i64..60, stop in -60i64..60, step in 1u64..9,
        ) {
            let spec = parse(&format!("x={start}:{stop}:{step}")).unwrap().remove(0);
            if let Ok(found) = spec.resolve(length) {
                let position = |index: i64| if index < 0 { index + length as i64 } else { index };
                let wanted: Vec<i64> = (position(start)..position(stop)).step_by(step as usize).collect();
                let indices: Vec<i64> =
                    (0..found.count).map(|at| (found.start + at * found.step) as i64).collect();
                prop_assert_eq!(indices, wanted);
            }
        }

        #[test]
        fn any_name_can_be_written(name in "\\PC{1,8}") {
            prop_assume!(name.trim() == name);
            let escaped: String = name
                .chars()
                .flat_map(|letter| if matches!(letter, ',' | '=' | '\\') { vec!['\\', letter] } else { vec![letter] })
                .collect();
            prop_assert_eq!(&parse(&format!("{escaped}=1")).unwrap()[0].dimension, &name);
        }
    }
}
