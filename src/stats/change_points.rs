//! Where the course of a series changes: PELT over normal segments.

/// Penalty of a change point, times ln n: what Barrett et al. use for warm-up series (OOPSLA 2017, §4.2).
const PENALTY: f64 = 15.0;

/// Least length of a segment. Two or three values that happen to agree have hardly any variance, and would part.
const SHORTEST: usize = 5;

/// Least standard deviation of a segment, as a share of the median of the series. A coarse clock repeats values to the
/// last bit, and a segment without variance has an infinite likelihood.
const LEAST_SPREAD: f64 = 1e-3;

/// Values of a window of the outlier filter, at most; a tenth of the series where that is less.
const WINDOW: usize = 200;

/// Where segments begin, without the first: the change points that minimise
/// Σ [n·(ln 2π + ln σ² + 1)] + 15·ln n for each change, over normal segments with a mean and a variance of their own.
///
/// PELT: Killick, Fearnhead, Eckley, JASA 107 (2012), 1590. Exact; near linear in time where there are changes.
/// Nothing is found in under two segments' worth of values, nor where a value is not finite.
pub fn change_points(values: &[f64]) -> Vec<usize> {
    let n = values.len();
    let (true, Some(scale)) = (n >= 2 * SHORTEST, super::median(values)) else { return Vec::new() };
    let costs = Costs::new(values, scale);
    let penalty = PENALTY * (n as f64).ln();
    // best[t]: least cost of the first t values, each segment with its penalty; from[t]: where its last segment begins.
    let mut best = vec![f64::INFINITY; n + 1];
    let mut from = vec![0; n + 1];
    best[0] = -penalty;
    // Where the last segment may begin, and from which end on that can no longer be best.
    let mut starts = vec![(0, usize::MAX)];
    for end in SHORTEST..=n {
        starts.retain(|&(_, useless)| end < useless);
        let total = |start: usize| best[start] + costs.of(start, end) + penalty;
        let candidates = starts.iter().map(|&(start, _)| (total(start), start));
        let Some((least, start)) = candidates.min_by(|a, b| a.0.total_cmp(&b.0)) else { continue };
        // Beaten by more than a penalty here, a start loses to a segment that begins here, once one may.
        for (start, useless) in &mut starts {
            if total(*start) - penalty > least {
                *useless = (*useless).min(end + SHORTEST);
            }
        }
        (best[end], from[end]) = (least, start);
        let next = end + 1 - SHORTEST;
        if next >= SHORTEST {
            starts.push((next, usize::MAX));
        }
    }
    let mut found = Vec::new();
    let mut end = n;
    while from[end] > 0 {
        end = from[end];
        found.push(end);
    }
    found.reverse();
    found
}

/// Twice the negative log-likelihood of segments, from sums over the front of the series.
struct Costs {
    sums: Vec<f64>,
    squares: Vec<f64>,
    least_variance: f64,
}

impl Costs {
    fn new(values: &[f64], scale: f64) -> Self {
        let (mut sums, mut squares) = (vec![0.0], vec![0.0]);
        let (mut sum, mut square) = (0.0, 0.0);
        for value in values {
            // From the median, so that squares do not swallow small changes of large values.
            let value = value - scale;
            sum += value;
            square += value * value;
            sums.push(sum);
            squares.push(square);
        }
        let least = (LEAST_SPREAD * scale.abs()).max(f64::MIN_POSITIVE.sqrt());
        Self { sums, squares, least_variance: least * least }
    }

    fn of(&self, start: usize, end: usize) -> f64 {
        let n = (end - start) as f64;
        let mean = (self.sums[end] - self.sums[start]) / n;
        let variance = (self.squares[end] - self.squares[start]) / n - mean * mean;
        n * ((2.0 * std::f64::consts::PI).ln() + variance.max(self.least_variance).ln() + 1.0)
    }
}

