//! Result files made by hand: small numbers, every kind of row.

use std::collections::BTreeMap;

use pcb::case::Case;
use pcb::environment::{Environment, Load};
use pcb::report::{Input, REPORTERS};
use pcb::results::{
    Amplification, BuildInfo, CacheProof, Flag, Header, Noise, Outcome, Pruned, ResultFile, Run, VERSION, thin,
};
use pcb_protocol::{Counters, Opened, StageTime};

/// A file with these runs; blocks are counted for each case.
pub fn file(runs: Vec<Run>) -> ResultFile {
    let mut seen: BTreeMap<(Case, String), u32> = BTreeMap::new();
    let numbered = runs.into_iter().map(|mut run| {
        let block = seen.entry((run.case.clone(), run.build.clone())).or_default();
        run.block = *block;
        *block += 1;
        run
    });
    let runs: Vec<Run> = numbered.collect();
    ResultFile { header: header(), runs }
}

pub fn header() -> Header {
    let words = |pairs: &[(&str, &str)]| pairs.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    Header {
        version: VERSION,
        complete: true,
        started: "2026-01-02T03:04:05Z".to_owned(),
        seed: 42,
        repeats: 5,
        plan_digest: "9f86d081".to_owned(),
        builds: vec![build("default", "0.1.0", "abc1234def5678")],
        config: "repeats = 5\nname = \"a, b\"\n".to_owned(),
        datasets: words(&[("smoke", "ba7816bf")]),
        environment: Environment {
            cpu: "AMD EPYC 7B13".to_owned(),
            usable_cpus: 8,
            cpus: 16,
            ram_bytes: 64 << 30,
            kernel: "6.8.0-31-generic".to_owned(),
            os: "Debian GNU/Linux 12".to_owned(),
            details: words(&[
                ("governor", "performance"),
                ("data_filesystem", "ext4"),
                ("data_device", "/dev/nvme0n1"),
            ]),
        },
        pruned: Vec::new(),
    }
}

pub fn build(name: &str, version: &str, commit: &str) -> BuildInfo {
    let versions = [("version", version), ("commit", commit), ("opt_level", "3"), ("libtorch", "2.13.0")];
    BuildInfo {
        name: name.to_owned(),
        versions: versions.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect(),
    }
}

pub fn pruned(id: &str, reason: &str) -> Pruned {
    Pruned { case: case(id), reason: reason.to_owned() }
}

pub fn case(id: &str) -> Case {
    id.parse().expect("a case id")
}

/// `format:variant/layout/pattern` of the smoke set, with the usual crop.
pub fn id(what: &str, state: &str) -> String {
    format!("getitem/smoke/{what}/all.128x128.u16/none/native/{state}")
}

/// A run that has nothing but its end.
pub fn ended(id: &str, outcome: Outcome) -> Run {
    Run {
        case: case(id),
        build: "default".to_owned(),
        block: 0,
        position: 3,
        started: "2026-01-02T03:05:00Z".to_owned(),
        outcome,
        flags: Vec::new(),
        hello_ns: None,
        armed_ns: None,
        open: None,
        first: None,
        warmup: None,
        steady: None,
        rate: None,
        first_sample_ns: None,
        warmup_cost_ns: None,
        class: None,
        stages: Vec::new(),
        counters: None,
        items_per_sample: 1,
        bytes_per_sample: 163_840,
        index_len: 240,
        kept_checked: 8,
        index_digest: None,
        amplification: None,
        touched_share: None,
        before: None,
        after: None,
        noise: None,
        log_tail: String::new(),
    }
}

/// A warm run whose samples lie around `us` microseconds.
pub fn warm(id: &str, us: u64) -> Run {
    let around: Vec<u64> = (0..400).map(|i| us * 1000 + us * (i % 20)).collect();
    let first: Vec<u64> = (0..240).map(|_| us * 1500).collect();
    Run {
        hello_ns: Some(4_000_000),
        armed_ns: Some(9_000_000),
        open: Some(Opened { ns: 850_000, rss_bytes: 4096, read_bytes: 1200, device_bytes: 0 }),
        first: thin::phase_stats(&first, None),
        steady: thin::phase_stats(&around, None),
        rate: Some(1e6 / us as f64),
        stages: vec![StageTime { stage: "read+decode".to_owned(), mean_ns: us as f64 * 900.0 }],
        counters: Some(Counters { user_ns: 5_000_000, system_ns: 1_000_000, read_bytes: None, ..Counters::default() }),
        amplification: Some(Amplification { stored: 1.25, device: None }),
        before: Some(proof(1000)),
        after: Some(proof(1000)),
        noise: Some(Noise { before: load(0.5), after: load(0.75) }),
        ..ended(id, Outcome::Ok)
    }
}

/// A cold run of 240 samples, `ms` milliseconds each where they touched the device and 20 µs where they did not.
pub fn cold(id: &str, ms: u64, touched_percent: usize) -> Run {
    let touched: Vec<bool> = (0..240).map(|i| i * 100 < touched_percent * 240).collect();
    let ns: Vec<u64> = touched.iter().map(|&touched| if touched { ms * 1_000_000 } else { 20_000 }).collect();
    let flags = if touched_percent < 50 { vec![Flag::MostlyReadAhead] } else { Vec::new() };
    Run {
        flags,
        open: Some(Opened { ns: 2_850_000, rss_bytes: 8192, read_bytes: 1200, device_bytes: 4096 }),
        first: thin::phase_stats(&ns, Some(&touched)),
        touched_share: thin::touched_share(&touched),
        amplification: Some(Amplification { stored: 1.0, device: Some(1.0 + touched_percent as f64 / 100.0) }),
        before: Some(proof(0)),
        ..ended(id, Outcome::Ok)
    }
}

/// A run of the overhead track.
pub fn null(ns: u64) -> Run {
    let samples: Vec<u64> = (0..1000).map(|i| ns + i % 3).collect();
    Run { first: thin::phase_stats(&samples, None), ..ended("null/-/-/-/-/-/-/native/asis", Outcome::Ok) }
}

fn proof(resident: u64) -> CacheProof {
    CacheProof { files: 3, bytes: 4_096_000, pages: 1000, resident, attempts: 1, cachestat: Some([0, 0, 12]) }
}

fn load(load1: f64) -> Load {
    Load { load1, steal_ms: 10, psi_cpu: Some(0.25), psi_io: None }
}

/// What a reporter makes of one file.
pub fn report(format: &str, file: &ResultFile) -> String {
    report_all(format, &[Input { name: "", file }])
}

pub fn report_all(format: &str, inputs: &[Input]) -> String {
    let reporter = REPORTERS.iter().find(|reporter| reporter.name == format).expect("a reporter");
    (reporter.render)(inputs)
}
