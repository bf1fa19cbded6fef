//! Many tests at once.

/// Holm's step-down adjusted p-values, in the order given: the i-th smallest of m is multiplied by m − i + 1, never
/// falls below the one before, and ends at 1. A p that is no number counts as 1.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let p: Vec<f64> = p.iter().map(|p| if p.is_nan() { 1.0 } else { p.clamp(0.0, 1.0) }).collect();
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let mut adjusted = vec![0.0; p.len()];
    let mut floor: f64 = 0.0;
    for (rank, &index) in order.iter().enumerate() {
        floor = floor.max((p[index] * (p.len() - rank) as f64).min(1.0));
        adjusted[index] = floor;
    }
    adjusted
}

/// Benjamini and Hochberg's adjusted p-values, in the order given: of m, the i-th smallest is multiplied by m / i, and
/// none is above the one after it. They bound the share of false ones among the findings (for tests that are independent
/// or rise together) where Holm's bound the chance of any: for looking around, not for a gate.
pub fn benjamini_hochberg(p: &[f64]) -> Vec<f64> {
    let p: Vec<f64> = p.iter().map(|p| if p.is_nan() { 1.0 } else { p.clamp(0.0, 1.0) }).collect();
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let mut adjusted = vec![0.0; p.len()];
    let mut ceiling: f64 = 1.0;
    for (rank, &index) in order.iter().enumerate().rev() {
        ceiling = ceiling.min(p[index] * p.len() as f64 / (rank + 1) as f64);
        adjusted[index] = ceiling;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::{benjamini_hochberg, holm};

    #[test]
    fn the_smallest_pays_for_all() {
        assert_eq!(holm(&[0.5, 0.01, 0.04]), [0.5, 0.03, 0.08]);
        assert_eq!(holm(&[f64::NAN, 0.4]), [1.0, 0.8]);
        assert!(holm(&[]).is_empty());
    }

    #[test]
    fn a_finding_pays_for_its_rank() {
        assert_eq!(benjamini_hochberg(&[0.5, 0.01, 0.04]), [0.5, 0.03, 0.06]);
        assert_eq!(benjamini_hochberg(&[0.04, 0.05]), [0.05, 0.05], "none is above the next");
        assert!(benjamini_hochberg(&[]).is_empty());
    }
}
