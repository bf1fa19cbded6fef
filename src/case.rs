//! A case: one fully resolved point of a sweep, and its id.

use std::fmt;
use std::str::FromStr;

use pcb_protocol::{Crop, Layout, ParseWordError, Pattern, State, Tier};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What is timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Track {
    /// `Dataset.__getitem__`.
    Getitem,
    /// Nothing: the harness's own overhead.
    Null,
    /// A benchmark that pyperf ran; read from its files, never run by pcb.
    Pyperf,
}

/// One row of the table of tracks.
pub struct TrackRow {
    /// The track.
    pub track: Track,
    /// Name in a case id.
    pub name: &'static str,
    /// One line for `--list tracks`.
    pub about: &'static str,
}

/// Every track that pcb runs.
pub const TRACKS: &[TrackRow] = &[
    TrackRow {
        track: Track::Getitem,
        name: "getitem",
        about: "Dataset.__getitem__: one crop (or pair) by object id, read, decoded, converted, transformed",
    },
    TrackRow { track: Track::Null, name: "null", about: "nothing: the harness's own overhead for each sample" },
];

/// Name of [`Track::Pyperf`], which is in no list of tracks to run.
const PYPERF: &str = "pyperf";

/// Who does the reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Host {
    /// Rust and libtorch.
    Native,
    /// CPython.
    Python,
}

/// What a reading track reads.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target {
    /// Dataset name.
    pub dataset: String,
    /// Format name.
    pub format: String,
    /// Variant name.
    pub variant: String,
    /// Layout.
    pub layout: Layout,
    /// Which objects, in what order.
    pub pattern: Pattern,
    /// What is handed out for one view.
    pub crop: Crop,
    /// Transform tier.
    pub tier: Tier,
}

/// One fully resolved point of a sweep.
///
/// Its id is `track/dataset/format:variant/layout/pattern/crop/tier/host/state`; a track without a target has `-` in
/// the six places of the target, but a benchmark of pyperf has its name in the first of them (`%2F` for a slash, `%25` for
/// a percent sign).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Case {
    /// What is timed.
    pub track: Track,
    /// What is read; `None` for `null` and `pyperf`.
    pub target: Option<Target>,
    /// The benchmark's name, for `pyperf` alone.
    pub benchmark: Option<String>,
    /// Who reads.
    pub host: Host,
    /// Where the data lies when a run starts.
    pub state: State,
}

/// The parts of a case id, in order; `--across` and `--set` use these names.
pub const KEYS: [&str; 9] = ["track", "dataset", "format", "layout", "pattern", "crop", "tier", "host", "state"];

impl Case {
    /// The overhead case of every plan.
    pub fn null() -> Self {
        Self { track: Track::Null, target: None, benchmark: None, host: Host::Native, state: State::AsIs }
    }

    /// The benchmark called `name` in a file of pyperf.
    pub fn pyperf(name: &str) -> Self {
        let benchmark = Some(name.to_owned());
        Self { track: Track::Pyperf, target: None, benchmark, host: Host::Python, state: State::AsIs }
    }

    /// The id's parts in the order of [`KEYS`].
    pub fn parts(&self) -> [String; 9] {
        let dash = || "-".to_owned();
        let name = || self.benchmark.as_ref().map_or_else(dash, |name| name.replace('%', "%25").replace('/', "%2F"));
        let [dataset, format, layout, pattern, crop, tier] = match &self.target {
            None => [name(), dash(), dash(), dash(), dash(), dash()],
            Some(t) => [
                t.dataset.clone(),
                format!("{}:{}", t.format, t.variant),
                t.layout.to_string(),
                t.pattern.to_string(),
                t.crop.to_string(),
                t.tier.to_string(),
            ],
        };
        [
            self.track.to_string(),
            dataset,
            format,
            layout,
            pattern,
            crop,
            tier,
            self.host.to_string(),
            self.state.to_string(),
        ]
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.parts().join("/"))
    }
}

