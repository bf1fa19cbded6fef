//! What a result file keeps of the samples of one phase: quantiles, the distribution, and a thinned series. Pure.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};

use super::{Histogram, PhaseStats, Series};
use crate::stats;

/// Samples below which a 95 % quantile is no more than the largest sample by another name.
pub const P95_MIN_SAMPLES: usize = 20;

/// Samples below which a 99 % quantile is no more than the largest sample by another name.
pub const P99_MIN_SAMPLES: usize = 100;

/// Share of the samples of a cold pass that must have touched the device for its quantiles to speak of the device.
pub const MIN_TOUCHED_SHARE: f64 = 0.5;

/// Samples that a series keeps in full, and medians of blocks it has at most after them.
const HEAD: usize = 200;
const BLOCKS: usize = 800;

/// Significant digits of a histogram.
const DIGITS: u8 = 3;

/// A histogram of a result file cannot be read back.
#[derive(Debug, thiserror::Error)]
pub enum HistogramError {
    /// The text is not base64.
    #[error("histogram: {0}")]
    Base64(#[from] base64::DecodeError),
    /// The bytes are not an HdrHistogram in V2 form.
    #[error("histogram: not an HdrHistogram V2: {0}")]
    Format(String),
}

/// The statistics of one phase from all its samples in ns, in the order taken; `None` without samples.
///
/// `touched` tells which samples of a cold pass touched the device. With it, the quantiles are over those samples
/// alone, and absent where they are under half: read-ahead then served most samples from memory, and their median says
/// nothing about the device. A sample without a mark counts as untouched.
pub fn phase_stats(ns: &[u64], touched: Option<&[bool]>) -> Option<PhaseStats> {
    let (&min, &max) = (ns.iter().min()?, ns.iter().max()?);
    let measured = touched.map_or_else(|| sorted(ns.iter().copied()), |marks| device_samples(ns, marks));
    Some(PhaseStats {
        samples: ns.len() as u64,
        total_ns: ns.iter().fold(0, |sum: u64, &sample| sum.saturating_add(sample)),
        min_ns: min as f64,
        p50_ns: quantile(&measured, 0.50, 1),
        p95_ns: quantile(&measured, 0.95, P95_MIN_SAMPLES),
        p99_ns: quantile(&measured, 0.99, P99_MIN_SAMPLES),
        max_ns: max as f64,
        histogram: encode(ns, max),
        series: Some(series(ns)),
    })
}

/// Share of the samples of a cold pass that touched the device; `None` without samples.
pub fn touched_share(touched: &[bool]) -> Option<f64> {
    let count = touched.iter().filter(|&&mark| mark).count();
    (!touched.is_empty()).then(|| count as f64 / touched.len() as f64)
}

/// Reads a histogram back.
pub fn decode(histogram: &Histogram) -> Result<hdrhistogram::Histogram<u64>, HistogramError> {
    let bytes = STANDARD.decode(&histogram.v2)?;
    Deserializer::new().deserialize(&mut bytes.as_slice()).map_err(|error| HistogramError::Format(error.to_string()))
}

/// The samples that touched the device, sorted; empty where they are too small a share.
fn device_samples(ns: &[u64], marks: &[bool]) -> Vec<f64> {
    let touched = sorted(ns.iter().zip(marks).filter(|&(_, &mark)| mark).map(|(&sample, _)| sample));
    if (touched.len() as f64) < MIN_TOUCHED_SHARE * ns.len() as f64 { Vec::new() } else { touched }
}

fn sorted(ns: impl Iterator<Item = u64>) -> Vec<f64> {
    let mut samples: Vec<f64> = ns.map(|sample| sample as f64).collect();
    samples.sort_unstable_by(f64::total_cmp);
    samples
}

fn quantile(sorted: &[f64], q: f64, min_samples: usize) -> Option<f64> {
    if sorted.len() < min_samples { None } else { stats::quantile_of_sorted(sorted, q) }
}

/// `None` only where the histogram library fails, which costs a picture and no number.
fn encode(ns: &[u64], max: u64) -> Option<Histogram> {
    let mut histogram = hdrhistogram::Histogram::<u64>::new_with_bounds(1, max.max(2), DIGITS).ok()?;
    for &sample in ns {
        histogram.record(sample).ok()?;
    }
    let mut bytes = Vec::new();
    V2Serializer::new().serialize(&histogram, &mut bytes).ok()?;
    Some(Histogram { v2: STANDARD.encode(bytes) })
}

fn series(ns: &[u64]) -> Series {
    let (head, rest) = ns.split_at(ns.len().min(HEAD));
    let block = rest.len().div_ceil(BLOCKS).max(1);
    Series { head: head.to_vec(), block: block as u64, medians: rest.chunks(block).map(median).collect() }
}

/// The median of a block that is not empty; of two middle samples their mean, rounded down.
fn median(block: &[u64]) -> u64 {
    let mut block = block.to_vec();
    block.sort_unstable();
    let (low, high) = (block[(block.len() - 1) / 2], block[block.len() / 2]);
    low.midpoint(high)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stats_of(ns: &[u64], touched: Option<&[bool]>) -> PhaseStats {
        phase_stats(ns, touched).expect("there are samples")
    }

    #[test]
    fn no_samples_have_no_statistics() {
        assert_eq!(phase_stats(&[], None), None);
        assert_eq!(phase_stats(&[], Some(&[])), None);
        assert_eq!(touched_share(&[]), None);
    }

    #[test]
    fn quantiles_are_numpys() {
        // numpy.percentile(range(1, 101), [50, 95, 99])
        let ns: Vec<u64> = (1..=100).collect();
        let stats = stats_of(&ns, None);
        assert_eq!(stats.p50_ns, Some(50.5));
        assert!((stats.p95_ns.expect("100 samples") - 95.05).abs() < 1e-9);
        assert!((stats.p99_ns.expect("100 samples") - 99.01).abs() < 1e-9);
        assert_eq!((stats.samples, stats.total_ns, stats.min_ns, stats.max_ns), (100, 5050, 1.0, 100.0));
    }

    #[test]
    fn thin_tails_have_no_quantile() {
        assert_eq!(stats_of(&[7; 19], None).p95_ns, None);
        assert_eq!(stats_of(&[7; 20], None).p95_ns, Some(7.0));
        assert_eq!(stats_of(&[7; 99], None).p99_ns, None);
        assert_eq!(stats_of(&[7; 100], None).p99_ns, Some(7.0));
    }

    #[test]
    fn a_cold_pass_speaks_of_the_samples_that_touched_the_device() {
        let half = stats_of(&[10, 1000, 20, 2000], Some(&[false, true, false, true]));
        assert_eq!(half.p50_ns, Some(1500.0));
        assert_eq!((half.samples, half.total_ns, half.min_ns), (4, 3030, 10.0), "the pass counts every sample");
        let few = stats_of(&[10, 1000, 20], Some(&[false, true, false]));
        assert_eq!(few.p50_ns, None, "read-ahead served most samples");
        assert_eq!(touched_share(&[false, true, false, true]), Some(0.5));
    }

    #[test]
    fn samples_without_a_mark_count_as_untouched() {
        assert_eq!(stats_of(&[10, 20, 30], Some(&[])).p50_ns, None);
        assert_eq!(stats_of(&[10, 20], Some(&[true, true, true])).p50_ns, Some(15.0));
    }

    #[test]
    fn absurd_samples_do_not_break_anything() {
        for ns in [vec![0], vec![u64::MAX], vec![0, u64::MAX], vec![u64::MAX; 300], vec![0; 3000]] {
            let stats = stats_of(&ns, None);
            let histogram = decode(&stats.histogram.expect("encoded")).expect("decodes");
            assert_eq!(histogram.len(), ns.len() as u64);
        }
        assert_eq!(stats_of(&[u64::MAX, u64::MAX], None).total_ns, u64::MAX, "saturates");
    }

    #[test]
    fn junk_is_not_a_histogram() {
        for text in ["", "!", "AAAA", "HISTFAAAA"] {
            assert!(decode(&Histogram { v2: text.to_owned() }).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_series_is_short_and_keeps_its_head(ns in prop::collection::vec(any::<u64>(), 1..5000)) {
            let series = series(&ns);
            prop_assert!(series.head.len() + series.medians.len() <= HEAD + BLOCKS);
            prop_assert_eq!(&series.head[..], &ns[..ns.len().min(HEAD)]);
            let rest = ns.len() - series.head.len();
            prop_assert_eq!(series.medians.len(), rest.div_ceil(series.block as usize));
            if ns.len() <= HEAD + BLOCKS {
                prop_assert_eq!(&series.medians[..], &ns[series.head.len()..]);
            }
        }

        #[test]
        fn quantiles_are_ordered_and_inside(ns in prop::collection::vec(any::<u64>(), 1..400)) {
            let stats = stats_of(&ns, None);
            let inside = [Some(stats.min_ns), stats.p50_ns, stats.p95_ns, stats.p99_ns, Some(stats.max_ns)];
            let known: Vec<f64> = inside.into_iter().flatten().collect();
            prop_assert!(known.is_sorted(), "{known:?}");
        }

        #[test]
        fn histograms_come_back_within_three_digits(ns in prop::collection::vec(0..u64::MAX / 2, 1..400)) {
            let histogram = decode(&stats_of(&ns, None).histogram.expect("encoded")).expect("decodes");
            prop_assert_eq!(histogram.len(), ns.len() as u64);
            let max = *ns.iter().max().expect("not empty");
            prop_assert!(histogram.equivalent(histogram.max(), max));
        }

        #[test]
        fn any_marks_are_accepted(
            ns in prop::collection::vec(any::<u64>(), 1..50),
            marks in prop::collection::vec(any::<bool>(), 0..60),
        ) {
            prop_assert!(phase_stats(&ns, Some(&marks)).is_some());
        }
    }
}
