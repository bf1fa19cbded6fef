//! Opening is cheap: no reader decodes a dataset when it is opened, but the one that says so.

mod support;

use pcb_formats::{Dataset, find};
use pcb_protocol::{Dtype, Layout, Pad};
use support::{make, spec, stored_variants, write};

/// What a reader may add to resident memory when it opens.
const ALLOWED: u64 = 20 << 20;

fn resident_bytes() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").expect("proc");
    pages.split(' ').nth(1).and_then(|text| text.parse::<u64>().ok()).expect("the second field") * 4096
}

/// Growth of resident memory while a reader is opened.
fn growth(dataset: &std::sync::Arc<Dataset>, format: &str, variant: &str, layout: Layout) -> u64 {
    let (format, variant) = find(format, variant, layout).expect("known");
    let spec = spec(dataset, variant, &[0, 1], (64, 64), Pad::Reflect);
    let before = resident_bytes();
    let reader = (format.open)(&spec).expect("opens");
    let after = resident_bytes();
    drop(reader);
    after.saturating_sub(before)
}

#[test]
fn opening_anything_but_memory_grows_resident_memory_by_less_than_20_mb() {
    let folder = support::folder();
    // One site of 28 MB, nine records of 5 MB.
    let dataset = make(folder.path(), Dtype::U16, 2, &[(2650, 2650)], (1150, 1150));
    for (format, variant) in stored_variants().filter(|(format, _)| format.name != "memory") {
        write(&dataset, format, variant);
        let grown = growth(&dataset, format.name, variant.name, variant.layout);
        assert!(grown < ALLOWED, "{}:{}/{}: {grown} bytes", format.name, variant.name, variant.layout);
    }
    // The control: a reader that decodes at open is seen by this test.
    for layout in [Layout::Site, Layout::Object] {
        let grown = growth(&dataset, "memory", "ram", layout);
        assert!(grown > ALLOWED, "memory/{layout}: {grown} bytes");
    }
}
