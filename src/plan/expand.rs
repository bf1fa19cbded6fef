//! Sweeps to cases: the grid, less what cannot be.

use std::collections::{BTreeMap, BTreeSet};

use pcb_formats::{FORMATS, Format, Variant, unknown_format};
use pcb_protocol::{Channels, Crop, Dtype, Layout, State, Tier};
use regex::Regex;

use crate::case::{Case, Host, Target, Track};
use crate::config::{Config, Sweep};
use crate::results::Pruned;

/// What the plan must know of a dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// Number of channels.
    pub channels: usize,
    /// Stored element type.
    pub dtype: Dtype,
    /// Height and width of an object record.
    pub record: (u32, u32),
    /// The format of its source files, which are read in place; `None` for a generated one.
    pub source: Option<&'static str>,
}

/// The config asks for something that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// No such format or variant.
    #[error("{0}")]
    Unknown(String),
    /// Channels that are no list.
    #[error("{0}")]
    Word(#[from] pcb_protocol::ParseWordError),
}

/// Expands the sweeps of `config` into cases that `filter` matches, in the order written, `null` last. A dataset that
/// is not in `facts` yet is not held against its cases.
pub fn expand(
    config: &Config,
    filter: Option<&Regex>,
    facts: &BTreeMap<String, Facts>,
) -> Result<(Vec<Case>, Vec<Pruned>), PlanError> {
    let mut seen = BTreeSet::new();
    let (mut cases, mut pruned) = (Vec::new(), Vec::new());
    for sweep in &config.sweep {
        for candidate in grid(sweep)? {
            if !filter.is_none_or(|filter| filter.is_match(&candidate.to_string())) || !seen.insert(candidate.clone()) {
                continue;
            }
            match why_not(&candidate, facts) {
                Some(reason) => pruned.push(Pruned { case: candidate, reason }),
                None => cases.push(candidate),
            }
        }
    }
    // The harness's own overhead stands in every result file.
    let null_alone = filter.is_some_and(|filter| filter.is_match(&Case::null().to_string()));
    if (!cases.is_empty() || null_alone) && !cases.contains(&Case::null()) {
        cases.push(Case::null());
    }
    Ok((cases, pruned))
}

fn grid(sweep: &Sweep) -> Result<Vec<Case>, PlanError> {
    let mut cases = Vec::new();
    for &track in sweep.track.iter() {
        match track {
            Track::Getitem => {}
            Track::Null => {
                cases.push(Case::null());
                continue;
            }
            Track::Pyperf => {
                let problem =
                    "track pyperf: pcb-compare reads the files of pyperf, pcb-run does not run its benchmarks";
                return Err(PlanError::Unknown(problem.into()));
            }
        }
        for (dataset, format) in product(sweep.dataset.iter(), sweep.format.iter()) {
            let layouts: Vec<Layout> = sweep.layout.iter().copied().collect();
            for (format, variant, layout) in forms(format, &layouts)? {
                for (crop, &pattern) in product(crops(sweep)?.iter(), sweep.pattern.iter()) {
                    for (&tier, (&host, &state)) in
                        product(sweep.tier.iter(), product(sweep.host.iter(), sweep.state.iter()))
                    {
                        let target = Target {
                            dataset: dataset.clone(),
                            format: format.clone(),
                            variant: variant.clone(),
                            layout,
                            pattern,
                            crop: crop.clone(),
                            tier,
                        };
                        cases.push(Case { track, target: Some(target), benchmark: None, host, state });
                    }
                }
            }
        }
    }
    Ok(cases)
}

fn product<'a, A: Copy + 'a, B: Clone + 'a>(
    left: impl Iterator<Item = A> + 'a,
    right: impl IntoIterator<Item = B> + 'a,
) -> impl Iterator<Item = (A, B)> + 'a {
    let right: Vec<B> = right.into_iter().collect();
    left.flat_map(move |a| right.clone().into_iter().map(move |b| (a, b)))
}

fn crops(sweep: &Sweep) -> Result<Vec<Crop>, PlanError> {
    let mut crops = Vec::new();
    for channels in sweep.channels.iter() {
        let channels: Channels = channels.parse()?;
        for (size, &dtype) in product(sweep.crop.iter(), sweep.dtype.iter()) {
            crops.push(Crop { channels: channels.clone(), height: size.height, width: size.width, dtype });
        }
    }
    Ok(crops)
}

