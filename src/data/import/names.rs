//! What a file name says: plate, well, site, channel.

use std::path::Path;

use regex::{Captures, Regex};

use crate::data::DataError;

/// A known way of naming image files; matched against the name without its extension.
pub struct Naming {
    /// For messages.
    pub name: &'static str,
    /// Named groups: `well` or `row` and `col`, `site`, `channel`, `plate`.
    pub pattern: &'static str,
}

/// Known namings; the first that matches counts.
pub const NAMINGS: &[Naming] = &[
    Naming {
        name: "Phenix, as in JUMP: r01c01f01p01-ch2sk1fk1fl1",
        pattern: r"^r(?<row>\d+)c(?<col>\d+)f(?<site>\d+)p\d+-(?<channel>ch\d+)sk\d+fk\d+fl\d+$",
    },
    Naming {
        name: "ImageXpress: PLATE_A01_s1_w1…",
        pattern: r"^(?:(?<plate>.+)_)?(?<well>[A-Za-z]{1,2}\d{1,2})_s(?<site>\d+)_(?<channel>w\d+)(?:[^0-9].*)?$",
    },
    Naming {
        name: "Cytation: B7_01_1_3_DAPI_001",
        pattern: r"^(?<well>[A-Za-z]{1,2}\d{1,2})_\d+_\d+_(?<site>\d+)_(?<channel>[A-Za-z][^_]*)_\d+$",
    },
    Naming {
        name: "[PLATE_]WELL_SITE_CHANNEL: A01_1_DNA",
        pattern: r"^(?:(?<plate>.+)_)?(?<well>[A-Za-z]{1,2}\d{1,2})_(?<site>[sf]?\d+)_(?<channel>[^_]+)$",
    },
    Naming {
        name: "stored forms of pcb itself: PLATE-A01-s1, PLATE-A01-s1-c0",
        pattern: r"^(?:(?<plate>.+)-)?(?<well>[A-Za-z]{1,2}\d{1,2})-s(?<site>\d+)(?:-(?<channel>c\d+))?$",
    },
];

/// What a file name says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts {
    /// Plate, if the name tells.
    pub plate: Option<String>,
    /// Well, like `A01`.
    pub well: String,
    /// Site, without leading zeros.
    pub site: String,
    /// Channel; `None` where each page of the file is one.
    pub channel: Option<String>,
}

/// Reads file names.
pub struct Names {
    patterns: Vec<Regex>,
    /// A pattern of the user sees the path below the image folder, extension included.
    whole_path: bool,
}

impl Names {
    /// For the known namings, or one pattern of the user's.
    pub fn new(pattern: Option<&str>) -> Result<Self, DataError> {
        let compile = |pattern: &str| {
            Regex::new(pattern).map_err(|e| DataError::Usage(format!("--pattern is no regular expression: {e}")))
        };
        let patterns = match pattern {
            Some(pattern) => vec![compile(pattern)?],
            None => NAMINGS.iter().map(|naming| compile(naming.pattern)).collect::<Result<_, _>>()?,
        };
        if let (Some(text), [regex]) = (pattern, patterns.as_slice()) {
            let has = |group: &str| regex.capture_names().flatten().any(|name| name == group);
            if !has("site") || !(has("well") || has("row") && has("col")) {
                let groups = "groups (?<site>…) and (?<well>…), or (?<row>…) and (?<col>…); (?<channel>…) and (?<plate>…) as well where names tell them";
                return Err(DataError::Usage(format!("--pattern {text:?}: expected {groups}")));
            }
        }
        Ok(Self { patterns, whole_path: pattern.is_some() })
    }

    /// Whether the user gave a pattern.
    pub fn are_given(&self) -> bool {
        self.whole_path
    }

    /// What the name of the file at `path` (below the image folder) says; `None` where no pattern fits, as with names
    /// that are not UTF-8.
    pub fn parts(&self, path: &Path) -> Option<Parts> {
        let text = if self.whole_path { path.to_str()? } else { stem(path)? };
        self.patterns.iter().find_map(|pattern| pattern.captures(text)).and_then(|captures| of(&captures))
    }

    /// What an OME-TIFF (`….ome.tif`) is whose name says nothing: a well of one site. `None` for other files, and where
    /// the user has said what names look like.
    pub fn ome_tiff(&self, path: &Path) -> Option<Parts> {
        let name = path.file_stem()?.to_str()?;
        let well = stem(path).filter(|stem| *stem != name && !self.whole_path)?;
        Some(Parts { plate: None, well: well.to_owned(), site: "1".to_owned(), channel: None })
    }
}

/// A file's name without `.tif` or `.ome.tif`.
fn stem(path: &Path) -> Option<&str> {
    let name = Path::new(path.file_stem()?);
    let ome = name.extension().is_some_and(|ome| ome.eq_ignore_ascii_case("ome"));
    if ome { name.file_stem()?.to_str() } else { name.to_str() }
}

