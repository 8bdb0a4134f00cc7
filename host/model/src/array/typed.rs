//! Typed reading and writing: the elements of an array as Rust numbers.

use std::borrow::Cow;

use super::{Array, Elements, Written};
use crate::data_error::DataError;
use crate::dtype::{Dtype, Kind};
use crate::grid::{Select, Selected, SlabError};

/// A Rust type that holds the elements of an array.
///
/// It must be the type of the array exactly: numbers are not converted. `u8` also reads single characters (`S1`),
/// and `i64` also reads times and time differences (`M8`, `m8`) as counts of their unit. Byte order is converted.
pub trait Element: sealed::Sealed + Copy + Default + 'static {
    /// The name of the type, such as `f32`.
    const NAME: &'static str;

    /// Whether elements of this dtype are values of this type.
    #[must_use]
    fn is(dtype: &Dtype) -> bool;
}

mod sealed {
    use std::borrow::Cow;

    /// Conversion between elements and bytes in native byte order.
    pub trait Sealed: Sized {
        /// Passes the elements as bytes to `read`, which fills them.
        fn fill<E>(out: &mut [Self], read: impl FnOnce(&mut [u8]) -> Result<(), E>) -> Result<(), E>;

        /// The bytes of the elements.
        fn bytes(elements: &[Self]) -> Cow<'_, [u8]>;
    }
}

/// Numbers are their bytes.
macro_rules! numbers {
    ($($number:ident: $($kind:ident)|+;)*) => {$(
        impl Element for $number {
            const NAME: &'static str = stringify!($number);

            fn is(dtype: &Dtype) -> bool {
                dtype.size() == size_of::<Self>() && matches!(dtype.kind(), $(Kind::$kind)|+)
            }
        }

        impl sealed::Sealed for $number {
            fn fill<E>(out: &mut [Self], read: impl FnOnce(&mut [u8]) -> Result<(), E>) -> Result<(), E> {
                read(bytemuck::cast_slice_mut(out))
            }

            fn bytes(elements: &[Self]) -> Cow<'_, [u8]> {
                Cow::Borrowed(bytemuck::cast_slice(elements))
            }
        }
    )*};
}

numbers! {
    i8: Int;
    i16: Int;
    i32: Int;
    i64: Int | DateTime | TimeDelta;
    u8: UInt | Bytes;
    u16: UInt;
    u32: UInt;
    u64: UInt;
    f32: Float;
    f64: Float;
}

impl Element for bool {
    const NAME: &'static str = "bool";

    fn is(dtype: &Dtype) -> bool {
        dtype.kind() == Kind::Bool
    }
}

impl sealed::Sealed for bool {
    fn fill<E>(out: &mut [Self], read: impl FnOnce(&mut [u8]) -> Result<(), E>) -> Result<(), E> {
        let mut bytes = vec![0; out.len()];
        read(&mut bytes)?;
        // As numpy: any other byte than 0 is true.
        out.iter_mut().zip(bytes).for_each(|(value, byte)| *value = byte != 0);
        Ok(())
    }

    fn bytes(elements: &[Self]) -> Cow<'_, [u8]> {
        elements.iter().map(|value| u8::from(*value)).collect::<Vec<u8>>().into()
    }
}

/// Values to write, in C order: a slice, an array, a vector, or an array of the crate `ndarray`.
pub trait Values<T: Clone> {
    /// The values in C order.
    fn in_c_order(&self) -> Cow<'_, [T]>;

    /// The shape, where the values have one.
    fn shape(&self) -> Option<&[usize]>;
}

impl<T: Clone> Values<T> for [T] {
    fn in_c_order(&self) -> Cow<'_, [T]> {
        Cow::Borrowed(self)
    }

    fn shape(&self) -> Option<&[usize]> {
        None
    }
}

impl<T: Clone, const N: usize> Values<T> for [T; N] {
    fn in_c_order(&self) -> Cow<'_, [T]> {
        Cow::Borrowed(self)
    }

    fn shape(&self) -> Option<&[usize]> {
        None
    }
}

impl<T: Clone> Values<T> for Vec<T> {
    fn in_c_order(&self) -> Cow<'_, [T]> {
        Cow::Borrowed(self)
    }

    fn shape(&self) -> Option<&[usize]> {
        None
    }
}

#[cfg(feature = "ndarray")]
impl<T: Clone, S: ndarray::Data<Elem = T>, D: ndarray::Dimension> Values<T> for ndarray::ArrayBase<S, D> {
    fn in_c_order(&self) -> Cow<'_, [T]> {
        match self.as_slice() {
            Some(values) => Cow::Borrowed(values),
            None => self.iter().cloned().collect::<Vec<T>>().into(),
        }
    }

    fn shape(&self) -> Option<&[usize]> {
        Some(ndarray::ArrayBase::shape(self))
    }
}

