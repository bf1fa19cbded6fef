//! Where a history of nights changes its level, as Apache Otava finds it. For reports: its p-values are no false-alarm
//! rates (series of 30 equal nights have a point in 3.5 % of cases at p .001, in a quarter at p .01), so it gates nothing.
//!
//! E-divisive (Matteson and James, JASA 109 (2014), 334) with windows, Student's t for the permutation test, and a merging
//! step (Fleming et al., "Hunter", ICPE 2023). Meant to give Otava's answers: like it, the t test takes the population's
//! standard deviations (n) where its formula wants the samples' (n − 1).

use super::distribution::t_two_sided;

/// What counts as a change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hunt {
    /// Values of a window; windows overlap by half.
    pub window: usize,
    /// Greatest p-value that stays.
    pub p: f64,
    /// Least relative change that stays.
    pub magnitude: f64,
}

impl Default for Hunt {
    /// Otava's own: windows of 50, p .001, any magnitude.
    fn default() -> Self {
        Self { window: 50, p: 0.001, magnitude: 0.0 }
    }
}

/// A level that begins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shift {
    /// Index of its first value.
    pub index: usize,
    /// Mean of the level before it.
    pub before: f64,
    /// Its mean.
    pub after: f64,
    /// p-value of the two, which is no false-alarm rate.
    pub p: f64,
}

impl Shift {
    fn magnitude(&self) -> f64 {
        let relative = |a: f64, b: f64| if b == 0.0 { 0.0 } else { (a / b - 1.0).abs() };
        relative(self.after, self.before).max(relative(self.before, self.after))
    }
}

/// The changes of a series, in order; none where a value is not finite or the window is under 2.
pub fn hunt(series: &[f64], hunt: Hunt) -> Vec<Shift> {
    if hunt.window < 2 || series.iter().any(|v| !v.is_finite()) {
        return Vec::new();
    }
    // Candidates need a weaker p, since merging changes what stands on both sides of them.
    let weak = match hunt.p {
        p if p < 0.05 => 10.0 * p,
        p if p < 0.5 => 2.0 * p,
        p => p,
    };
    let mut places: Vec<usize> = Vec::new();
    let mut start = 0;
    while start < series.len() {
        let end = (start + hunt.window).min(series.len());
        let found = split(&series[start..end], weak);
        let last = found.last().map_or(0, |place| start + place);
        for place in found.into_iter().map(|place| start + place) {
            if !places.contains(&place) {
                places.push(place);
            }
        }
        start = last.max(start + hunt.window / 2);
    }
    places.sort_unstable();
    merge(series, places, hunt)
}

/// Change points inside one window, in order: the best split of any part, as long as it is significant.
fn split(window: &[f64], p: f64) -> Vec<usize> {
    let mut places: Vec<usize> = Vec::new();
    loop {
        let ends: Vec<usize> = places.iter().copied().chain([window.len()]).collect();
        let starts = std::iter::once(0).chain(places.iter().copied());
        let mut best: Option<(f64, usize, usize, usize)> = None;
        for (start, end) in starts.zip(ends) {
            if let Some((q, place)) = best_split(&window[start..end])
                && best.is_none_or(|(other, ..)| q > other)
            {
                best = Some((q, start, start + place, end));
            }
        }
        let Some((_, start, place, end)) = best else { return places };
        let Some(change) = shift(&window[start..place], &window[place..end], place) else { return places };
        if change.p > p {
            return places;
        }
        places.push(place);
        places.sort_unstable();
    }
}

