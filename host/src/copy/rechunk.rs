//! The plan for other chunks: boxes to move at a time, so that as few chunks of the source as memory allows are decoded
//! more than once.

/// The default limit of the bytes that a copy holds, unless its chunks are larger.
pub(super) const MEMORY: u64 = 96 << 20;

/// Decoding every chunk this many times costs more than a scratch file, written and read once.
const TOO_OFTEN: f64 = 3.0;

/// A dimension of the data that are moved.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    /// The length.
    pub(super) len: u64,
    /// The length of what is written as a whole.
    pub(super) unit: u64,
    /// The length of what is read as a whole.
    pub(super) other: u64,
}

/// How the chunks of the source become those of the target.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum RechunkPlan {
    /// Boxes of this shape, at most `limit` at the same time, each on one thread.
    PerThread { tile: Vec<u64>, limit: u64 },
    /// Boxes of this shape, one after the other, each by all threads.
    Shared { tile: Vec<u64> },
    /// Boxes of whole chunks of the source are cut to pieces in a scratch file, and boxes of the target are assembled
    /// from pieces. Each box is moved by all threads.
    TwoPass { read: Vec<u64>, piece: Vec<u64>, write: Vec<u64> },
}

/// Chooses a plan, for elements of this many bytes and this many bytes of memory. `chunks` is the number of bytes of
/// chunks of both sides that a thread holds besides its box.
pub(super) fn choose(
    axes: &[Axis],
    element: u64,
    memory: u64,
    threads: usize,
    chunks: u64,
    two_pass_allowed: bool,
) -> RechunkPlan {
    let threads = threads.max(1) as u64;
    let fitting = (memory / 2 / chunks.max(1)).clamp(1, threads);
    let rest = memory.saturating_sub(fitting.saturating_mul(chunks)).max(memory / 4);
    let shared = tile(axes, element, rest);
    let at_best = rereads(axes, &shared);
    if two_pass_allowed && at_best > TOO_OFTEN {
        return two_pass(axes, element, rest);
    }
    let per_thread = tile(axes, element, rest / fitting);
    let boxes = axes.iter().zip(&per_thread).map(|(axis, tile)| axis.len.div_ceil(*tile));
    let is_enough = boxes.fold(1, u64::saturating_mul) >= threads;
    match fitting < threads || is_enough && rereads(axes, &per_thread) <= at_best * 1.1 {
        true => RechunkPlan::PerThread { tile: per_thread, limit: fitting },
        false => RechunkPlan::Shared { tile: shared },
    }
}

fn two_pass(axes: &[Axis], element: u64, memory: u64) -> RechunkPlan {
    let swapped: Vec<Axis> =
        axes.iter().map(|axis| Axis { len: axis.len, unit: axis.other, other: axis.unit }).collect();
    let mut read = tile(&swapped, element, memory);
    let write = tile(axes, element, memory);
    let piece: Vec<u64> = read.iter().zip(&write).map(|(read, write)| (*read).min(*write)).collect();
    for ((read, piece), axis) in read.iter_mut().zip(&piece).zip(axes) {
        // Pieces that are written in part would be read, changed and written.
        if *read < axis.len {
            *read = *read / piece * piece;
        }
    }
    RechunkPlan::TwoPass { read, piece, write }
}

/// The shape of a box of whole units that fits into `budget` bytes, if one unit does.
pub(super) fn tile(axes: &[Axis], element: u64, budget: u64) -> Vec<u64> {
    let mut tile: Vec<u64> = axes.iter().map(|axis| axis.unit).collect();
    loop {
        let (now, bytes) = (rereads(axes, &tile), bytes(axes, &tile, element));
        let mut best: Option<(f64, f64, usize, u64)> = None;
        for (d, axis) in axes.iter().enumerate() {
            if tile[d] >= axis.len {
                continue;
            }
            let units = |len: u64| len.checked_next_multiple_of(axis.unit).unwrap_or(axis.unit);
            let all = units(axis.len);
            let room = tile[d].saturating_mul((budget / bytes.max(1)).max(1));
            let common = (axis.other / gcd(axis.unit, axis.other)).saturating_mul(axis.unit);
            let candidates = [
                all,
                units(tile[d].saturating_mul(2)),
                units(axis.other),
                common,
                room / common.max(1) * common,
                room / axis.unit * axis.unit,
            ];
            let old = tile[d];
            for candidate in candidates.into_iter().filter(|&len| len > old && len <= all) {
                tile[d] = candidate;
                let (gain, price) =
                    (now / rereads(axes, &tile), self::bytes(axes, &tile, element) as f64 / bytes as f64);
                let fits = self::bytes(axes, &tile, element) <= budget;
                tile[d] = old;
                let worth = gain.ln() / price.max(1.000_001).ln();
                let is_better =
                    best.is_none_or(|(most, of, ..)| (worth, gain) > (most * 1.000_001, of) || worth > most);
                if fits && gain > 1.000_1 && is_better {
                    best = Some((worth, gain, d, candidate));
                }
            }
        }
        match best {
            Some((_, _, d, len)) => tile[d] = len,
            None => return tile,
        }
    }
}

