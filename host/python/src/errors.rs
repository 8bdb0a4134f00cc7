//! The exceptions of the package, and what becomes of Rust's errors and panics.

use std::any::Any;
use std::error::Error;

use ncz::copy::CopyError;
use ncz::location::LocationError;
use ncz::model::{DataError, MetadataError, PoolError, SlabError};
use ncz::registry::chain::ChainError;
use ncz::registry::resolve::ResolveError;
use ncz::registry::spec::SpecError;
use ncz::with_causes;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyIndexError, PyMemoryError, PyOSError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple, PyType};

create_exception!(ncz, NczError, PyException, "What every error of this package is.");

/// The classes that are `ncz.Error` and an exception of Python at the same time.
static PLACE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static CODEC: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static DATA: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// The exception that a failure becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `ncz.Error`.
    Error,
    /// `ncz.PlaceError`, an `OSError`: a dataset cannot be opened or created where it should be.
    Place,
    /// `ncz.CodecError`, a `ValueError`: a codec is not found, or does not fit.
    Codec,
    /// `ncz.DataError`, an `OSError`: data or metadata cannot be read or written.
    Data,
    /// `IndexError`.
    Index,
    /// `KeyError`.
    Key,
    /// `TypeError`.
    Type,
    /// `ValueError`.
    Value,
    /// `MemoryError`.
    Memory,
}

/// An error on its way to Python: its exception, and its text with all causes. It may be made by any thread.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    kind: Kind,
    text: String,
}

impl Failure {
    /// A failure with a text.
    pub(crate) fn new(kind: Kind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into() }
    }

    /// A failure with the text of an error and its causes.
    pub(crate) fn of(kind: Kind, error: &dyn Error) -> Self {
        Self { kind, text: with_causes(error) }
    }

    /// The failure with what it is about in front of its text.
    pub(crate) fn about(mut self, what: &str) -> Self {
        self.text = format!("{what}: {}", self.text);
        self
    }

    /// The failure as one of other data: what cannot be decoded is damaged.
    pub(crate) fn of_data(mut self) -> Self {
        if self.kind == Kind::Codec {
            self.kind = Kind::Data;
        }
        self
    }

    /// What a panic becomes.
    pub(crate) fn panic(payload: &(dyn Any + Send)) -> Self {
        let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default();
        Self::new(Kind::Error, format!("ncz failed where it must not; please report this: {text}"))
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        let of = |class: &PyOnceLock<Py<PyType>>| {
            Python::attach(|py| match class.get(py) {
                Some(class) => PyErr::from_type(class.bind(py).clone(), (failure.text.clone(),)),
                None => NczError::new_err(failure.text.clone()),
            })
        };
        match failure.kind {
            Kind::Error => NczError::new_err(failure.text),
            Kind::Place => of(&PLACE),
            Kind::Codec => of(&CODEC),
            Kind::Data => of(&DATA),
            Kind::Index => PyIndexError::new_err(failure.text),
            Kind::Key => pyo3::exceptions::PyKeyError::new_err(failure.text),
            Kind::Type => PyTypeError::new_err(failure.text),
            Kind::Value => PyValueError::new_err(failure.text),
            Kind::Memory => PyMemoryError::new_err(failure.text),
        }
    }
}

impl From<LocationError> for Failure {
    fn from(error: LocationError) -> Self {
        let kind = if codec_is_to_blame(&error) { Kind::Codec } else { Kind::Place };
        Self::of(kind, &error)
    }
}

impl From<DataError> for Failure {
    fn from(error: DataError) -> Self {
        let kind = match &error {
            DataError::Metadata(MetadataError::NotFound { .. }) => Kind::Key,
            DataError::Slab { source: SlabError::Bounds { .. }, .. } => Kind::Index,
            DataError::Slab { .. } => Kind::Value,
            DataError::Resolve { .. } | DataError::Spec { .. } | DataError::Chain { .. } => Kind::Codec,
            _ => Kind::Data,
        };
        Self::of(kind, &error)
    }
}

impl From<MetadataError> for Failure {
    fn from(error: MetadataError) -> Self {
        DataError::from(error).into()
    }
}

impl From<PoolError> for Failure {
    fn from(error: PoolError) -> Self {
        Self::of(Kind::Error, &error)
    }
}

impl From<ResolveError> for Failure {
    fn from(error: ResolveError) -> Self {
        Self::of(Kind::Codec, &error)
    }
}

impl From<SpecError> for Failure {
    fn from(error: SpecError) -> Self {
        Self::of(Kind::Codec, &error)
    }
}

impl From<ChainError> for Failure {
    fn from(error: ChainError) -> Self {
        Self::of(Kind::Codec, &error)
    }
}

impl From<CopyError> for Failure {
    fn from(error: CopyError) -> Self {
        let kind = if codec_is_to_blame(&error) { Kind::Codec } else { Kind::Data };
        Self::of(kind, &error)
    }
}

/// Whether a codec that is not found, or does not fit, led to an error.
fn codec_is_to_blame(error: &(dyn Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        let data = error.downcast_ref::<DataError>();
        let data = data.or_else(|| error.downcast_ref::<Box<DataError>>().map(|boxed| &**boxed));
        if let Some(DataError::Resolve { .. } | DataError::Spec { .. } | DataError::Chain { .. }) = data {
            return true;
        }
        cause = error.source();
    }
    false
}

/// Adds the exceptions to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let error = py.get_type::<NczError>();
    error.setattr("__name__", "Error")?;
    error.setattr("__qualname__", "Error")?;
    module.add("Error", &error)?;
    let classes = [
        (
            &PLACE,
            "PlaceError",
            py.get_type::<PyOSError>(),
            "A dataset cannot be opened, or created, at its location.",
        ),
        (
            &CODEC,
            "CodecError",
            py.get_type::<PyValueError>(),
            "A codec is not found, or does not fit the data.",
        ),
        (&DATA, "DataError", py.get_type::<PyOSError>(), "Data or metadata cannot be read or written."),
    ];
    for (class, name, of_python, documentation) in classes {
        let class = class.get_or_try_init(py, || {
            let members = PyDict::new(py);
            members.set_item("__module__", "ncz")?;
            members.set_item("__doc__", documentation)?;
            let bases = PyTuple::new(py, [&error, &of_python])?;
            let class = py.get_type::<PyType>().call1((name, bases, members))?;
            Ok::<_, PyErr>(class.cast_into::<PyType>()?.unbind())
        })?;
        module.add(name, class)?;
    }
    Ok(())
}
