//! A logarithmic axis of times: where a value lies, and where the ticks are.

/// A range of times in ns on a range of pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Axis {
    low: f64,
    high: f64,
    left: i32,
    right: i32,
}

/// Numbers that a tick may start with, the denser first.
const STEPS: [&[f64]; 3] = [&[1.0, 2.0, 5.0], &[1.0, 3.0], &[1.0]];

impl Axis {
    /// An axis that shows all of `values`, from one round number to another; `None` without positive values.
    pub fn new(values: impl Iterator<Item = f64>, left: i32, right: i32) -> Option<Self> {
        let known: Vec<f64> = values.filter(|value| value.is_finite() && *value > 0.0).collect();
        let low = known.iter().copied().min_by(f64::total_cmp)?;
        let high = known.iter().copied().max_by(f64::total_cmp)?;
        Some(Self { low: round_down(low * 0.97), high: round_up(high * 1.03), left, right })
    }

    /// Pixel of a value; values off the axis stand at its end.
    pub fn at(&self, value: f64) -> i32 {
        let share = (value / self.low).ln() / (self.high / self.low).ln();
        let share = if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) };
        self.left + (share * f64::from(self.right - self.left)).round() as i32
    }

    /// Ticks, as many as have room.
    pub fn ticks(&self) -> Vec<f64> {
        let room = usize::try_from((self.right - self.left) / 42).unwrap_or(1).max(2);
        let dense = STEPS.iter().map(|steps| self.starting(steps)).find(|ticks| ticks.len() <= room);
        dense.unwrap_or_else(|| {
            let decades = self.starting(&[1.0]);
            let every = decades.len().div_ceil(room).max(1);
            decades.into_iter().step_by(every).collect()
        })
    }

    fn starting(&self, steps: &[f64]) -> Vec<f64> {
        let powers = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
        let all = powers.flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)));
        all.filter(|tick| *tick >= self.low * 0.999 && *tick <= self.high * 1.001).collect()
    }
}

fn round_down(value: f64) -> f64 {
    let decade = 10f64.powi(value.log10().floor() as i32);
    [5.0, 2.0, 1.0].into_iter().map(|step| step * decade).find(|round| *round <= value).unwrap_or(decade)
}

fn round_up(value: f64) -> f64 {
    let decade = 10f64.powi(value.log10().floor() as i32);
    [1.0, 2.0, 5.0].into_iter().map(|step| step * decade).find(|round| *round >= value).unwrap_or(decade * 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_reaches_from_one_round_number_to_another() {
        let axis = Axis::new([12_000.0, 2_500_000.0].into_iter(), 0, 300).expect("positive values");
        assert_eq!((axis.low, axis.high), (10_000.0, 5_000_000.0));
        assert_eq!((axis.at(10_000.0), axis.at(5_000_000.0), axis.at(1.0), axis.at(f64::NAN)), (0, 300, 0, 0));
        assert_eq!(axis.ticks(), [1e4, 3e4, 1e5, 3e5, 1e6, 3e6]);
    }

    #[test]
    fn equal_values_have_an_axis_too() {
        let axis = Axis::new([7.0].into_iter(), 0, 300).expect("a positive value");
        assert_eq!((axis.low, axis.high, axis.ticks()), (5.0, 10.0, vec![5.0, 10.0]));
        assert_eq!(Axis::new([0.0, f64::NAN].into_iter(), 0, 300), None);
    }

    #[test]
    fn ticks_never_crowd() {
        for high in [2.0, 1e3, 1e6, 1e12, 1e300] {
            let axis = Axis::new([1.0, high].into_iter(), 0, 260).expect("positive values");
            assert!((2..=6).contains(&axis.ticks().len()), "{high}: {:?}", axis.ticks());
        }
    }
}
