//! The lines above the tables: what was measured, when, with what, on which machine.

use super::Input;
use crate::results::{BuildInfo, Header};
use crate::units;

/// Short names of the files: none for a single one, else A, B, C…
pub fn labels(inputs: &[Input]) -> Vec<String> {
    if inputs.len() < 2 {
        return vec![String::new(); inputs.len()];
    }
    let letter = |place: usize| char::from(b'A' + u8::try_from(place % 26).unwrap_or(0));
    let round = |place: usize| if place < 26 { String::new() } else { (place / 26).to_string() };
    (0..inputs.len()).map(|place| format!("{}{}", letter(place), round(place))).collect()
}

/// The lines.
pub fn lines(inputs: &[Input], labels: &[String]) -> Vec<String> {
    if let [input] = inputs {
        return about(&input.file.header);
    }
    let block = |(input, label): (&Input, &String)| {
        let mut lines = vec![format!("{label}: {}", input.name)];
        lines.extend(about(&input.file.header).into_iter().map(|line| format!("   {line}")));
        lines
    };
    inputs.iter().zip(labels).flat_map(block).collect()
}

/// One line about one of several files: its label and name, the versions of its builds, when it was made.
pub fn line(input: &Input, label: &str) -> String {
    let header = &input.file.header;
    let mut builds: Vec<String> = header.builds.iter().map(build).collect();
    builds.dedup();
    format!("{label}: {}, {}, {}", input.name, builds.join(" and "), moment(&header.started))
}

fn about(header: &Header) -> Vec<String> {
    let repeats = if header.repeats == 1 { "repeat" } else { "repeats" };
    let most = if has_precision(header) { "at most " } else { "" };
    let what = format!("{}, seed {}, {most}{} {repeats}", moment(&header.started), header.seed, header.repeats);
    let mut lines = match &header.builds[..] {
        [only] => vec![format!("{}, {what}", build(only))],
        builds => {
            let mut lines = vec![what];
            lines.extend(builds.iter().map(|info| format!("build {}: {}", info.name, build(info))));
            lines
        }
    };
    let machine = &header.environment;
    let cpus = format!("{} of {} CPUs", machine.usable_cpus, machine.cpus);
    let memory = units::memory(machine.ram_bytes);
    lines.push(format!("machine: {}, {cpus}, {memory} RAM, {}, kernel {}", machine.cpu, machine.os, machine.kernel));
    if !header.complete {
        lines.push("incomplete: --max-time was reached before every run was made".to_owned());
    }
    if !header.datasets.is_empty() {
        lines.push(format!("data: {}", data(header)));
    }
    lines
}

/// Whether cases were left out of further blocks once they were known well enough.
fn has_precision(header: &Header) -> bool {
    let config = toml::from_str::<toml::Table>(&header.config).ok();
    config.and_then(|config| config.get("precision")?.as_float()).is_some_and(|precision| precision > 0.0)
}

/// `pcb 0.1.0 (abc1234), libtorch 2.13.0`.
fn build(info: &BuildInfo) -> String {
    let known = |key: &str| info.versions.get(key).map(String::as_str);
    let commit = known("commit").filter(|commit| *commit != "unknown");
    let commit = commit.map_or(String::new(), |commit| format!(" ({})", commit.get(..10).unwrap_or(commit)));
    let torch = known("libtorch").map_or(String::new(), |version| format!(", libtorch {version}"));
    format!("pcb {}{commit}{torch}", known("version").unwrap_or("of unknown version"))
}

/// `2026-01-02T03:04:05Z` as `2026-01-02 03:04:05 UTC`; anything else as it is.
fn moment(stamp: &str) -> String {
    match (stamp.get(..19), stamp.ends_with('Z')) {
        (Some(seconds), true) => format!("{} UTC", seconds.replace('T', " ")),
        _ => stamp.to_owned(),
    }
}

/// `smoke, plate on ext4 (/dev/nvme0n1)`: the datasets and the place where they lie.
fn data(header: &Header) -> String {
    let names: Vec<&str> = header.datasets.keys().map(String::as_str).collect();
    let known = |key: &str| header.environment.details.get(key).map(String::as_str);
    let place = known("data_filesystem").map_or(String::new(), |filesystem| format!(" on {filesystem}"));
    let device = known("data_device").map_or(String::new(), |device| format!(" ({device})"));
    format!("{}{place}{device}", names.join(", "))
}
