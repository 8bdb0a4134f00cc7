//! Datasets: their groups, dimensions, variables and attributes, and the values of variables.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use ncz::Dataset;
use ncz::OpenOptions;
use ncz::model::json::Json;
use ncz::model::masked::is_implied;
use ncz::model::{
    Array, Attribute, Elements, Format, Group, Hierarchy, Kind as ElementKind, NcType, ShuffleReading, Slab,
    StringArray, Strings, TypeClass, UserType, Value, Variable, product, row_json,
};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};

use crate::array_codecs;
use crate::buffers::WriteBuffer;
use crate::errors::{Failure, Kind};
use crate::threads::{Stop, detached, interruptible};
use crate::{plugins, threads};

/// Reads of more bytes than this, and all from remote stores, can be interrupted: they cost a thread.
const SHORT: u64 = 4 << 20;
/// A long read goes on in steps of about so many bytes, between which it can stop.
const STEP: u64 = 64 << 20;

/// An open dataset. It is opened again in a child after a fork, where nothing of the parent's threads exists.
#[pyclass(module = "ncz._ncz", frozen)]
pub(crate) struct Handle {
    location: String,
    threads: Option<usize>,
    plugins: Option<Vec<PathBuf>>,
    shuffle: ShuffleReading,
    /// Locked by attached threads only, and never while one attaches: see [`threads`].
    state: Mutex<State>,
}

struct State {
    process: u32,
    /// `None` after [`Handle::close`].
    opened: Option<Arc<Opened>>,
}

/// A dataset in one process, with the variables whose codecs were bound.
struct Opened {
    dataset: Dataset,
    arrays: Mutex<HashMap<String, Arc<Array>>>,
    strings: Mutex<HashMap<String, Arc<StringArray>>>,
}

#[pymethods]
impl Handle {
    /// Opens the dataset at a path or URL.
    #[new]
    #[pyo3(signature = (location, threads=None, plugins=None, shuffle_size=None))]
    fn new(
        py: Python<'_>,
        location: String,
        threads: Option<&Bound<'_, PyAny>>,
        plugins: Option<Vec<PathBuf>>,
        shuffle_size: Option<&str>,
    ) -> PyResult<Self> {
        let shuffle = array_codecs::shuffle_reading(shuffle_size)?;
        let threads = threads::checked(threads)?;
        let state = Mutex::new(State { process: std::process::id(), opened: None });
        let handle = Self { location, threads, plugins, shuffle, state };
        let opened = handle.open(py)?;
        handle.state.lock().unwrap_or_else(PoisonError::into_inner).opened = Some(opened);
        Ok(handle)
    }

    /// The path or URL.
    #[getter]
    fn location(&self) -> &str {
        &self.location
    }

