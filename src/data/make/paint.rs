//! Paints one channel of a site: background, cells, uneven light, and the noise of a 16-bit camera.

use super::cells::Cell;
use super::random::Random;
use super::stain::Stain;
use super::texture::{self, ease};

/// Variance of the camera's noise is `READ + PER_COUNT * counts`, as measured in JUMP images.
const READ: f32 = 12.0;
const PER_COUNT: f32 = 0.075;
/// Share of the light that is missing in the corners.
const VIGNETTE: f32 = 0.18;
/// Radius of the light around a cell, in long half axes.
const GLOW_REACH: f32 = 2.6;

/// The counts of one channel, row by row.
pub fn channel(random: &mut Random, cells: &[Cell], stain: &Stain, height: usize, width: usize) -> Vec<u16> {
    let grain = grains(random, stain, height, width);
    let wobble = texture::plane(random, height, width, 22.0);
    let mut light = vec![0.0; height * width];
    for cell in cells {
        add_cell(&mut light, cell, stain, &grain, &wobble, height, width);
    }
    expose(random, &light, stain, height, width)
}

/// Texture that multiplies the light of a cell: fine grains on coarse ones, and single bright granules.
fn grains(random: &mut Random, stain: &Stain, height: usize, width: usize) -> Vec<f32> {
    let mut grain = texture::plane(random, height, width, stain.grain_width * 3.0);
    // Two grids that never line up hide the grid of each.
    let fine = texture::plane(random, height, width, stain.grain_width);
    let finer = texture::plane(random, height, width, stain.grain_width * 0.73);
    for ((coarse, fine), finer) in grain.iter_mut().zip(fine).zip(finer) {
        let fine = 0.6 * fine + 0.6 * finer;
        let granule = (fine - 0.42).max(0.0);
        *coarse = 1.0 + stain.grain * (0.5 * *coarse + 0.9 * fine) + stain.spots * granule;
    }
    grain
}

fn add_cell(light: &mut [f32], cell: &Cell, stain: &Stain, grain: &[f32], wobble: &[f32], height: usize, width: usize) {
    let reach = cell.body.long * GLOW_REACH;
    let per_reach2 = 1.0 / (reach * reach);
    let rows = span(cell.y, reach, height);
    let columns = span(cell.x, reach, width);
    for row in rows {
        let dy = row as f32 - cell.y;
        for column in columns.clone() {
            let dx = column as f32 - cell.x;
            let far = 1.0 - (dy * dy + dx * dx) * per_reach2;
            if far <= 0.0 {
                continue;
            }
            let at = row * width + column;
            let mut sum = stain.glow * cell.cytoplasm_gain * far * far * far;
            // Wobbling the distance makes outlines uneven.
            let body = 1.0 - cell.body.distance2(dy, dx) * (1.0 + 0.45 * wobble[at]);
            if body > 0.0 {
                let nucleus = ease((1.0 - cell.nucleus.distance2(dy, dx)) * 2.5);
                let dome = body * (0.35 + 0.65 * body);
                sum += grain[at]
                    * (stain.cytoplasm * cell.cytoplasm_gain * dome * (1.0 - stain.hole * nucleus)
                        + stain.nucleus * cell.nucleus_gain * nucleus);
            }
            light[at] += sum;
        }
    }
}

fn span(centre: f32, reach: f32, size: usize) -> std::ops::Range<usize> {
    let first = (centre - reach).max(0.0) as usize;
    let end = ((centre + reach) as usize + 1).min(size);
    first.min(end)..end
}

/// Light to counts: background, vignette, shot and read noise, rounding, saturation.
fn expose(random: &mut Random, light: &[f32], stain: &Stain, height: usize, width: usize) -> Vec<u16> {
    let (middle_y, middle_x) = (height as f32 / 2.0, width as f32 / 2.0);
    let per_corner2 = 1.0 / (middle_y * middle_y + middle_x * middle_x);
    let mut counts = Vec::with_capacity(light.len());
    for (row, line) in light.chunks_exact(width).enumerate() {
        let dy = row as f32 - middle_y;
        for (column, light) in line.iter().enumerate() {
            let dx = column as f32 - middle_x;
            let shade = 1.0 - VIGNETTE * (dy * dy + dx * dx) * per_corner2;
            let mean = (stain.background + light) * shade;
            let noisy = mean + (READ + PER_COUNT * mean).sqrt() * random.normal();
            // `as` saturates: below 0 becomes 0, above 65,535 becomes 65,535.
            counts.push((noisy + 0.5) as u16);
        }
    }
    counts
}
