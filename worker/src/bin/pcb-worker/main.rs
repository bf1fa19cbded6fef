//! The worker with libtorch: every track.
//!
//! All that needs tensors is in this program and not in the library: libtorch runs code of its own when it is
//! loaded, so that one object file referring to it is enough for the linker to keep it in `pcb-worker-io` too.
//!
//! Only `tensor` touches tch and holds `unsafe`; transforms are written in its operations. The arrows are
//! `getitem → transforms → tensor`.

mod getitem;
#[expect(unsafe_code, reason = "memory that libtorch allocated is filled in place")]
mod tensor;
mod transforms;

use std::process::ExitCode;

use pcb_protocol::{Job, Request};
use pcb_worker::error::RunError;
use pcb_worker::serve::{self, Measure, Program};
use pcb_worker::tracks::{check, null};

fn main() -> ExitCode {
    let versions = [("libtorch", option_env!("PCB_LIBTORCH_VERSION").unwrap_or("unknown"))];
    serve::main(&Program { name: "pcb-worker", versions: &versions, prepare })
}

fn prepare(request: Request) -> Result<Measure, RunError> {
    match request.job {
        Job::Null { samples } => Ok(null::prepare(samples)),
        Job::Check { read } => check::prepare(request.seed, &read),
        Job::Getitem { read } => getitem::prepare(request.seed, request.threads, read),
    }
}
