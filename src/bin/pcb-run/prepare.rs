//! A config to a plan, its datasets, and the header of its result.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use pcb::cli::run::Args;
use pcb::config::Config;
use pcb::interrupt::Interrupt;
use pcb::plan::{self, Facts, Plan};
use pcb::progress::Voice;
use pcb::results::{BuildInfo, Header, VERSION};
use pcb::runner::Build;
use pcb::{data, environment};
use pcb_formats::{Dataset, DatasetInfo};

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
        imported: info.sites.iter().any(|site| !site.source.is_empty()),
    }
}

/// Makes missing presets, writes missing forms, and opens every dataset of the plan; `None` if interrupted.
pub fn prepare_data(
    plan: &Plan,
    root: &Path,
    voice: Voice,
    interrupt: &Interrupt,
) -> Result<Option<BTreeMap<String, Arc<Dataset>>>> {
    let mut datasets: BTreeMap<String, Arc<Dataset>> = BTreeMap::new();
    for target in plan.cases.iter().filter_map(|case| case.target.as_ref()) {
        if interrupt.stopped() {
            return Ok(None);
        }
        let folder = match datasets.get(&target.dataset) {
            Some(dataset) => dataset.root.clone(),
            None => {
                let folder = dataset_folder(root, &target.dataset, voice)?;
                datasets.insert(target.dataset.clone(), Arc::new(Dataset::open(&folder)?));
                folder
            }
        };
        let (format, variant) = pcb_formats::find(&target.format, &target.variant, target.layout)?;
        if data::ensure(&folder, format, variant, &mut |_| {})? {
            voice.say(&format!("wrote {} as {}:{} ({})", target.dataset, target.format, variant.stored, target.layout));
        }
    }
    Ok(Some(datasets))
}

fn dataset_folder(root: &Path, name: &str, voice: Voice) -> Result<PathBuf> {
    let preset = data::make::PRESETS.iter().any(|preset| preset.name == name);
    if preset && !root.join(name).join("dataset.json").is_file() {
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
    Ok(Header {
        version: VERSION,
        started: environment::now(),
        seed: config.seed,
        repeats: config.repeats,
        plan_digest: plan.digest.clone(),
        builds,
        config: toml::to_string(config)?,
        datasets: datasets.iter().map(|(name, dataset)| (name.clone(), dataset.info.digest.clone())).collect(),
        environment: environment::capture(root),
        pruned: plan.pruned.clone(),
    })
}
