//! A worker that does what the file `behaviour` beside it says: for tests of the controller.
//!
//! Found as `pcb-worker` and `pcb-worker-io` through links in a test's folder. `null` and reference checks are
//! answered honestly; the words of `behaviour` decide about `getitem`, unless they say so.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use ipc_channel::ipc::{self, IpcReceiver, IpcSender};
use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
use nix::sys::signal::{Signal, raise};
use pcb_protocol::{
    Checked, Command, Event, Failure, FailureKind, Finished, Hello, Job, Opened, PROTOCOL_VERSION, Phase, ReadJob,
    Request, Samples, State, Worker,
};
use serde::{Deserialize, Serialize};

fn main() {
    let program = PathBuf::from(std::env::args_os().next().expect("a name"));
    let server = std::env::args().nth(1).expect("the server's name");
    let text = std::fs::read_to_string(program.with_file_name("behaviour")).unwrap_or_default();
    let mut words: Vec<&str> = text.split_whitespace().collect();
    if words.first() == Some(&"later") {
        words.remove(0);
        if !started_before(&program) {
            words = vec!["ok"];
        }
    }
    let io = program.file_name().is_some_and(|name| name == "pcb-worker-io");
    match words.first().copied().unwrap_or("ok") {
        "never-connect" => hang(),
        "die-before-hello" => die(),
        "exit-early" => std::process::exit(3),
        "junk" => junk(&server),
        _ => {}
    }
    let worker = Worker::connect(&server).expect("the controller listens");
    serve(&worker, &words, io);
}

/// Whether this program of the folder was started before: `pcb-run` first asks each who it is, and that must pass.
/// The program without libtorch stays honest.
fn started_before(program: &std::path::Path) -> bool {
    let mark = program.with_extension("started");
    let before = mark.exists();
    std::fs::write(mark, "").expect("written");
    before && program.file_name().is_some_and(|name| name == "pcb-worker")
}

fn serve(worker: &Worker, words: &[&str], io: bool) {
    let behaviour = words.first().copied().unwrap_or("ok");
    if behaviour == "no-hello" {
        hang();
    }
    worker.send(Event::Hello(hello(behaviour, io))).expect("sent");
    let Ok(Command::Request(request)) = worker.recv() else { return };
    let reads = matches!(request.job, Job::Getitem { .. });
    match behaviour {
        "die-after-hello" if reads => die(),
        "never-armed" if reads => hang(),
        "finish-early" if reads => send_finished(worker, &request, 1),
        "unsupported" if reads => {
            let failure = Failure { kind: FailureKind::Unsupported, message: "no such codec: xyz".into() };
            worker.send(Event::Failed(failure)).expect("sent");
            return;
        }
        _ => {}
    }
    worker.send(Event::Armed).expect("sent");
    let Ok(Command::Go) = worker.recv() else { return };
    match &request.job {
        Job::Null { samples } => measure(worker, &request, &["ok", "200"], (*samples).min(500)),
        Job::Check { .. } => check(worker, words),
        Job::Getitem { .. } => getitem(worker, &request, words),
    }
}

fn check(worker: &Worker, words: &[&str]) {
    let mismatch = (words.first() == Some(&"mismatch"))
        .then(|| "object p-A01-s1-1, channel 0, row 3, column 4: expected 100, got 101".to_owned());
    worker.send(Event::Checked(Checked { samples: 8, mismatch })).expect("sent");
    worker.send(Event::Finished(Box::default())).expect("sent");
}

