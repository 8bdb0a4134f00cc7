//! IEEE half precision, as numpy converts it.

/// Returns the value of a half-precision number, which `f64` holds exactly; NaN keeps its payload.
pub(super) fn to_f64(half: u16) -> f64 {
    let sign = u64::from(half & 0x8000) << 48;
    let exponent = u64::from(half >> 10 & 0x1f);
    let mantissa = u64::from(half & 0x3ff);
    match exponent {
        0 => {
            let magnitude = mantissa as f64 / 16_777_216.0; // 2^24
            f64::from_bits(magnitude.to_bits() | sign)
        }
        31 => f64::from_bits(sign | 0x7ff << 52 | mantissa << 42),
        _ => f64::from_bits(sign | (exponent + 1023 - 15) << 52 | mantissa << 42),
    }
}

/// Returns the nearest half-precision number, ties to even; infinity for values that are too large.
pub(super) fn from_f64(value: f64) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 48) as u16 & 0x8000;
    let exponent = (bits >> 52 & 0x7ff) as i32 - 1023;
    let mantissa = bits & ((1 << 52) - 1);
    if exponent == 1024 {
        // A NaN whose payload does not fit stays a NaN.
        let payload = (mantissa >> 42) as u16;
        return sign | 0x7c00 | if mantissa != 0 && payload == 0 { 1 } else { payload };
    }
    if exponent > 15 {
        return sign | 0x7c00;
    }
    // Subnormal numbers count in steps of 2^-24.
    let (base, significand, shift) = if exponent >= -14 {
        (((exponent + 15) as u16) << 10, mantissa, 42)
    } else {
        (0, mantissa | 1 << 52, (42 - 14 - exponent).min(63))
    };
    let (kept, rest) = ((significand >> shift) as u16, significand & ((1 << shift) - 1));
    let middle = 1_u64 << (shift - 1);
    let up = rest > middle || rest == middle && kept & 1 == 1;
    // A carry goes into the exponent, and from the largest number to infinity.
    sign | (base + kept + u16::from(up))
}

/// Returns the next larger half-precision number; infinity and NaN are returned unchanged.
pub(super) fn next_up(half: u16) -> u16 {
    match half {
        0x8000 => 0x0001,
        0x0000..0x7c00 => half + 1,
        0x8001..=0xfc00 => half - 1,
        _ => half,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_round_trips() {
        for half in 0..=u16::MAX {
            assert_eq!(from_f64(to_f64(half)), half, "{half:#06x}");
        }
    }

    #[test]
    fn the_next_half_is_the_least_that_is_larger() {
        let mut halves: Vec<f64> = (0..=u16::MAX).map(to_f64).filter(|half| !half.is_nan()).collect();
        halves.sort_by(f64::total_cmp);
        for pair in halves.windows(2).filter(|pair| pair[0] < pair[1]) {
            assert_eq!(to_f64(next_up(from_f64(pair[0]))), pair[1], "{}", pair[0]);
        }
        assert_eq!(
            (next_up(0x8000), next_up(0x7c00), next_up(0x7e00), next_up(0xfe00)),
            (1, 0x7c00, 0x7e00, 0xfe00)
        );
    }

    #[test]
    fn halves_are_nearest_and_even() {
        for low in 0..0x7bff_u16 {
            let (a, b) = (to_f64(low), to_f64(low + 1));
            let middle = (a + b) / 2.0;
            assert_eq!(from_f64(middle), low + (low & 1), "{low:#06x}");
            assert_eq!(from_f64(middle.next_down()), low);
            assert_eq!(from_f64(-middle.next_up()), 0x8000 | (low + 1));
        }
        assert_eq!((from_f64(65519.9), from_f64(65520.0), from_f64(1e300)), (0x7bff, 0x7c00, 0x7c00));
        assert_eq!((from_f64(1e-300), from_f64(-5e-324), from_f64(2.0_f64.powi(-25))), (0, 0x8000, 0));
        assert_eq!(to_f64(0x3c01), 1.0009765625);
        assert_eq!(to_f64(0x0001), 2.0_f64.powi(-24));
    }
}
