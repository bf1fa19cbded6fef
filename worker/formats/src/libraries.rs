//! Versions of the libraries that read formats.

use std::collections::BTreeMap;

/// Name and version of each library that this build reads formats with. Those of features that are off are left out.
pub fn libraries() -> BTreeMap<String, String> {
    let pairs = env!("PCB_FORMAT_LIBRARIES").split_whitespace().filter_map(|pair| pair.split_once('='));
    let on = |name: &str| match name {
        "lance-file" => cfg!(feature = "lance"),
        "vortex" => cfg!(feature = "vortex"),
        "hdf5-metno-src" => cfg!(feature = "static-hdf5"),
        _ => true,
    };
    pairs.filter(|(name, _)| on(name)).map(|(name, version)| (name.to_owned(), version.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_library_of_a_default_build_has_a_version() {
        let found = libraries();
        for name in ["hdf5-metno", "parquet", "png", "safetensors", "tar", "tiff", "zarrs", "zstd"] {
            let version = found.get(name).unwrap_or_else(|| panic!("{name} is in Cargo.lock"));
            assert!(version.starts_with(|c: char| c.is_ascii_digit()), "{name} {version}");
        }
        assert_eq!(found.contains_key("lance-file"), cfg!(feature = "lance"));
    }
}
