//! Changed bytes anywhere in an HDF5 file: an error that names it, or pixels; never a crash or a hang of the library.
//! Each file is damaged in a process of its own, so that a crash is seen as one.

mod support;

use std::fs::{self, OpenOptions};
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use pcb_formats::{Dataset, Format, FormatError, Pixels, Probe, Variant, find};
use pcb_protocol::{Dtype, Layout, Pad};
use support::interop::{data, plate};
use support::{make, spec, write};

/// Tells the child what to damage: `folder|variant|layout|step`.
const TOLD: &str = "PCB_TEST_DAMAGE";

/// What is done to a byte.
const MASKS: [u8; 4] = [0x01, 0x10, 0x80, 0xff];

/// Bytes at each end of a file that are changed more densely than those between.
const ENDS: usize = 8192;

/// Longest time that a child may take; it needs seconds.
const PATIENCE: Duration = Duration::from_secs(600);

fn read_all(dataset: &Arc<Dataset>, format: &Format, variant: &'static Variant) -> Result<(), FormatError> {
    let [channels, height, width] = dataset.record_shape();
    let channels: Vec<usize> = (0..channels).collect();
    let spec = spec(dataset, variant, &channels, (height, width), Pad::Reflect);
    let mut reader = (format.open)(&spec)?;
    let mut out = Pixels::zeros(dataset.info.dtype, spec.crop_bytes() / dataset.info.dtype.size());
    for object in 0..dataset.objects.rows.len() {
        reader.read(object, out.bytes_mut(), &mut Probe::none())?;
    }
    Ok(())
}

/// Not a test of its own: changes bytes of the variant's first file one at a time and reads everything each time.
#[test]
fn child() {
    let Ok(told) = std::env::var(TOLD) else { return };
    let [folder, variant, layout, step] = told.split('|').collect::<Vec<_>>()[..] else { panic!("{told}") };
    let dataset = Arc::new(Dataset::open(Path::new(folder)).expect("opens"));
    let (format, variant) = find("hdf5", variant, layout.parse().expect("a layout")).expect("known");
    read_all(&dataset, format, variant).expect("sound at first");
    let path = (format.files)(&dataset, variant).expect("listed")[0].clone();
    let bytes = fs::read(&path).expect("read");
    let file = OpenOptions::new().write(true).open(&path).expect("opened");
    let mut refused = 0;
    let places = places(bytes.len(), step.parse().expect("a number"));
    for (at, mask) in places.flat_map(|at| MASKS.map(|mask| (at, mask))) {
        println!("at={at}");
        file.write_all_at(&[bytes[at] ^ mask], at as u64).expect("written");
        if let Err(error) = read_all(&dataset, format, variant) {
            let text = error.to_string();
            assert!(text.contains(&path.display().to_string()), "byte {at}: {text:?}");
            refused += 1;
        }
        file.write_all_at(&bytes[at..=at], at as u64).expect("written");
    }
    println!("refused={refused}");
}

/// Bytes to change in a file of `len` bytes: `step` apart at both ends, where metadata lie, and some of those between.
fn places(len: usize, step: usize) -> impl Iterator<Item = usize> {
    let (start, end) = (len.min(ENDS), len.saturating_sub(ENDS).max(ENDS).min(len));
    (0..start).step_by(step).chain((start..end).step_by(step * 101)).chain((end..len).step_by(step))
}

/// Damages the first file of a stored form byte by byte, `step` bytes apart. Returns how often it was refused.
fn damage(dataset: &Dataset, variant: &Variant, step: usize) -> usize {
    let told = format!("{}|{}|{}|{step}", dataset.root.display(), variant.name, variant.layout);
    let mut command = Command::new(std::env::current_exe().expect("this test"));
    command.args(["--exact", "child", "--nocapture"]).env(TOLD, &told).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("runs");
    let (mut out, mut err) = (child.stdout.take().expect("piped"), child.stderr.take().expect("piped"));
    let drain = |from: &mut dyn Read| {
        let mut text = Vec::new();
        from.read_to_end(&mut text).expect("read");
        String::from_utf8_lossy(&text).into_owned()
    };
    let (said, complained) = std::thread::scope(|scope| {
        let said = scope.spawn(move || drain(&mut out));
        let complained = scope.spawn(move || drain(&mut err));
        let start = Instant::now();
        let status = loop {
            match child.try_wait().expect("waited") {
                Some(status) => break status,
                None if start.elapsed() > PATIENCE => {
                    child.kill().expect("killed");
                    break child.wait().expect("waited");
                }
                None => std::thread::sleep(Duration::from_millis(20)),
            }
        };
        let (said, complained) = (said.join().expect("joined"), complained.join().expect("joined"));
        let last = said.rsplit("at=").next().and_then(|rest| rest.split_whitespace().next()).unwrap_or("nowhere");
        assert!(status.success(), "{told}: {status}, last changed byte {last}\n{complained}");
        (said, complained)
    });
    assert!(!complained.contains("HDF5-DIAG"), "the library printed its errors: {complained}");
    let refused = said.split("refused=").nth(1).and_then(|rest| rest.split_whitespace().next());
    refused.and_then(|count| count.parse().ok()).unwrap_or_else(|| panic!("{said}"))
}

#[test]
fn a_changed_byte_anywhere_crashes_nothing() {
    let (format, _) = find("hdf5", "contiguous", Layout::Site).expect("known");
    for variant in format.variants {
        let folder = support::folder();
        let dataset = make(folder.path(), Dtype::U16, 2, &[(20, 26)], (8, 8));
        write(&dataset, format, variant);
        let refused = damage(&dataset, variant, step(13));
        assert!(refused > 20, "{}/{}: only {refused} changes were seen", variant.name, variant.layout);
    }
}

#[test]
fn a_changed_byte_anywhere_in_a_file_of_h5py_crashes_nothing() {
    let Some(interop) = data("interop") else { return };
    for (variant, file) in [
        ("contiguous", "contiguous.h5"),
        ("chunk-record", "chunk-per-image.h5"),
        ("chunk-record-gzip4-shuffle", "gzip4-shuffle.h5"),
    ] {
        let folder = support::folder();
        let plate = plate(folder.path(), &interop);
        let (format, variant) = find("hdf5", variant, Layout::Object).expect("known");
        plate.put(format, variant, &interop.join("hdf5").join(file), "crops.h5");
        let refused = damage(&plate.dataset, variant, step(41));
        assert!(refused > 5, "{file}: only {refused} changes were seen");
    }
}

/// Distance of the bytes that are changed: `usual`, or what a longer search by hand asks for.
fn step(usual: usize) -> usize {
    std::env::var("PCB_TEST_DAMAGE_STEP").ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}
