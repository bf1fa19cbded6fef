//! Band-limited noise: random values on a coarse grid, interpolated smoothly.

use super::random::Random;

/// A plane of noise in [-1, 1], row by row. Its details are about `spacing` pixels wide.
pub fn plane(random: &mut Random, height: usize, width: usize, spacing: f32) -> Vec<f32> {
    let columns = steps(width, spacing);
    let rows = steps(height, spacing);
    let stride = last(&columns) + 2;
    let lattice: Vec<f32> = (0..stride * (last(&rows) + 2)).map(|_| random.between(-1.0, 1.0)).collect();
    let mut out = Vec::with_capacity(height * width);
    let mut line = vec![0.0; stride];
    for &(row, down) in &rows {
        let above = &lattice[row * stride..(row + 1) * stride];
        let below = &lattice[(row + 1) * stride..(row + 2) * stride];
        for ((value, a), b) in line.iter_mut().zip(above).zip(below) {
            *value = a + (b - a) * down;
        }
        out.extend(columns.iter().map(|&(column, right)| line[column] + (line[column + 1] - line[column]) * right));
    }
    out
}

/// For each pixel the grid point before it and how far it is on the way to the next, eased so that slopes are
/// continuous.
fn steps(length: usize, spacing: f32) -> Vec<(usize, f32)> {
    (0..length)
        .map(|i| {
            let at = i as f32 / spacing;
            let cell = at as usize;
            (cell, ease(at - cell as f32))
        })
        .collect()
}

fn last(steps: &[(usize, f32)]) -> usize {
    steps.last().map_or(0, |step| step.0)
}

/// 0 at 0 and below, 1 at 1 and above, level at both ends.
pub fn ease(t: f32) -> f32 {
    let t = t.clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}
