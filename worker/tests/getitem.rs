//! Both workers on a small dataset: the reference check and a measured run.

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use pcb_formats::{
    Dataset, DatasetInfo, Object, ObjectTable, Pixels, Record, Site, SitePixels, VERSION, find, site_digest, store,
    write_site_npy,
};
use pcb_protocol::{
    Checked, Command, Dtype, Event, FailureKind, Finished, Job, Layout, PROTOCOL_VERSION, Pattern, Phase, ReadJob,
    Request, Samples, State, Tier,
};
use support::{Session, read_job};
use tempfile::TempDir;

const TORCH: &str = env!("CARGO_BIN_EXE_pcb-worker");
const IO: &str = env!("CARGO_BIN_EXE_pcb-worker-io");

const SIDE: usize = 48;
const CHANNELS: usize = 2;
const OBJECTS_A_SITE: usize = 20;

/// Three sites in two wells, with a decoy, stored as each of `forms`.
fn dataset(forms: &[(&str, &str, Layout)]) -> TempDir {
    let folder = TempDir::new().expect("a scratch folder");
    make(folder.path(), 3);
    make(&folder.path().join("decoy"), 1);
    for root in [folder.path().to_owned(), folder.path().join("decoy")] {
        let dataset = Dataset::open(&root).expect("just written");
        for &(format, variant, layout) in forms {
            let (format, variant) = find(format, variant, layout).expect("a known variant");
            store::write(&dataset, format, variant, &mut |_, _| {}).expect("space in the scratch folder");
        }
    }
    folder
}

fn make(root: &Path, sites: usize) {
    fs::create_dir_all(root.join("reference")).expect("a writable folder");
    let mut info = DatasetInfo {
        version: VERSION,
        name: "tiny".into(),
        digest: String::new(),
        origin: "test".into(),
        channels: vec!["DNA".into(), "ER".into()],
        dtype: Dtype::U16,
        record: Record { height: 16, width: 16 },
        objects: (sites * OBJECTS_A_SITE) as u64,
        sites: Vec::new(),
    };
    for number in 0..sites {
        let pixels = (0..CHANNELS * SIDE * SIDE).map(|at| (at * 40_503 + number * 977) as u16).collect();
        let data = Pixels::U16(pixels);
        let pixels = SitePixels { channels: CHANNELS, height: SIDE, width: SIDE, data };
        let site = Site {
            plate: "P".into(),
            well: format!("A0{}", number / 2 + 1),
            site: (number % 2 + 1).to_string(),
            height: SIDE as u32,
            width: SIDE as u32,
            digest: site_digest(&pixels),
            source: Vec::new(),
        };
        write_site_npy(&root.join("reference").join(format!("{}.npy", site.name())), &pixels).expect("space");
        info.sites.push(site);
    }
    let rows = (0..sites * OBJECTS_A_SITE).map(|row| Object {
        id: format!("cell-{row}"),
        site: (row / OBJECTS_A_SITE) as u32,
        // Some centres lie on the edge: their crops are padded.
        y: (row * 11 % SIDE) as f32,
        x: (row * 17 % SIDE) as f32,
        bbox: [0, 0, 1, 1],
    });
    let objects = ObjectTable { rows: rows.collect() };
    objects.write(&root.join("objects.parquet"), &info.sites).expect("space");
    info.digest = Dataset::digest_of(&info, &objects);
    info.write(&root.join("dataset.json")).expect("space");
}

/// All that a worker sends after `Hello` and `Armed`.
fn serve(program: &str, job: Job) -> Vec<Event> {
    let session = Session::start(program);
    session.recv();
    session.send(Command::Request(Request { protocol: PROTOCOL_VERSION, seed: 3, threads: 1, job }));
    let mut events = vec![session.recv()];
    if events == [Event::Armed] {
        events.clear();
        session.send(Command::Go);
    }
    while !matches!(events.last(), Some(Event::Finished(_) | Event::Failed(_))) {
        match session.recv() {
            Event::Measured => session.send(Command::Compare),
            event => events.push(event),
        }
    }
    assert!(session.end().success());
    events
}

fn measure(read: ReadJob) -> (Finished, Vec<Samples>) {
    let mut events = serve(TORCH, Job::Getitem { read });
    let Some(Event::Finished(finished)) = events.pop() else { panic!("{:?}", events.last()) };
    assert!(matches!(events.remove(0), Event::Opened(_)));
    let samples = events.into_iter().map(|event| match event {
        Event::Samples(samples) => samples,
        other => panic!("unexpected {other:?}"),
    });
    (*finished, samples.collect())
}

fn count(samples: &[Samples], phase: Phase) -> usize {
    samples.iter().filter(|chunk| chunk.phase == phase).map(|chunk| chunk.ns.len()).sum()
}

