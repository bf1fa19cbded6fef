//! Says where libtorch lies (linker and loader both need it) and what this build is.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    link_libtorch();
    describe_build();
}

fn link_libtorch() {
    println!("cargo:rerun-if-env-changed=LIBTORCH");
    let Some(torch) = env::var_os("LIBTORCH").map(PathBuf::from) else {
        // torch-sys looks for other ways, and stops where it finds none.
        println!("cargo:warning=LIBTORCH is not set: `make setup` brings libtorch and tells cargo where it is");
        println!("cargo:rustc-env=PCB_LIBTORCH_VERSION=unknown");
        return;
    };
    let Ok(torch) = fs::canonicalize(&torch) else {
        panic!("there is no libtorch at {}: run `make setup`", torch.display());
    };
    let version = libtorch_version(&torch);
    println!("cargo:rustc-env=PCB_LIBTORCH_VERSION={version}");

    // torch-sys sets no run-time path for the programs and tests linked with it. The resolved path,
    // so that a program still starts when the link in the checkout is gone.
    println!("cargo:rustc-link-arg=-Wl,-rpath,{}", torch.join("lib").display());
    // GNU ld follows libtorch_cuda to CUDA libraries that a CPU build neither has nor needs.
    println!("cargo:rustc-link-arg=-Wl,--allow-shlib-undefined");
    if env::var_os("CARGO_FEATURE_CUDA").is_some() {
        // Nothing refers to libtorch_cuda by name (it registers itself when loaded), so the linker
        // would drop it, and torch would then report that there is no CUDA.
        println!("cargo:rustc-link-arg-bin=pcb-worker=-Wl,--no-as-needed,-ltorch_cuda,-ltorch,--as-needed");
    }
}

/// Wheels say their version in `version.py`, the libtorch archive in `build-version`.
fn libtorch_version(torch: &Path) -> String {
    let read = |name: &str| {
        let path = torch.join(name);
        let text = fs::read_to_string(&path).ok()?;
        println!("cargo:rerun-if-changed={}", path.display());
        Some(text)
    };
    let quoted = |text: &str| {
        let line = text.lines().find(|line| line.starts_with("__version__"))?;
        Some(line.split(['\'', '"']).nth(1)?.to_owned())
    };
    (read("version.py").as_deref().and_then(quoted))
        .or_else(|| read("build-version").map(|text| text.trim().to_owned()))
        .unwrap_or_else(|| "unknown".to_owned())
}

fn describe_build() {
    let opt_level = env::var("OPT_LEVEL").unwrap_or_default();
    println!("cargo:rustc-env=PCB_OPT_LEVEL={opt_level}");
    println!("cargo:rustc-env=PCB_COMMIT={}", commit().as_deref().unwrap_or("unknown"));
}

/// The commit, and `-dirty` when the worker's files differ from it.
fn commit() -> Option<String> {
    let git = |args: &[&str]| {
        let out = Command::new("git").args(args).output().ok().filter(|out| out.status.success())?;
        Some(String::from_utf8(out.stdout).ok()?.trim().to_owned())
    };
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    let files = ["src", "protocol", "formats", "python", "Cargo.toml", "../Cargo.lock"];
    let heads = ["HEAD", "logs/HEAD"].map(|name| git(&["rev-parse", "--git-path", name]));
    // A path that does not exist would run this script on every build.
    let watched = files.map(str::to_owned).into_iter().chain(heads.into_iter().flatten());
    for path in watched.filter(|path| Path::new(path).exists()) {
        println!("cargo:rerun-if-changed={path}");
    }
    let status = git(&["status", "--porcelain", "--", ".", "../Cargo.lock"])?;
    Some(if status.is_empty() { commit } else { format!("{commit}-dirty") })
}
