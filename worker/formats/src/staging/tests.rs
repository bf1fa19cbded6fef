use super::*;

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder").flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// A leftover as a writer that was killed leaves it.
fn leftover(root: &Path, name: &str) -> PathBuf {
    let outer = root.join(name);
    fs::create_dir_all(outer.join(CONTENT)).expect("created");
    fs::write(outer.join(CONTENT).join("half"), b"half").expect("written");
    fs::write(outer.join(LOCK), b"").expect("written");
    outer
}

#[test]
fn a_folder_appears_when_complete_and_replaces_when_asked() {
    let root = tempfile::tempdir().expect("a folder");
    let target = root.path().join(OsStr::from_bytes(b"set\xff"));
    for (round, replace) in [(1, false), (2, true), (3, false)] {
        let staging = Staging::new(&target).expect("created");
        fs::write(staging.folder().join("round"), [round]).expect("written");
        assert_eq!(target.exists(), round > 1);
        assert_eq!(staging.commit(replace).is_ok(), round < 3);
        assert_eq!(fs::read(target.join("round")).expect("read"), [round.min(2)]);
        assert_eq!(names(root.path()).len(), 1, "nothing else is left");
    }
}

#[test]
fn two_writers_of_one_name_do_not_meet() {
    let root = tempfile::tempdir().expect("a folder");
    let target = root.path().join("set");
    let (one, two) = (Staging::new(&target).expect("created"), Staging::new(&target).expect("created"));
    assert_ne!(one.folder(), two.folder());
    assert!(one.folder().is_dir(), "the second does not sweep the first away");
    drop(one);
    two.commit(false).expect("renamed");
    assert_eq!(names(root.path()), ["set"]);
}

#[test]
fn what_can_be_locked_goes_and_what_cannot_stays() {
    let root = tempfile::tempdir().expect("a folder");
    // The number of a process that lives says nothing: it may live in another container.
    leftover(root.path(), ".a.tmp-1");
    let held = File::open(leftover(root.path(), ".b.tmp-4194999").join(LOCK)).expect("opened");
    held.try_lock().expect("locked");
    fs::create_dir(root.path().join(".c.tmp-7")).expect("created");
    fs::create_dir(root.path().join(".foreign.tmp-8")).expect("created");
    fs::write(root.path().join(".foreign.tmp-8/mine"), b"mine").expect("written");
    leftover(root.path(), "d.tmp-9");
    drop(Staging::new(&root.path().join("set")).expect("created"));
    assert_eq!(names(root.path()), [".b.tmp-4194999", ".foreign.tmp-8", "d.tmp-9"]);
}

#[test]
fn what_a_writer_moved_aside_before_it_died_comes_back() {
    let root = tempfile::tempdir().expect("a folder");
    let outer = leftover(root.path(), ".set.v1.tmp-12-3");
    fs::create_dir(outer.join(OLD)).expect("created");
    fs::write(outer.join(OLD).join("data"), b"dear").expect("written");
    drop(Staging::new(&root.path().join("other")).expect("created"));
    assert_eq!(names(root.path()), ["set.v1"]);
    assert_eq!(fs::read(root.path().join("set.v1/data")).expect("read"), b"dear");
}
