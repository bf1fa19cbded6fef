//! Says which versions of the format libraries this build has: they belong in every result, and most libraries do not
//! tell theirs.

use std::path::Path;
use std::{env, fs};

/// Libraries that decode or read for a format.
const LIBRARIES: &[&str] = &[
    "flate2",
    "hdf5-metno",
    "hdf5-metno-src",
    "lance-file",
    "parquet",
    "png",
    "safetensors",
    "tar",
    "tiff",
    "vortex",
    "weezl",
    "zarrs",
    "zstd",
];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // In a package taken from a registry there is no lock file: then nothing is known.
    let lock = Path::new(&env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../../Cargo.lock");
    if lock.exists() {
        println!("cargo:rerun-if-changed={}", lock.display());
    }
    let text = fs::read_to_string(lock).unwrap_or_default();
    let versions: Vec<String> =
        LIBRARIES.iter().filter_map(|name| Some(format!("{name}={}", version(&text, name)?))).collect();
    println!("cargo:rustc-env=PCB_FORMAT_LIBRARIES={}", versions.join(" "));
}

/// The version of the package `name`; the newest where there are several, which is what the workspace asks for.
fn version(lock: &str, name: &str) -> Option<String> {
    let field = |package: &str, key: &str| {
        let line = package.lines().find_map(|line| line.strip_prefix(&format!("{key} = ")).map(str::to_owned));
        line.map(|value| value.trim_matches('"').to_owned())
    };
    let packages = lock.split("[[package]]").filter(|package| field(package, "name").as_deref() == Some(name));
    packages.filter_map(|package| field(package, "version")).max_by_key(|version| numbers(version))
}

fn numbers(version: &str) -> Vec<u64> {
    version.split(['.', '-', '+']).map_while(|part| part.parse().ok()).collect()
}
