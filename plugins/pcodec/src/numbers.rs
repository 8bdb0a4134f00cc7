//! The number types that numcodecs passes to Pco.

/// A number type. The discriminants are Pco's own, in streams and in the working words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Numbers {
    U32 = 1,
    U64 = 2,
    I32 = 3,
    I64 = 4,
    F32 = 5,
    F64 = 6,
    U16 = 7,
    I16 = 8,
    F16 = 9,
}

impl Numbers {
    const ALL: [Self; 9] =
        [Self::U32, Self::U64, Self::I32, Self::I64, Self::F32, Self::F64, Self::U16, Self::I16, Self::F16];

    pub(crate) fn numbered(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|numbers| *numbers as u32 == number)
    }

    /// The bytes of a number.
    pub(crate) fn size(self) -> usize {
        match self {
            Self::U16 | Self::I16 | Self::F16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
        }
    }
}
