//! Chunk shapes in the notation of nccopy's `-c`: `lat/100,lon/200`, `var:10,100,200`, `var:` and `/`.

use crate::escape;
use crate::name_pattern::NamePattern;

/// One `-c` option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ChunkRequest {
    /// Chunk lengths for dimensions; `None` is the whole length.
    Dimensions(Vec<(String, Option<u64>)>),
    /// The chunk shape of one variable, or of those that a pattern matches.
    Variable {
        /// Its name.
        name: NamePattern,
        /// The lengths of a chunk.
        lengths: Vec<u64>,
        /// Whether it was given as a name without `/`, which a dimension can have too.
        is_bare: bool,
    },
    /// The whole variable in one chunk.
    WholeVariable {
        /// Its name.
        name: NamePattern,
        /// As above.
        is_bare: bool,
    },
    /// Each variable in one chunk.
    Whole,
}

/// What the chunks of a variable depend on.
#[derive(Debug, Clone)]
pub(crate) struct Shape<'a> {
    /// The variable.
    pub(crate) path: &'a str,
    /// Its dimensions as paths.
    pub(crate) dimensions: Vec<String>,
    /// Which of them are unlimited.
    pub(crate) unlimited: Vec<bool>,
    /// Their lengths.
    pub(crate) lengths: Vec<u64>,
    /// The current lengths of its chunks.
    pub(crate) chunks: Vec<u64>,
}

/// An error in a request for chunks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ChunkRequestError {
    /// Neither of the forms.
    #[error(
        "{text:?} is not a chunk specification; write DIMENSION/LENGTH,... such as lat/100,lon/200, or VARIABLE:LENGTH,... such as t:1,100,200"
    )]
    Form {
        /// The text.
        text: String,
    },
    /// Dimensions with the colon of a variable.
    #[error("{text:?} has colons, which follow a variable; after a dimension write a slash: {instead}")]
    Colons {
        /// The text.
        text: String,
        /// The same with slashes.
        instead: String,
    },
    /// A name before a colon that is also the name of a dimension, so that the length could mean either.
    #[error(
        "{name:?} is a dimension, and a colon follows a variable; write {name}/{length} for the dimension{}",
        if *.is_variable { format!(", or /{name}:{length} for the variable") } else { String::new() }
    )]
    IsDimension {
        /// The name.
        name: String,
        /// The given length; empty for the whole length.
        length: String,
        /// Whether there is a variable of this name.
        is_variable: bool,
    },
    /// A length is not a number, or is zero.
    #[error("the chunk length {text:?} is not a positive integer")]
    Length {
        /// The text.
        text: String,
    },
    /// netCDF's other storage classes.
    #[error(
        "Zarr stores every array in chunks, so {word:?} has no meaning; write the lengths of a chunk, e.g. {path}:{example}"
    )]
    Storage {
        /// `contiguous` or `compact`.
        word: String,
        /// The variable.
        path: String,
        /// Example lengths.
        example: &'static str,
    },
    /// The number of lengths differs from the number of dimensions.
    #[error("expected {rank} lengths for variable {path:?}, one for each dimension, got {given}")]
    Rank {
        /// The variable.
        path: String,
        /// Its dimensions.
        rank: usize,
        /// The lengths given.
        given: usize,
    },
    /// A chunk that is longer than a fixed dimension.
    #[error(
        "the chunk length {length} of variable {path:?} is longer than its dimension {dimension:?} ({most})"
    )]
    TooLong {
        /// The variable.
        path: String,
        /// The length given.
        length: u64,
        /// The dimension.
        dimension: String,
        /// Its length.
        most: u64,
    },
    /// The same thing twice.
    #[error("{what} has chunk lengths already")]
    Twice {
        /// The dimension or variable.
        what: String,
    },
}

impl ChunkRequest {
    /// Reads the value of `-c`.
    ///
    /// # Errors
    /// The text has none of the forms.
    pub(crate) fn parse(text: &str) -> Result<Self, ChunkRequestError> {
        if text == "/" {
            return Ok(Self::Whole);
        }
        // The name of a variable ends at a colon. nccopy tries this form first, too.
        if let Some((name, lengths)) = escape::rsplit_once(text, ':') {
            let pieces = escape::split(text, ',');
            if let [_, _, ..] = pieces.as_slice()
                && let Some(pairs) = pieces.iter().map(|piece| with_slash(piece)).collect::<Option<Vec<_>>>()
            {
                return Err(ChunkRequestError::Colons { text: text.to_owned(), instead: pairs.join(",") });
            }
            let is_bare = !escape::unescape(name).contains('/');
            let name = NamePattern::parse(name);
            if name.path() == "/" {
                return Err(ChunkRequestError::Form { text: text.to_owned() });
            }
            if matches!(lengths, "contiguous" | "compact") {
                return Err(ChunkRequestError::Storage {
                    word: lengths.to_owned(),
                    path: name.path().to_owned(),
                    example: "100,200",
                });
            }
            if lengths.is_empty() {
                return Ok(Self::WholeVariable { name, is_bare });
            }
            let lengths = lengths.split(',').map(length).collect::<Result<_, _>>()?;
            return Ok(Self::Variable { name, lengths, is_bare });
        }
        let pairs = escape::split(text, ',').into_iter().map(|pair| {
            let form = || ChunkRequestError::Form { text: pair.to_owned() };
            let (name, len) = escape::rsplit_once(pair, '/').ok_or_else(form)?;
            if name.is_empty() {
                return Err(form());
            }
            let len = if len.is_empty() { None } else { Some(length(len)?) };
            Ok((escape::unescape(name), len))
        });
        pairs.collect::<Result<_, _>>().map(Self::Dimensions)
    }

