//! The null track: empty samples through the same loop, the harness's own overhead.

use pcb_protocol::FirstRule;

use crate::error::RunError;
use crate::measure::{self, Part, Place, Plan, Step};
use crate::serve::Measure;

/// Does nothing.
pub struct Nothing;

impl Step for Nothing {
    type Output = ();

    #[inline(always)]
    fn step(&mut self, _: Place) -> Result<(), RunError> {
        Ok(())
    }

    fn instrumented(&mut self, _: Place, _: &mut dyn FnMut(Part)) -> Result<(), RunError> {
        Ok(())
    }
}

/// One pass of `samples` samples; there is nothing to get ready.
pub fn plan(samples: u64) -> Plan {
    let first = FirstRule { max_ns: u64::MAX };
    Plan { len: samples as usize, first, observe_device: false, keep: Vec::new(), settle: None }
}

/// Gets ready to time `samples` empty samples.
pub fn prepare(samples: u64) -> Measure {
    Box::new(move |send| {
        let mut finished = measure::run(&plan(samples), || Ok(Nothing), send)?.finished;
        finished.items_per_sample = 1;
        finished.index_len = samples;
        Ok(finished)
    })
}
