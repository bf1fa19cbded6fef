//! A shard that another writer made, found through its headers.

mod support;

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use pcb_formats::{read_npy, tar_members};
use sha2::{Digest, Sha256};

#[test]
fn a_foreign_shard_holds_the_images_of_the_manifest() {
    let Some(data) = std::env::var_os("PCB_TEST_DATA") else {
        eprintln!("skipped: PCB_TEST_DATA is not set");
        return;
    };
    let folder = std::path::PathBuf::from(data).join("interop");
    let manifest: serde_json::Value =
        serde_json::from_slice(&fs::read(folder.join("manifest.json")).expect("a manifest")).expect("JSON");
    let path = folder.join("webdataset/shard-000000.tar");
    let members = tar_members(&path).expect("a tar file");
    let scratch = support::folder();
    let (file, copy) = (File::open(&path).expect("opens"), scratch.path().join("one.npy"));
    for (id, digest) in manifest["sha256"].as_object().expect("digests") {
        let member = members.iter().find(|member| member.name == format!("{id}.npy")).expect("in the shard");
        let mut bytes = vec![0; member.len as usize];
        file.read_exact_at(&mut bytes, member.offset).expect("in the file");
        fs::write(&copy, bytes).expect("written");
        let array = read_npy(&copy).expect("an array");
        assert_eq!(array.shape, [3, 96, 128]);
        assert_eq!(format!("{:x}", Sha256::digest(array.data.bytes())), digest.as_str().expect("text"), "{id}");
    }
}
