//! How to run: a TOML file, checked. What a case may be is known to [`crate::plan`], not here.

mod read;
mod time;
mod values;

use pcb_protocol::{Dtype, Layout, Pad, Pattern, State, Tier};
use serde::{Deserialize, Serialize};

use crate::case::{Host, Track};

pub use read::{ConfigError, parse};
pub use time::Span;
pub use values::{Size, Values};

/// Blocks before which no case is left out for its precision: the least for a distribution-free interval of the median.
pub const LEAST_BLOCKS: u32 = 6;

/// A run config. Every key has a default but `sweep`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Seed of the order of runs, the index lists and the transforms.
    pub seed: u64,
    /// Runs of each case; each block has one of every case.
    pub repeats: u32,
    /// Half width that the interval of every case may have, as a share: after [`LEAST_BLOCKS`] a case is left out as soon as it
    /// is known so well. 0: every case has `repeats` runs.
    pub precision: f64,
    /// With `precision`: runs of a case at most.
    pub max_repeats: u32,
    /// Samples of an index list; 0: every object once.
    pub samples: u64,
    /// Crops past an edge: `reflect` or `zero`.
    pub pad: Pad,
    /// Time allowed for one run.
    pub timeout: Span,
    /// Time allowed for the whole; 0: none.
    pub max_time: Span,
    /// CPUs that workers are pinned to; empty: all.
    pub affinity: Vec<usize>,
    /// Threads of a worker's libraries.
    pub threads: u32,
    /// Warm the worker's code on the decoy before it is armed.
    pub warm_code: bool,
    /// Samples kept from a timed pass and compared with the reference afterwards.
    pub kept_samples: u32,
    /// Samples compared with the reference before anything is timed.
    pub check_samples: u64,
    /// Samples of the `null` case.
    pub null_samples: u64,
    /// Cap of the first pass.
    pub first: First,
    /// When a warm run counts as warmed up.
    pub warmup: Warmup,
    /// How long the steady state is observed.
    pub steady: Steady,
    /// Window without clock reads that gives samples/s; 0: none.
    pub rate: Span,
    /// Instrumented pass that gives stage times; 0: none.
    pub stages: Span,
    /// What is measured. Each is a grid over its lists.
    pub sweep: Vec<Sweep>,
}

/// Cap of the first pass over the index list; of a cold run the whole pass.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct First {
    /// Time after which it stops.
    pub max_time: Span,
}

/// Warm-up detection.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Warmup {
    /// The rule; `growing-halves` is the only one.
    pub rule: WarmupRuleName,
    /// Relative difference that counts as equal.
    pub tolerance: f64,
    /// Length of a window.
    pub window: Span,
    /// No verdict before this time or a full pass, whichever comes first.
    pub min_time: Span,
    /// Samples after which the run is flagged.
    pub max_samples: u64,
    /// Time after which the run is flagged.
    pub max_time: Span,
}

/// Names of warm-up rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum WarmupRuleName {
    /// The third and the fourth quarter of a growing window agree, twice in a row.
    #[serde(rename = "growing-halves")]
    GrowingHalves,
}

/// The steady state lasts until both minima are reached, at most until one maximum is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Steady {
    /// At least this long.
    pub min_time: Span,
    /// At least this many samples.
    pub min_samples: u64,
    /// At most this long.
    pub max_time: Span,
    /// At most this many samples.
    pub max_samples: u64,
}

/// A grid of cases: every key takes a value or a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Sweep {
    /// Tracks.
    pub track: Values<Track>,
    /// Dataset names.
    pub dataset: Values<String>,
    /// `format:variant`, `format` for all of its variants, or `all`.
    pub format: Values<String>,
    /// Layouts.
    pub layout: Values<Layout>,
    /// Patterns.
    pub pattern: Values<Pattern>,
    /// Channels: `all`, or indices like `0+2`.
    pub channels: Values<String>,
    /// Crop sizes: `128` or `"128x96"` (height x width).
    pub crop: Values<Size>,
    /// Element types handed out.
    pub dtype: Values<Dtype>,
    /// Transform tiers.
    pub tier: Values<Tier>,
    /// Hosts.
    pub host: Values<Host>,
    /// States.
    pub state: Values<State>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            seed: 1,
            repeats: 6,
            precision: 0.0,
            max_repeats: 30,
            samples: 0,
            pad: Pad::Reflect,
            timeout: Span::from_secs(300),
            max_time: Span::from_secs(0),
            affinity: Vec::new(),
            threads: 1,
            warm_code: true,
            kept_samples: 8,
            check_samples: 64,
            null_samples: 200_000,
            first: First::default(),
            warmup: Warmup::default(),
            steady: Steady::default(),
            rate: Span::from_millis(1000),
            stages: Span::from_millis(500),
            sweep: Vec::new(),
        }
    }
}

impl Default for First {
    fn default() -> Self {
        Self { max_time: Span::from_secs(60) }
    }
}

impl Default for Warmup {
    fn default() -> Self {
        Self {
            rule: WarmupRuleName::GrowingHalves,
            tolerance: 0.01,
            window: Span::from_millis(10),
            min_time: Span::from_secs(1),
            max_samples: 5_000_000,
            max_time: Span::from_secs(10),
        }
    }
}

impl Default for Steady {
    fn default() -> Self {
        Self { min_time: Span::from_secs(2), min_samples: 400, max_time: Span::from_secs(10), max_samples: 1_000_000 }
    }
}

impl Default for Sweep {
    fn default() -> Self {
        Self {
            track: Values::one(Track::Getitem),
            dataset: Values::one("smoke".to_owned()),
            format: Values::one("all".to_owned()),
            layout: Values::many([Layout::Object, Layout::Site]),
            pattern: Values::one(Pattern::Random),
            channels: Values::one("all".to_owned()),
            crop: Values::one(Size { height: 128, width: 128 }),
            dtype: Values::one(Dtype::U16),
            tier: Values::one(Tier::None),
            host: Values::one(Host::Native),
            state: Values::many([State::Cold, State::Warm]),
        }
    }
}

/// Configs that ship with pcb: name and text. A config is named without its folder and `.toml`.
pub const SHIPPED: &[(&str, &str)] = &[
    ("default", include_str!("../configs/default.toml")),
    ("smoke", include_str!("../configs/smoke.toml")),
    ("jump", include_str!("../configs/jump.toml")),
    ("nf1", include_str!("../configs/nf1.toml")),
    ("random", include_str!("../configs/examples/random.toml")),
    ("grouped", include_str!("../configs/examples/grouped.toml")),
    ("paired", include_str!("../configs/examples/paired.toml")),
    ("transforms", include_str!("../configs/examples/transforms.toml")),
    ("formats", include_str!("../configs/formats.toml")),
    ("full", include_str!("../configs/examples/full.toml")),
    ("nightly", include_str!("../configs/nightly.toml")),
    ("features", include_str!("../configs/examples/features.toml")),
];

/// The text of a shipped config.
pub fn shipped(name: &str) -> Option<&'static str> {
    SHIPPED.iter().find(|(shipped, _)| *shipped == name).map(|(_, text)| *text)
}
