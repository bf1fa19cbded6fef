//! A dataset that pylance wrote, from `$PCB_TEST_DATA`.
#![cfg(feature = "lance")]

mod support;

use std::fs;
use std::path::Path;

use pcb_formats::{find, store};
use pcb_protocol::{Layout, Pad};
use support::interop::{data, plate};
use support::{files_below, spec};

fn copy_tree(from: &Path, to: &Path) {
    for file in files_below(from) {
        let place = to.join(file.strip_prefix(from).expect("below"));
        fs::create_dir_all(place.parent().expect("a folder")).expect("a folder");
        // Not `copy`, which would keep them from being changed.
        fs::write(place, fs::read(&file).expect("read")).expect("written");
    }
}

#[test]
fn a_dataset_of_pylance_has_the_digests_of_its_manifest() {
    let Some(interop) = data("interop") else { return };
    for layout in [Layout::Object, Layout::Site] {
        let folder = support::folder();
        let plate = plate(folder.path(), &interop);
        let (format, variant) = find("lance", "list", layout).expect("known");
        let place = plate.dataset.stored_dir(format.name, variant).join("images.lance");
        copy_tree(&interop.join("lance/ome-arrow.lance"), &place);
        assert_eq!(plate.digests(format, variant), plate.expected);
        assert_eq!(store::verify(&plate.dataset, format, variant, &mut |_, _| {}).expect("verifies"), 4);
        for size in [(32, 40), (7, 9)] {
            let spec = spec(&plate.dataset, variant, &[2, 0, 1], size, Pad::Reflect);
            assert_eq!(store::check_objects(format, &spec, &[0, 1, 2, 3]).expect("reads"), None, "{size:?}");
        }
    }
}
