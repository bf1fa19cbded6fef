//! Making plates: determinism, presets, what is left behind when it goes wrong.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
use pcb::data::make::{Recipe, ensure_preset, make};
use pcb::data::{self, DataError, Made};
use pcb_formats::{Dataset, Pixels, site_digest};
use pcb_protocol::Dtype;

fn tiny() -> Recipe {
    Recipe {
        seed: 7,
        wells: 3,
        sites_per_well: 1,
        channels: 2,
        objects_per_site: 6,
        site_size: 96,
        record: 32,
        dtype: Dtype::U16,
    }
}

fn made(root: &Path, name: &str, recipe: &Recipe, threads: usize) -> Made {
    make(root, name, recipe, Some(threads), false, &mut |_| ()).expect("made")
}

#[test]
fn pixels_depend_on_the_seed_and_not_on_threads() {
    let root = tempfile::tempdir().expect("a folder");
    let one = made(root.path(), "plate", &tiny(), 1);
    let elsewhere = tempfile::tempdir().expect("a folder");
    let three = made(elsewhere.path(), "plate", &tiny(), 3);
    assert_eq!(one.info, three.info);
    let same =
        |file: &str| fs::read(one.folder.join(file)).expect("read") == fs::read(three.folder.join(file)).expect("read");
    for file in ["dataset.json", "objects.parquet", "decoy/dataset.json", "reference/plate-A02-s1.npy"] {
        assert!(same(file), "{file} differs");
    }
    let other = made(root.path(), "other", &Recipe { seed: 8, ..tiny() }, 2);
    assert_ne!(one.info.sites[0].digest, other.info.sites[0].digest);
    assert_ne!(one.info.digest, other.info.digest);
}

#[test]
fn pixels_are_those_of_the_first_release() {
    let root = tempfile::tempdir().expect("a folder");
    let made = made(root.path(), "plate", &tiny(), 2);
    // Another digest means other pixels from the same recipe: then GENERATOR in make/recipe.rs goes up.
    assert_eq!(made.info.digest, "ed44fc3a82f2d2e8345af52c20badb63dd37fc1b537a1dd666b6b126d8b01b3c");
}

#[test]
fn a_dataset_is_complete_and_its_decoy_alike() {
    let root = tempfile::tempdir().expect("a folder");
    let made = made(root.path(), "plate", &tiny(), 2);
    let dataset = Dataset::open(&made.folder).expect("opened");
    assert_eq!(dataset.info.channels, ["DNA", "AGP"]);
    assert_eq!(dataset.objects.rows.len(), 18);
    assert_eq!(dataset.objects.rows[6].id, "plate-A02-s1-0001");
    for index in 0..3 {
        assert_eq!(site_digest(&dataset.reference(index).expect("read")), dataset.info.sites[index].digest);
    }
    for object in &dataset.objects.rows {
        let [y0, x0, y1, x1] = object.bbox;
        assert!((0.0..96.0).contains(&object.y) && (0.0..96.0).contains(&object.x), "{object:?}");
        assert!(0 <= y0 && y0 < y1 && y1 <= 96 && 0 <= x0 && x0 < x1 && x1 <= 96, "{object:?}");
    }
    let decoy = Dataset::open(&dataset.decoy_dir()).expect("opened");
    assert_eq!(
        (&decoy.info.channels, decoy.info.dtype, decoy.info.record),
        (&dataset.info.channels, dataset.info.dtype, dataset.info.record)
    );
    assert_eq!((decoy.info.sites.len(), decoy.info.sites[0].height, decoy.info.objects), (1, 256, 16));
    assert_ne!(decoy.info.digest, dataset.info.digest);
}

#[test]
fn the_smoke_preset_is_small_and_has_cells_at_edges() {
    let root = tempfile::tempdir().expect("a folder");
    let made = ensure_preset(root.path(), "smoke", &mut |_| ()).expect("made");
    assert!(data::tree_bytes(&made.folder).expect("readable") < 5_000_000);
    let dataset = Dataset::open(&made.folder).expect("opened");
    let padded = |row: &&pcb_formats::Object| row.y < 64.0 || row.x < 64.0 || row.y > 320.0 || row.x > 320.0;
    assert!(dataset.objects.rows.iter().filter(padded).count() >= 10);
    assert!(ensure_preset(root.path(), "smoke", &mut |_| ()).expect("found").kept);
}

#[test]
fn another_recipe_under_the_same_name_needs_force() {
    let root = tempfile::tempdir().expect("a folder");
    let first = made(root.path(), "plate", &tiny(), 2);
    assert!(made(root.path(), "plate", &tiny(), 1).kept);
    let other = Recipe { wells: 1, ..tiny() };
    let refused = make(root.path(), "plate", &other, None, false, &mut |_| ());
    assert!(matches!(refused, Err(DataError::Exists { .. })), "{refused:?}");
    let forced = make(root.path(), "plate", &other, None, true, &mut |_| ()).expect("made");
    assert_eq!(forced.info.sites.len(), 1);
    assert_ne!(forced.info.digest, first.info.digest);
    assert_eq!(names(root.path()), ["plate"]);
}

