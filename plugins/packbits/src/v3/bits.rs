/// The bits to store of the numbers of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bits {
    /// The bits of a number: 1 for a truth value, which takes a byte in memory.
    pub(super) width: u32,
    /// The numbers of an element: 2 of complex ones.
    pub(super) components: usize,
    /// The lowest and the highest bit that are stored.
    pub(super) first: u32,
    pub(super) last: u32,
    /// Whether the highest bit is a sign, of which the bits above are copies.
    pub(super) signed: bool,
}

impl Bits {
    /// The bits that are stored of a number.
    pub(super) fn stored(self) -> u32 {
        self.last - self.first + 1
    }

    /// The bytes of a number in memory.
    pub(super) fn size(self) -> usize {
        self.width.div_ceil(8) as usize
    }

    /// The bytes of an element in memory.
    pub(super) fn element(self) -> usize {
        self.size() * self.components
    }

    /// Whether numbers are stored as they are in memory.
    pub(super) fn is_whole(self) -> bool {
        self.stored() == self.width && self.width.is_multiple_of(8)
    }

    /// The bits to store of a number.
    pub(super) fn cut(self, number: u64) -> u64 {
        number >> self.first & u64::MAX >> (64 - self.stored())
    }

    /// The number of which these bits were stored.
    pub(super) fn restored(self, bits: u64) -> u64 {
        let number = bits << self.first;
        if !self.signed {
            return number;
        }
        let unused = 63 - self.last;
        let extended = (number << unused).cast_signed() >> unused;
        extended.cast_unsigned() & u64::MAX >> (64 - self.width)
    }

    /// Whether this many elements have a length in memory and in the stream.
    pub(super) fn fits(self, count: usize) -> bool {
        count.checked_mul(self.element() * 8).is_some_and(|bits| bits <= isize::MAX as usize)
    }

    /// Returns the bit as a parameter word.
    pub(super) fn word(self) -> u32 {
        let flags = u32::from(self.components == 2) << 1 | u32::from(self.signed);
        self.width << 24 | self.first << 16 | self.last << 8 | flags
    }

    /// Reads the result of [`word`](Self::word).
    pub(super) fn from_word(word: u32) -> Option<Self> {
        let [flags, last, first, width] = word.to_le_bytes();
        let sound = matches!(width, 1 | 8 | 16 | 32 | 64) && first <= last && last < width && flags < 4;
        sound.then(|| Self {
            width: width.into(),
            components: 1 + usize::from(flags >> 1),
            first: first.into(),
            last: last.into(),
            signed: flags & 1 != 0,
        })
    }
}
