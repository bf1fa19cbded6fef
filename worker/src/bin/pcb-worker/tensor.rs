//! Tensors: the only file that knows tch, and the only one with `unsafe`.
//!
//! Operations take a [`Tensor`] and hand it on, so no two share memory. Only the fallible functions of tch are used: a refusal of libtorch is a [`TensorError`].

use pcb_formats::Pixels;
use pcb_protocol::Dtype;
use tch::{Device, Kind, TchError};

use pcb_worker::error::RunError;

/// libtorch refused, in its own words.
#[derive(Debug)]
pub struct TensorError(String);

impl From<TchError> for TensorError {
    fn from(error: TchError) -> Self {
        Self(error.to_string())
    }
}

impl From<TensorError> for RunError {
    fn from(error: TensorError) -> Self {
        Self::Torch(error.0)
    }
}

/// Gives libtorch `threads` threads and turns gradients off, for as long as what it returns lives.
pub fn set_up(threads: u32) -> impl Sized {
    tch::set_num_threads(i32::try_from(threads).unwrap_or(i32::MAX));
    tch::no_grad_guard()
}

/// A tensor in (C, Y, X) order on the CPU.
#[derive(Debug)]
pub struct Tensor(tch::Tensor);

impl Tensor {
    /// A fresh tensor from libtorch's allocator, its memory (C order) filled by `fill`. tch has no 16-bit unsigned
    /// kind: those are handed out as the same bits in `Int16`.
    #[inline]
    pub fn filled<E: From<TensorError>>(
        dtype: Dtype,
        shape: [usize; 3],
        fill: impl FnOnce(&mut [u8]) -> Result<(), E>,
    ) -> Result<Self, E> {
        let kind = match dtype {
            Dtype::U8 => Kind::Uint8,
            Dtype::U16 => Kind::Int16,
            Dtype::F32 => Kind::Float,
        };
        let size = shape.map(|size| size as i64);
        let tensor = tch::Tensor::f_empty(size, (kind, Device::Cpu)).map_err(TensorError::from)?;
        let len = shape.iter().product::<usize>() * dtype.size();
        if len > 0 {
            // SAFETY: a fresh CPU tensor is contiguous and holds `len` bytes from `data_ptr` on. They come from a
            // foreign allocator, so whatever they hold is a byte; nobody else knows of them, and `tensor` outlives
            // the slice.
            fill(unsafe { std::slice::from_raw_parts_mut(tensor.data_ptr().cast(), len) })?;
        }
        Ok(Self(tensor))
    }

    /// A fresh tensor with these f32 pixels.
    pub fn from_f32(shape: [usize; 3], pixels: impl IntoIterator<Item = f32>) -> Result<Self, TensorError> {
        Self::filled(Dtype::F32, shape, |memory| {
            memory.fill(0);
            for (to, from) in bytemuck::cast_slice_mut(memory).iter_mut().zip(pixels) {
                *to = from;
            }
            Ok(())
        })
    }

    /// Size of each of its three dimensions.
    pub fn shape(&self) -> [usize; 3] {
        let sizes = self.0.size();
        std::array::from_fn(|dimension| sizes.get(dimension).map_or(1, |&size| size as usize))
    }

    /// A copy of its pixels, C order; `Int16` comes back as the unsigned bits it was given.
    pub fn to_pixels(&self) -> Result<Pixels, TensorError> {
        let tensor = self.0.f_contiguous()?;
        let len = tensor.numel();
        match tensor.f_kind()? {
            Kind::Uint8 => {
                let mut pixels = vec![0; len];
                tensor.f_copy_data(&mut pixels, len)?;
                Ok(Pixels::U8(pixels))
            }
            Kind::Int16 => {
                let mut pixels = vec![0_i16; len];
                tensor.f_copy_data(&mut pixels, len)?;
                Ok(Pixels::U16(bytemuck::cast_slice(&pixels).to_vec()))
            }
            Kind::Float => {
                let mut pixels = vec![0.0; len];
                tensor.f_copy_data(&mut pixels, len)?;
                Ok(Pixels::F32(pixels))
            }
            other => Err(TensorError(format!("no pixels in a tensor of {other:?}"))),
        }
    }