    /// The groups, dimensions, variables and attributes, as dictionaries.
    fn describe<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let opened = self.opened(py)?;
        let hierarchy = opened.dataset.hierarchy();
        let dict = PyDict::new(py);
        dict.set_item("format", format_name(hierarchy.format))?;
        dict.set_item("netcdf_model", hierarchy.format.has_netcdf_model())?;
        let warnings: Vec<String> = hierarchy.warnings.iter().map(ToString::to_string).collect();
        dict.set_item("warnings", warnings)?;
        dict.set_item("root", group_dict(py, hierarchy, &hierarchy.root)?)?;
        Ok(dict)
    }

    /// The codecs of a variable as JSON, in the dialect of its metadata.
    fn codecs(&self, py: Python<'_>, path: &str) -> PyResult<String> {
        let opened = self.opened(py)?;
        let variable = opened.dataset.hierarchy().variable(path).map_err(Failure::from)?;
        Ok(Json::Array(variable.filters.clone()).to_string())
    }

    /// Reads a part of a variable into memory: native elements, or stored ones for types that numpy knows as they are
    /// stored. `serial` uses the calling thread alone.
    #[pyo3(signature = (path, start, count, stride, out, stored=false, serial=false))]
    #[expect(clippy::too_many_arguments, reason = "the border of Python")]
    fn read_into(
        &self,
        py: Python<'_>,
        path: &str,
        start: Vec<u64>,
        count: Vec<u64>,
        stride: Vec<u64>,
        out: &Bound<'_, PyAny>,
        stored: bool,
        serial: bool,
    ) -> PyResult<()> {
        let opened = self.opened(py)?;
        let mut out = WriteBuffer::new(out)?;
        let path = path.to_owned();
        let elements = if stored { Elements::Stored } else { Elements::Native };
        let slab = Slab::new(start, count).with_stride(stride);
        let array = detached(py, || opened.array(&path))?;
        let len = out.len() as u64;
        if serial {
            return detached(py, || {
                let mut worker = array.worker();
                let read = array.read_serial(&mut worker, &slab, elements, out.bytes());
                array.release(worker);
                Ok(read.map(drop)?)
            });
        }
        if len <= SHORT && !array.is_remote() {
            return detached(py, || Ok(array.read_bytes(&slab, elements, out.bytes())?));
        }
        // The thread owns what it uses: after Ctrl-C it may outlive this call by a step.
        interruptible(py, |_| Ok(()), move |stop| read_in_steps(&array, &slab, elements, out.bytes(), stop))
    }

    /// Reads a part of a variable of strings: `str`, or `bytes` if `text` is false.
    #[pyo3(signature = (path, start, count, stride, text=true, serial=false))]
    #[expect(clippy::too_many_arguments, reason = "the border of Python")]
    fn read_strings<'py>(
        &self,
        py: Python<'py>,
        path: &str,
        start: Vec<u64>,
        count: Vec<u64>,
        stride: Vec<u64>,
        text: bool,
        serial: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let opened = self.opened(py)?;
        let path = path.to_owned();
        let slab = Slab::new(start, count).with_stride(stride);
        let read = move || Ok(opened.strings(&path)?.read(&slab)?);
        let strings: Strings =
            if serial { detached(py, read)? } else { interruptible(py, |_| Ok(()), move |_| read())? };
        let list = PyList::empty(py);
        for string in strings.iter() {
            if text { list.append(text_of(py, string)?)? } else { list.append(PyBytes::new(py, string))? }
        }
        Ok(list)
    }

    /// Reads a part of a variable of a user-defined type: the JSON of a list of values.
    fn read_values(
        &self,
        py: Python<'_>,
        path: &str,
        start: Vec<u64>,
        count: Vec<u64>,
        stride: Vec<u64>,
    ) -> PyResult<String> {
        let opened = self.opened(py)?;
        let path = path.to_owned();
        let slab = Slab::new(start, count).with_stride(stride);
        interruptible(
            py,
            |_| Ok(()),
            move |_| {
                let row = opened.dataset.user_array(&path)?.read(&slab)?;
                let variable = opened.dataset.hierarchy().variable(&path)?;
                let Some(user) = &variable.user_type else { return Ok("[]".to_owned()) };
                Ok(Json::Array(row_json(&ncz::model::ElementType::User(Arc::clone(user)), &row)).to_string())
            },
        )
    }

    /// Forgets the files and connections.
    fn close(&self, _py: Python<'_>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let opened = state.opened.take();
        if state.process != std::process::id() {
            std::mem::forget(opened);
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if state.process != std::process::id() {
            // Its threads are those of the parent.
            std::mem::forget(state.opened.take());
        }
    }
}

impl Handle {
    /// The dataset in this process: opened again after a fork.
    fn opened(&self, py: Python<'_>) -> PyResult<Arc<Opened>> {
        let process = std::process::id();
        {
            let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(opened) = &state.opened else {
                return Err(
                    Failure::new(Kind::Value, format!("{} is closed; open it again", self.location)).into()
                );
            };
            if state.process == process {
                return Ok(Arc::clone(opened));
            }
        }
        let opened = self.open(py)?;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        // What it holds belongs to threads of the parent.
        std::mem::forget(state.opened.replace(Arc::clone(&opened)));
        state.process = process;
        Ok(opened)
    }

    fn open(&self, py: Python<'_>) -> PyResult<Arc<Opened>> {
        let options = OpenOptions::new()
            .registry(plugins::registry(py, self.plugins.clone()))
            .pool(threads::pool(py, self.threads)?)
            .shuffle(self.shuffle);
        let location = self.location.clone();
        let dataset = interruptible(py, |_| Ok(()), move |_| Ok(options.open(location)?))?;
        Ok(Arc::new(Opened { dataset, arrays: Mutex::default(), strings: Mutex::default() }))
    }
}

/// Its locks are held for moments only, by threads that are detached. A fork in such a moment leaves them to the
/// parent: the child has another `Opened`.
impl Opened {
    fn array(&self, path: &str) -> Result<Arc<Array>, Failure> {
        if let Some(array) = self.arrays.lock().unwrap_or_else(PoisonError::into_inner).get(path) {
            return Ok(Arc::clone(array));
        }
        let array = Arc::new(self.dataset.array(path)?);
        let mut arrays = self.arrays.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Arc::clone(arrays.entry(path.to_owned()).or_insert(array)))
    }

    fn strings(&self, path: &str) -> Result<Arc<StringArray>, Failure> {
        if let Some(array) = self.strings.lock().unwrap_or_else(PoisonError::into_inner).get(path) {
            return Ok(Arc::clone(array));
        }
        let array = Arc::new(self.dataset.strings(path)?);
        let mut arrays = self.strings.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Arc::clone(arrays.entry(path.to_owned()).or_insert(array)))
    }
}

