//! The harness's own overhead: empty samples through the loop that times every track.
//!
//! `cargo bench -p pcb-worker --bench overhead`

use std::cell::Cell;
use std::time::Instant;

use pcb_protocol::Event;
use pcb_worker::measure;
use pcb_worker::tracks::null::{Nothing, plan};

const SAMPLES: u64 = 2_000_000;

fn main() {
    for round in 1..=5 {
        let (total, least) = (Cell::new(0), Cell::new(u64::MAX));
        let begin = Instant::now();
        let measured = measure::run(&plan(SAMPLES), || Ok(Nothing), &|event| {
            if let Event::Samples(samples) = event {
                total.set(total.get() + samples.ns.iter().sum::<u64>());
                least.set(least.get().min(samples.ns.iter().copied().min().unwrap_or(u64::MAX)));
            }
            Ok(())
        });
        assert!(measured.is_ok_and(|measured| measured.finished.first_complete));
        let loop_ns = begin.elapsed().as_nanos() as f64 / SAMPLES as f64;
        let mean = total.get() as f64 / SAMPLES as f64;
        println!("round {round}: {mean:.1} ns a sample (least {}), loop {loop_ns:.1} ns", least.get());
    }
}