/// The place τ, and the end κ of what is compared with it, that part a series best: the greatest
/// 2/(m+n)·Σ|X−Y| − 2m/((m+n)(n−1))·Σ|X−X'| − 2n/((m+n)(m−1))·Σ|Y−Y'|, X the n values before τ and Y the m from it to κ.
fn best_split(series: &[f64]) -> Option<(f64, usize)> {
    let distances_to = |value: f64, others: &[f64]| others.iter().map(|other| (value - other).abs()).sum::<f64>();
    let mut best: Option<(f64, usize)> = None;
    let mut inside_left = 0.0;
    for place in 1..series.len() {
        let left = &series[..place];
        inside_left += distances_to(left[place - 1], &left[..place - 1]);
        let (mut across, mut inside_right) = (0.0, 0.0);
        for end in place + 1..=series.len() {
            let value = series[end - 1];
            across += distances_to(value, left);
            inside_right += distances_to(value, &series[place..end - 1]);
            let (n, m) = (place as f64, (end - place) as f64);
            let pairs = |n: f64, m: f64, sum: f64| if n > 1.0 { 2.0 * m / ((m + n) * (n - 1.0)) * sum } else { 0.0 };
            let q = 2.0 / (m + n) * across - pairs(n, m, inside_left) - pairs(m, n, inside_right);
            if best.is_none_or(|(other, _)| q > other) {
                best = Some((q, place));
            }
        }
    }
    best
}

/// Takes out the weakest change until all are significant and large enough. Like Otava, it then looks anew at the change
/// after the one taken out, and not at the one before.
fn merge(series: &[f64], places: Vec<usize>, hunt: Hunt) -> Vec<Shift> {
    let mut changes: Vec<Shift> = (0..places.len()).filter_map(|index| between(series, &places, index)).collect();
    loop {
        let weakest = changes.iter().enumerate().max_by(|a, b| a.1.p.total_cmp(&b.1.p).then(b.0.cmp(&a.0)));
        let Some((mut worst, weakest)) = weakest else { return changes };
        if weakest.p < hunt.p {
            let smallest = changes.iter().enumerate().min_by(|a, b| a.1.magnitude().total_cmp(&b.1.magnitude()));
            match smallest {
                Some((place, smallest)) if smallest.magnitude() <= hunt.magnitude => worst = place,
                _ => return changes,
            }
        }
        changes.remove(worst);
        let places: Vec<usize> = changes.iter().map(|change| change.index).collect();
        if let Some((change, anew)) = changes.get_mut(worst).zip(between(series, &places, worst)) {
            *change = anew;
        }
    }
}

/// The change at one of some places, between its neighbours.
fn between(series: &[f64], places: &[usize], index: usize) -> Option<Shift> {
    let place = *places.get(index)?;
    let start = if index == 0 { 0 } else { places[index - 1] };
    let end = places.get(index + 1).copied().unwrap_or(series.len());
    shift(&series[start..place], &series[place..end], place)
}

/// Two-sided Student t test of two levels.
fn shift(left: &[f64], right: &[f64], index: usize) -> Option<Shift> {
    let level = |values: &[f64]| {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        (n, mean, values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n)
    };
    if left.is_empty() || right.is_empty() {
        return None;
    }
    let ((n, before, left), (m, after, right)) = (level(left), level(right));
    let df = n + m - 2.0;
    let se = (((n - 1.0) * left + (m - 1.0) * right) / df * (1.0 / n + 1.0 / m)).sqrt();
    let p = match (df > 0.0, se > 0.0) {
        (false, _) => 1.0,
        (true, true) => t_two_sided((after - before) / se, df)?,
        (true, false) => f64::from(u8::from(before == after)),
    };
    Some(Shift { index, before, after, p })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_begins_where_it_is() {
        let series: Vec<f64> = (0..40).map(|i| if i < 25 { 10.0 } else { 11.0 } + 0.1 * f64::from(i % 3)).collect();
        let found = hunt(&series, Hunt::default());
        assert_eq!(found.iter().map(|change| change.index).collect::<Vec<_>>(), [25]);
        assert!((found[0].before - 10.1).abs() < 0.02 && (found[0].after - 11.1).abs() < 0.02);
    }

    #[test]
    fn nothing_is_found_in_nothing() {
        assert_eq!(hunt(&[], Hunt::default()), []);
        assert_eq!(hunt(&[1.0], Hunt::default()), []);
        assert_eq!(hunt(&[5.0; 60], Hunt::default()), []);
        assert_eq!(hunt(&[1.0, f64::NAN, 2.0], Hunt::default()), []);
    }
}
