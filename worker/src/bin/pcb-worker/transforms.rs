//! What happens to a crop after it was read: the transform tiers, on f32 tensors. One file a tier.

mod light;
mod typical;

use pcb_protocol::Tier;

use crate::tensor::{Tensor, TensorError};
use pcb_worker::seed::{Draw, Purpose};

/// What random choices of a transform depend on: they are the same for every format, and differ between epochs,
/// samples and views.
#[derive(Debug, Clone, Copy)]
pub struct Chance {
    /// Seed of the run.
    pub seed: u64,
    /// Pass over the index list.
    pub epoch: u64,
    /// Sample within the index list.
    pub position: usize,
    /// View of the sample: 0 or 1.
    pub view: usize,
}

impl Chance {
    fn draw(self) -> Draw {
        Draw::new(self.seed, Purpose::Transform, self.epoch, 2 * self.position as u64 + self.view as u64)
    }
}

/// Applies a tier to one (C, Y, X) crop.
#[inline]
pub fn apply(tier: Tier, crop: Tensor, chance: Chance) -> Result<Tensor, TensorError> {
    match tier {
        Tier::None => Ok(crop),
        Tier::Light => light::apply(crop),
        Tier::Typical => typical::apply(crop, chance),
    }
}

/// Shape of what a tier hands out for a crop of `shape`.
pub fn output_shape(tier: Tier, shape: [usize; 3]) -> [usize; 3] {
    match tier {
        Tier::None => shape,
        Tier::Light => light::output_shape(shape),
        Tier::Typical => typical::output_shape(shape),
    }
}

/// Keeps a channel of one value from becoming a division by zero.
const EPSILON: f64 = 1e-6;

#[cfg(test)]
mod tests;
