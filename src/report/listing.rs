//! What `pcb-run --list` and `--plan` print. Pure.

use std::fmt::Write;

use pcb_formats::FORMATS;

use crate::case::TRACKS;
use crate::plan::Plan;

/// The tracks, a line each.
pub fn tracks() -> String {
    TRACKS.iter().map(|row| format!("{:<10}{}\n", row.name, row.about)).collect()
}

/// The formats and their variants.
pub fn formats() -> String {
    let mut text = String::new();
    for format in FORMATS {
        let _ = writeln!(text, "{}: {}", format.name, format.about);
        for variant in format.variants {
            let name = format!("{}:{}", format.name, variant.name);
            let _ = writeln!(text, "  {name:<24}{:<8}{}", variant.layout, variant.about);
        }
    }
    text
}

/// The runs of a plan, in order, and how long they take.
pub fn plan(plan: &Plan, estimate: &str) -> String {
    let mut text = String::new();
    for step in &plan.steps {
        let build = if plan.builds.len() > 1 { format!("  {}", plan.builds[step.build]) } else { String::new() };
        let _ = writeln!(text, "{:>4}.{:<4} {}{build}", step.block, step.position, plan.cases[step.case]);
    }
    for pruned in &plan.pruned {
        let _ = writeln!(text, "left out  {}: {}", pruned.case, pruned.reason);
    }
    let _ = writeln!(
        text,
        "{} runs of {} cases in {} blocks, about {estimate}; {} cases left out; plan {}",
        plan.steps.len(),
        plan.cases.len(),
        plan.steps.last().map_or(0, |step| step.block + 1),
        plan.pruned.len(),
        &plan.digest[..12]
    );
    text
}