impl FromStr for Case {
    type Err = ParseWordError;
    fn from_str(text: &str) -> Result<Self, ParseWordError> {
        let error = || ParseWordError {
            what: "case id",
            got: text.to_owned(),
            expected: "track/dataset/format:variant/layout/pattern/crop/tier/host/state",
        };
        let parts: Vec<&str> = text.split('/').collect();
        let [track, dataset, format, layout, pattern, crop, tier, host, state] = parts[..] else {
            return Err(error());
        };
        let track: Track = track.parse()?;
        let target = match track {
            Track::Null => {
                if [dataset, format, layout, pattern, crop, tier].iter().any(|part| *part != "-") {
                    return Err(error());
                }
                None
            }
            Track::Pyperf => {
                if dataset == "-" || [format, layout, pattern, crop, tier].iter().any(|part| *part != "-") {
                    return Err(error());
                }
                None
            }
            Track::Getitem => {
                let (format, variant) = format.split_once(':').ok_or_else(error)?;
                Some(Target {
                    dataset: dataset.to_owned(),
                    format: format.to_owned(),
                    variant: variant.to_owned(),
                    layout: layout.parse()?,
                    pattern: pattern.parse()?,
                    crop: crop.parse()?,
                    tier: tier.parse()?,
                })
            }
        };
        let named = track == Track::Pyperf;
        let benchmark = named.then(|| dataset.replace("%2F", "/").replace("%25", "%"));
        Ok(Self { track, target, benchmark, host: host.parse()?, state: state.parse()? })
    }
}

impl fmt::Display for Track {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(TRACKS.iter().find(|row| row.track == *self).map_or(PYPERF, |row| row.name))
    }
}

impl FromStr for Track {
    type Err = ParseWordError;
    fn from_str(text: &str) -> Result<Self, ParseWordError> {
        let unknown = || ParseWordError { what: "track", got: text.to_owned(), expected: "getitem or null" };
        if text == PYPERF {
            return Ok(Self::Pyperf);
        }
        TRACKS.iter().find(|row| row.name == text).map(|row| row.track).ok_or_else(unknown)
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Native => f.pad("native"),
            Self::Python => f.pad("python"),
        }
    }
}

impl FromStr for Host {
    type Err = ParseWordError;
    fn from_str(text: &str) -> Result<Self, ParseWordError> {
        match text {
            "native" => Ok(Self::Native),
            "python" => Ok(Self::Python),
            _ => Err(ParseWordError { what: "host", got: text.to_owned(), expected: "native or python" }),
        }
    }
}

impl Serialize for Case {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Case {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl schemars::JsonSchema for Case {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Case".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "track/dataset/format:variant/layout/pattern/crop/tier/host/state",
            "pattern": "^[^/]+(/[^/]+){8}$"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_read_back_what_they_show() {
        for id in [
            "getitem/smoke/npy:mmap/object/random/all.128x128.u16/none/native/cold",
            "getitem/jump/tiff:tile128-deflate/site/paired-well/0+2.64x96.f32/typical/native/warm",
            "null/-/-/-/-/-/-/native/asis",
            "pyperf/[1]*1000 %25 a%2Fb/-/-/-/-/-/python/asis",
        ] {
            assert_eq!(id.parse::<Case>().map(|c| c.to_string()).as_deref(), Ok(id));
        }
        assert_eq!(Case::null().to_string(), "null/-/-/-/-/-/-/native/asis");
        assert_eq!(Case::pyperf("%2F/").to_string().parse(), Ok(Case::pyperf("%2F/")));
    }

    #[test]
    fn broken_ids_are_refused() {
        for id in
            ["", "getitem", "null/a/-/-/-/-/-/native/asis", "getitem/a/npy/object/random/all.1x1.u16/none/native/cold"]
        {
            assert!(id.parse::<Case>().is_err(), "{id}");
        }
    }
}
