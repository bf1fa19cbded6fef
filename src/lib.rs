//! pcb measures how image-based-profiling file formats feed PyTorch.
//!
//! ```text
//! config ─▶ plan ─▶ runs (one fresh worker process each) ─▶ result file ─▶ summaries ─▶ comparison ─▶ text, plots
//! ```
//!
//! Measuring and judging meet only in the result file: `pcb-run` never compares, `pcb-compare` never measures (`pcb-gate` calls both).
//! `plan`, `stats`, `compare`, `gate` and `report` do no I/O. Only `session` knows processes, only `results` knows the file.

pub mod case;
pub mod cli;
pub mod compare;
pub mod config;
pub mod data;
pub mod environment;
pub mod gate;
pub mod interrupt;
pub mod noise;
pub mod output;
pub mod plan;
pub mod progress;
pub mod report;
pub mod residency;
pub mod results;
pub mod runner;
pub mod session;
pub mod stats;
pub mod units;