impl Array {
    /// Reads a part of the array with all threads. Elements that were never written read as the fill value, or as zeros
    /// if there is none.
    ///
    /// # Errors
    /// [`DataError::ElementType`] if the array has another type; the selection does not fit the array; a chunk cannot
    /// be read or decoded.
    #[cfg(feature = "ndarray")]
    pub fn read<T: Element>(&self, part: impl Select) -> Result<ndarray::ArrayD<T>, DataError> {
        let selected = self.select(part)?;
        let values = self.read_selected(&selected)?;
        let shape: Vec<usize> = selected.shape.iter().map(|len| *len as usize).collect();
        ndarray::ArrayD::from_shape_vec(shape, values).map_err(|error| DataError::Unsupported {
            variable: self.path().to_owned(),
            reason: format!("its part of shape {:?} cannot be an array in memory: {error}", selected.shape),
        })
    }

    /// Reads a part of the array as [`read`](Self::read) does, to a vector in C order.
    ///
    /// # Errors
    /// As there.
    pub fn read_vec<T: Element>(&self, part: impl Select) -> Result<Vec<T>, DataError> {
        self.read_selected(&self.select(part)?)
    }

    /// Reads a part of the array as [`read`](Self::read) does, into a slice in C order.
    ///
    /// # Errors
    /// As there; the slice has another length than the part.
    pub fn read_into<T: Element>(&self, part: impl Select, out: &mut [T]) -> Result<(), DataError> {
        self.check_type::<T>()?;
        let selected = self.select(part)?;
        self.check_values(&selected, out.len())?;
        T::fill(out, |bytes| self.read_bytes(&selected.slab, Elements::Native, bytes))
    }

    /// Writes values to a part of the array, with all threads. Chunks that are covered in part are read, changed and
    /// written again; do not write the same chunk from two calls at the same time.
    ///
    /// # Errors
    /// [`DataError::ElementType`] if the array has another type; selection, values and array have different shapes; a
    /// chunk cannot be encoded or written. Chunks are written one by one: after an error some are new and some are old.
    pub fn write<T: Element>(
        &self,
        part: impl Select,
        values: &(impl Values<T> + ?Sized),
    ) -> Result<Written, DataError> {
        self.check_type::<T>()?;
        let selected = self.select(part)?;
        let shape: Option<Vec<u64>> =
            values.shape().map(|shape| shape.iter().map(|len| *len as u64).collect());
        if let Some(values) = shape
            && values != selected.shape
            && values != selected.slab.count()
        {
            return Err(self.slab_error(SlabError::Values { part: selected.shape, values }));
        }
        let values = values.in_c_order();
        self.check_values(&selected, values.len())?;
        self.write_bytes(&selected.slab, Elements::Native, &T::bytes(&values))
    }

    fn read_selected<T: Element>(&self, selected: &Selected) -> Result<Vec<T>, DataError> {
        self.check_type::<T>()?;
        selected.slab.check(self.shape()).map_err(|source| self.slab_error(source))?;
        let len = selected.slab.elements().and_then(|len| usize::try_from(len).ok());
        let mut values = Vec::new();
        let reserved = len.map(|len| values.try_reserve_exact(len));
        let (Some(len), Some(Ok(()))) = (len, reserved) else {
            return Err(DataError::Unsupported {
                variable: self.path().to_owned(),
                reason: format!(
                    "no memory for a part of shape {:?}; read it in smaller parts",
                    selected.shape
                ),
            });
        };
        values.resize(len, T::default());
        T::fill(&mut values, |bytes| self.read_bytes(&selected.slab, Elements::Native, bytes))?;
        Ok(values)
    }

    fn select(&self, part: impl Select) -> Result<Selected, DataError> {
        part.select(self.shape()).map_err(|source| self.slab_error(source))
    }

    /// Whether elements of type `T` are those of the array.
    fn check_type<T: Element>(&self) -> Result<(), DataError> {
        if T::is(self.dtype()) {
            return Ok(());
        }
        let (variable, dtype) = (self.path().to_owned(), self.dtype().text().to_owned());
        let rust = rust_type(self.dtype());
        Err(DataError::ElementType { variable, dtype, rust, requested: T::NAME })
    }

    fn check_values(&self, selected: &Selected, got: usize) -> Result<(), DataError> {
        match selected.slab.elements() {
            Some(want) if want == got as u64 => Ok(()),
            want => {
                let want = want.unwrap_or(u64::MAX);
                Err(self.slab_error(SlabError::Length { want, got: got as u64 }))
            }
        }
    }
}