fn getitem(worker: &Worker, request: &Request, words: &[&str]) {
    match words.first().copied().unwrap_or("ok") {
        "die-after-samples" => {
            send_samples(worker, Phase::First, vec![1000; 50], true);
            die();
        }
        "hang-after-samples" => {
            send_samples(worker, Phase::First, vec![1000; 50], true);
            hang();
        }
        "close-without-end" => {
            send_samples(worker, Phase::First, vec![1000; 50], true);
            std::process::exit(0);
        }
        "lie" => {
            worker.send(opened()).expect("sent");
            let (ns, rate) = match words[1] {
                "zero" => (0, None),
                "huge" => (1 << 63, None),
                _ => (1000, Some(f64::NAN)),
            };
            std::thread::sleep(Duration::from_millis(5));
            worker.send(Event::Samples(Samples { phase: Phase::First, ns: vec![ns], touched: vec![] })).expect("sent");
            let finished = Finished { rate, first_complete: true, ..Finished::default() };
            worker.send(Event::Finished(Box::new(finished))).expect("sent");
        }
        "flood" => {
            let line = [b'x'; 1 << 16];
            for _ in 0..800 {
                std::io::stderr().write_all(&line).expect("written");
            }
            eprintln!("the last word");
            measure(worker, request, &["ok"], 40);
        }
        "print-junk" => {
            println!("{{\"event\":\"Finished\"}}\u{0}\u{1}");
            measure(worker, request, &["ok"], 40);
        }
        "leave-a-child" => {
            #[expect(clippy::zombie_processes, reason = "to be left behind is its part")]
            let child = std::process::Command::new("sleep").arg("1000").spawn().expect("sleep");
            eprintln!("child {}", child.id());
            measure(worker, request, &["ok"], 40);
        }
        "kept-mismatch" => {
            pass(worker, request, &["ok"], 40);
            let finished = Finished { kept_mismatch: Some("row 1: expected 5, got 6".into()), ..finished(request, 40) };
            worker.send(Event::Finished(Box::new(finished))).expect("sent");
        }
        "evict" | "evict-once" => {
            let first = starts() >> 32 == 1;
            pass(worker, request, &["ok"], 40);
            let evict = first || words[0] == "evict";
            if let (true, Job::Getitem { read }) = (evict, &request.job) {
                drop_files(&read.dataset.join("formats"));
            }
            worker.send(Event::Measured).expect("sent");
            let Ok(Command::Compare) = worker.recv() else { return };
            let device_bytes_to_end = if evict { 4096 } else { 0 };
            let finished = Finished { device_bytes_to_end, ..finished(request, 40) };
            worker.send(Event::Finished(Box::new(finished))).expect("sent");
        }
        "fail-fds" => {
            let failure = Failure { kind: FailureKind::FdExhausted, message: "site.tif: Too many open files".into() };
            worker.send(Event::Failed(failure)).expect("sent");
        }
        _ => measure(worker, request, words, 40),
    }
}

/// `ok [NS]`, or `spin NS NOISE SEED`: samples of NS, times a factor that is the same for a whole run.
fn measure(worker: &Worker, request: &Request, words: &[&str], samples: u64) {
    pass(worker, request, words, samples);
    send_finished(worker, request, samples);
}

fn pass(worker: &Worker, request: &Request, words: &[&str], samples: u64) {
    let base: f64 = words.get(1).and_then(|text| text.parse().ok()).unwrap_or(20_000.0);
    let noise: f64 = words.get(2).and_then(|text| text.parse().ok()).unwrap_or(0.0);
    let seed: u64 = words.get(3).and_then(|text| text.parse().ok()).unwrap_or(0);
    let factor = if noise > 0.0 { (noise * normal(seed ^ starts())).exp() } else { 1.0 };
    let target = Duration::from_nanos((base * factor) as u64);
    worker.send(opened()).expect("sent");
    let cold = matches!(&request.job, Job::Getitem { read: ReadJob { state: State::Cold, .. } });
    send_samples(worker, Phase::First, spin(target, samples), cold);
    if matches!(request.job, Job::Getitem { .. }) && !cold {
        send_samples(worker, Phase::Steady, spin(target, samples), false);
    }
}

