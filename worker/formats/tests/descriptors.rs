//! A plate has more files than a process may open. Alone in its binary: the limit holds for the whole process.

mod support;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use pcb_formats::store;
use pcb_protocol::Dtype;
use support::{filed_variants, make, write};

#[test]
fn a_plate_of_more_sites_than_descriptors_verifies() {
    let folder = support::folder();
    let dataset = make(folder.path(), Dtype::U8, 2, &[(3, 4); 90], (2, 2));
    for (format, variant) in filed_variants() {
        write(&dataset, format, variant);
    }
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).expect("known");
    setrlimit(Resource::RLIMIT_NOFILE, 60, hard).expect("set");
    for (format, variant) in filed_variants() {
        store::verify(&dataset, format, variant, &mut |_, _| {})
            .unwrap_or_else(|e| panic!("{}:{}: {e}", format.name, variant.name));
    }
}