#[test]
fn force_replaces_datasets_and_nothing_else() {
    let root = tempfile::tempdir().expect("a folder");
    let (target, mine) = (root.path().join("plate"), root.path().join("plate/thesis.tex"));
    fs::create_dir(&target).expect("created");
    fs::write(&mine, "mine").expect("written");
    for force in [false, true] {
        let error = make(root.path(), "plate", &tiny(), None, force, &mut |_| ()).expect_err("no dataset").to_string();
        assert!(error.contains("no dataset") && !error.contains("--force"), "{error}");
        assert_eq!(fs::read_to_string(&mine).expect("it survived"), "mine");
    }
    // A file under the name is no dataset either.
    fs::write(root.path().join("file"), "mine").expect("written");
    assert!(make(root.path(), "file", &tiny(), None, true, &mut |_| ()).is_err());
    assert_eq!(names(root.path()), ["file", "plate"]);
    // A dataset that cannot be read, say one of another version, may be replaced, but only when asked.
    let broken = made(root.path(), "broken", &tiny(), 2).folder;
    fs::write(broken.join("dataset.json"), "{}").expect("written");
    let error = make(root.path(), "broken", &tiny(), None, false, &mut |_| ()).expect_err("broken").to_string();
    assert!(error.contains("cannot be read") && error.contains("--force"), "{error}");
    make(root.path(), "broken", &tiny(), None, true, &mut |_| ()).expect("replaced");
    Dataset::open(&broken).expect("opened");
}

#[test]
fn every_dtype_holds_the_same_cells() {
    let root = tempfile::tempdir().expect("a folder");
    let mut pixels = Vec::new();
    for &dtype in Dtype::ALL {
        let made = made(root.path(), dtype.as_str(), &Recipe { dtype, ..tiny() }, 2);
        assert!(made.info.dtype == dtype && made.info.origin.contains(&format!("96x96 {dtype}, ")), "{:?}", made.info);
        let dataset = Dataset::open(&made.folder).expect("opened");
        assert_eq!(Dataset::open(&dataset.decoy_dir()).expect("opened").info.dtype, dtype);
        pixels.push(dataset.reference(1).expect("read").data);
    }
    let [Pixels::U8(small), Pixels::U16(counts), Pixels::F32(floats)] = &pixels[..] else { panic!("one of each") };
    assert!(small.iter().zip(counts).all(|(&small, &count)| u16::from(small) == count / 257));
    assert!(floats.iter().zip(counts).all(|(&float, &count)| float == f32::from(count)));
}

#[test]
fn a_dataset_that_has_its_name_is_on_the_disk() {
    // Dirty pages cannot be dropped: what can be dropped at once was written before.
    let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let made = made(root.path(), "plate", &Recipe { site_size: 1024, ..tiny() }, 2);
    let reference = made.folder.join("reference");
    let mut files = vec![made.folder.join("decoy/reference/plate_decoy-A01-s1.npy")];
    files.extend(fs::read_dir(reference).expect("listed").map(|entry| entry.expect("an entry").path()));
    for path in &files {
        let file = fs::File::open(path).expect("opened");
        posix_fadvise(&file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED).expect("advised");
    }
    let proof = pcb::residency::count(&files).expect("counted");
    println!("{proof:?}");
    let kind = nix::sys::statfs::statfs(root.path()).expect("known").filesystem_type();
    if kind != nix::sys::statfs::TMPFS_MAGIC {
        assert_eq!((proof.files, proof.resident), (4, 0));
    }
}

#[test]
fn what_cannot_be_made_is_said_with_its_option() {
    let root = tempfile::tempdir().expect("a folder");
    let refused = |name: &str, recipe: Recipe| match make(root.path(), name, &recipe, None, false, &mut |_| ()) {
        Err(error) => error.to_string(),
        Ok(_) => "made".to_owned(),
    };
    assert_eq!(refused("plate", Recipe { wells: 400, ..tiny() }), "--wells 400: expected 1 to 384");
    assert!(refused("a/b", tiny()).contains("\"a/b\" is no name for a dataset"));
    // 384 wells of 1,000 sites of 64 channels of 16,384² pixels: more than any disk.
    let huge = Recipe { seed: 1, wells: 384, sites_per_well: 1_000, channels: 64, site_size: 16_384, ..tiny() };
    assert!(refused("huge", huge).contains("are needed"));
    assert!(names(root.path()).is_empty());
}

#[test]
fn an_interrupted_make_leaves_nothing_under_its_name() {
    let root = tempfile::tempdir().expect("a folder");
    let program = env!("CARGO_BIN_EXE_pcb-data");
    let mut child = Command::new(program)
        .args(["make", "small", "--threads", "1", "--data"])
        .arg(root.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("started");
    while names(root.path()).is_empty() {
        assert!(child.try_wait().expect("waited").is_none(), "it ended before it began");
        std::thread::yield_now();
    }
    let pid = nix::unistd::Pid::from_raw(child.id() as i32);
    // Not SIGINT: a shell that starts the tests in the background has it ignored, and children inherit that.
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).expect("sent");
    let status = child.wait().expect("waited");
    assert_eq!(status.signal(), Some(15), "{status}");
    assert!(!root.path().join("small").exists());
    // The next run clears up.
    made(root.path(), "plate", &tiny(), 2);
    assert_eq!(names(root.path()), ["plate"]);
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("listed").flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