/// Reads along the first dimension, a few rows of chunks at a time.
fn read_in_steps(
    array: &Array,
    slab: &Slab,
    elements: Elements,
    mut out: &mut [u8],
    stop: &Stop,
) -> Result<(), Failure> {
    let (Some(&chunk), Some(&rows)) = (array.chunk_shape().first(), slab.count().first()) else {
        return Ok(array.read_bytes(slab, elements, out)?);
    };
    let inner = slab.count().iter().skip(1).copied().chain([array.dtype().size() as u64]);
    let row = product(inner.collect::<Vec<_>>().into_iter()).unwrap_or(0);
    let (Some(&start), Some(&stride)) = (slab.start().first(), slab.stride().first()) else {
        return Ok(array.read_bytes(slab, elements, out)?);
    };
    if row == 0 || rows.checked_mul(row) != Some(out.len() as u64) || stride == 0 {
        // Empty, or refused.
        return Ok(array.read_bytes(slab, elements, out)?);
    }
    let rows_of_chunk = (chunk / stride).max(1);
    let mut done = 0;
    while done < rows {
        if stop.is_set() {
            return Err(Failure::new(Kind::Error, "interrupted"));
        }
        let from = start + done * stride;
        // To the end of a row of chunks.
        let first = (chunk - from % chunk).div_ceil(stride).max(1);
        let more = (STEP / row).saturating_sub(first) / rows_of_chunk * rows_of_chunk;
        let count = (first + more).min(rows - done);
        let (mut part_start, mut part_count) = (slab.start().to_vec(), slab.count().to_vec());
        part_start[0] = from;
        part_count[0] = count;
        let len = usize::try_from(count * row).unwrap_or(usize::MAX).min(out.len());
        let (now, rest) = std::mem::take(&mut out).split_at_mut(len);
        let part = Slab::new(part_start, part_count).with_stride(slab.stride());
        array.read_bytes(&part, elements, now)?;
        out = rest;
        done += count;
    }
    Ok(())
}

/// The name of a format, as `--format` of the command has it.
fn format_name(format: Format) -> &'static str {
    match format {
        Format::Zarr2 => "zarr",
        Format::Nczarr(_) => "nczarr",
        Format::Zarr3 => "zarr3",
        Format::Nczarr3 => "nczarr3",
        Format::Netcdf(kind) => kind.name(),
    }
}

fn group_dict<'py>(py: Python<'py>, hierarchy: &Hierarchy, group: &Group) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("name", &group.name)?;
    dict.set_item("path", &group.path)?;
    let dimensions = group.dimensions.iter().map(|d| (&d.name, d.len, d.unlimited, d.anonymous));
    dict.set_item("dimensions", PyList::new(py, dimensions.collect::<Vec<_>>())?)?;
    dict.set_item("attributes", attributes(py, hierarchy, &group.attributes)?)?;
    let variables = PyList::empty(py);
    for variable in &group.variables {
        variables.append(variable_dict(py, hierarchy, variable)?)?;
    }
    dict.set_item("variables", variables)?;
    let unreadable = group.unreadable.iter().map(|v| (&v.name, ncz::with_causes(&v.error())));
    dict.set_item("unreadable", PyList::new(py, unreadable.collect::<Vec<_>>())?)?;
    let groups = PyList::empty(py);
    for group in &group.groups {
        groups.append(group_dict(py, hierarchy, group)?)?;
    }
    dict.set_item("groups", groups)?;
    Ok(dict)
}

fn variable_dict<'py>(
    py: Python<'py>,
    hierarchy: &Hierarchy,
    variable: &Variable,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("name", &variable.name)?;
    dict.set_item("path", &variable.path)?;
    let dimensions: Vec<_> = variable.dimensions.iter().map(|d| (&d.group, &d.name)).collect();
    dict.set_item("dimensions", dimensions)?;
    dict.set_item("shape", hierarchy.shape_of(variable))?;
    let is_one_block = hierarchy.format.is_netcdf() && variable.storage != ncz::model::Storage::Chunked;
    let is_chunked = !is_one_block && !variable.shape.is_empty();
    dict.set_item("chunks", is_chunked.then_some(&variable.chunk_shape))?;
    dict.set_item("shards", variable.sharding.as_ref().map(|sharding| &sharding.shape))?;
    dict.set_item("dtype", variable.dtype.text())?;
    dict.set_item("size", variable.dtype.size())?;
    dict.set_item("kind", kind_name(hierarchy.format, variable))?;
    dict.set_item("nc_type", variable.nc_type.map(NcType::name))?;
    dict.set_item("type", variable.user_type.as_ref().map(|user| user_type(py, user)).transpose()?)?;
    let fill = variable.fill.as_ref();
    dict.set_item("fill", fill.map(|fill| PyBytes::new(py, fill.bytes())))?;
    dict.set_item("fill_json", fill.map(|fill| fill.json().to_string()))?;
    dict.set_item("attributes", attributes(py, hierarchy, &variable.attributes)?)?;
    let is_implied = variable.attributes.iter().any(|attribute| is_implied(variable, attribute));
    dict.set_item("implied_fill", is_implied)?;
    Ok(dict)
}

