//! Numbers as people read them: three significant digits, and a unit.

use crate::stats::Interval;

/// A unit, and how many of the base unit it has.
type Unit = (f64, &'static str);

const TIMES: [Unit; 4] = [(1.0, " ns"), (1e3, " µs"), (1e6, " ms"), (1e9, " s")];
const COUNTS: [Unit; 4] = [(1.0, ""), (1e3, "k"), (1e6, "M"), (1e9, "G")];

/// A time in ns: `43 ns`, `12.3 µs`, `1.24 s`.
pub fn time(ns: f64) -> String {
    show(ns, &TIMES)
}

/// A time that is a round number, as on an axis: `10 µs`.
pub fn round_time(ns: f64) -> String {
    let (factor, name) = unit(ns, &TIMES);
    format!("{:.0}{name}", ns / factor)
}

/// The interval of a time in ns, in the unit and with the decimals that its value is shown with: `[12.1, 12.6]`.
pub fn time_interval(value: f64, interval: Interval) -> String {
    let unit = unit(value, &TIMES);
    let decimals = decimals(value, unit);
    format!("[{:.decimals$}, {:.decimals$}]", interval.low / unit.0, interval.high / unit.0)
}

/// Memory, in the powers of two that it is sold in: `64.0 GiB`.
pub fn memory(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30))
}

/// A count or a rate: `345`, `81.3k`.
pub fn count(count: f64) -> String {
    show(count, &COUNTS)
}

/// A share: `3.1 %`.
pub fn share(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// A ratio: `1.02x`.
pub fn times(ratio: f64) -> String {
    format!("{}x", show(ratio, &COUNTS))
}

fn show(value: f64, units: &[Unit]) -> String {
    let unit = unit(value, units);
    let decimals = decimals(value, unit);
    format!("{:.decimals$}{}", value / unit.0, unit.1)
}

/// The first unit in which the value stays under 1,000 when it is rounded.
fn unit(value: f64, units: &[Unit]) -> Unit {
    let fits = units.iter().find(|unit| value / unit.0 < 999.5);
    fits.or(units.last()).copied().unwrap_or((1.0, ""))
}

fn decimals(value: f64, unit: Unit) -> usize {
    let whole = unit.1 == " ns";
    match value / unit.0 {
        _ if whole => 0,
        shown if shown < 9.995 => 2,
        shown if shown < 99.95 => 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits_and_a_unit() {
        let shown = [0.0, 43.2, 999.4, 999.6, 12_345.0, 999_499.0, 1.24e9, 9.999e9, 1.24e12].map(time);
        let wanted = ["0 ns", "43 ns", "999 ns", "1.00 µs", "12.3 µs", "999 µs", "1.24 s", "10.0 s", "1240 s"];
        assert_eq!(shown, wanted);
    }

    #[test]
    fn an_interval_has_the_unit_of_its_value() {
        assert_eq!(time_interval(12_345.0, Interval { low: 900.0, high: 1_200_000.0 }), "[0.9, 1200.0]");
        assert_eq!(time_interval(43.0, Interval { low: 42.0, high: 45.4 }), "[42, 45]");
    }

    #[test]
    fn memory_counts_and_shares() {
        assert_eq!(memory(64 << 30), "64.0 GiB");
        assert_eq!([0.5, 345.0, 81_300.0, 2.5e6].map(count), ["0.50", "345", "81.3k", "2.50M"]);
        assert_eq!((share(0.031), times(1.02)), ("3.1 %".to_owned(), "1.02x".to_owned()));
    }
}
