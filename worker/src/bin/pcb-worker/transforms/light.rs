//! `light`: what a pretrained network needs. Each channel of the crop is standardised by its own mean and standard
//! deviation, then the crop is resized to 224 x 224 (bilinear, no antialiasing).

use crate::tensor::{Tensor, TensorError};

const SIDE: usize = 224;

pub(super) fn apply(crop: Tensor) -> Result<Tensor, TensorError> {
    crop.standardise(super::EPSILON)?.resize(SIDE, SIDE)
}

pub(super) fn output_shape([channels, _, _]: [usize; 3]) -> [usize; 3] {
    [channels, SIDE, SIDE]
}