/// The element type that reads a dtype.
fn rust_type(dtype: &Dtype) -> Option<&'static str> {
    fn name<T: Element>(dtype: &Dtype) -> Option<&'static str> {
        T::is(dtype).then_some(T::NAME)
    }
    [
        name::<i8>,
        name::<i16>,
        name::<i32>,
        name::<i64>,
        name::<u8>,
        name::<u16>,
        name::<u32>,
        name::<u64>,
        name::<f32>,
        name::<f64>,
        name::<bool>,
    ]
    .into_iter()
    .find_map(|name| name(dtype))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ncz_registry::chain::FilterChain;
    use ncz_store::MemoryStore;

    use super::*;
    use crate::format::Format;
    use crate::hierarchy::{Hierarchy, VariableBuilder};
    use crate::{Pool, s};

    fn array(dtype: &str, shape: [u64; 2]) -> Array {
        let mut hierarchy = Hierarchy::new(Format::Zarr2);
        for (name, len) in ["y", "x"].into_iter().zip(shape) {
            hierarchy.add_dimension("/", name, len, false).unwrap();
        }
        let dtype = Dtype::parse(dtype).unwrap();
        let variable = VariableBuilder::of_dtype("v", dtype, None).dimensions(["y", "x"]).chunks([2, 3]);
        hierarchy.add_variable("/", variable).unwrap();
        let variable = hierarchy.variable("/v").unwrap();
        let chain = FilterChain::bind(&[], &crate::codec_env(variable, Format::Zarr2)).unwrap();
        Array::new(Arc::new(MemoryStore::new("x")), variable, shape.to_vec(), chain, Pool::serial()).unwrap()
    }

    #[test]
    fn every_type_reads_back_what_it_wrote() {
        fn check<T: Element + PartialEq + std::fmt::Debug>(dtypes: &[&str], values: [T; 6]) {
            for dtype in dtypes {
                let array = array(dtype, [2, 3]);
                array.write(.., &values).unwrap();
                assert_eq!(array.read_vec::<T>(..).unwrap(), values, "{dtype}");
                let mut column = [T::default(); 2];
                array.read_into(s![.., 1], &mut column).unwrap();
                assert_eq!(column, [values[1], values[4]], "{dtype}");
            }
        }
        check(&["|i1"], [0i8, 1, -1, i8::MIN, i8::MAX, 7]);
        check(&["<i2", ">i2"], [0i16, 1, -1, i16::MIN, i16::MAX, 7]);
        check(&["<i4", ">i4"], [0i32, 1, -1, i32::MIN, i32::MAX, 7]);
        check(&["<i8", ">i8", "<M8[ns]", "<m8[s]"], [0i64, 1, -1, i64::MIN, i64::MAX, 7]);
        check(&["|u1", "|S1"], [0u8, 1, 2, 3, u8::MAX, 7]);
        check(&["<u2", ">u2"], [0u16, 1, 2, 3, u16::MAX, 7]);
        check(&["<u4", ">u4"], [0u32, 1, 2, 3, u32::MAX, 7]);
        check(&["<u8", ">u8"], [0u64, 1, 2, 3, u64::MAX, 7]);
        check(&["<f4", ">f4"], [0f32, 1.5, -2.5, f32::MIN, f32::INFINITY, 7.0]);
        check(&["<f8", ">f8"], [0f64, 1.5, -2.5, f64::MIN, f64::INFINITY, 7.0]);
        check(&["|b1"], [false, true, true, false, true, false]);
    }

    #[test]
    fn another_type_is_refused_and_both_are_named() {
        let message = |dtype: &str| array(dtype, [1, 1]).read_vec::<f64>(..).unwrap_err().to_string();
        assert_eq!(message("<f4"), "variable \"/v\" has elements of type f32 (<f4), got f64; use f32");
        assert!(message("<c8").contains("read_bytes"), "{}", message("<c8"));
        assert!(array("<f4", [1, 1]).write(.., &[1i32]).is_err());
        assert!(array("<f4", [1, 1]).read_into(.., &mut [1i32]).is_err());
    }

    #[test]
    fn another_number_of_values_is_refused() {
        let array = array("<i4", [2, 3]);
        assert!(array.write(.., &[1i32; 5]).is_err());
        assert!(array.read_into(s![0, ..], &mut [1i32; 2]).is_err());
        assert!(array.read_vec::<i32>(s![0..3, ..]).is_err());
        assert!(array.read_vec::<i32>(s![0..3]).is_err());
    }

    #[cfg(feature = "ndarray")]
    #[test]
    fn arrays_of_ndarray_keep_their_shape() {
        let array = array("<i4", [4, 5]);
        let values = ndarray::Array2::from_shape_fn((4, 5), |(y, x)| (10 * y + x) as i32);
        array.write(.., &values).unwrap();
        assert_eq!(array.read::<i32>(..).unwrap(), values.clone().into_dyn());
        let part = array.read::<i32>(s![1..3, 1..; 2]).unwrap();
        assert_eq!(part, values.slice(ndarray::s![1..3, 1..; 2]).into_dyn());
        assert_eq!(array.read::<i32>(s![-1, ..]).unwrap().shape(), [5]);
        // Another memory order, and a view.
        array.write(.., &values.t().as_standard_layout().t()).unwrap();
        array.write(s![0, ..], &values.slice(ndarray::s![3, ..])).unwrap();
        assert_eq!(array.read_vec::<i32>(s![0, ..]).unwrap(), [30, 31, 32, 33, 34]);
        assert_eq!(array.read_vec::<i32>(s![2, ..]).unwrap(), [20, 21, 22, 23, 24]);
        assert!(array.write(.., &values.t()).is_err(), "the transposed shape");
    }
}
