//! Where the spread of nested measurements comes from: Kalibera and Jones, "Rigorous benchmarking in reasonable time"
//! (ISMM 2013), §6 and §9.

use super::mean_and_variance;

/// Levels of a balanced experiment, the innermost first: level 1 are values, level 2 groups of them (runs), and so on.
#[derive(Debug, Clone, PartialEq)]
pub struct Levels {
    /// rᵢ: members of each group, by level.
    pub counts: Vec<usize>,
    /// Sᵢ²: mean of the variances of the level-i means around the mean of their group.
    pub mean_squares: Vec<f64>,
    /// Tᵢ² = Sᵢ² − Sᵢ₋₁² / rᵢ₋₁, T₁² = S₁²: what level i itself adds. Below 0 where it adds nothing that can be seen.
    pub components: Vec<f64>,
    /// Mean of all values.
    pub mean: f64,
}

/// The variances of values given group by group; `shape` is rₙ, …, r₁, the outermost count first, as in an array.
///
/// `None` where the values do not fill the shape, a count is under 2, or a value is not finite.
pub fn levels(values: &[f64], shape: &[usize]) -> Option<Levels> {
    let size = shape.iter().try_fold(1_usize, |size, &count| size.checked_mul(count))?;
    let sound = !shape.is_empty() && shape.iter().all(|&count| count > 1) && values.iter().all(|v| v.is_finite());
    if !sound || size != values.len() {
        return None;
    }
    let counts: Vec<usize> = shape.iter().rev().copied().collect();
    let mut means = values.to_vec();
    let mut mean_squares = Vec::new();
    for &count in &counts {
        let groups: Vec<(f64, f64)> = means.chunks(count).filter_map(mean_and_variance).collect();
        mean_squares.push(groups.iter().map(|(_, variance)| variance).sum::<f64>() / groups.len() as f64);
        means = groups.into_iter().map(|(mean, _)| mean).collect();
    }
    let below = |level: usize| if level == 0 { 0.0 } else { mean_squares[level - 1] / counts[level - 1] as f64 };
    let components = mean_squares.iter().enumerate().map(|(level, square)| square - below(level)).collect();
    Some(Levels { mean: *means.first()?, counts, mean_squares, components })
}

impl Levels {
    /// How many members of level i (from 1) a group of the next level should have, given what one more of each level
    /// costs (the innermost first): rᵢ = √((cᵢ₊₁/cᵢ) · (Tᵢ²/Tᵢ₊₁²)). Infinite where the next level adds no spread,
    /// 0 where this one adds none.
    pub fn best_count(&self, level: usize, costs: &[f64]) -> Option<f64> {
        let index = level.checked_sub(1)?;
        let (this, next) = (*self.components.get(index)?, *self.components.get(index + 1)?);
        let (cost, dearer) = (*costs.get(index)?, *costs.get(index + 1)?);
        if !(cost > 0.0 && dearer >= 0.0) {
            return None;
        }
        Some(match (this > 0.0, next > 0.0) {
            (false, _) => 0.0,
            (true, false) => f64::INFINITY,
            (true, true) => (dearer / cost * this / next).sqrt(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn close(got: &[f64], expected: &[f64], tolerance: f64) {
        assert_eq!(got.len(), expected.len());
        assert!(got.iter().zip(expected).all(|(g, e)| (g - e).abs() <= tolerance), "{got:?} against {expected:?}");
    }

    /// The worked example of the paper.
    const PAPER: [f64; 12] = [9., 5., 8., 3., 10., 6., 7., 11., 1., 12., 2., 4.];

    #[test]
    fn the_papers_example_on_three_levels() {
        let levels = levels(&PAPER, &[3, 2, 2]).expect("balanced");
        assert_eq!(levels.mean, 6.5);
        close(&levels.mean_squares, &[16.5, 2.583_333, 3.5625], 1e-6);
        close(&levels.components, &[16.5, -5.666_667, 2.270_833], 1e-6);
    }

    #[test]
    fn the_papers_example_on_two_levels() {
        let levels = levels(&PAPER, &[3, 4]).expect("balanced");
        close(&levels.mean_squares, &[12.7, 3.6], 0.05);
        close(&levels.components, &[12.7, 0.4], 0.05);
    }

    #[test]
    fn best_counts_are_those_of_the_authors_own_program() {
        // softdevteam/libkalibera, python/tests/test_data.py; costs 3, 20 and 100 from the innermost level out.
        let values = [3., 4., 3., 1.2, 3.1, 3., 0.2, 1., 1.5, 1., 2., 3.];
        let levels = levels(&values, &[2, 2, 3]).expect("balanced");
        close(&levels.components, &[0.726_666_7, 0.262_777_8, 0.7747], 1e-4);
        let best: Vec<f64> = (1..=2).filter_map(|level| levels.best_count(level, &[3.0, 20.0, 100.0])).collect();
        close(&best, &[4.2937, 1.3023], 1e-3);
    }

    #[test]
    fn a_level_without_spread_says_so() {
        let same_runs = levels(&[1.0, 2.0, 1.0, 2.0], &[2, 2]).expect("balanced");
        assert_eq!(same_runs.best_count(1, &[1.0, 100.0]), Some(f64::INFINITY));
        let no_noise = levels(&[1.0, 1.0, 2.0, 2.0], &[2, 2]).expect("balanced");
        assert_eq!(no_noise.best_count(1, &[1.0, 100.0]), Some(0.0));
        assert_eq!(no_noise.best_count(2, &[1.0, 100.0]), None, "the top level has no next one");
    }

    #[test]
    fn unbalanced_values_have_no_levels() {
        for (values, shape) in
            [(&PAPER[..11], &[3, 4][..]), (&PAPER[..], &[12, 1]), (&[], &[]), (&[1.0, f64::NAN], &[2])]
        {
            assert_eq!(levels(values, shape), None);
        }
    }
}
