//! The page cache: dropping files from it, reading them into it, and proving either.
//!
//! The judge is mincore; cachestat only tells why. A cold file is one of which no page is resident, a warm one of
//! which every page is. Sources of the rules: posix_fadvise(2), mincore(2), cachestat(2); what fails and why is in
//! `docs/method.md`.

mod filesystem;
#[expect(unsafe_code, reason = "mincore and cachestat have no safe wrapper; each call says why it is sound")]
mod pages;

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};

use crate::environment;
use crate::results::{CacheProof, Outcome};

pub use filesystem::{Place, place};

/// Attempts to drop a file: pages still under read-ahead are locked and go only on a later try.
const ATTEMPTS: u32 = 6;
const PAUSE: Duration = Duration::from_millis(10);
/// A warm case may use this share of the memory that is available.
const WARM_SHARE: f64 = 0.6;

/// Counts the resident pages of `files`.
pub fn count(files: &[PathBuf]) -> Result<CacheProof, Outcome> {
    let mut proof = CacheProof { files: 0, bytes: 0, pages: 0, resident: 0, attempts: 1, cachestat: Some([0; 3]) };
    for path in files {
        let file = open(path)?;
        let counted = pages::count(path, &file).map_err(|e| failed(path, "mincore", &e))?;
        proof.files += 1;
        proof.bytes += counted.bytes;
        proof.pages += counted.pages;
        proof.resident += counted.resident;
        proof.cachestat = match (proof.cachestat, counted.cachestat) {
            (Some(sum), Some(one)) => Some([sum[0] + one[0], sum[1] + one[1], sum[2] + one[2]]),
            _ => None,
        };
    }
    Ok(proof)
}

/// Drops `files` from the page cache and proves that no page of them is resident.
pub fn make_cold(files: &[PathBuf]) -> Result<CacheProof, Outcome> {
    let unreachable = files.iter().find_map(|path| filesystem::undroppable(path).map(|kind| (path, kind)));
    if let Some((path, kind)) = unreachable {
        let message =
            format!("{} lies on {kind}, which cannot be dropped from memory; move the data to a disk", path.display());
        return Err(Outcome::Unsupported { message });
    }
    for path in files {
        // Dirty pages survive DONTNEED, so every file is synced once; any descriptor will do.
        open(path)?.sync_all().map_err(|e| failed(path, "fsync", &e))?;
    }
    for attempt in 1..=ATTEMPTS {
        for path in files {
            let file = open(path)?;
            posix_fadvise(file.as_fd(), 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED)
                .map_err(|e| failed(path, "posix_fadvise", &e.into()))?;
        }
        let proof = CacheProof { attempts: attempt, ..count(files)? };
        if proof.resident == 0 {
            return Ok(proof);
        }
        std::thread::sleep(PAUSE);
    }
    Err(Outcome::NotCold { message: why_resident(files)? })
}

/// Reads `files` into the page cache and proves that every page of them is resident.
pub fn make_warm(files: &[PathBuf]) -> Result<CacheProof, Outcome> {
    let bytes: u64 = files.iter().filter_map(|path| path.metadata().ok()).map(|m| m.len()).sum();
    let available = available_memory();
    if bytes as f64 > WARM_SHARE * available as f64 {
        let message = format!(
            "the files hold {bytes} bytes, more than {:.0} % of the {available} bytes of memory available: they cannot be kept warm",
            100.0 * WARM_SHARE
        );
        return Err(Outcome::Unsupported { message });
    }
    let mut scratch = vec![0u8; 1 << 20];
    for attempt in 1..=ATTEMPTS {
        for path in files {
            let mut file = open(path)?;
            while file.read(&mut scratch).map_err(|e| failed(path, "read", &e))? > 0 {}
        }
        let proof = CacheProof { attempts: attempt, ..count(files)? };
        if proof.resident == proof.pages {
            return Ok(proof);
        }
        std::thread::sleep(PAUSE);
    }
    prove_warm(files)
}

/// Proves that every page of `files` is resident, or says which are not.
pub fn prove_warm(files: &[PathBuf]) -> Result<CacheProof, Outcome> {
    let proof = count(files)?;
    if proof.resident == proof.pages {
        return Ok(proof);
    }
    let missing = proof.pages - proof.resident;
    let message = format!(
        "{missing} of {} pages in {} files are not resident: the kernel evicted them",
        proof.pages, proof.files
    );
    Err(Outcome::NotWarm { message })
}

