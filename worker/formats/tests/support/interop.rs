//! Files of other writers under `$PCB_TEST_DATA`, put into a dataset whose records are the images of their manifest.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pcb_formats::{Dataset, Format, Object, Pixels, Probe, Site, Variant};
use pcb_protocol::{Dtype, Pad};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Shape of every image: (C, Y, X).
const SHAPE: [usize; 3] = [3, 96, 128];

/// The folder of real data, or `None` after saying so.
pub fn data(folder: &str) -> Option<PathBuf> {
    let root = std::env::var_os("PCB_TEST_DATA").map(PathBuf::from);
    if root.is_none() {
        println!("skipped: PCB_TEST_DATA is not set");
    }
    let root = root?;
    assert!(root.is_dir(), "PCB_TEST_DATA: {} is no folder", root.display());
    Some(root.canonicalize().expect("a path").join(folder))
}

/// A dataset of the manifest's images: a site and an object of the same size for each, in the manifest's order.
pub struct Plate {
    pub dataset: Arc<Dataset>,
    /// SHA-256 of each image, as the manifest says.
    pub expected: Vec<String>,
}

/// Makes the dataset in `root`; its reference are numpy's files.
pub fn plate(root: &Path, interop: &Path) -> Plate {
    let text = fs::read(interop.join("manifest.json")).expect("manifest.json");
    let manifest: Value = serde_json::from_slice(&text).expect("JSON");
    let ids = manifest["ids"].as_array().expect("ids").iter().map(|id| id.as_str().expect("an id"));
    fs::create_dir_all(root.join("reference")).expect("a folder");
    let [_, height, width] = SHAPE.map(|axis| axis as u32);
    let (mut sites, mut rows, mut expected) = (Vec::new(), Vec::new(), Vec::new());
    for (index, id) in ids.enumerate() {
        let digest = manifest["sha256"][id].as_str().expect("a digest").to_owned();
        let (plate, well, site) = ("P".to_owned(), "A01".to_owned(), index.to_string());
        let site = Site { plate, well, site, height, width, digest: digest.clone(), source: Vec::new() };
        let reference = root.join("reference").join(format!("{}.npy", site.name()));
        fs::copy(interop.join("npy-per-image").join(format!("{id}.npy")), reference).expect("copied");
        let (y, x) = ((height / 2) as f32, (width / 2) as f32);
        rows.push(Object { id: id.to_owned(), site: index as u32, y, x, bbox: [0, 0, height as i32, width as i32] });
        sites.push(site);
        expected.push(digest);
    }
    let channels = (0..SHAPE[0]).map(|channel| channel.to_string()).collect();
    Plate { dataset: super::finish(root, Dtype::U16, channels, sites, rows, (height, width)), expected }
}

impl Plate {
    /// Puts `file` where the variant's reader looks for `name`.
    pub fn put(&self, format: &Format, variant: &Variant, file: &Path, name: &str) -> PathBuf {
        let folder = self.dataset.stored_dir(format.name, variant);
        fs::create_dir_all(&folder).expect("a folder");
        let place = folder.join(name);
        fs::copy(file, &place).expect("copied");
        place
    }

    /// SHA-256 of every record, as the variant's reader hands it out.
    pub fn digests(&self, format: &Format, variant: &'static Variant) -> Vec<String> {
        let [_, height, width] = SHAPE;
        let spec = super::spec(&self.dataset, variant, &[0, 1, 2], (height, width), Pad::Reflect);
        let mut reader = (format.open)(&spec).expect("opens");
        let mut out = Pixels::zeros(Dtype::U16, SHAPE.iter().product());
        let digest = |object| {
            reader.read(object, out.bytes_mut(), &mut Probe::none()).expect("reads");
            Sha256::digest(out.bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
        };
        (0..self.expected.len()).map(digest).collect()
    }
}
