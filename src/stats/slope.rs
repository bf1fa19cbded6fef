//! Whether one number follows another.

use super::distribution::t_two_sided;
use super::mean_and_variance;

/// A straight line through points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slope {
    /// Rise of y for one more of x.
    pub slope: f64,
    /// Two-sided p-value of a slope of 0: t with n − 2 degrees of freedom.
    pub p: f64,
}

/// Least-squares slope of y over x, as `scipy.stats.linregress`. `None` for fewer than three points, unequal lengths, equal
/// x, or a value that is not finite.
pub fn slope(x: &[f64], y: &[f64]) -> Option<Slope> {
    let sound = x.len() == y.len() && x.len() > 2 && x.iter().chain(y).all(|v| v.is_finite());
    let ((x_mean, _), (y_mean, _)) = if sound { (mean_and_variance(x)?, mean_and_variance(y)?) } else { return None };
    let sum = |f: &dyn Fn(f64, f64) -> f64| x.iter().zip(y).map(|(x, y)| f(x - x_mean, y - y_mean)).sum::<f64>();
    let (xx, xy) = (sum(&|x, _| x * x), sum(&|x, y| x * y));
    if xx <= 0.0 {
        return None;
    }
    let slope = xy / xx;
    let rest = sum(&|x, y| (y - slope * x).powi(2));
    let df = x.len() as f64 - 2.0;
    let se = (rest / df / xx).sqrt();
    let p = match (se > 0.0, slope == 0.0) {
        (true, _) => t_two_sided(slope / se, df)?,
        (false, flat) => f64::from(u8::from(flat)),
    };
    (slope.is_finite() && p.is_finite()).then_some(Slope { slope, p })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_its_slope_and_noise_has_none() {
        let x: Vec<f64> = (0..10).map(f64::from).collect();
        let line: Vec<f64> = x.iter().map(|x| 3.0 + 0.5 * x + 0.01 * (x * 7.0).sin()).collect();
        let found = slope(&x, &line).expect("a line");
        assert!((found.slope - 0.5).abs() < 0.01 && found.p < 1e-9);
        let noise: Vec<f64> = x.iter().map(|x| (x * 2.7).sin()).collect();
        assert!(slope(&x, &noise).expect("points").p > 0.05);
        assert_eq!(slope(&x, &[1.0; 10]).map(|s| (s.slope, s.p)), Some((0.0, 1.0)));
        assert_eq!(slope(&[1.0; 3], &[1.0, 2.0, 3.0]), None);
        assert_eq!(slope(&[1.0, 2.0], &[1.0, 2.0]), None);
    }

    #[test]
    fn the_p_value_is_scipys() {
        // scipy.stats.linregress([0, 1, 2, 3, 4], [1.0, 1.2, 0.9, 1.4, 1.3]) -> slope 0.08, pvalue 0.274624997086
        let found = slope(&[0., 1., 2., 3., 4.], &[1.0, 1.2, 0.9, 1.4, 1.3]).expect("points");
        assert!((found.slope - 0.08).abs() < 1e-12);
        assert!((found.p - 0.274624997086).abs() < 1e-9, "{}", found.p);
    }
}
