//! Opening is cheap: no reader decodes a dataset when it is opened, but the one that says so.

mod support;

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use pcb_formats::{Dataset, find};
use pcb_protocol::{Dtype, Layout, Pad};
use support::{make, spec, stored_variants, write};

/// What a reader may add to resident memory when it opens.
const ALLOWED: u64 = 20 << 20;

fn resident_bytes() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").expect("proc");
    pages.split(' ').nth(1).and_then(|text| text.parse::<u64>().ok()).expect("the second field") * 4096
}

/// Tells the child what to open: `folder|decoy|format|variant|layout`.
const TOLD: &str = "PCB_TEST_OPEN";

/// Not a test of its own: opens what it is told in a process that has freed no memory yet, and prints the growth. A decoy
/// is opened before, as workers do: what a library's code takes is no part of opening.
#[test]
fn child() {
    let Ok(told) = std::env::var(TOLD) else { return };
    let [folder, decoy, format, variant, layout] = told.split('|').collect::<Vec<_>>()[..] else { panic!("{told}") };
    let (format, variant) = find(format, variant, layout.parse().expect("a layout")).expect("known");
    let spec_of = |folder: &str| {
        let dataset = Arc::new(Dataset::open(Path::new(folder)).expect("opens"));
        spec(&dataset, variant, &[0, 1], (64, 64), Pad::Reflect)
    };
    let (decoy, spec) = (spec_of(decoy), spec_of(folder));
    let decoy = (format.open)(&decoy).expect("opens");
    let before = resident_bytes();
    let reader = (format.open)(&spec).expect("opens");
    let after = resident_bytes();
    drop((decoy, reader));
    println!("grown={}", after.saturating_sub(before));
}

/// Growth of resident memory while a reader is opened.
fn growth(dataset: &Dataset, decoy: &Dataset, format: &str, variant: &str, layout: Layout) -> u64 {
    let told = format!("{}|{}|{format}|{variant}|{layout}", dataset.root.display(), decoy.root.display());
    let mut command = Command::new(std::env::current_exe().expect("this test"));
    let output = command.args(["--exact", "child", "--nocapture"]).env(TOLD, told).output().expect("runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let grown = text.split("grown=").nth(1).and_then(|rest| rest.split_whitespace().next());
    grown.and_then(|bytes| bytes.parse().ok()).unwrap_or_else(|| panic!("{text}"))
}

#[test]
fn opening_anything_but_memory_grows_resident_memory_by_less_than_20_mb() {
    let folder = support::folder();
    // One site of 28 MB, nine records of 5 MB.
    let dataset = make(&folder.path().join("data"), Dtype::U16, 2, &[(2650, 2650)], (1150, 1150));
    let decoy = make(&folder.path().join("decoy"), Dtype::U16, 2, &[(70, 70)], (64, 64));
    for (format, variant) in stored_variants().filter(|(format, _)| format.name != "memory") {
        write(&dataset, format, variant);
        write(&decoy, format, variant);
        let grown = growth(&dataset, &decoy, format.name, variant.name, variant.layout);
        assert!(grown < ALLOWED, "{}:{}/{}: {grown} bytes", format.name, variant.name, variant.layout);
    }
    // The control: a reader that decodes at open is seen by this test.
    let grown = growth(&dataset, &decoy, "memory", "ram", Layout::Site);
    assert!(grown > ALLOWED, "memory: {grown} bytes");
}
