//! HDF5 files of h5py, read through the variants of the object layout. From `$PCB_TEST_DATA`.

mod support;

use pcb_formats::{find, store};
use pcb_protocol::{Layout, Pad};
use support::interop::{data, plate};
use support::spec;

#[test]
fn h5pys_files_have_the_digests_of_their_manifest() {
    let Some(interop) = data("interop") else { return };
    for (variant, file) in [
        ("contiguous", "contiguous.h5"),
        ("chunk-record", "chunk-per-image.h5"),
        ("chunk-record-gzip4-shuffle", "gzip4-shuffle.h5"),
        // Stored in another way than the variant's own writer has it.
        ("contiguous", "gzip4-shuffle.h5"),
        ("chunk-record", "contiguous.h5"),
    ] {
        let folder = support::folder();
        let plate = plate(folder.path(), &interop);
        let (format, variant) = find("hdf5", variant, Layout::Object).expect("known");
        plate.put(format, variant, &interop.join("hdf5").join(file), "crops.h5");
        assert_eq!(plate.digests(format, variant), plate.expected, "{file}");
        assert_eq!(store::verify(&plate.dataset, format, variant, &mut |_, _| {}).expect("verifies"), 4);
        // Parts of records, their channels in another order.
        for size in [(96, 128), (32, 40), (7, 9)] {
            let spec = spec(&plate.dataset, variant, &[2, 0, 1], size, Pad::Reflect);
            assert_eq!(store::check_objects(format, &spec, &[0, 1, 2, 3]).expect("reads"), None, "{file} {size:?}");
        }
    }
}
