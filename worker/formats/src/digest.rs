//! Digests of pixels and datasets.

use sha2::{Digest, Sha256};

use crate::{DatasetInfo, Object, ObjectTable, SitePixels};

/// See [`crate::Dataset::digest_of`].
pub fn of_dataset(info: &DatasetInfo, objects: &ObjectTable) -> String {
    let mut hash = Sha256::new();
    // Every text is preceded by its length, so that no two datasets give the same bytes.
    let mut text = |text: &str| {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    };
    text(info.dtype.as_str());
    text(&format!("{} {}x{}", info.channels.len(), info.record.height, info.record.width));
    info.channels.iter().for_each(|channel| text(channel));
    text(&info.sites.len().to_string());
    for site in &info.sites {
        [&site.plate, &site.well, &site.site, &site.digest].into_iter().for_each(|part| text(part));
        text(&format!("{}x{}", site.height, site.width));
    }
    for row in &objects.rows {
        text(&row.id);
        text(&numbers(row));
    }
    hex(&hash.finalize())
}

fn numbers(row: &Object) -> String {
    let [y0, x0, y1, x1] = row.bbox;
    format!("{} {:08x} {:08x} {y0} {x0} {y1} {x1}", row.site, row.y.to_bits(), row.x.to_bits())
}

/// Digest of a site: SHA-256, hex, of its (C, Y, X) pixels in C order, little-endian.
pub fn site_digest(site: &SitePixels) -> String {
    if cfg!(target_endian = "little") {
        return hex(&Sha256::digest(site.data.bytes()));
    }
    let mut data = site.data.clone();
    data.swap_bytes();
    hex(&Sha256::digest(data.bytes()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
