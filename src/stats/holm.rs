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

#[cfg(test)]
mod tests {
    use super::holm;

    #[test]
    fn the_smallest_pays_for_all() {
        assert_eq!(holm(&[0.5, 0.01, 0.04]), [0.5, 0.03, 0.08]);
        assert_eq!(holm(&[f64::NAN, 0.4]), [1.0, 0.8]);
        assert!(holm(&[]).is_empty());
    }
}
