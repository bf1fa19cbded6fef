//! Counting the resident pages of one file.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What mincore and cachestat say about one file.
pub struct Counted {
    /// Length in bytes.
    pub bytes: u64,
    /// Pages.
    pub pages: u64,
    /// Pages that mincore calls resident.
    pub resident: u64,
    /// Dirty, in write-back, recently evicted; `None` where the kernel has no cachestat or refuses it.
    pub cachestat: Option<[u64; 3]>,
}

/// Counts the resident pages of `file`, found at `path`.
///
/// mincore calls every page resident for a user who neither owns the file nor may write it (since Linux 5.2), so
/// that is an error rather than a count.
pub fn count(path: &Path, file: &File) -> io::Result<Counted> {
    let metadata = file.metadata()?;
    let bytes = metadata.len();
    if bytes == 0 {
        return Ok(Counted { bytes, pages: 0, resident: 0, cachestat: Some([0; 3]) });
    }
    let owner = metadata.uid() == nix::unistd::geteuid().as_raw();
    if !owner && nix::unistd::access(path, nix::unistd::AccessFlags::W_OK).is_err() {
        let hint =
            "you neither own this file nor may write it, so the kernel hides which pages are resident; copy the data";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, hint));
    }
    let length = usize::try_from(bytes).map_err(|_| io::Error::other("file too large to map"))?;
    let page = page_size();
    let mut resident = vec![0u8; length.div_ceil(page)];
    mincore(file, length, &mut resident)?;
    Ok(Counted {
        bytes,
        pages: resident.len() as u64,
        resident: resident.iter().filter(|&&page| page & 1 == 1).count() as u64,
        cachestat: cachestat(file),
    })
}

fn page_size() -> usize {
    // SAFETY: sysconf reads no memory of ours.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).unwrap_or(4096)
}

/// Fills one byte for each page of the first `length` bytes.
fn mincore(file: &File, length: usize, resident: &mut [u8]) -> io::Result<()> {
    // SAFETY: a fresh shared mapping of `length` bytes at an address the kernel chooses; it is never dereferenced,
    // so a file that shrinks meanwhile does no harm, and it is unmapped below.
    let address =
        unsafe { libc::mmap(std::ptr::null_mut(), length, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0) };
    if address == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `address` maps `length` bytes, and `resident` has one byte for each of its pages.
    let status = unsafe { libc::mincore(address, length, resident.as_mut_ptr()) };
    let error = io::Error::last_os_error();
    // SAFETY: the mapping made above, unmapped once.
    unsafe { libc::munmap(address, length) };
    if status == 0 { Ok(()) } else { Err(error) }
}

/// cachestat(2): Linux 6.5; the number is the same on every architecture, and libc has no name for it on all.
const SYS_CACHESTAT: libc::c_long = 451;

fn cachestat(file: &File) -> Option<[u64; 3]> {
    // Offset 0 and length 0: the whole file.
    let range = [0u64; 2];
    // Cached, dirty, write-back, evicted, recently evicted.
    let mut counts = [0u64; 5];
    // SAFETY: the kernel reads two u64 and writes five, both of which live here.
    let status = unsafe { libc::syscall(SYS_CACHESTAT, file.as_raw_fd(), range.as_ptr(), counts.as_mut_ptr(), 0u32) };
    (status == 0).then_some([counts[1], counts[2], counts[4]])
}

/// Maps a file and touches its pages, as a careless reader would.
#[cfg(test)]
pub fn tests_map_and_touch(path: &Path) -> impl Drop + use<> {
    struct Held(*mut libc::c_void, usize);
    impl Drop for Held {
        fn drop(&mut self) {
            // SAFETY: the mapping made below, unmapped once.
            unsafe { libc::munmap(self.0, self.1) };
        }
    }
    let file = File::open(path).expect("opens");
    let length = usize::try_from(file.metadata().expect("stat").len()).expect("fits");
    // SAFETY: a fresh mapping that lives as long as `Held`.
    let address =
        unsafe { libc::mmap(std::ptr::null_mut(), length, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0) };
    assert_ne!(address, libc::MAP_FAILED);
    // SAFETY: the file is not shrunk by the test.
    let sum: u64 =
        unsafe { std::slice::from_raw_parts(address.cast::<u8>(), length) }.iter().map(|&b| u64::from(b)).sum();
    assert!(sum > 0);
    Held(address, length)
}
