//! `typical`: augmentation as in training on cells. A random crop of 7/8 of each side, flips, a quarter turn (a half
//! turn where the crop is not square), each channel standardised by its own mean and standard deviation, then its
//! intensity jittered: scaled by 0.8…1.2 and shifted by up to a tenth of its standard deviation.
//!
//! Jitter comes last: standardising would undo it.

use crate::tensor::{Tensor, TensorError};
use pcb_worker::seed::Draw;

use super::Chance;

pub(super) fn apply(crop: Tensor, chance: Chance) -> Result<Tensor, TensorError> {
    let shape = crop.shape();
    Choice::draw(&mut chance.draw(), shape).apply(crop, output_shape(shape))
}

pub(super) fn output_shape([channels, height, width]: [usize; 3]) -> [usize; 3] {
    [channels, kept(height), kept(width)]
}

/// What is left of a side: 7/8, at least one pixel.
fn kept(side: usize) -> usize {
    (side * 7 / 8).max(1)
}

/// Everything that chance decides about one crop.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Choice {
    pub(super) y: usize,
    pub(super) x: usize,
    pub(super) flip_rows: bool,
    pub(super) flip_columns: bool,
    /// Quarter turns counter-clockwise.
    pub(super) quarters: i64,
    /// For each channel.
    pub(super) scale: Vec<f32>,
    /// For each channel, in standard deviations.
    pub(super) shift: Vec<f32>,
}

impl Choice {
    pub(super) fn draw(draw: &mut Draw, [channels, height, width]: [usize; 3]) -> Self {
        Self {
            y: draw.below(height - kept(height) + 1),
            x: draw.below(width - kept(width) + 1),
            flip_rows: draw.below(2) == 1,
            flip_columns: draw.below(2) == 1,
            quarters: if height == width { draw.below(4) as i64 } else { 2 * draw.below(2) as i64 },
            scale: (0..channels).map(|_| draw.between(0.8, 1.2)).collect(),
            shift: (0..channels).map(|_| draw.between(-0.1, 0.1)).collect(),
        }
    }

    fn apply(&self, crop: Tensor, [_, height, width]: [usize; 3]) -> Result<Tensor, TensorError> {
        let mut crop = crop.crop(self.y, self.x, height, width)?;
        if self.flip_rows {
            crop = crop.flip_rows()?;
        }
        if self.flip_columns {
            crop = crop.flip_columns()?;
        }
        if self.quarters != 0 {
            crop = crop.turn(self.quarters)?;
        }
        // Before the arithmetic, which is faster on rows that lie one after the other.
        crop.contiguous()?.standardise(super::EPSILON)?.scale_and_shift(&self.scale, &self.shift)
    }
}
