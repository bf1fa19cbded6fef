//! A file that vortex-data wrote, from `$PCB_TEST_DATA`.
#![cfg(feature = "vortex")]

mod support;

use pcb_formats::{find, store};
use pcb_protocol::{Layout, Pad};
use support::interop::{data, plate};
use support::spec;

#[test]
fn a_file_of_vortex_data_has_the_digests_of_its_manifest() {
    let Some(interop) = data("interop") else { return };
    for layout in [Layout::Object, Layout::Site] {
        let folder = support::folder();
        let plate = plate(folder.path(), &interop);
        let (format, variant) = find("vortex", "list", layout).expect("known");
        plate.put(format, variant, &interop.join("vortex/ome-arrow.vortex"), "images.vortex");
        assert_eq!(plate.digests(format, variant), plate.expected);
        assert_eq!(store::verify(&plate.dataset, format, variant, &mut |_, _| {}).expect("verifies"), 4);
        for size in [(32, 40), (7, 9)] {
            let spec = spec(&plate.dataset, variant, &[2, 0, 1], size, Pad::Reflect);
            assert_eq!(store::check_objects(format, &spec, &[0, 1, 2, 3]).expect("reads"), None, "{size:?}");
        }
    }
}