/// The stored forms that `text` names in these layouts: `format:variant`, `format`, or `all`; `format` may be `all` and
/// `variant` a role, `default` or `tuned`. A wildcard or a role takes what exists; a variant named in full that has none
/// of the layouts is an error.
fn forms(text: &str, layouts: &[Layout]) -> Result<Vec<(String, String, Layout)>, PlanError> {
    let row = |format: &Format, variant: &Variant| (format.name.to_owned(), variant.name.to_owned(), variant.layout);
    let matching = |format: &'static Format| {
        format.variants.iter().filter(|v| layouts.contains(&v.layout)).map(move |v| row(format, v))
    };
    let (name, variant) = text.split_once(':').map_or((text, None), |(name, variant)| (name, Some(variant)));
    let role = variant.filter(|word| matches!(*word, "default" | "tuned"));
    let with_role = |format: &'static Format, role: &str| -> Vec<_> {
        let wanted = format.variants.iter().filter(|v| layouts.contains(&v.layout) && v.role.answers(role));
        wanted.map(|v| row(format, v)).collect()
    };
    match (name, variant, role) {
        ("all", None, _) => return Ok(FORMATS.iter().flat_map(matching).collect()),
        ("all", _, Some(role)) => return Ok(FORMATS.iter().flat_map(|format| with_role(format, role)).collect()),
        _ => {}
    }
    let Some(format) = FORMATS.iter().find(|format| format.name == name) else {
        return Err(PlanError::Unknown(unknown_format(name, &["all"])));
    };
    let Some(variant) = variant else { return Ok(matching(format).collect()) };
    if let Some(role) = role {
        return Ok(with_role(format, role));
    }
    let found: Vec<_> = format.variants.iter().filter(|v| v.name == variant).collect();
    if found.is_empty() {
        let known: BTreeSet<&str> = format.variants.iter().map(|v| v.name).collect();
        let known: Vec<&str> = known.into_iter().collect();
        return Err(PlanError::Unknown(format!("{name} has no variant {variant:?}; known: {}", known.join(", "))));
    }
    if !found.iter().any(|v| layouts.contains(&v.layout)) {
        let has = found[0].layout;
        return Err(PlanError::Unknown(format!("{text} is stored in layout {has} only; add it to the sweep's layout")));
    }
    Ok(found.into_iter().filter(|v| layouts.contains(&v.layout)).map(|v| row(format, v)).collect())
}

