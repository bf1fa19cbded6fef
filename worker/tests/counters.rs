//! The process's counters. One test in a program of its own: other tests would read files meanwhile.

use std::fs;

use pcb_worker::counters::{Snapshot, peak_rss_bytes, rss_bytes};

#[test]
fn counters_count_what_happens_between_them_and_not_themselves() {
    let (earlier, later) = (Snapshot::now(), Snapshot::now());
    assert_eq!(later.read_bytes_since(&earlier), 0);

    let earlier = Snapshot::now();
    let text = fs::read("/proc/self/maps").expect("every process has maps");
    assert_eq!(Snapshot::now().since(&earlier).read_bytes, Some(text.len() as u64));

    let (earlier, before) = (Snapshot::now(), rss_bytes());
    let block = vec![1_u8; 64 << 20];
    let grown = rss_bytes() - before;
    assert!(grown > 60 << 20, "{grown} bytes of {}", block.len());
    assert!(peak_rss_bytes() >= before + grown);
    let counters = Snapshot::now().since(&earlier);
    assert!(counters.minor_faults > 0 && counters.user_ns + counters.system_ns > 0, "{counters:?}");
}
