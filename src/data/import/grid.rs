//! Centres on a regular grid with some jitter, for sites whose objects nobody has found.

use crate::data::make::Random;

/// Share of a grid cell, to each side, that a centre may lie off its middle.
const JITTER: f32 = 0.25;

/// `count` centres (row, column) spread over a site of `height` x `width` pixels, row by row.
pub fn centres(seed: u64, site: usize, height: u32, width: u32, count: usize) -> Vec<(f32, f32)> {
    let mut random = Random::placement(seed, site as u64);
    let (height, width) = (height as f32, width as f32);
    let rows = ((count as f32 * height / width).sqrt().round() as usize).clamp(1, count.max(1));
    let columns = count.div_ceil(rows);
    let mut out = Vec::with_capacity(count);
    for i in 0..count {
        let mut at = |index: usize, steps: usize, size: f32| {
            let step = size / steps as f32;
            let middle = (index as f32 + 0.5) * step;
            middle + random.between(-JITTER, JITTER) * step
        };
        out.push((at(i / columns, rows, height), at(i % columns, columns, width)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn centres_lie_inside_and_apart() {
        for count in [1, 2, 3, 7, 8, 60, 97] {
            let centres = centres(1, 0, 200, 300, count);
            assert_eq!(centres.len(), count);
            for (i, a) in centres.iter().enumerate() {
                assert!((0.0..200.0).contains(&a.0) && (0.0..300.0).contains(&a.1), "{a:?}");
                assert!(centres[..i].iter().all(|b| b != a));
            }
        }
    }
}
