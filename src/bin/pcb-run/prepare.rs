//! A config to a plan, its datasets, and the header of its result.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use pcb::cli::run::Args;
use pcb::config::Config;
use pcb::data::{self, DataError};
use pcb::environment;
use pcb::plan::{self, Facts, Plan};
use pcb::progress::Voice;
use pcb::results::{BuildInfo, Header, Outcome, VERSION};
use pcb::runner::{self, Build, Form};
use pcb_formats::{Dataset, DatasetInfo, FormatError};

pub fn make_plan(args: &Args, config: &Config, root: &Path, builds: &[Build]) -> Result<Plan> {
    let facts = known_facts(config, root);
    let (cases, pruned) = plan::expand(config, args.filter.as_ref(), &facts)?;
    Ok(Plan::new(config, cases, pruned, builds.iter().map(|build| build.name.clone()).collect()))
}

/// Facts of the datasets that are there already.
pub fn known_facts(config: &Config, root: &Path) -> BTreeMap<String, Facts> {
    let names = config.sweep.iter().flat_map(|sweep| sweep.dataset.iter());
    let info = |name: &String| {
        let folder = data::dataset_folder(root, Path::new(name)).ok()?;
        Some((name.clone(), facts_of(&Dataset::read_info(&folder).ok()?)))
    };
    names.filter_map(info).collect()
}

fn facts_of(info: &DatasetInfo) -> Facts {
    Facts {
        channels: info.channels.len(),
        dtype: info.dtype,
        record: (info.record.height, info.record.width),
        source: info.source_format(),
    }
}

/// The datasets of a plan, open, and the forms that could not be written.
#[derive(Default)]
pub struct Prepared {
    pub datasets: BTreeMap<String, Arc<Dataset>>,
    pub unwritten: BTreeMap<Form, Outcome>,
}

/// Makes missing presets, writes missing forms, and opens every dataset of the plan. A form that cannot be written costs
/// its own cases only.
pub fn prepare_data(plan: &Plan, root: &Path, voice: Voice) -> Result<Prepared> {
    let mut prepared = Prepared::default();
    for target in plan.cases.iter().filter_map(|case| case.target.as_ref()) {
        let folder = match prepared.datasets.get(&target.dataset) {
            Some(dataset) => dataset.root.clone(),
            None => {
                let folder = dataset_folder(root, &target.dataset, voice)?;
                warn_of_few(&target.dataset, Dataset::read_info(&folder)?.objects, voice);
                prepared.datasets.insert(target.dataset.clone(), Arc::new(Dataset::open(&folder)?));
                folder
            }
        };
        let (format, variant) = pcb_formats::find(&target.format, &target.variant, target.layout)?;
        let name = format!("{} as {}:{} ({})", target.dataset, target.format, variant.stored, target.layout);
        match data::ensure(&folder, format, variant, &mut |_| {}) {
            Ok(false) => {}
            Ok(true) => voice.say(&format!("wrote {name}")),
            Err(error) => {
                let message = format!("cannot write {name}: {error}");
                voice.say(&message);
                let unsupported = matches!(error, DataError::Format(FormatError::Unsupported(_)));
                let outcome = if unsupported { Outcome::Unsupported { message } } else { Outcome::Failed { message } };
                prepared.unwritten.insert(runner::form_of(target), outcome);
            }
        }
    }
    Ok(prepared)
}

/// A pass over a handful of cells says little.
fn warn_of_few(name: &str, objects: u64, voice: Voice) {
    const FEW: u64 = 30;
    if objects < FEW {
        voice.say(&format!(
            "{name} has {objects} objects, so a pass has few samples; pcb-data import --grid N adds some"
        ));
    }
}

/// Whether a dataset of this name is made when it is missing.
pub fn is_preset(name: &str) -> bool {
    data::make::PRESETS.iter().any(|preset| preset.name == name)
}

fn dataset_folder(root: &Path, name: &str, voice: Voice) -> Result<PathBuf> {
    if is_preset(name) && !root.join(name).join("dataset.json").is_file() {
        voice.say(&format!("making the dataset {name} in {}", root.display()));
        return Ok(data::make::ensure_preset(root, name, &mut |_| {})?.folder);
    }
    Ok(data::dataset_folder(root, Path::new(name))?)
}

pub fn header(
    config: &Config,
    plan: &Plan,
    builds: Vec<BuildInfo>,
    datasets: &BTreeMap<String, Arc<Dataset>>,
    root: &Path,
) -> Result<Header> {
    let mut environment = environment::capture(root);
    for (name, dataset) in datasets {
        environment.details.extend(environment::storage(&format!("dataset {name}"), &folder_measured(dataset)));
    }
    Ok(Header {
        version: VERSION,
        complete: true,
        started: environment::now(),
        seed: config.seed,
        repeats: plan.repeats,
        plan_digest: plan.digest.clone(),
        builds,
        config: toml::to_string(config)?,
        datasets: datasets.iter().map(|(name, dataset)| (name.clone(), dataset.info.digest.clone())).collect(),
        environment,
        pruned: plan.pruned.clone(),
    })
}

/// Where the pixels of a dataset lie: an imported one's may lie far from its folder.
fn folder_measured(dataset: &Dataset) -> PathBuf {
    let source = dataset.info.sites.iter().find_map(|site| site.source.first());
    let folder = source.and_then(|source| Some(dataset.root.join(source.path.parent()?)));
    folder.unwrap_or_else(|| dataset.root.clone())
}
