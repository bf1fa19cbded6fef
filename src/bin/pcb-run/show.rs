//! What is printed without measuring: cases and plans.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Result;
use pcb::cli::exit;
use pcb::cli::run::Args;
use pcb::config::Config;
use pcb::plan::{self, Plan};
use pcb::progress::human;
use pcb::runner::{self, Build, BuildError};
use pcb::{output, report};

use crate::prepare::{is_preset, known_facts, make_plan};
use crate::print;

pub fn nothing(plan: &Plan) -> Result<u8> {
    for pruned in &plan.pruned {
        output::stderr(&format!("left out: {}: {}", pruned.case, pruned.reason));
    }
    output::stderr("pcb-run: nothing selected; see pcb-run --list cases");
    Ok(exit::NOTHING)
}

pub fn list_cases(args: &Args, config: &Config, root: &Path) -> Result<u8> {
    let (cases, _) = plan::expand(config, args.filter.as_ref(), &known_facts(config, root))?;
    print(&cases.iter().map(|case| format!("{case}\n")).collect::<String>())
}

pub fn print_plan(args: &Args, config: &Config, root: &Path) -> Result<u8> {
    let names: Vec<Build> = match runner::find(&args.worker) {
        Ok(builds) => builds,
        // A plan can be looked at before the workers are built.
        Err(BuildError::Missing { .. }) => {
            vec![Build { name: "default".into(), torch: PathBuf::new(), io: PathBuf::new(), hellos: None }]
        }
        Err(error) => return Err(error.into()),
    };
    let plan = make_plan(args, config, root, &names)?;
    if plan.cases.is_empty() {
        return nothing(&plan);
    }
    let facts = known_facts(config, root);
    let datasets: BTreeSet<&String> = config.sweep.iter().flat_map(|sweep| sweep.dataset.iter()).collect();
    for name in datasets.into_iter().filter(|name| !facts.contains_key(*name) && !is_preset(name)) {
        output::stderr(&format!("{name}: no such dataset in {}: make or import it first", root.display()));
    }
    print(&report::listing::plan(&plan, &human(plan.estimate(config))))
}
