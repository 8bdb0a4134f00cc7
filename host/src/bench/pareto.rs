//! The Pareto front: the points that no other point beats.

/// Marks the points of the Pareto front: those for which no other point is at least as good in both numbers and
/// better in one. Larger is better. A point with a NaN is never marked.
///
/// ```
/// let marks = ncz::bench::pareto_front(&[(1.0, 9.0), (2.0, 5.0), (1.5, 4.0), (3.0, 1.0)]);
/// assert_eq!(marks, [true, true, false, true]);
/// ```
#[must_use]
pub fn pareto_front(points: &[(f64, f64)]) -> Vec<bool> {
    let mut order: Vec<usize> =
        (0..points.len()).filter(|&at| !points[at].0.is_nan() && !points[at].1.is_nan()).collect();
    order.sort_by(|&a, &b| {
        let ((xa, ya), (xb, yb)) = (points[a], points[b]);
        xb.total_cmp(&xa).then(yb.total_cmp(&ya))
    });
    let mut marks = vec![false; points.len()];
    // From the best first number on down, a point is beaten unless its second number is the best so far; equal points
    // do not beat each other.
    let mut best: Option<(f64, f64)> = None;
    for at in order {
        let point = points[at];
        if best.is_none_or(|best| point.1 > best.1 || point == best) {
            marks[at] = true;
            best = Some(point);
        }
    }
    marks
}
