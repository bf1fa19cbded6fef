//! A run as one row of named cells, for `csv` and `jsonl`. Names and their order are the same for every run; a cell
//! without a value is null.

use pcb_protocol::Counters;
use serde::Serialize;
use serde_json::{Value, json};

use super::{Input, summary};
use crate::case::Case;
use crate::results::{CacheProof, Header, PhaseStats, Run};

/// Stages that a run can have times of.
const STAGES: [&str; 5] = ["read", "decode", "read+decode", "convert", "transform"];

/// The cells of a row, in order.
#[derive(Default)]
pub struct Row(pub Vec<(String, Value)>);

/// One row for each run of each file.
pub fn rows<'a>(inputs: &'a [Input<'a>]) -> impl Iterator<Item = Row> + 'a {
    inputs.iter().flat_map(|input| {
        let config = config(&input.file.header);
        input.file.runs.iter().map(move |run| row(input, run, &config))
    })
}

/// The names of the columns, also where there are no runs; none without a file.
pub fn names(inputs: &[Input]) -> Vec<String> {
    let Some(input) = inputs.first() else { return Vec::new() };
    // Every run has the same columns, so that any run tells their names; what is left out here is null.
    let any = json!({
        "case": "null/-/-/-/-/-/-/native/asis", "build": "", "block": 0, "position": 0, "started": "",
        "outcome": { "kind": "ok" },
    });
    let Ok(any) = serde_json::from_value::<Run>(any) else { return Vec::new() };
    row(input, &any, &Value::Null).0.into_iter().map(|(name, _)| name).collect()
}

/// The config as an object, which fits in a line; a text that is not TOML stays a text.
fn config(header: &Header) -> Value {
    let table = toml::from_str::<toml::Table>(&header.config).ok();
    let object = table.and_then(|table| serde_json::to_value(table).ok());
    object.unwrap_or_else(|| Value::String(header.config.clone()))
}

fn row(input: &Input, run: &Run, config: &Value) -> Row {
    let header = &input.file.header;
    let mut row = Row::default();
    row.put("file", (!input.name.is_empty()).then_some(input.name));
    row.case(&run.case);
    row.ending(run);
    row.times(run);
    row.counters(run.counters.as_ref());
    row.samples(run);
    row.proof("before", run.before.as_ref());
    row.proof("after", run.after.as_ref());
    row.noise(run);
    row.origin(header, run);
    row.put("config", config);
    row
}

impl Row {
    /// A value that cannot be written (not a finite number) is null.
    fn put(&mut self, name: impl Into<String>, value: impl Serialize) {
        self.0.push((name.into(), serde_json::to_value(value).unwrap_or(Value::Null)));
    }

    fn case(&mut self, case: &Case) {
        let target = case.target.as_ref();
        self.put("case", case);
        self.put("track", case.track.to_string());
        self.put("dataset", target.map(|target| &target.dataset));
        self.put("format", target.map(|target| &target.format));
        self.put("variant", target.map(|target| &target.variant));
        self.put("layout", target.map(|target| target.layout));
        self.put("pattern", target.map(|target| target.pattern));
        self.put("channels", target.map(|target| target.crop.channels.to_string()));
        self.put("height", target.map(|target| target.crop.height));
        self.put("width", target.map(|target| target.crop.width));
        self.put("dtype", target.map(|target| target.crop.dtype));
        self.put("tier", target.map(|target| target.tier));
        self.put("host", case.host.to_string());
        self.put("state", case.state);
    }

    fn ending(&mut self, run: &Run) {
        self.put("build", &run.build);
        self.put("block", run.block);
        self.put("position", run.position);
        self.put("run_started", &run.started);
        self.put("outcome", run.outcome.kind());
        let message = summary::message(&run.outcome);
        self.put("message", (!message.is_empty()).then_some(message));
        let flags: Vec<_> = run.flags.iter().filter_map(|flag| serde_json::to_value(flag).ok()).collect();
        let flags: Vec<_> = flags.iter().filter_map(Value::as_str).collect();
        self.put("flags", (!flags.is_empty()).then(|| flags.join(" ")));
    }

    fn times(&mut self, run: &Run) {
        self.put("hello_ns", run.hello_ns);
        self.put("armed_ns", run.armed_ns);
        let open = run.open.as_ref();
        self.put("open_ns", open.map(|open| open.ns));
        self.put("open_rss_bytes", open.map(|open| open.rss_bytes));
        self.put("open_read_bytes", open.map(|open| open.read_bytes));
        self.put("open_device_bytes", open.map(|open| open.device_bytes));
        self.phase("first", run.first.as_ref());
        self.phase("warmup", run.warmup.as_ref());
        self.phase("steady", run.steady.as_ref());
        self.put("rate", run.rate);
        self.put("first_sample_ns", run.first_sample_ns);
        self.put("warmup_cost_ns", run.warmup_cost_ns);
        self.put("class", run.class);
        for name in STAGES {
            let stage = run.stages.iter().find(|stage| stage.stage == name);
            self.put(format!("stage_{}_mean_ns", name.replace('+', "_")), stage.map(|stage| stage.mean_ns));
        }
    }

    fn phase(&mut self, name: &str, phase: Option<&PhaseStats>) {
        self.put(format!("{name}_samples"), phase.map(|phase| phase.samples));
        self.put(format!("{name}_total_ns"), phase.map(|phase| phase.total_ns));
        self.put(format!("{name}_min_ns"), phase.map(|phase| phase.min_ns));
        self.put(format!("{name}_p50_ns"), phase.and_then(|phase| phase.p50_ns));
        self.put(format!("{name}_p95_ns"), phase.and_then(|phase| phase.p95_ns));
        self.put(format!("{name}_p99_ns"), phase.and_then(|phase| phase.p99_ns));
        self.put(format!("{name}_max_ns"), phase.map(|phase| phase.max_ns));
    }

    fn counters(&mut self, counters: Option<&Counters>) {
        self.put("user_ns", counters.map(|counters| counters.user_ns));
        self.put("system_ns", counters.map(|counters| counters.system_ns));
        self.put("peak_rss_bytes", counters.map(|counters| counters.peak_rss_bytes));
        self.put("read_bytes", counters.and_then(|counters| counters.read_bytes));
        self.put("device_bytes", counters.map(|counters| counters.device_bytes));
        self.put("first_device_bytes", counters.map(|counters| counters.first_device_bytes));
        self.put("minor_faults", counters.map(|counters| counters.minor_faults));
        self.put("major_faults", counters.map(|counters| counters.major_faults));
        self.put("voluntary_switches", counters.map(|counters| counters.voluntary_switches));
        self.put("involuntary_switches", counters.map(|counters| counters.involuntary_switches));
    }

    fn samples(&mut self, run: &Run) {
        self.put("items_per_sample", run.items_per_sample);
        self.put("bytes_per_sample", run.bytes_per_sample);
        self.put("index_len", run.index_len);
        self.put("index_digest", &run.index_digest);
        self.put("amplification_stored", run.amplification.map(|ratio| ratio.stored));
        self.put("amplification_device", run.amplification.and_then(|ratio| ratio.device));
        self.put("touched_share", run.touched_share);
    }

    fn proof(&mut self, name: &str, proof: Option<&CacheProof>) {
        self.put(format!("{name}_files"), proof.map(|proof| proof.files));
        self.put(format!("{name}_bytes"), proof.map(|proof| proof.bytes));
        self.put(format!("{name}_pages"), proof.map(|proof| proof.pages));
        self.put(format!("{name}_resident_pages"), proof.map(|proof| proof.resident));
        self.put(format!("{name}_attempts"), proof.map(|proof| proof.attempts));
        let cachestat = proof.and_then(|proof| proof.cachestat);
        for (place, what) in ["dirty", "writeback", "evicted"].into_iter().enumerate() {
            self.put(format!("{name}_{what}_pages"), cachestat.map(|pages| pages[place]));
        }
    }

    fn noise(&mut self, run: &Run) {
        for (name, load) in [
            ("before", run.noise.as_ref().map(|noise| noise.before)),
            ("after", run.noise.as_ref().map(|noise| noise.after)),
        ] {
            self.put(format!("load1_{name}"), load.map(|load| load.load1));
            self.put(format!("steal_ms_{name}"), load.map(|load| load.steal_ms));
            self.put(format!("psi_cpu_percent_{name}"), load.and_then(|load| load.psi_cpu));
            self.put(format!("psi_io_percent_{name}"), load.and_then(|load| load.psi_io));
        }
        self.put("log_tail", (!run.log_tail.is_empty()).then_some(&run.log_tail));
    }

    /// What holds for the whole file, so that a row can stand alone.
    fn origin(&mut self, header: &Header, run: &Run) {
        let build = header.builds.iter().find(|build| build.name == run.build);
        let version = |key: &str| build.and_then(|build| build.versions.get(key));
        let dataset = run.case.target.as_ref().and_then(|target| header.datasets.get(&target.dataset));
        self.put("started", &header.started);
        self.put("seed", header.seed);
        self.put("repeats", header.repeats);
        self.put("plan_digest", &header.plan_digest);
        self.put("dataset_digest", dataset);
        self.put("result_version", header.version);
        self.put("pcb_version", version("version"));
        self.put("commit", version("commit"));
        self.put("opt_level", version("opt_level"));
        self.put("versions", build.map(|build| &build.versions));
        let machine = &header.environment;
        self.put("cpu", &machine.cpu);
        self.put("usable_cpus", machine.usable_cpus);
        self.put("cpus", machine.cpus);
        self.put("ram_bytes", machine.ram_bytes);
        self.put("kernel", &machine.kernel);
        self.put("os", &machine.os);
        self.put("environment", &machine.details);
    }
}