    /// Per channel: minus its mean, over its standard deviation (of the population) plus `epsilon`; in place.
    pub fn standardise(mut self, epsilon: f64) -> Result<Self, TensorError> {
        let (mut deviation, mean) = self.0.f_var_mean_dim([1_i64, 2].as_slice(), false, true)?;
        let _ = deviation.f_sqrt_()?.f_add_scalar_(epsilon)?;
        let _ = self.0.f_sub_(&mean)?.f_div_(&deviation)?;
        Ok(self)
    }

    /// Per channel: times `scale`, plus `shift`; in place.
    pub fn scale_and_shift(mut self, scale: &[f32], shift: &[f32]) -> Result<Self, TensorError> {
        let channel = |values: &[f32]| Self::from_f32([values.len(), 1, 1], values.iter().copied());
        let _ = self.0.f_mul_(&channel(scale)?.0)?.f_add_(&channel(shift)?.0)?;
        Ok(self)
    }

    /// Bilinear to `height` x `width`, pixel centres aligned (torch's `align_corners=False`), without antialiasing.
    pub fn resize(self, height: usize, width: usize) -> Result<Self, TensorError> {
        let batch = self.0.f_unsqueeze(0)?;
        let resized = batch.f_upsample_bilinear2d([height as i64, width as i64], false, None, None)?;
        Ok(Self(resized.f_squeeze_dim(0)?))
    }

    /// Rows `y..y + height` and columns `x..x + width`.
    pub fn crop(self, y: usize, x: usize, height: usize, width: usize) -> Result<Self, TensorError> {
        let rows = self.0.f_narrow(1, y as i64, height as i64)?;
        Ok(Self(rows.f_narrow(2, x as i64, width as i64)?))
    }

    /// Mirrored top to bottom.
    pub fn flip_rows(self) -> Result<Self, TensorError> {
        Ok(Self(self.0.f_flip([1_i64])?))
    }

    /// Mirrored left to right.
    pub fn flip_columns(self) -> Result<Self, TensorError> {
        Ok(Self(self.0.f_flip([2_i64])?))
    }

    /// Turned by `quarters` times 90 degrees counter-clockwise.
    pub fn turn(self, quarters: i64) -> Result<Self, TensorError> {
        Ok(Self(self.0.f_rot90(quarters, [1_i64, 2])?))
    }

    /// The same pixels in C order; free where they are already.
    pub fn contiguous(self) -> Result<Self, TensorError> {
        Ok(Self(self.0.f_contiguous()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_come_back_as_they_were_given() {
        for pixels in [
            Pixels::U8(vec![0, 128, 255]),
            Pixels::U16(vec![0, 40_000, 65_535]),
            Pixels::F32(vec![-1.5, 0.0, f32::MAX]),
        ] {
            let fill = |memory: &mut [u8]| {
                memory.copy_from_slice(pixels.bytes());
                Ok::<_, TensorError>(())
            };
            let tensor = Tensor::filled(pixels.dtype(), [1, 1, 3], fill).expect("a small tensor");
            assert_eq!(tensor.to_pixels().expect("a known kind"), pixels);
            assert_eq!(tensor.shape(), [1, 1, 3]);
        }
    }

    #[test]
    fn a_view_comes_back_in_its_own_order() {
        let tensor = Tensor::from_f32([1, 2, 3], [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]).expect("a small tensor");
        let view = tensor.crop(0, 1, 2, 2).expect("inside");
        assert_eq!(view.to_pixels().expect("copied"), Pixels::F32(vec![1.0, 2.0, 4.0, 5.0]));
    }

    #[test]
    fn a_refusal_of_libtorch_is_an_error() {
        let tensor = Tensor::from_f32([1, 2, 2], []).expect("a small tensor");
        assert!(matches!(tensor.crop(0, 1, 2, 2), Err(TensorError(_))));
    }
}