fn of(captures: &Captures<'_>) -> Option<Parts> {
    let group = |name: &str| captures.name(name).map(|m| m.as_str().to_owned());
    let well = match group("well") {
        Some(well) => well,
        None => well_of(group("row")?.parse().ok()?, group("col")?.parse().ok()?)?,
    };
    Some(Parts { plate: group("plate"), well, site: plain_site(&group("site")?), channel: group("channel") })
}

/// Row 1, column 2 → `A02`; row 27 → `AA`.
fn well_of(row: u32, column: u32) -> Option<String> {
    let letter = |i: u32| char::from_u32(u32::from('A') + i);
    match row.checked_sub(1)? {
        row @ 0..26 => Some(format!("{}{column:02}", letter(row)?)),
        row @ 26..702 => Some(format!("{}{}{column:02}", letter(row / 26 - 1)?, letter(row % 26)?)),
        _ => None,
    }
}

/// `01`, `s1` and `f01` are `1`: tables and file names write the same site in many ways.
pub fn plain_site(site: &str) -> String {
    let digits = site.strip_prefix(['s', 'f', 'S', 'F']).unwrap_or(site);
    match digits.parse::<u64>() {
        Ok(number) => number.to_string(),
        Err(_) => site.to_owned(),
    }
}

/// `b7` and `B07` are the same well: letters and column number, or the text itself.
pub fn well_key(well: &str) -> (String, u32) {
    let digits = well.find(|c: char| c.is_ascii_digit()).unwrap_or(well.len());
    match well[digits..].parse() {
        Ok(column) => (well[..digits].to_ascii_uppercase(), column),
        Err(_) => (well.to_owned(), 0),
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    fn parts(name: &str) -> Option<(Option<String>, String, String, Option<String>)> {
        let parts = Names::new(None).expect("the known patterns").parts(Path::new(name))?;
        Some((parts.plate, parts.well, parts.site, parts.channel))
    }

    fn said(
        plate: Option<&str>,
        well: &str,
        site: &str,
        channel: &str,
    ) -> Option<(Option<String>, String, String, Option<String>)> {
        Some((plate.map(str::to_owned), well.to_owned(), site.to_owned(), Some(channel.to_owned())))
    }

    #[test]
    fn known_names_are_read() {
        assert_eq!(parts("r01c12f03p01-ch2sk1fk1fl1.tiff"), said(None, "A12", "3", "ch2"));
        assert_eq!(parts("r27c01f01p01-ch5sk1fk1fl1.tiff"), said(None, "AA01", "1", "ch5"));
        assert_eq!(parts("B7_01_1_3_DAPI_001.tif"), said(None, "B7", "3", "DAPI"));
        assert_eq!(parts("A01_2_DNA.tif"), said(None, "A01", "2", "DNA"));
        assert_eq!(parts("plate_1_A01_s02_DNA.tif"), said(Some("plate_1"), "A01", "2", "DNA"));
        assert_eq!(parts("P1_A01_s1_w2D4F8.tif"), said(Some("P1"), "A01", "1", "w2"));
        assert_eq!(parts("A01_2_DNA.ome.tif"), said(None, "A01", "2", "DNA"));
        assert_eq!(parts("P-1-A01-s3-c2.tif"), said(Some("P-1"), "A01", "3", "c2"));
        assert_eq!(parts("P-1-A01-s3.ome.tif"), Some((Some("P-1".to_owned()), "A01".to_owned(), "3".to_owned(), None)));
        assert_eq!(parts("notes.tif"), None);
        assert_eq!(parts("notes.ome.tif"), None);
    }

    #[test]
    fn an_ome_tiff_of_any_name_is_a_well() {
        let names = Names::new(None).expect("the known patterns");
        let well = |name: &str| names.ome_tiff(Path::new(name)).map(|parts| parts.well);
        assert_eq!(well("below/z-series.ome.tiff").as_deref(), Some("z-series"));
        assert_eq!(well("notes.OME.tif").as_deref(), Some("notes"));
        assert_eq!([well("notes.tif"), well("ome.tif")], [None, None]);
        let own = Names::new(Some(r"(?<well>\w+)_(?<site>\d)")).expect("a pattern");
        assert_eq!(own.ome_tiff(Path::new("a.ome.tif")), None);
    }

    #[test]
    fn names_that_are_not_utf8_say_nothing() {
        let path = Path::new(OsStr::from_bytes(b"A01_1_\xff.tif"));
        assert_eq!(Names::new(None).expect("the known patterns").parts(path), None);
    }

    #[test]
    fn a_pattern_without_a_well_is_refused() {
        let Err(error) = Names::new(Some(r"(?<site>\d+)")) else { panic!("accepted") };
        assert!(error.to_string().contains("(?<well>…)"), "{error}");
    }

    #[test]
    fn wells_are_the_same_with_and_without_zeros() {
        assert_eq!(well_key("B7"), well_key("b07"));
        assert_ne!(well_key("B7"), well_key("B17"));
    }
}