/// How many boxes of this shape touch a chunk of the other side, on average.
pub(super) fn rereads(axes: &[Axis], tile: &[u64]) -> f64 {
    let along = |(axis, &tile): (&Axis, &u64)| {
        if tile >= axis.len || tile.is_multiple_of(axis.other) {
            return 1.0;
        }
        let tiles = axis.len.div_ceil(tile) as f64;
        let chunks = axis.len.div_ceil(axis.other) as f64;
        let common = gcd(tile, axis.other) as f64;
        let touched = 1.0 + (tile as f64 - common) / axis.other as f64;
        (tiles * touched / chunks).max(1.0)
    };
    axes.iter().zip(tile).map(along).product()
}

fn bytes(axes: &[Axis], tile: &[u64], element: u64) -> u64 {
    let lens = axes.iter().zip(tile).map(|(axis, tile)| (*tile).min(axis.len.max(1)));
    lens.fold(element, u64::saturating_mul)
}

fn gcd(mut one: u64, mut other: u64) -> u64 {
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one.max(1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn axes(lens: &[(u64, u64, u64)]) -> Vec<Axis> {
        lens.iter().map(|&(len, unit, other)| Axis { len, unit, other }).collect()
    }

    #[test]
    fn equal_chunks_are_never_read_twice() {
        let same = axes(&[(1000, 10, 10), (1000, 20, 20)]);
        assert_eq!(tile(&same, 4, 1 << 20), [10, 20]);
        let nested = axes(&[(1000, 10, 30), (1000, 20, 5)]);
        assert_eq!(rereads(&nested, &tile(&nested, 4, 1 << 20)), 1.0);
    }

    #[test]
    fn memory_lowers_how_often_rows_are_read_to_make_columns() {
        let turned = axes(&[(8192, 8192, 1), (16_384, 1, 16_384)]);
        let whole = choose(&turned, 4, 1 << 30, 2, 1 << 18, true);
        assert_eq!(whole, RechunkPlan::Shared { tile: vec![8192, 16_384] });
        let half = choose(&turned, 4, 300 << 20, 2, 1 << 18, true);
        let RechunkPlan::Shared { tile } = &half else { panic!("{half:?}") };
        assert!(rereads(&turned, tile) <= 2.0, "{half:?}");
        let little = choose(&turned, 4, 64 << 20, 2, 1 << 18, true);
        let RechunkPlan::TwoPass { read, piece, write } = &little else { panic!("{little:?}") };
        assert_eq!((read[1], write[0]), (16_384, 8192));
        assert_eq!(piece, &[read[0], write[1]]);
        assert!(read[0] > 500 && write[1] > 900, "{little:?}");
    }

    proptest! {
        #[test]
        fn boxes_are_whole_units_and_fit(
            lens in prop::collection::vec((1u64..5000, 1u64..300, 1u64..300), 1..4),
            budget in 1u64..1 << 24,
        ) {
            let axes = axes(&lens);
            let found = tile(&axes, 4, budget);
            let least: Vec<u64> = axes.iter().map(|axis| axis.unit).collect();
            prop_assert!(found.iter().zip(&axes).all(|(tile, axis)| tile % axis.unit == 0));
            prop_assert!(bytes(&axes, &found, 4) <= budget.max(bytes(&axes, &least, 4)));
            prop_assert!(rereads(&axes, &found) <= rereads(&axes, &least));
        }
    }
}