/// Names the first file with resident pages, and the reason where the kernel tells one.
fn why_resident(files: &[PathBuf]) -> Result<String, Outcome> {
    for path in files {
        let file = open(path)?;
        let counted = pages::count(path, &file).map_err(|e| failed(path, "mincore", &e))?;
        if counted.resident == 0 {
            continue;
        }
        let reason = match counted.cachestat {
            Some([dirty, _, _]) if dirty > 0 => format!("{dirty} are dirty: something is writing to the file"),
            Some([_, writeback, _]) if writeback > 0 => format!("{writeback} are being written back"),
            _ => match mapped_by(path) {
                Some(who) => format!("{who} maps the file"),
                None => "another process reads the file, or the file system keeps its own cache".to_owned(),
            },
        };
        return Ok(format!(
            "{}: {} of {} pages stay resident; {reason}",
            path.display(),
            counted.resident,
            counted.pages
        ));
    }
    Ok("pages were resident, then went by themselves".to_owned())
}

/// The first process that maps the file, if this user may see it.
fn mapped_by(path: &Path) -> Option<String> {
    let path = path.canonicalize().ok()?;
    let needle = path.to_str()?;
    for entry in std::fs::read_dir("/proc").ok()?.flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().filter(|n| n.bytes().all(|b| b.is_ascii_digit())) else { continue };
        let maps = std::fs::read_to_string(entry.path().join("maps")).unwrap_or_default();
        if maps.lines().any(|line| line.ends_with(needle)) {
            let command = std::fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
            return Some(format!("process {pid} ({})", command.trim()));
        }
    }
    None
}

fn available_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib: Option<u64> = line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse().ok());
    let machine = kib.map_or(u64::MAX, |kib| kib * 1024);
    // A container's limit counts page cache too, and most of what it holds can be given back.
    machine.min(environment::cgroup_limits().memory.unwrap_or(u64::MAX))
}

fn open(path: &Path) -> Result<File, Outcome> {
    File::open(path).map_err(|e| failed(path, "open", &e))
}

fn failed(path: &Path, what: &str, error: &io::Error) -> Outcome {
    let message = format!("{}: {what}: {error}", path.display());
    match error.raw_os_error() {
        Some(libc::EMFILE | libc::ENFILE) => Outcome::FdExhausted { message },
        _ => Outcome::Failed { message },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// A file of `len` bytes on a real disk: the target folder, for /tmp is often a tmpfs.
    fn file_on_disk(len: usize) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).expect("a folder beside the sources");
        let path = folder.path().join("data");
        File::create(&path).and_then(|mut f| f.write_all(&vec![7u8; len])).expect("written");
        (folder, path)
    }

    #[test]
    fn a_fresh_file_becomes_cold_then_warm() {
        let (_folder, path) = file_on_disk(1_000_001);
        if filesystem::undroppable(&path).is_some() {
            println!("skipped: the sources lie in memory");
            return;
        }
        let files = [path];
        let cold = make_cold(&files).expect("dropped");
        assert_eq!((cold.files, cold.bytes, cold.pages, cold.resident), (1, 1_000_001, 245, 0));
        let warm = make_warm(&files).expect("read");
        assert_eq!((warm.pages, warm.resident), (245, 245));
    }

    #[test]
    fn a_mapped_file_is_not_cold_and_the_row_says_who_maps_it() {
        let (_folder, path) = file_on_disk(1 << 20);
        if filesystem::undroppable(&path).is_some() {
            println!("skipped: the sources lie in memory");
            return;
        }
        let held = pages::tests_map_and_touch(&path);
        let outcome = make_cold(std::slice::from_ref(&path)).expect_err("a touched mapping pins its pages");
        let Outcome::NotCold { message } = &outcome else { panic!("{outcome:?}") };
        assert!(message.contains("maps the file") && message.contains(&std::process::id().to_string()), "{message}");
        drop(held);
        make_cold(&[path]).expect("dropped once the mapping is gone");
    }

    #[test]
    fn a_missing_file_is_named() {
        let outcome = make_cold(&[PathBuf::from("/nonexistent/pixels")]).expect_err("no such file");
        assert!(format!("{outcome:?}").contains("/nonexistent/pixels"));
    }

    #[test]
    fn tmpfs_is_refused() {
        let path = Path::new("/dev/shm").join(format!("pcb-test-{}", std::process::id()));
        if File::create(&path).and_then(|mut f| f.write_all(b"x")).is_err() {
            println!("skipped: no /dev/shm here");
            return;
        }
        let outcome = make_cold(std::slice::from_ref(&path));
        std::fs::remove_file(&path).expect("removed");
        assert!(matches!(outcome, Err(Outcome::Unsupported { .. })), "{outcome:?}");
    }
}