    /// The variable that it names.
    fn name(&self) -> Option<&NamePattern> {
        match self {
            Self::Variable { name, .. } | Self::WholeVariable { name, .. } => Some(name),
            Self::Dimensions(_) | Self::Whole => None,
        }
    }
}

/// Returns the chunk shape of a variable if the requests change it. A request for the variable overrides requests for
/// its dimensions, and these override `/`. A dimension that is not named keeps its chunk length.
///
/// # Errors
/// Lengths that do not fit the variable.
pub(crate) fn decide(
    requests: &[ChunkRequest],
    shape: &Shape<'_>,
) -> Result<Option<Vec<u64>>, ChunkRequestError> {
    let named = requests.iter().find(|request| request.name().is_some_and(|name| name.is(shape.path)));
    // The last pattern that matches, as for codecs.
    let matches = |request: &&ChunkRequest| request.name().is_some_and(|name| name.matches(shape.path));
    match named.or_else(|| requests.iter().rfind(matches)) {
        Some(ChunkRequest::Variable { lengths, .. }) => return fitting(lengths, shape).map(Some),
        Some(ChunkRequest::WholeVariable { .. }) => {
            return Ok(Some(shape.whole()).filter(|whole| *whole != shape.chunks));
        }
        _ => {}
    }
    let whole = requests.contains(&ChunkRequest::Whole);
    let mut chunks = if whole { shape.whole() } else { shape.chunks.clone() };
    let mut touched = whole;
    for (name, requested) in dimensions(requests) {
        for (index, path) in shape.dimensions.iter().enumerate() {
            let matches = if name.starts_with('/') { path == name } else { last_segment(path) == name };
            if matches && index < chunks.len() {
                let most = if shape.unlimited[index] { u64::MAX } else { shape.lengths[index].max(1) };
                chunks[index] = requested.unwrap_or_else(|| shape.lengths[index].max(1)).min(most);
                touched = true;
            }
        }
    }
    Ok((touched && chunks != shape.chunks).then_some(chunks))
}

/// Checks that nothing is named twice.
///
/// # Errors
/// Something is named twice.
pub(crate) fn check(requests: &[ChunkRequest]) -> Result<(), ChunkRequestError> {
    let variables = variables(requests).map(|name| format!("variable {:?}", name.path()));
    let names = variables.chain(dimensions(requests).map(|(name, _)| format!("dimension {name:?}")));
    let mut seen = Vec::new();
    for what in names {
        if seen.contains(&what) {
            return Err(ChunkRequestError::Twice { what });
        }
        seen.push(what);
    }
    Ok(())
}

/// Returns the dimensions that requests name.
pub(crate) fn dimensions<'a>(
    requests: impl IntoIterator<Item = &'a ChunkRequest>,
) -> impl Iterator<Item = (&'a str, Option<u64>)> {
    requests
        .into_iter()
        .flat_map(|request| match request {
            ChunkRequest::Dimensions(pairs) => pairs.as_slice(),
            _ => &[],
        })
        .map(|(name, len)| (name.as_str(), *len))
}

/// Returns the variables that requests name.
pub(crate) fn variables<'a>(
    requests: impl IntoIterator<Item = &'a ChunkRequest>,
) -> impl Iterator<Item = &'a NamePattern> {
    requests.into_iter().filter_map(ChunkRequest::name)
}

/// Checks that no dimension has a length after the colon of a variable, as in `time:12`.
///
/// # Errors
/// A dimension has; with the text of the request.
pub(crate) fn check_colons(
    requests: &[ChunkRequest],
    is_dimension: impl Fn(&str) -> bool,
    is_variable: impl Fn(&str) -> bool,
) -> Result<(), (String, ChunkRequestError)> {
    for request in requests {
        let (path, length) = match request {
            ChunkRequest::Variable { name, lengths, is_bare: true } => match lengths.as_slice() {
                [length] => (name.path(), length.to_string()),
                _ => continue,
            },
            ChunkRequest::WholeVariable { name, is_bare: true } => (name.path(), String::new()),
            _ => continue,
        };
        let name = path.trim_start_matches('/');
        if is_dimension(name) {
            let is_variable = is_variable(path);
            let given = format!("{name}:{length}");
            return Err((
                given,
                ChunkRequestError::IsDimension { name: name.to_owned(), length, is_variable },
            ));
        }
    }
    Ok(())
}

impl Shape<'_> {
    /// Returns the lengths of a chunk that holds the whole variable.
    fn whole(&self) -> Vec<u64> {
        self.lengths.iter().map(|&length| length.max(1)).collect()
    }
}

