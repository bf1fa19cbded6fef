//! What `pcb-run --list` and `--plan` print. Pure.

use std::fmt::Write;

use pcb_formats::{FORMATS, Role};

use crate::case::TRACKS;
use crate::plan::Plan;

/// The tracks, a line each.
pub fn tracks() -> String {
    TRACKS.iter().map(|row| format!("{:<10}{}\n", row.name, row.about)).collect()
}

/// The formats and their variants, and which of them `FORMAT:default` and `FORMAT:tuned` are.
pub fn formats() -> String {
    let mut text = String::new();
    let role = |role: Role| match role {
        Role::Plain => "",
        Role::Default => "default",
        Role::Tuned => "tuned",
        Role::DefaultAndTuned => "default, tuned",
    };
    for format in FORMATS {
        let _ = writeln!(text, "{}: {}", format.name, format.about);
        for variant in format.variants {
            let name = format!("{}:{}", format.name, variant.name);
            let _ = writeln!(text, "  {name:<38}{:<8}{:<16}{}", variant.layout, role(variant.role), variant.about);
        }
    }
    text += "default: what the format's own community writes and reads; tuned: the best known here for crops\n";
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
