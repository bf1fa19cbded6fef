//! Datasets in words and tables for a terminal.

use std::error::Error;

use pcb_formats::store::StoredForm;
use pcb_formats::{DatasetInfo, FORMATS};

use super::Description;

/// `12.3 MB`: decimal units, as disks are sold.
pub fn bytes_text(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "kB", "MB", "GB", "TB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    match (unit, value) {
        (0, _) => format!("{bytes} B"),
        (_, 99.5..) => format!("{value:.0} {}", UNITS[unit]),
        _ => format!("{value:.1} {}", UNITS[unit]),
    }
}

/// `1 site`, `2 sites`: a number of things whose plural ends in s.
pub fn counted(count: u64, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

/// An error and its causes in one line, each once: many errors say their cause already.
pub fn error_text(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        if !text.contains(&said) {
            text += &format!(": {said}");
        }
        cause = error.source();
    }
    text
}

/// Table of datasets: `(dataset.json, bytes in the folder)`.
pub fn list_text(datasets: &[(DatasetInfo, u64)]) -> String {
    let header = ["dataset", "sites", "objects", "channels", "pixels", "dtype", "record", "on disk"];
    let row = |(info, bytes): &(DatasetInfo, u64)| {
        vec![
            info.name.clone(),
            info.sites.len().to_string(),
            info.objects.to_string(),
            info.channels.join(","),
            shapes(info),
            info.dtype.to_string(),
            format!("{}x{}", info.record.height, info.record.width),
            bytes_text(*bytes),
        ]
    };
    table(&header, datasets.iter().map(row), &[1, 2, 7])
}

/// Height and width of the sites, or the range where they differ.
fn shapes(info: &DatasetInfo) -> String {
    let range = |of: fn(&pcb_formats::Site) -> u32| {
        let (low, high) = (info.sites.iter().map(of).min(), info.sites.iter().map(of).max());
        match (low.unwrap_or(0), high.unwrap_or(0)) {
            (low, high) if low == high => low.to_string(),
            (low, high) => format!("{low}-{high}"),
        }
    };
    format!("{}x{}", range(|site| site.height), range(|site| site.width))
}

/// One dataset with its stored forms.
pub fn stored_text(info: &DatasetInfo, bytes: u64, forms: &[StoredForm]) -> String {
    let mut text = list_text(&[(info.clone(), bytes)]);
    text += &format!("\ndigest  {}\nfrom    {}\n\n", info.digest, info.origin);
    if forms.is_empty() {
        return text + "no stored forms; pcb-data write makes them\n";
    }
    let row = |form: &StoredForm| {
        let note = if form.current { "" } else { "stale: written again when wanted" };
        vec![format!("{}:{}", form.format, form.stored), bytes_text(form.bytes), read_as(form), note.to_owned()]
    };
    text + &table(&["stored form", "on disk", "read as", ""], forms.iter().map(row), &[1])
}

/// The names under which a stored form is read: variants that read the same files share it.
fn read_as(form: &StoredForm) -> String {
    let formats = FORMATS.iter().filter(|format| format.name == form.format);
    let variants = formats.flat_map(|format| format.variants).filter(|variant| variant.stored == form.stored);
    let names = variants.map(|variant| format!("{}:{}/{}", form.format, variant.name, variant.layout));
    names.collect::<Vec<_>>().join(", ")
}

/// Table of what a dataset's pixels are like.
pub fn description_text(description: &Description) -> String {
    let header = ["dataset", "channel", "deflate 6", "LZW", "p1", "p10", "p50", "p90", "p99", "max", "noise"];
    let rows = description.channels.iter().map(|channel| {
        let mut row = vec![
            description.name.clone(),
            channel.name.clone(),
            format!("{:.2}", channel.deflate),
            format!("{:.2}", channel.lzw),
        ];
        row.extend(channel.quantiles.iter().map(u16::to_string));
        row.push(format!("{:.1}", channel.noise));
        row
    });
    table(&header, rows, &[2, 3, 4, 5, 6, 7, 8, 9, 10])
}

/// Columns two spaces apart; those in `right` end at the right.
fn table(header: &[&str], rows: impl Iterator<Item = Vec<String>>, right: &[usize]) -> String {
    let mut lines = vec![header.iter().map(|&name| name.to_owned()).collect::<Vec<_>>()];
    lines.extend(rows);
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let mut text = String::new();
    for line in &lines {
        let cells = line.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| {
            if right.contains(&column) { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
        });
        text += cells.collect::<Vec<_>>().join("  ").trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular() {
        assert_eq!([0, 1, 2].map(|n| counted(n, "site")), ["0 sites", "1 site", "2 sites"]);
    }

    #[test]
    fn a_cause_is_said_once() {
        let cause = || std::io::Error::other("no luck");
        assert_eq!(error_text(&crate::data::DataError::io("nope", cause())), "nope: no luck");
        let outer = anyhow::Error::new(crate::data::DataError::io("nope", cause())).context("npy:mmap/site");
        assert_eq!(error_text(outer.as_ref()), "npy:mmap/site: nope: no luck");
    }

    #[test]
    fn bytes_have_two_or_three_digits() {
        let texts = [0, 999, 1_000, 12_345, 123_456, 999_600, 3_500_000_000].map(bytes_text);
        assert_eq!(texts, ["0 B", "999 B", "1.0 kB", "12.3 kB", "123 kB", "1.0 MB", "3.5 GB"]);
    }
}
