//! What a binary leaves: files that appear complete or not at all, and text on stdout.

use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Writes a file under a temporary name beside `path`, syncs it, and gives it its name. Without `force` a file that
/// exists is left alone, and the error is [`io::ErrorKind::AlreadyExists`].
pub fn file(path: &Path, force: bool, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut temporary = tempfile::Builder::new().prefix(".pcb-").tempfile_in(folder)?;
    let mut out = BufWriter::new(&mut temporary);
    fill(&mut out)?;
    out.flush()?;
    drop(out);
    // A temporary file is private; this one is meant to be read.
    temporary.as_file().set_permissions(PermissionsExt::from_mode(0o644))?;
    temporary.as_file().sync_all()?;
    let kept = if force { temporary.persist(path) } else { temporary.persist_noclobber(path) };
    kept.map(drop).map_err(|e| e.error)
}

/// Writes `text` to the file `path`; the error names it and says what to do.
pub fn text_file(path: &Path, force: bool, text: &str) -> anyhow::Result<()> {
    file(path, force, |out| out.write_all(text.as_bytes())).map_err(|e| match e.kind() {
        io::ErrorKind::AlreadyExists => anyhow::anyhow!("{}: exists; overwrite it with --force", path.display()),
        _ => anyhow::anyhow!("{}: {e}", path.display()),
    })
}

/// Appends to the job summary where GitHub Actions wants it; elsewhere there is none.
pub fn job_summary(text: &str) -> anyhow::Result<()> {
    let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()) else { return Ok(()) };
    let path = Path::new(&path);
    let append = || std::fs::OpenOptions::new().create(true).append(true).open(path)?.write_all(text.as_bytes());
    append().map_err(|e| anyhow::anyhow!("{}: {e} (the job summary of GITHUB_STEP_SUMMARY)", path.display()))
}

/// Writes to stdout. A reader that has seen enough, such as `head`, is no error.
pub fn stdout(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        done => done,
    }
}

/// Writes a line to stderr. A log that is closed or full must not end a night of measuring.
pub fn stderr(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}