/// Files below a folder that end in `extension`.
fn files(root: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(root).expect("a folder").map(|entry| entry.expect("readable").path());
    entries
        .flat_map(|path| if path.is_dir() { files(&path, extension) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect()
}

#[test]
fn a_warm_run_has_every_phase_and_right_pixels() {
    let forms =
        [("npy", "mmap", Layout::Site), ("npy", "pread", Layout::Object), ("tiff", "tile128-deflate", Layout::Site)];
    let folder = dataset(&forms);
    let mut digests = Vec::new();
    for (format, variant, layout) in forms.into_iter().chain([("memory", "ram", Layout::Object)]) {
        let job = ReadJob { layout, ..read_job(folder.path(), format, variant) };
        let (finished, samples) = measure(job);
        assert_eq!((finished.kept_checked, &finished.kept_mismatch), (9, &None), "{format}:{variant}");
        assert_eq!((finished.items_per_sample, finished.bytes_per_sample), (1, 2 * 8 * 8 * 2));
        assert_eq!((finished.index_len, finished.first_complete), (60, true));
        assert_eq!(finished.steady_found, Some(true), "{format}:{variant}");
        assert_eq!(count(&samples, Phase::First), 60);
        assert!(count(&samples, Phase::Steady) >= 100);
        assert!(samples.iter().all(|chunk| chunk.touched.is_empty()), "touching is asked of cold runs alone");
        assert!(finished.rate.is_some_and(|rate| rate > 0.0) && finished.rate_samples > 0);
        assert!(finished.stages.iter().any(|stage| stage.stage == "convert" && stage.mean_ns > 0.0));
        assert_eq!(finished.stored_bytes_used, 60 * 2 * 8 * 8 * 2);
        assert!(finished.stored_bytes_touched > 0);
        assert_eq!(finished.counters.read_bytes.is_none(), variant == "mmap");
        digests.push(finished.index_digest);
    }
    assert_eq!(digests[0].len(), 64);
    assert!(digests.iter().all(|digest| *digest == digests[0]), "one index list for every format");
}

#[test]
fn a_cold_run_is_one_pass_that_says_what_touched_the_device() {
    let folder = dataset(&[("npy", "pread", Layout::Site)]);
    let job = ReadJob { state: State::Cold, samples: 100, ..read_job(folder.path(), "npy", "pread") };
    let (finished, samples) = measure(job);
    assert_eq!((count(&samples, Phase::First), samples.len()), (60, 1), "every object once: a second time is warm");
    assert_eq!(samples[0].touched.len(), 60);
    assert_eq!((finished.steady_found, finished.rate, finished.stages.len()), (None, None, 0));
    assert_eq!(finished.kept_checked, 8);
    assert!(finished.counters.read_bytes.is_some_and(|bytes| bytes >= 60 * 2 * 8 * 8 * 2));
}

#[test]
fn tiers_of_pairs_agree_with_the_reference() {
    let folder = dataset(&[("npy", "mmap", Layout::Site)]);
    for (tier, pattern, side) in [
        (Tier::None, Pattern::PairedWell, 8),
        (Tier::Light, Pattern::PairedObject, 224),
        (Tier::Typical, Pattern::PairedWell, 7),
    ] {
        let mut job = ReadJob { tier, pattern, ..read_job(folder.path(), "npy", "mmap") };
        job.crop.dtype = Dtype::F32;
        (job.rate_ns, job.steady.min_ns, job.warmup.max_ns) = (0, 0, 50_000_000);
        let (finished, _) = measure(job);
        assert_eq!((finished.kept_checked, finished.kept_mismatch), (9, None), "{tier}");
        assert_eq!((finished.items_per_sample, finished.bytes_per_sample), (2, 2 * 2 * side * side * 4));
        assert_eq!(finished.rate, None);
        let transformed = finished.stages.iter().any(|stage| stage.stage == "transform");
        assert_eq!(transformed, tier != Tier::None);
    }
}

#[test]
fn wrong_pixels_are_found_by_both_workers() {
    let folder = dataset(&[("npy", "mmap", Layout::Site)]);
    let job = read_job(folder.path(), "npy", "mmap");
    let check = |samples| serve(IO, Job::Check { read: ReadJob { samples, ..job.clone() } });
    assert_eq!(check(7)[0], Event::Checked(Checked { samples: 7, mismatch: None }));
    assert_eq!(check(0)[0], Event::Checked(Checked { samples: 60, mismatch: None }));

    for path in files(&folder.path().join("formats"), "npy") {
        let mut bytes = fs::read(&path).expect("just written");
        let pixels = bytes.len() - CHANNELS * SIDE * SIDE * 2;
        bytes[pixels..].iter_mut().for_each(|byte| *byte ^= 1);
        fs::write(&path, bytes).expect("ours");
    }
    let events = check(7);
    assert!(matches!(&events[0], Event::Checked(Checked { mismatch: Some(text), .. }) if text.contains("cell-")));
    assert!(matches!(&events[1], Event::Finished(_)));

    let (finished, _) = measure(job);
    let text = finished.kept_mismatch.expect("the kept samples differ");
    for part in ["cell-", "channel 0", "row 0", "column 0", "expected", "got"] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn what_cannot_be_handed_out_is_refused_before_armed() {
    let folder = dataset(&[("npy", "mmap", Layout::Site)]);
    let job = || read_job(folder.path(), "npy", "mmap");
    let mut narrow = job();
    narrow.crop.dtype = Dtype::U8;
    let mut channel = job();
    channel.crop.channels = "5".parse().expect("a channel list");
    let light = ReadJob { tier: Tier::Light, ..job() };
    let unknown = ReadJob { format: "zar".into(), ..job() };
    for (read, says) in [(narrow, "u16 or f32"), (light, "needs f32"), (channel, "channel 5"), (unknown, "zar")] {
        let events = serve(TORCH, Job::Getitem { read });
        let [Event::Failed(failure)] = events.as_slice() else { panic!("{events:?}") };
        assert_eq!(failure.kind, FailureKind::Unsupported);
        assert!(failure.message.contains(says), "{failure:?}");
    }
}

#[test]
fn a_decoy_that_is_not_stored_is_told() {
    let folder = dataset(&[("npy", "mmap", Layout::Site)]);
    fs::remove_dir_all(folder.path().join("decoy/formats")).expect("just written");
    let read = read_job(folder.path(), "npy", "mmap");
    let events = serve(TORCH, Job::Getitem { read: read.clone() });
    assert!(matches!(&events[0], Event::Failed(failure) if failure.message.contains("pcb-data write")), "{events:?}");
    let (finished, _) = measure(ReadJob { warm_code: false, ..read });
    assert_eq!(finished.kept_mismatch, None);
}
