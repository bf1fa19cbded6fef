//! The worker without libtorch, ready in a few milliseconds: what needs no tensor.

use std::process::ExitCode;

use pcb_protocol::{Job, Request};
use pcb_worker::error::RunError;
use pcb_worker::serve::{self, Measure, Program};
use pcb_worker::tracks::{check, null};

fn main() -> ExitCode {
    serve::main(&Program { name: "pcb-worker-io", versions: &[], prepare })
}

fn prepare(request: Request) -> Result<Measure, RunError> {
    match request.job {
        Job::Null { samples } => Ok(null::prepare(samples)),
        Job::Check { read } => check::prepare(request.seed, &read),
        Job::Getitem { .. } => {
            Err(RunError::Unsupported("getitem hands out tensors, which pcb-worker-io lacks: use pcb-worker".into()))
        }
    }
}
