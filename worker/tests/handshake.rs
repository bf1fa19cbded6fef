//! The worker without libtorch, end to end.

mod support;

use pcb_protocol::{Command, Event, FailureKind, Job, PROTOCOL_VERSION, Phase, Request};
use support::{Session, read_job};

const IO: &str = env!("CARGO_BIN_EXE_pcb-worker-io");

fn request(job: Job) -> Request {
    Request { protocol: PROTOCOL_VERSION, seed: 1, threads: 1, job }
}

#[test]
fn a_null_run_tells_its_events_in_order() {
    let session = Session::start(IO);
    let Event::Hello(hello) = session.recv() else { panic!("Hello comes first") };
    assert_eq!((hello.protocol, hello.program.as_str()), (PROTOCOL_VERSION, "pcb-worker-io"));
    // The program without torch tells the libraries of formats alone.
    let told = |name: &str| hello.versions.contains_key(name);
    assert!(told("parquet") && !told("libtorch") && !hello.opt_level.is_empty(), "{hello:?}");

    session.send(Command::Request(request(Job::Null { samples: 10_000 })));
    assert_eq!(session.recv(), Event::Armed);
    session.send(Command::Go);
    assert!(matches!(session.recv(), Event::Opened(_)));

    let mut chunks = Vec::new();
    let finished = loop {
        match session.recv() {
            Event::Samples(samples) => {
                assert_eq!((samples.phase, samples.touched.len()), (Phase::First, 0));
                chunks.push(samples.ns.len());
            }
            Event::Finished(finished) => break finished,
            other => panic!("unexpected {other:?}"),
        }
    };
    assert_eq!(chunks, [4096, 4096, 1808]);
    assert_eq!((finished.index_len, finished.first_complete, finished.steady_found), (10_000, true, None));
    assert!(finished.counters.peak_rss_bytes > 0, "{:?}", finished.counters);
    assert!(session.end().success());
}

#[test]
fn libtorch_is_not_loaded() {
    let session = Session::start(IO);
    session.recv();
    let maps = std::fs::read_to_string(format!("/proc/{}/maps", session.pid)).expect("the worker waits for a request");
    assert!(maps.contains("pcb-worker-io") && !maps.contains("libtorch"), "{maps}");
}

#[test]
fn another_protocol_is_refused() {
    let session = Session::start(IO);
    session.recv();
    session.send(Command::Request(Request { protocol: PROTOCOL_VERSION + 1, ..request(Job::Null { samples: 1 }) }));
    let Event::Failed(failure) = session.recv() else { panic!("Failed expected") };
    assert!(failure.message.contains("protocol"), "{failure:?}");
    assert!(session.end().success());
}

#[test]
fn getitem_needs_the_other_worker() {
    let session = Session::start(IO);
    session.recv();
    let read = read_job(std::path::Path::new("/nowhere"), "npy", "mmap");
    session.send(Command::Request(request(Job::Getitem { read })));
    let Event::Failed(failure) = session.recv() else { panic!("Failed expected") };
    assert_eq!(failure.kind, FailureKind::Unsupported);
    assert!(failure.message.contains("pcb-worker"), "{failure:?}");
}

#[test]
fn a_missing_dataset_is_named() {
    let session = Session::start(IO);
    session.recv();
    let read = read_job(std::path::Path::new("/nowhere"), "npy", "mmap");
    session.send(Command::Request(request(Job::Check { read })));
    let Event::Failed(failure) = session.recv() else { panic!("Failed expected") };
    assert_eq!(failure.kind, FailureKind::Failed);
    assert!(failure.message.contains("/nowhere/dataset.json"), "{failure:?}");
}

#[test]
fn a_worker_whose_controller_is_gone_ends() {
    let session = Session::start(IO);
    session.recv();
    assert!(!session.end().success(), "nobody was told");
}

#[test]
fn a_worker_without_a_server_says_what_it_wants() {
    let output = std::process::Command::new(IO).output().expect("the worker is built");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("started by pcb-run"));
    assert!(output.stdout.is_empty());
}
