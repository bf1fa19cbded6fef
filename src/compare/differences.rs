//! What differs between the two sides' machines, programs and plans.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::inputs::{Input, Inputs};

/// Something that is not the same on both sides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// What it is.
    pub what: String,
    /// Its value in the base; null where that has none.
    pub base: Option<String>,
    /// Its value in the new side.
    pub new: Option<String>,
}

/// Every difference, by name. Seeds count: with another seed other objects are read.
pub(super) fn between(inputs: &Inputs) -> Vec<Difference> {
    let (base, new) = (facts(&inputs.base), facts(&inputs.new));
    let names: BTreeSet<&String> = base.keys().chain(new.keys()).collect();
    let difference = |name: &String| {
        let (base, new) = (base.get(name).cloned(), new.get(name).cloned());
        (base != new).then(|| Difference { what: name.clone(), base, new })
    };
    names.into_iter().filter_map(difference).collect()
}

fn facts(side: &Input) -> BTreeMap<String, String> {
    let header = &side.file.header;
    let machine = &header.environment;
    let mut facts: BTreeMap<String, String> = [
        ("cpu", machine.cpu.clone()),
        ("usable cpus", machine.usable_cpus.to_string()),
        ("cpus", machine.cpus.to_string()),
        ("ram", format!("{} bytes", machine.ram_bytes)),
        ("kernel", machine.kernel.clone()),
        ("os", machine.os.clone()),
        ("seed", header.seed.to_string()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    facts.extend(machine.details.iter().map(|(name, value)| (name.clone(), value.clone())));
    facts.extend(header.datasets.iter().map(|(name, digest)| (format!("dataset {name}"), digest.clone())));
    let versions = side.build_info().into_iter().flat_map(|build| &build.versions);
    facts.extend(versions.map(|(name, version)| (format!("build {name}"), version.clone())));
    facts
}
