//! `H5T*`: types.

use std::ffi::c_void;

use super::{FAIL, put};
use crate::dataset::{Class, Order, Type};
use crate::guard::{Function, guard};
use crate::session;

pub(super) fn functions() -> Vec<Function> {
    vec![
        ("H5Tclose", close as *const ()),
        ("H5Tconvert", convert as *const ()),
        ("H5Tget_class", class as *const ()),
        ("H5Tget_fields", fields as *const ()),
        ("H5Tget_native_type", native_type as *const ()),
        ("H5Tget_offset", offset as *const ()),
        ("H5Tget_order", order as *const ()),
        ("H5Tget_precision", precision as *const ()),
        ("H5Tget_sign", sign as *const ()),
        ("H5Tget_size", size as *const ()),
        ("H5Tget_super", base as *const ()),
    ]
}

extern "C" fn class(ty: i64) -> i32 {
    guard(FAIL, || Some(session::datatype(ty)?.class as i32))
}

extern "C" fn size(ty: i64) -> usize {
    guard(0, || Some(session::datatype(ty)?.size))
}

extern "C" fn order(ty: i64) -> i32 {
    guard(FAIL, || Some(session::datatype(ty)?.innermost().order as i32))
}

extern "C" fn sign(ty: i64) -> i32 {
    guard(FAIL, || {
        let ty = session::datatype(ty)?;
        let ty = ty.innermost();
        (ty.class == Class::Integer).then_some(i32::from(ty.signed))
    })
}

extern "C" fn precision(ty: i64) -> usize {
    guard(0, || {
        let ty = session::datatype(ty)?;
        let ty = ty.innermost();
        ty.is_atomic().then_some(ty.precision)
    })
}

extern "C" fn offset(ty: i64) -> i32 {
    guard(FAIL, || {
        let ty = session::datatype(ty)?;
        let ty = ty.innermost();
        ty.is_atomic().then(|| i32::try_from(ty.offset).ok())?
    })
}

/// The positions of a floating-point number's parts, as IEEE 754 has them.
unsafe extern "C" fn fields(
    ty: i64,
    sign: *mut usize,
    exponent: *mut usize,
    exponent_len: *mut usize,
    mantissa: *mut usize,
    mantissa_len: *mut usize,
) -> i32 {
    guard(FAIL, || {
        let ty = session::datatype(ty)?;
        let ty = ty.innermost();
        if ty.class != Class::Float {
            return None;
        }
        let exponent_bits = match ty.precision {
            16 => 5,
            32 => 8,
            64 => 11,
            128 => 15,
            _ => return None,
        };
        let mantissa_bits = ty.precision - 1 - exponent_bits;
        // SAFETY: HDF5's contract: each is NULL, or valid for writing a number.
        unsafe {
            put(sign, ty.offset + ty.precision - 1);
            put(exponent, ty.offset + mantissa_bits);
            put(exponent_len, exponent_bits);
            put(mantissa, ty.offset);
            put(mantissa_len, mantissa_bits);
        }
        Some(0)
    })
}

extern "C" fn base(ty: i64) -> i64 {
    guard(-1, || session::derive(ty, |ty| ty.base.as_deref().cloned()))
}

/// `direction`: 0 default, 1 and 2 search from the small or the large end. Sizes that this machine has are
/// found by all three.
extern "C" fn native_type(ty: i64, direction: i32) -> i64 {
    guard(-1, || {
        if !(0..=2).contains(&direction) {
            return None;
        }
        session::derive(ty, |ty| Some(ty.native()))
    })
}

extern "C" fn close(ty: i64) -> i32 {
    guard(FAIL, || session::close(ty).map(|()| 0))
}

/// Only what plugins do: numbers of one kind in the other byte order.
unsafe extern "C" fn convert(
    from: i64,
    to: i64,
    count: usize,
    buffer: *mut c_void,
    _background: *mut c_void,
    _plist: i64,
) -> i32 {
    guard(FAIL, || {
        let (from, to) = (session::datatype(from)?, session::datatype(to)?);
        let swaps = from.swaps_to(&to)?;
        if count == 0 || !swaps {
            return Some(0);
        }
        let len = count.checked_mul(to.size).filter(|len| isize::try_from(*len).is_ok())?;
        if buffer.is_null() {
            return None;
        }
        // SAFETY: HDF5's contract: the buffer holds `count` elements of the larger of the two types, which
        // have one size here; it is not NULL, and the length fits an allocation.
        let bytes = unsafe { std::slice::from_raw_parts_mut(buffer.cast::<u8>(), len) };
        to.swap(bytes);
        Some(0)
    })
}

impl Type {
    /// Returns the innermost base type of an array or enumeration.
    fn innermost(&self) -> &Self {
        let mut ty = self;
        while let Some(base) = &ty.base {
            ty = base;
        }
        ty
    }

    fn is_atomic(&self) -> bool {
        matches!(
            self.class,
            Class::Integer | Class::Float | Class::String | Class::Bitfield | Class::Reference
        )
    }

    fn is_number(&self) -> bool {
        matches!(self.class, Class::Integer | Class::Float | Class::Bitfield)
    }

    /// The type of this machine that holds the same values. A record keeps its size: what its members are
    /// is not known here.
    fn native(&self) -> Self {
        let mut native = self.clone();
        if let Some(own) = &self.base {
            let base = own.native();
            match self.class {
                Class::Array => native.size = self.size / own.size.max(1) * base.size,
                Class::Enum => native.size = base.size,
                // A sequence is stored elsewhere.
                _ => {}
            }
            native.order = base.order;
            native.base = Some(Box::new(base));
            return native;
        }
        if self.order != Order::None {
            native.order = Order::NATIVE;
        }
        if self.is_number() {
            // An integer's bits decide, not the bytes that a file spends on them.
            let bits = if self.class == Class::Float { self.size.saturating_mul(8) } else { self.precision };
            native.size = match bits {
                0..=8 => 1,
                9..=16 => 2,
                17..=32 => 4,
                33..=64 => 8,
                _ => self.size,
            };
            native.precision = native.size.saturating_mul(8);
            native.offset = 0;
        }
        native
    }

    /// Turns the bytes of each number round.
    pub(super) fn swap(&self, elements: &mut [u8]) {
        elements.chunks_exact_mut(self.innermost().size.max(1)).for_each(<[u8]>::reverse);
    }

    /// Whether elements become those of `to` by turning their bytes round; `None` if that is not enough.
    pub(super) fn swaps_to(&self, to: &Self) -> Option<bool> {
        let (one, other) = (self.innermost(), to.innermost());
        let alike = self.class == to.class && self.size == to.size && one.class == other.class;
        let same_bits = one.size == other.size
            && one.precision == other.precision
            && one.offset == other.offset
            && one.signed == other.signed;
        if !(alike && same_bits && one.size > 0) {
            return None;
        }
        if one.order == other.order {
            return Some(false);
        }
        one.is_number().then_some(one.size > 1)
    }
}