/// Why a case cannot be, if it cannot.
fn why_not(case: &Case, facts: &BTreeMap<String, Facts>) -> Option<String> {
    let target = case.target.as_ref()?;
    if case.host == Host::Python {
        return Some("host python: this pcb has no Python host".into());
    }
    if target.format == "memory" && case.state == State::Cold {
        return Some("memory has no cold state: it holds no file".into());
    }
    if target.tier != Tier::None && target.crop.dtype != Dtype::F32 {
        return Some(format!("tier {} needs dtype f32", target.tier));
    }
    let Some(facts) = facts.get(&target.dataset) else {
        return (target.variant == "source").then(|| "the dataset is generated: it has no source files".into());
    };
    if target.variant == "source" && facts.source != Some(&target.format) {
        return Some(match facts.source {
            Some(format) => format!("the dataset's source files are {format}"),
            None => "the dataset is generated: it has no source files".into(),
        });
    }
    let (height, width) = facts.record;
    if target.layout == Layout::Object && (target.crop.height > height || target.crop.width > width) {
        return Some(format!("object records are {height}x{width} pixels; a larger crop needs layout site"));
    }
    if let Channels::List(list) = &target.crop.channels
        && let Some(channel) = list.iter().find(|&&channel| usize::from(channel) >= facts.channels)
    {
        return Some(format!("channel {channel} of a dataset with {} channels (0 is the first)", facts.channels));
    }
    let fits = target.crop.dtype == facts.dtype || target.crop.dtype == Dtype::F32;
    (!fits).then(|| format!("pixels are stored as {}; they are handed out as {} or f32", facts.dtype, facts.dtype))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;

    fn expanded(text: &str) -> (Vec<String>, Vec<String>) {
        let config = config::parse("c.toml", text, &[]).expect("valid");
        let facts = Facts { channels: 3, dtype: Dtype::U16, record: (96, 96), source: None };
        let (cases, pruned) = expand(&config, None, &BTreeMap::from([("d".to_owned(), facts)])).expect("expands");
        let ids = cases.iter().map(ToString::to_string).collect();
        (ids, pruned.iter().map(|p| format!("{}: {}", p.case, p.reason)).collect())
    }

    #[test]
    fn a_grid_is_the_product_of_its_lists_and_null_comes_last() {
        let (cases, pruned) = expanded(
            "[[sweep]]\ndataset='d'\nformat='npy:mmap'\nlayout='site'\ncrop=[64, 128]\npattern=['random','site']\nstate='warm'",
        );
        assert_eq!(cases.len(), 5);
        assert_eq!(cases[0], "getitem/d/npy:mmap/site/random/all.64x64.u16/none/native/warm");
        assert_eq!(cases[4], "null/-/-/-/-/-/-/native/asis");
        assert!(pruned.is_empty());
    }

    #[test]
    fn what_cannot_be_is_pruned_and_said() {
        for (keys, reason) in [
            ("format='memory:ram'\nstate='cold'", "no cold state"),
            ("format='npy:mmap'\ntier='light'", "needs dtype f32"),
            ("format='tiff:source'", "no source files"),
            ("format='npy:mmap'\nlayout='object'\ncrop=128", "96x96"),
            ("format='npy:mmap'\nlayout='site'\nchannels='0+3'", "channel 3 of a dataset with 3"),
            ("format='npy:mmap'\nlayout='site'\ndtype='u8'", "stored as u16"),
        ] {
            let (cases, pruned) = expanded(&format!("[[sweep]]\ndataset='d'\n{keys}"));
            assert!(!pruned.is_empty() && pruned.iter().all(|p| p.contains(reason)), "{keys}: {pruned:?} {cases:?}");
        }
    }

    #[test]
    fn roles_take_one_variant_of_each_format_and_layout_that_has_one() {
        let (cases, _) =
            expanded("[[sweep]]\ndataset='d'\nformat='npy:default'\ncrop=64\nlayout=['object','site']\nstate='warm'");
        assert!(cases[0].contains("/npy:each/object/") && cases[1].contains("/npy:mmap/site/"), "{cases:?}");
        assert_eq!(cases.len(), 3);
        let (cases, _) = expanded("[[sweep]]\ndataset='d'\nformat='all:tuned'\nlayout='site'\nstate='warm'");
        for wanted in ["/npy:mmap/site/", "/tiff:tile128-none-mmap/site/", "/ome-tiff:tile128-none-mmap/site/"] {
            assert_eq!(cases.iter().filter(|case| case.contains(wanted)).count(), 1, "{wanted} of {cases:?}");
        }
        // A format that has no such variant in the layout is left out of `all`, as with every wildcard.
        assert!(!cases.iter().any(|case| case.contains("/object/")));
    }

    #[test]
    fn unknown_formats_name_the_known_ones() {
        for (format, word) in [("zar", "npy"), ("npy:nmap", "mmap"), ("npy:each", "layout object only")] {
            let text = format!("[[sweep]]\nformat='{format}'\nlayout='site'");
            let config = config::parse("c.toml", &text, &[]).expect("valid");
            let error = expand(&config, None, &BTreeMap::new()).expect_err("unknown").to_string();
            assert!(error.contains(word), "{error}");
        }
    }

    #[test]
    fn a_format_of_a_feature_that_is_off_says_how_to_build_it() {
        for (name, there) in [("lance", cfg!(feature = "lance")), ("vortex", cfg!(feature = "vortex"))] {
            let text = format!("[[sweep]]\nformat='{name}:default'\nlayout='object'");
            let config = config::parse("c.toml", &text, &[]).expect("valid");
            match expand(&config, None, &BTreeMap::new()) {
                Ok(_) => assert!(there, "{name}"),
                Err(error) => assert!(!there && error.to_string().contains("--features"), "{error}"),
            }
        }
    }

    #[test]
    fn a_case_named_twice_is_run_once_and_a_filter_keeps_what_it_matches() {
        let text = "[[sweep]]\ndataset='d'\nformat='npy:mmap'\nlayout='site'\n[[sweep]]\ndataset='d'\nformat=['npy:mmap','npy:pread']\nlayout='site'";
        assert_eq!(expanded(text).0.len(), 2 * 2 + 1);
        let config = config::parse("c.toml", text, &[]).expect("valid");
        let filter = Regex::new("pread.*cold").expect("a regex");
        let (cases, _) = expand(&config, Some(&filter), &BTreeMap::new()).expect("expands");
        assert_eq!(cases.len(), 2, "{cases:?}");
        let nothing = Regex::new("no such case").expect("a regex");
        assert!(expand(&config, Some(&nothing), &BTreeMap::new()).expect("expands").0.is_empty());
    }
}