fn fitting(lengths: &[u64], shape: &Shape<'_>) -> Result<Vec<u64>, ChunkRequestError> {
    let path = || shape.path.to_owned();
    if lengths.len() != shape.lengths.len() {
        return Err(ChunkRequestError::Rank {
            path: path(),
            rank: shape.lengths.len(),
            given: lengths.len(),
        });
    }
    for (index, &length) in lengths.iter().enumerate() {
        let most = shape.lengths[index].max(1);
        if !shape.unlimited[index] && length > most {
            let dimension = shape.dimensions.get(index).cloned().unwrap_or_default();
            return Err(ChunkRequestError::TooLong { path: path(), length, dimension, most });
        }
    }
    Ok(lengths.to_vec())
}

/// Returns `lat/100` for `lat:100`.
fn with_slash(piece: &str) -> Option<String> {
    let (name, len) = escape::rsplit_once(piece, ':')?;
    length(len).is_ok().then(|| format!("{name}/{len}"))
}

fn length(text: &str) -> Result<u64, ChunkRequestError> {
    match text.parse() {
        Ok(length) if length > 0 => Ok(length),
        _ => Err(ChunkRequestError::Length { text: text.to_owned() }),
    }
}

fn last_segment(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape() -> Shape<'static> {
        Shape {
            path: "/g/t",
            dimensions: vec!["/time".into(), "/g/lat".into(), "/lon".into()],
            unlimited: vec![true, false, false],
            lengths: vec![16, 73, 144],
            chunks: vec![6, 73, 144],
        }
    }

    fn chunks(texts: &[&str]) -> Option<Vec<u64>> {
        let requests: Vec<_> = texts.iter().map(|text| ChunkRequest::parse(text).unwrap()).collect();
        check(&requests).unwrap();
        decide(&requests, &shape()).unwrap()
    }

    #[test]
    fn dimensions_get_the_given_or_their_whole_length() {
        assert_eq!(chunks(&["time/1,lat/10"]), Some(vec![1, 10, 144]));
        assert_eq!(chunks(&["time/", "/g/lat/10"]), Some(vec![16, 10, 144]));
        assert_eq!(chunks(&["lat/100,lon/200"]), None, "a fixed dimension bounds its chunks");
        assert_eq!(chunks(&["time/100"]), Some(vec![100, 73, 144]));
        assert_eq!(chunks(&["depth/5"]), None);
        assert_eq!(chunks(&["/lat/5"]), None, "another dimension of that name");
    }

    #[test]
    fn a_named_variable_overrides_dimensions() {
        assert_eq!(chunks(&["time/1", "g/t:2,3,4"]), Some(vec![2, 3, 4]));
        assert_eq!(chunks(&["/", "time/1"]), Some(vec![1, 73, 144]));
        assert_eq!(chunks(&["/"]), Some(vec![16, 73, 144]));
        assert_eq!(chunks(&["g/t:", "time/1"]), Some(vec![16, 73, 144]));
        assert_eq!(chunks(&["t:"]), None);
        assert_eq!(chunks(&["g/*:1,2,3", "g/t?:1,1,1"]), Some(vec![1, 2, 3]));
        assert_eq!(chunks(&["g/t:2,3,4", "**/t:"]), Some(vec![2, 3, 4]), "a name overrides patterns");
        assert_eq!(chunks(&["t*:1,2,3", r"g/\*:1,2,3"]), None);
    }

    #[test]
    fn a_dimension_with_the_colon_of_a_variable_is_an_error_that_shows_the_right_form() {
        let refused = |text: &str| {
            let request = [ChunkRequest::parse(text).unwrap()];
            let is_dimension = |name: &str| ["time", "lat"].contains(&name);
            let checked = check_colons(&request, is_dimension, |path| path == "/time");
            checked.map_err(|(given, error)| {
                assert_eq!(given, text);
                error.to_string()
            })
        };
        let both = "\"time\" is a dimension, and a colon follows a variable; write time/12 for the dimension, or \
                    /time:12 for the variable";
        assert_eq!(refused("time:12"), Err(both.to_owned()));
        assert!(refused("lat:").unwrap_err().ends_with("write lat/ for the dimension"));
        for text in ["/time:12", "time:1,2", "g/t:1", "time/12"] {
            assert_eq!(refused(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn requests_that_do_not_fit_are_refused() {
        for text in ["", "time", "time/0", "time/x", "t:1,,2", "t:0", ":1", "t:contiguous", "a/1,b"] {
            assert!(ChunkRequest::parse(text).is_err(), "{text:?} was accepted");
        }
        for text in ["g/t:1,1", "g/t:1,74,1"] {
            let request = [ChunkRequest::parse(text).unwrap()];
            assert!(decide(&request, &shape()).is_err(), "{text:?} was accepted");
        }
        let colons = ChunkRequest::parse("time:1,lat:100").unwrap_err().to_string();
        assert!(colons.ends_with("write a slash: time/1,lat/100"), "{colons}");
        let twice = [ChunkRequest::parse("time/1,time/2").unwrap()];
        assert!(check(&twice).is_err());
    }
}
