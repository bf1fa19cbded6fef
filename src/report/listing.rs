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
            let _ = writeln!(text, "  {name:<26}{:<8}{}", variant.layout, variant.about);
        }
    }
    text
}

/// The first block of a plan, what was left out, and how long it takes.
pub fn plan(plan: &Plan, estimate: &str) -> String {
    let mut text = String::new();
    for step in plan.steps().take_while(|step| step.block == 0) {
        let build = if plan.builds.len() > 1 { format!("  {}", plan.builds[step.build]) } else { String::new() };
        let _ = writeln!(text, "{:>6}  {}{build}", step.position, plan.cases[step.case]);
    }
    for pruned in &plan.pruned {
        let _ = writeln!(text, "left out  {}: {}", pruned.case, pruned.reason);
    }
    let _ = writeln!(
        text,
        "{} runs of {} cases in {} blocks, each in an order of its own (above: the first), about {estimate}; {} cases left out; plan {}",
        plan.runs(),
        plan.cases.len(),
        plan.repeats,
        plan.pruned.len(),
        &plan.digest[..12]
    );
    text
}