fn spin(target: Duration, samples: u64) -> Vec<u64> {
    let one = |_| {
        let start = Instant::now();
        while start.elapsed() < target {
            std::hint::spin_loop();
        }
        start.elapsed().as_nanos() as u64
    };
    (0..samples).map(one).collect()
}

/// A standard normal number from a seed: a run-to-run effect, as real machines have.
fn normal(seed: u64) -> f64 {
    let mut state = seed;
    let mut unit = || {
        // splitmix64 (Steele, Lea, Flood 2014).
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    };
    (-2.0 * unit().max(f64::MIN_POSITIVE).ln()).sqrt() * (std::f64::consts::TAU * unit()).cos()
}

/// Times a worker of this folder was asked for noise, counted in a file: each run has noise of its own.
fn starts() -> u64 {
    let program = PathBuf::from(std::env::args_os().next().expect("a name"));
    let mut file =
        std::fs::OpenOptions::new().create(true).append(true).open(program.with_file_name("starts")).expect("opens");
    file.write_all(b".").expect("written");
    file.metadata().expect("stat").len() << 32
}

/// Evicts every file below a folder from the page cache, as a kernel may.
fn drop_files(folder: &std::path::Path) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        if entry.path().is_dir() {
            drop_files(&entry.path());
        } else {
            let file = std::fs::File::open(entry.path()).expect("opens");
            posix_fadvise(&file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED).expect("dropped");
        }
    }
}

fn send_samples(worker: &Worker, phase: Phase, ns: Vec<u64>, marked: bool) {
    // A worker may not claim more time than has passed since Go.
    std::thread::sleep(Duration::from_millis(1));
    let touched = if marked { vec![true; ns.len()] } else { Vec::new() };
    worker.send(Event::Samples(Samples { phase, ns, touched })).expect("sent");
}

fn send_finished(worker: &Worker, request: &Request, samples: u64) {
    worker.send(Event::Finished(Box::new(finished(request, samples)))).expect("sent");
}

fn finished(request: &Request, samples: u64) -> Finished {
    Finished {
        items_per_sample: 1,
        bytes_per_sample: 1024,
        index_len: samples,
        kept_checked: 8,
        index_digest: format!("{:064x}", request.seed),
        first_complete: true,
        steady_found: Some(true),
        rate: Some(1000.0),
        stored_bytes_used: 1024,
        stored_bytes_touched: 2048,
        ..Finished::default()
    }
}

fn opened() -> Event {
    Event::Opened(Opened { ns: 1000, rss_bytes: 0, read_bytes: 128, device_bytes: 0 })
}

fn hello(behaviour: &str, io: bool) -> Hello {
    Hello {
        protocol: if behaviour == "old-protocol" { PROTOCOL_VERSION + 1 } else { PROTOCOL_VERSION },
        program: if io { "pcb-worker-io" } else { "pcb-worker" }.into(),
        version: "0.0.0-fake".into(),
        commit: "fake".into(),
        opt_level: if behaviour == "debug-build" { "0" } else { "3" }.into(),
        versions: BTreeMap::new(),
    }
}

/// Connects as a worker would, then sends bytes that are no events.
fn junk(server: &str) -> ! {
    #[derive(Serialize, Deserialize)]
    struct Bootstrap {
        events: IpcReceiver<Vec<u64>>,
        commands: IpcSender<Command>,
    }
    let (events, controller_events) = ipc::channel().expect("a channel");
    let (commands, _kept) = ipc::channel().expect("a channel");
    let bootstrap = IpcSender::connect(server.to_owned()).expect("the controller listens");
    bootstrap.send(Bootstrap { events: controller_events, commands }).expect("sent");
    events.send(vec![u64::MAX; 100]).expect("sent");
    hang()
}

fn hang() -> ! {
    loop {
        std::thread::sleep(Duration::from_secs(1000));
    }
}

fn die() -> ! {
    let _ = raise(Signal::SIGKILL);
    hang()
}