/// Places of the values that are no outliers: within median ± 3·(p90 − p10) of the window around them (Barrett et al.).
/// A single spike is not a change of course.
pub(super) fn without_outliers(values: &[f64]) -> Vec<usize> {
    let n = values.len();
    let reach = (WINDOW.min(n / 10) / 2).max(SHORTEST);
    let inside = |&place: &usize| {
        // Windows at the ends are as long as the others.
        let start = place.saturating_sub(reach).min(n.saturating_sub(2 * reach + 1));
        let mut window = values[start..(start + 2 * reach + 1).min(n)].to_vec();
        window.sort_unstable_by(f64::total_cmp);
        let quantile = |q| super::quantile_of_sorted(&window, q);
        match (quantile(0.1), quantile(0.5), quantile(0.9)) {
            (Some(low), Some(middle), Some(high)) => (values[place] - middle).abs() <= 3.0 * (high - low),
            _ => true,
        }
    };
    (0..n).filter(inside).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 0, 1, 2, … times the golden ratio, modulo 1, spreads evenly: noise without a generator.
    fn noise(i: usize) -> f64 {
        (i as f64 * 0.618_033_988_75).fract() - 0.5
    }

    #[test]
    fn a_step_is_found_where_it_is() {
        let values: Vec<f64> = (0..400).map(|i| if i < 150 { 12.0 } else { 10.0 } + noise(i)).collect();
        assert_eq!(change_points(&values), [150]);
        let shifted: Vec<f64> = values.iter().map(|v| v * 1e9).collect();
        assert_eq!(change_points(&shifted), [150]);
    }

    #[test]
    fn a_change_of_spread_alone_is_one() {
        let values: Vec<f64> = (0..400).map(|i| 10.0 + noise(i) * if i < 200 { 1.0 } else { 0.1 }).collect();
        let found = change_points(&values);
        assert!(found.len() == 1 && found[0].abs_diff(200) < 5, "{found:?}");
    }

    #[test]
    fn flat_constant_short_and_broken_series_have_none() {
        assert!(change_points(&(0..1000).map(|i| 10.0 + noise(i)).collect::<Vec<_>>()).is_empty());
        assert!(change_points(&[7.0; 500]).is_empty());
        assert!(change_points(&[1.0, 9.0, 1.0]).is_empty());
        assert!(change_points(&[]).is_empty());
        assert!(change_points(&[f64::NAN; 50]).is_empty());
    }

    /// The same without pruning: every partition is thought of.
    fn by_force(values: &[f64]) -> f64 {
        let n = values.len();
        let costs = Costs::new(values, super::super::median(values).expect("values"));
        let penalty = PENALTY * (n as f64).ln();
        let mut best = vec![f64::INFINITY; n + 1];
        best[0] = -penalty;
        for end in SHORTEST..=n {
            let starts = 0..=end - SHORTEST;
            best[end] = starts.map(|start| best[start] + costs.of(start, end) + penalty).fold(f64::INFINITY, f64::min);
        }
        best[n]
    }

    proptest::proptest! {
        #[test]
        fn no_partition_is_cheaper(steps in proptest::collection::vec((5..40_usize, 1.0..3.0_f64, 0.01..0.3_f64), 1..6)) {
            let levels = steps.iter().flat_map(|&(n, level, spread)| (0..n).map(move |_| (level, spread)));
            let values: Vec<f64> = levels.enumerate().map(|(i, (level, spread))| level + spread * noise(i)).collect();
            let mut ends = change_points(&values);
            ends.push(values.len());
            let costs = Costs::new(&values, super::super::median(&values).expect("values"));
            let penalty = PENALTY * (values.len() as f64).ln();
            let mut start = 0;
            let mut cost = -penalty;
            for end in ends {
                cost += costs.of(start, end) + penalty;
                start = end;
            }
            let least = if values.len() < 2 * SHORTEST { cost } else { by_force(&values) };
            proptest::prop_assert!((cost - least).abs() <= 1e-6 * least.abs().max(1.0), "{cost} {least}");
        }
    }

    #[test]
    fn a_spike_is_an_outlier_and_a_step_is_none() {
        let mut values: Vec<f64> = (0..300).map(|i| if i < 150 { 12.0 } else { 10.0 } + noise(i)).collect();
        values[40] = 90.0;
        let kept = without_outliers(&values);
        assert_eq!(kept.len(), 299);
        assert!(!kept.contains(&40));
    }
}
