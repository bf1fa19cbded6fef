//! Pixels in memory.

use pcb_protocol::Dtype;

/// A buffer of pixels, C order, native byte order.
#[derive(Debug, Clone, PartialEq)]
pub enum Pixels {
    /// 8-bit unsigned.
    U8(Vec<u8>),
    /// 16-bit unsigned.
    U16(Vec<u16>),
    /// 32-bit float.
    F32(Vec<f32>),
}

impl Pixels {
    /// `len` zeros.
    pub fn zeros(dtype: Dtype, len: usize) -> Self {
        match dtype {
            Dtype::U8 => Self::U8(vec![0; len]),
            Dtype::U16 => Self::U16(vec![0; len]),
            Dtype::F32 => Self::F32(vec![0.0; len]),
        }
    }

    /// Element type.
    pub fn dtype(&self) -> Dtype {
        match self {
            Self::U8(_) => Dtype::U8,
            Self::U16(_) => Dtype::U16,
            Self::F32(_) => Dtype::F32,
        }
    }

    /// Number of pixels.
    pub fn len(&self) -> usize {
        match self {
            Self::U8(v) => v.len(),
            Self::U16(v) => v.len(),
            Self::F32(v) => v.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The same memory as bytes.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::U8(v) => v,
            Self::U16(v) => bytemuck::cast_slice(v),
            Self::F32(v) => bytemuck::cast_slice(v),
        }
    }

    /// The same memory as bytes, to be written.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        match self {
            Self::U8(v) => v,
            Self::U16(v) => bytemuck::cast_slice_mut(v),
            Self::F32(v) => bytemuck::cast_slice_mut(v),
        }
    }

    /// Turns big-endian elements into little-endian ones and back.
    pub fn swap_bytes(&mut self) {
        match self {
            Self::U8(_) => {}
            Self::U16(v) => v.iter_mut().for_each(|x| *x = x.swap_bytes()),
            Self::F32(v) => v.iter_mut().for_each(|x| *x = f32::from_bits(x.to_bits().swap_bytes())),
        }
    }
}

/// All channels of one site: (C, Y, X).
#[derive(Debug, Clone, PartialEq)]
pub struct SitePixels {
    /// Number of channels.
    pub channels: usize,
    /// Height in pixels.
    pub height: usize,
    /// Width in pixels.
    pub width: usize,
    /// `channels * height * width` pixels.
    pub data: Pixels,
}
