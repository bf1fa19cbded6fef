//! Descriptions that contradict the pixels, or themselves, or promise more than there is: an error before memory is spent.

mod support;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use pcb_formats::{Dataset, FormatError, Pixels, Site, SourceFile, find, store, tiff_pages, write_npy};
use pcb_protocol::{Dtype, Layout};
use support::{make, objects, refused};

fn small(root: &Path) -> Arc<Dataset> {
    make(root, Dtype::U16, 2, &[(40, 50), (40, 50)], (16, 16))
}

fn assert_names(error: &FormatError, path: &Path) {
    let text = error.to_string();
    assert!(text.contains(&path.display().to_string()), "{text:?} does not name {}", path.display());
}

/// A TIFF of 134 bytes whose header promises `height` x `width` pixels of 8 bits in one strip of `rows` rows.
fn lying_tiff(path: &Path, height: u32, width: u32, rows: u32) {
    let tags: [(u16, u32); 10] = [
        (256, width),
        (257, height),
        (258, 8),
        (259, 1),
        (262, 1),
        (273, 8),
        (277, 1),
        (278, rows),
        (279, 4),
        (339, 1),
    ];
    let mut bytes = b"II*\0\x08\0\0\0".to_vec();
    bytes.extend((tags.len() as u16).to_le_bytes());
    for (tag, value) in tags {
        bytes.extend(tag.to_le_bytes());
        bytes.extend(4_u16.to_le_bytes());
        bytes.extend(1_u32.to_le_bytes());
        bytes.extend(value.to_le_bytes());
    }
    bytes.extend([0; 4]);
    assert_eq!(bytes.len(), 134);
    fs::write(path, bytes).expect("written");
}

#[test]
fn a_header_that_promises_more_than_its_file_holds_is_refused() {
    let folder = support::folder();
    let path = folder.path().join("lie.tif");
    for (height, width, rows) in [(1 << 31, 1 << 31, 1 << 31), (u32::MAX, u32::MAX, 1), (5, 1, 5), (1000, 1000, 1000)] {
        lying_tiff(&path, height, width, rows);
        assert_names(&refused(tiff_pages(&path)), &path);
        // A dataset that believed it: refused when opened, or when its pixels are asked for.
        let source = vec![SourceFile::tiff("lie.tif", 0)];
        let (plate, well, site) = ("P".into(), "A01".into(), "1".into());
        let site = Site { plate, well, site, height, width, digest: String::new(), source };
        let dataset =
            support::finish_unopened(folder.path(), Dtype::U8, vec!["a".into()], vec![site], objects(0, 4, 4));
        match dataset {
            Err(error) => assert_names(&error, &folder.path().join("dataset.json")),
            Ok(dataset) => {
                assert_names(&refused(dataset.reference(0)), &path);
                let (format, variant) = find("tiff", "source", Layout::Site).expect("known");
                assert_names(
                    &refused(store::check_objects(
                        format,
                        &support::spec(&dataset, variant, &[0], (1, 1), pcb_protocol::Pad::Zero),
                        &[0],
                    )),
                    &path,
                );
            }
        }
    }
    lying_tiff(&path, 2, 2, 2);
    assert_eq!(tiff_pages(&path).expect("no lie").len(), 1);
}

#[test]
fn a_dataset_of_impossible_size_is_refused() {
    let folder = support::folder();
    let dataset = small(folder.path());
    let json = folder.path().join("dataset.json");
    let refuse = |change: &dyn Fn(&mut pcb_formats::DatasetInfo), word: &str| {
        let mut info = dataset.info.clone();
        change(&mut info);
        info.write(&json).expect("written");
        let error = refused(Dataset::open(folder.path()));
        assert_names(&error, &json);
        assert!(error.to_string().contains(word), "{error}");
    };
    refuse(&|info| info.record.height = u32::MAX, "records of 4294967295x16");
    refuse(&|info| (info.record.height, info.record.width) = (1 << 20, 1 << 19), "records of");
    refuse(&|info| (info.sites[1].height, info.sites[1].width) = (u32::MAX, u32::MAX), "site P_1-A01-s2");
    refuse(&|info| (info.sites[1].height, info.sites[1].width) = (1, 1 << 31), "site P_1-A01-s2");
    // 2^40 bytes are the limit, and are within it: 2 channels of 2 bytes.
    let mut info = dataset.info.clone();
    (info.record.height, info.record.width) = (1 << 19, 1 << 19);
    info.write(&json).expect("written");
    Dataset::open(folder.path()).expect("opens");
}

#[test]
fn a_reference_of_another_shape_is_refused() {
    let folder = support::folder();
    let dataset = small(folder.path());
    let path = dataset.root.join("reference").join("P_1-A01-s1.npy");
    write_npy(&path, &[2, 50, 40], &Pixels::zeros(Dtype::U16, 4000)).expect("written");
    let error = refused(dataset.reference(0));
    assert_names(&error, &path);
    assert!(error.to_string().contains("[2, 50, 40]") && error.to_string().contains("[2, 40, 50]"), "{error}");
}

#[test]
fn a_dataset_that_contradicts_itself_is_refused() {
    let folder = support::folder();
    let dataset = small(folder.path());
    let (json, parquet) = (folder.path().join("dataset.json"), folder.path().join("objects.parquet"));
    let refuse = |path: &Path, word: &str| {
        let error = refused(Dataset::open(folder.path()));
        assert_names(&error, path);
        assert!(error.to_string().contains(word), "{error}");
    };

    let mut objects = dataset.objects.clone();
    objects.rows.swap(0, 17);
    objects.write(&parquet, &dataset.info.sites).expect("written");
    refuse(&parquet, "not sorted by site");
    objects.rows.swap(0, 17);
    objects.rows.pop();
    objects.write(&parquet, &dataset.info.sites).expect("written");
    refuse(&parquet, "dataset.json says 18");
    dataset.objects.write(&parquet, &dataset.info.sites).expect("written");

    let mut info = dataset.info.clone();
    info.sites.pop();
    info.write(&json).expect("written");
    refuse(&parquet, "site_index 1 is out of range");
    let mut info = dataset.info.clone();
    info.version = 99;
    info.write(&json).expect("written");
    refuse(&json, "version 99");
    let mut info = dataset.info.clone();
    info.sites[1].site = info.sites[0].site.clone();
    info.write(&json).expect("written");
    refuse(&json, "two sites");
    fs::write(&json, b"{\"version\": 1, \"colour\": 3}").expect("written");
    refuse(&json, "colour");
    fs::write(&parquet, b"PAR1").expect("written");
    dataset.info.write(&json).expect("written");
    refuse(&parquet, "not an object table");
}
