//! What each stain shows of a cell. Numbers were fitted to a JUMP Cell Painting site (16-bit counts); see docs/data.md.

/// How one channel looks.
#[derive(Debug)]
pub struct Stain {
    /// Channel name.
    pub name: &'static str,
    /// Counts where there is no cell.
    pub background: f32,
    /// Counts at the middle of a usual cell's cytoplasm.
    pub cytoplasm: f32,
    /// Counts of a usual nucleus, added.
    pub nucleus: f32,
    /// Share of the cytoplasm's light that is missing over the nucleus.
    pub hole: f32,
    /// Light that spreads far around a cell, in counts at its centre.
    pub glow: f32,
    /// Contrast of the granular texture, 0 to 1.
    pub grain: f32,
    /// Width of the texture's grains in pixels.
    pub grain_width: f32,
    /// Brightness of single bright granules over the texture.
    pub spots: f32,
}

/// Stains in the order in which channels are made; further channels start again from the first.
pub const STAINS: &[Stain] = &[
    Stain {
        name: "DNA",
        background: 320.0,
        cytoplasm: 250.0,
        nucleus: 12_500.0,
        hole: 0.0,
        glow: 150.0,
        grain: 0.22,
        grain_width: 4.0,
        spots: 0.0,
    },
    Stain {
        name: "AGP",
        background: 410.0,
        cytoplasm: 5_000.0,
        nucleus: 3_500.0,
        hole: 0.3,
        glow: 330.0,
        grain: 0.30,
        grain_width: 3.5,
        spots: 0.8,
    },
    Stain {
        name: "RNA",
        background: 380.0,
        cytoplasm: 10_500.0,
        nucleus: 3_500.0,
        hole: 0.45,
        glow: 330.0,
        grain: 0.18,
        grain_width: 4.5,
        spots: 0.3,
    },
    Stain {
        name: "ER",
        background: 420.0,
        cytoplasm: 9_000.0,
        nucleus: 0.0,
        hole: 0.7,
        glow: 330.0,
        grain: 0.30,
        grain_width: 4.0,
        spots: 0.2,
    },
    Stain {
        name: "Mito",
        background: 380.0,
        cytoplasm: 6_500.0,
        nucleus: 0.0,
        hole: 0.85,
        glow: 300.0,
        grain: 0.45,
        grain_width: 3.6,
        spots: 0.8,
    },
];

/// The stain of channel `index`.
pub fn of(index: usize) -> &'static Stain {
    &STAINS[index % STAINS.len()]
}

/// Names of the first `count` channels: `DNA`, `AGP`, … and from the sixth on `DNA2`, `AGP2`, …
pub fn names(count: usize) -> Vec<String> {
    (0..count)
        .map(|i| match i / STAINS.len() {
            0 => of(i).name.to_owned(),
            round => format!("{}{}", of(i).name, round + 1),
        })
        .collect()
}
