//! `pcb::stats` against numpy, scipy, statsmodels and pyperf's own files.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pcb::stats::{
    Hunt, Pairing, Process, benjamini_hochberg, bootstrap_log_ratio, holm, hunt, mad, mann_whitney_exact, median,
    median_interval, quantile, welch_log,
};
use serde::Deserialize;

#[derive(Deserialize)]
struct Reference {
    two_samples: Vec<TwoSamples>,
    p_adjust: Vec<Adjusted>,
    order_statistic_median_ci: BTreeMap<String, Option<Order>>,
    t_quantile_975: BTreeMap<String, f64>,
}

#[derive(Deserialize)]
struct TwoSamples {
    a: Vec<f64>,
    b: Vec<f64>,
    welch_log: Welch,
    mannwhitney_exact_p: f64,
    bootstrap_median_ratio_percentile_ci95: [f64; 2],
    mad_a: f64,
    median_a: f64,
    quantiles_type7_a: BTreeMap<String, f64>,
}

#[derive(Deserialize)]
struct Welch {
    t: f64,
    df: f64,
    p: f64,
    ratio: f64,
    ci95: [f64; 2],
    ci90: [f64; 2],
}

#[derive(Deserialize)]
struct Adjusted {
    p: Vec<f64>,
    holm: Vec<f64>,
    bh: Vec<f64>,
}

#[derive(Deserialize)]
struct Order {
    k: usize,
    coverage: f64,
}

/// A file of the test data, or `None` and a line that says so.
fn data(name: &str) -> Option<String> {
    let Some(folder) = std::env::var_os("PCB_TEST_DATA") else {
        println!("skipped: PCB_TEST_DATA is not set");
        return None;
    };
    let path = PathBuf::from(folder).join("stats").join(name);
    Some(std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display())))
}

fn reference() -> Option<Reference> {
    data("reference.json").map(|text| serde_json::from_str(&text).expect("reference.json has the expected shape"))
}

#[track_caller]
fn assert_close(got: f64, expected: f64, what: &str) {
    let error = (got - expected).abs() / expected.abs().max(f64::MIN_POSITIVE);
    assert!(error <= 1e-9, "{what}: got {got}, expected {expected}, off by {error:e}");
}

#[test]
fn welch_on_logs_agrees_with_scipy() {
    let Some(reference) = reference() else { return };
    for case in reference.two_samples {
        let got = welch_log(&case.a, &case.b).expect("positive samples");
        let Welch { t, df, p, ratio, ci95, ci90 } = case.welch_log;
        assert_close(got.t, t, "t");
        assert_close(got.df, df, "df");
        assert_close(got.p, p, "p");
        assert_close(got.ratio(), ratio, "ratio");
        for (level, expected) in [(0.95, ci95), (0.90, ci90)] {
            let interval = got.interval(level).expect("a level below 1");
            assert_close(interval.low, expected[0], "lower end");
            assert_close(interval.high, expected[1], "upper end");
        }
    }
}

#[test]
fn quantiles_and_mad_agree_with_numpy() {
    let Some(reference) = reference() else { return };
    for case in reference.two_samples {
        assert_close(median(&case.a).expect("samples"), case.median_a, "median");
        assert_close(mad(&case.a).expect("samples"), case.mad_a, "MAD");
        for (q, expected) in &case.quantiles_type7_a {
            let got = quantile(&case.a, q.parse().expect("a number")).expect("samples");
            assert_close(got, *expected, q);
        }
    }
}

#[test]
fn ranks_agree_with_scipy() {
    let Some(reference) = reference() else { return };
    for case in reference.two_samples {
        let got = mann_whitney_exact(&case.a, &case.b).expect("no ties");
        assert_close(got, case.mannwhitney_exact_p, "exact p");
        assert_close(mann_whitney_exact(&case.b, &case.a).expect("no ties"), got, "p of the swap");
    }
}

#[test]
fn the_bootstrap_agrees_with_scipy_within_its_own_error() {
    let Some(reference) = reference() else { return };
    for case in reference.two_samples {
        let side = |values: &[f64]| -> Vec<Process> {
            values.iter().map(|&value| Process { value, samples: Vec::new() }).collect()
        };
        let got = bootstrap_log_ratio(&side(&case.a), &side(&case.b), Pairing::None, 0.95).expect("runs");
        // The ends are quantiles of few distinct medians, so that another seed can move one to its neighbour: a few
        // percent of the width.
        let [low, high] = case.bootstrap_median_ratio_percentile_ci95.map(f64::ln);
        let error = (got.low - low).abs().max((got.high - high).abs()) / (high - low);
        assert!(error < 0.08, "[{}, {}] against [{low}, {high}]: off by {error} of its width", got.low, got.high);
    }
}

#[test]
fn adjusted_p_values_agree_with_statsmodels() {
    let Some(reference) = reference() else { return };
    for case in reference.p_adjust {
        for (adjusted, expected) in [(holm(&case.p), case.holm), (benjamini_hochberg(&case.p), case.bh)] {
            assert_eq!(adjusted.len(), expected.len());
            for (got, expected) in adjusted.into_iter().zip(expected) {
                assert_close(got, expected, "adjusted p");
            }
        }
    }
}

