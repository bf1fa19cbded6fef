//! A case and a config to what a worker is asked. Pure.

use std::path::Path;

use pcb_protocol::{FirstRule, Job, PROTOCOL_VERSION, Pattern, ReadJob, Request, State, SteadyRule, Tier, WarmupRule};

use crate::case::Target;
use crate::config::Config;

/// The request that carries a job.
pub fn wrap(seed: u64, threads: u32, job: Job) -> Request {
    Request { protocol: PROTOCOL_VERSION, seed, threads, job }
}

/// The overhead case.
pub fn null(config: &Config) -> Job {
    Job::Null { samples: config.null_samples }
}

/// Time `__getitem__`.
pub fn getitem(config: &Config, dataset: &Path, target: &Target, state: State) -> Job {
    Job::Getitem { read: read(config, dataset, target, state) }
}

/// Compare pixels with the reference.
pub fn check(config: &Config, dataset: &Path, target: &Target) -> Job {
    let read = read(config, dataset, target, State::AsIs);
    Job::Check { read: ReadJob { samples: config.check_samples, pattern: Pattern::Random, tier: Tier::None, ..read } }
}

fn read(config: &Config, dataset: &Path, target: &Target, state: State) -> ReadJob {
    ReadJob {
        dataset: dataset.to_owned(),
        format: target.format.clone(),
        variant: target.variant.clone(),
        layout: target.layout,
        pattern: target.pattern,
        crop: target.crop.clone(),
        pad: config.pad,
        tier: target.tier,
        state,
        samples: config.samples,
        warm_code: config.warm_code,
        kept_samples: config.kept_samples,
        first: FirstRule { max_ns: config.first.max_time.ns() },
        warmup: WarmupRule {
            tolerance: config.warmup.tolerance,
            window_ns: config.warmup.window.ns(),
            min_ns: config.warmup.min_time.ns(),
            max_ns: config.warmup.max_time.ns(),
            max_samples: config.warmup.max_samples,
        },
        steady: SteadyRule {
            min_ns: config.steady.min_time.ns(),
            min_samples: config.steady.min_samples,
            max_ns: config.steady.max_time.ns(),
            max_samples: config.steady.max_samples,
        },
        rate_ns: config.rate.ns(),
        stages_ns: config.stages.ns(),
    }
}