/// What a variable is read as: `plain` elements, `strings`, `bytes` of any length, `values` of a user-defined type,
/// `stored` elements whose layout numpy knows.
fn kind_name(format: Format, variable: &Variable) -> &'static str {
    if variable.is_structured() {
        return "values";
    }
    match variable.dtype.kind() {
        ElementKind::VlenText => "strings",
        ElementKind::VlenBytes => "bytes",
        ElementKind::Bytes | ElementKind::Unicode
            if format.has_netcdf_model() && variable.nc_type == Some(NcType::String) =>
        {
            "strings"
        }
        ElementKind::Other => "stored",
        _ => "plain",
    }
}

/// A user-defined type as (class, details).
fn user_type<'py>(py: Python<'py>, user: &UserType) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("name", user.path())?;
    dict.set_item("class", user.class_name())?;
    match &user.class {
        TypeClass::Enum { members, .. } => {
            let named = PyDict::new(py);
            for member in members {
                named.set_item(&member.name, member.value)?;
            }
            dict.set_item("members", named)?;
        }
        TypeClass::Opaque { size } => dict.set_item("size", size)?,
        TypeClass::Compound { fields } => {
            let list = PyList::empty(py);
            for field in fields {
                list.append((&field.name, element_type(py, &field.element)?, &field.shape))?;
            }
            dict.set_item("fields", list)?;
        }
        TypeClass::Vlen { base } => dict.set_item("base", element_type(py, base)?)?,
    }
    Ok(dict)
}

fn element_type<'py>(py: Python<'py>, of: &ncz::model::ElementType) -> PyResult<Bound<'py, PyAny>> {
    match of {
        ncz::model::ElementType::Atomic(nc_type) => Ok(PyString::new(py, nc_type.name()).into_any()),
        ncz::model::ElementType::User(user) => Ok(user_type(py, user)?.into_any()),
    }
}

/// Attributes by name: text, a list of texts, or a pair: (`"json"`, text), or (numpy's name of a type, bytes).
fn attributes<'py>(
    py: Python<'py>,
    hierarchy: &Hierarchy,
    attributes: &[Attribute],
) -> PyResult<Bound<'py, PyDict>> {
    let is_zarr = !hierarchy.format.has_netcdf_model();
    let dict = PyDict::new(py);
    for attribute in attributes {
        dict.set_item(&attribute.name, attribute_value(py, is_zarr, attribute)?)?;
    }
    Ok(dict)
}

fn attribute_value<'py>(
    py: Python<'py>,
    is_zarr: bool,
    attribute: &Attribute,
) -> PyResult<Bound<'py, PyAny>> {
    // netCDF has text for what JSON has no other type for.
    if is_zarr && attribute.is_json_text() || attribute.user.as_ref().is_some_and(|user| !user.of.is_enum()) {
        let json = attribute.json.as_ref().map_or_else(|| "null".to_owned(), ToString::to_string);
        return Ok(("json", json).into_pyobject(py)?.into_any());
    }
    macro_rules! numbers {
        ($name:literal, $values:expr) => {{
            let bytes: Vec<u8> = $values.iter().flat_map(|value| value.to_ne_bytes()).collect();
            ($name, PyBytes::new(py, &bytes)).into_pyobject(py)?.into_any()
        }};
    }
    Ok(match &attribute.value {
        Value::Byte(values) => numbers!("i1", values),
        Value::UByte(values) => numbers!("u1", values),
        Value::Short(values) => numbers!("i2", values),
        Value::UShort(values) => numbers!("u2", values),
        Value::Int(values) => numbers!("i4", values),
        Value::UInt(values) => numbers!("u4", values),
        Value::Int64(values) => numbers!("i8", values),
        Value::UInt64(values) => numbers!("u8", values),
        Value::Float(values) => numbers!("f4", values),
        Value::Double(values) => numbers!("f8", values),
        Value::Char(text) => text_of(py, text)?,
        Value::String(texts) => {
            let texts: PyResult<Vec<_>> = texts.iter().map(|text| text_of(py, text)).collect();
            PyList::new(py, texts?)?.into_any()
        }
    })
}

/// Text in UTF-8 without trailing NULs; bytes that are not UTF-8 become surrogates, as in names of files.
fn text_of<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |at| at + 1);
    let bytes = bytes.get(..end).unwrap_or_default();
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(PyString::new(py, text).into_any()),
        Err(_) => PyBytes::new(py, bytes).call_method1("decode", ("utf-8", "surrogateescape")),
    }
}

/// Adds the class to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Handle>()
}