#[test]
fn order_statistics_cover_what_the_binomial_says() {
    let Some(reference) = reference() else { return };
    for (n, expected) in reference.order_statistic_median_ci {
        let got = median_interval(n.parse().expect("a count"));
        match expected {
            None => assert!(got.is_none(), "n = {n}"),
            Some(expected) => {
                let got = got.unwrap_or_else(|| panic!("an interval for n = {n}"));
                assert_eq!(got.k, expected.k, "n = {n}");
                assert_close(got.coverage, expected.coverage, "coverage");
            }
        }
    }
}

#[test]
fn t_quantiles_agree_with_scipy() {
    let Some(reference) = reference() else { return };
    for (df, expected) in reference.t_quantile_975 {
        let df: usize = df.parse().expect("a count");
        // n = df + 1 logs with mean 0: the half width of the interval of the mean is t·s/√n.
        let logs: Vec<f64> = (0..=df).map(|i| i as f64 / df as f64 - 0.5).collect();
        let values: Vec<f64> = logs.iter().map(|l| l.exp()).collect();
        let n = logs.len() as f64;
        let sd = (logs.iter().map(|l| l * l).sum::<f64>() / (n - 1.0)).sqrt();
        let (_, interval) = pcb::stats::geometric_mean(&values).expect("positive values");
        let high = interval.expect("two values or more").high.ln();
        assert_close(high / (sd / n.sqrt()), expected, "t quantile");
    }
}

#[derive(Deserialize)]
struct Pyperf {
    benchmarks: Vec<Benchmark>,
}

#[derive(Deserialize)]
struct Benchmark {
    runs: Vec<PyperfRun>,
}

#[derive(Deserialize)]
struct PyperfRun {
    #[serde(default)]
    values: Vec<f64>,
}

fn process_medians(name: &str) -> Option<Vec<Vec<f64>>> {
    let file: Pyperf = serde_json::from_str(&data(&format!("pyperf/{name}"))?).expect("a pyperf file");
    let medians = |b: &Benchmark| b.runs.iter().filter_map(|run| median(&run.values)).collect();
    Some(file.benchmarks.iter().map(medians).collect())
}

#[test]
fn process_medians_of_pyperf_files_give_the_known_t() {
    let Some(py36) = process_medians("mult_list_py36.json") else { return };
    let against = |name| -> Vec<_> {
        let new = process_medians(name).expect("the data folder was there a line ago");
        // The published values are py36 over py37: which is faster, not which is slower.
        py36.iter().zip(&new).map(|(base, new)| welch_log(new, base).expect("process medians")).collect()
    };
    let py37 = against("mult_list_py37.json");
    let py38 = against("mult_list_py38.json");
    for (got, expected) in py37.iter().chain(&py38).zip([3.2073, -92.5171, -36.4349, 0.2208, 41.4568, 14.3680]) {
        assert!((got.t.abs() - f64::abs(expected)).abs() < 6e-5, "t {} against {expected}", got.t);
    }
    assert!((py37[0].p - 0.0030).abs() < 6e-5 && (py38[0].p - 0.827).abs() < 6e-4);
    let interval = py37[0].interval(0.95).expect("a level below 1");
    assert!((interval.low - 1.00682).abs() < 6e-6 && (interval.high - 1.03088).abs() < 6e-6, "{interval:?}");
}

/// Otava's own answers for 365 nights of TigerBeetle: window 30, p and magnitude, the places
/// (apache/otava, tests/tigerbeetle_test.py).
const OTAVA: &[(f64, f64, &[usize])] = &[
    (0.01, 0.05, &[15, 71]),
    (0.05, 0.05, &[15, 71]),
    (0.1, 0.05, &[10, 11, 15, 71, 363]),
    (0.2, 0.05, &[10, 11, 15, 71]),
    (0.01, 0.0, &[15, 26, 61, 71, 95, 117, 131, 142, 148, 165, 169, 192, 212, 260]),
    (0.001, 0.0, &[15, 61, 71, 95, 117, 131, 142, 148, 192, 212, 260]),
    (0.0001, 0.0, &[71, 95, 117, 131, 142, 148, 192, 212]),
    (0.00001, 0.0, &[71, 95, 131, 192, 212]),
];

#[test]
fn change_points_of_a_history_are_otavas() {
    let Some(text) = data("tigerbeetle.json") else { return };
    let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let list = value.as_array().or_else(|| value.as_object()?.values().find_map(|value| value.as_array()));
    let series: Vec<f64> = list.expect("a list").iter().filter_map(serde_json::Value::as_f64).collect();
    assert_eq!(series.len(), 365);
    for &(p, magnitude, expected) in OTAVA {
        let found = hunt(&series, Hunt { window: 30, p, magnitude });
        let places: Vec<usize> = found.iter().map(|change| change.index).collect();
        assert_eq!(places, expected, "p {p}, magnitude {magnitude}");
    }
}
