//! A line through points.

/// `a` and `b` of the line `a + b * x` with the least sum of squared distances in y. A horizontal
/// line if all points have one x.
///
/// # Panics
///
/// If there is no point.
pub fn fit(points: &[(f64, f64)]) -> (f64, f64) {
    assert!(!points.is_empty(), "a line needs a point");
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let both: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    let square: f64 = points.iter().map(|point| (point.0 - x) * (point.0 - x)).sum();
    let slope = if square == 0.0 { 0.0 } else { both / square };
    (y - slope * x, slope)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_of_a_line_give_the_line() {
        let (a, b) = fit(&[1.0, 2.0, 3.0, 5.0].map(|x| (x, 7.0 + 3.0 * x)));
        assert!((a - 7.0).abs() < 1e-9 && (b - 3.0).abs() < 1e-9);
        assert_eq!(fit(&[(2.0, 1.0), (2.0, 3.0)]), (2.0, 0.0));
    }
}
