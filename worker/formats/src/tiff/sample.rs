//! Kinds of numbers that pages store. A dataset holds u8, u16 and f32; other whole numbers are handed out as f32 with
//! their values kept.

use pcb_protocol::Dtype;

/// One stored number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sample {
    U8,
    U16,
    U32,
    I8,
    I16,
    I32,
    F32,
}

impl Sample {
    /// The kind with this SampleFormat and these BitsPerSample; an error that says what it is instead.
    pub fn of(format: u64, bits: u64) -> Result<Self, String> {
        match (format, bits) {
            (1, 8) => Ok(Self::U8),
            (1, 16) => Ok(Self::U16),
            (1, 32) => Ok(Self::U32),
            (2, 8) => Ok(Self::I8),
            (2, 16) => Ok(Self::I16),
            (2, 32) => Ok(Self::I32),
            (3, 32) => Ok(Self::F32),
            _ => {
                let kind = match format {
                    1 => "unsigned integers",
                    2 => "signed integers",
                    3 => "floats",
                    _ => "samples of an unknown format",
                };
                Err(format!("{bits}-bit {kind}; pcb reads integers of 8, 16 and 32 bits, and f32"))
            }
        }
    }

    /// Bytes of one in the file.
    pub fn size(self) -> usize {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
        }
    }

    /// What it is handed out as.
    pub fn dtype(self) -> Dtype {
        match self {
            Self::U8 => Dtype::U8,
            Self::U16 => Dtype::U16,
            _ => Dtype::F32,
        }
    }

    /// Whether it is handed out with other bits than it is stored with.
    pub fn is_converted(self) -> bool {
        !matches!(self, Self::U8 | Self::U16 | Self::F32)
    }

    /// Turns `stored` numbers in native byte order into floats, also in native byte order, of which `out` holds as many.
    /// An error when a number is none that a float holds exactly.
    pub fn to_floats(self, stored: &[u8], out: &mut [u8]) -> Result<(), String> {
        match self {
            Self::I8 => convert(stored, out, |bytes| Ok(f32::from(i8::from_ne_bytes(bytes)))),
            Self::I16 => convert(stored, out, |bytes| Ok(f32::from(i16::from_ne_bytes(bytes)))),
            Self::U32 => convert(stored, out, |bytes| exact(u32::from_ne_bytes(bytes).into())),
            Self::I32 => convert(stored, out, |bytes| exact(i32::from_ne_bytes(bytes).into())),
            Self::U8 => convert(stored, out, |[byte]| Ok(f32::from(byte))),
            Self::U16 => convert(stored, out, |bytes| Ok(f32::from(u16::from_ne_bytes(bytes)))),
            Self::F32 => convert(stored, out, |bytes| Ok(f32::from_ne_bytes(bytes))),
        }
    }
}

/// `number` as a float, if there is one of exactly this value.
pub fn exact(number: i64) -> Result<f32, String> {
    let float = number as f32;
    if float as i64 == number { Ok(float) } else { Err(format!("a pixel of {number}, which no f32 is exactly")) }
}

fn convert<const N: usize>(
    stored: &[u8],
    out: &mut [u8],
    float: impl Fn([u8; N]) -> Result<f32, String>,
) -> Result<(), String> {
    for (&stored, out) in stored.as_chunks().0.iter().zip(out.as_chunks_mut().0) {
        *out = float(stored)?.to_ne_bytes();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_kept_or_refused() {
        let floats = |sample: Sample, stored: &[u8]| {
            let mut out = vec![0_u8; stored.len() / sample.size() * 4];
            sample.to_floats(stored, &mut out).map(|()| bytemuck::pod_collect_to_vec::<u8, f32>(&out))
        };
        assert_eq!(floats(Sample::I8, &[0x80, 0xff, 0, 96]), Ok(vec![-128.0, -1.0, 0.0, 96.0]));
        let bytes = |numbers: &[i16]| bytemuck::cast_slice::<i16, u8>(numbers).to_vec();
        assert_eq!(floats(Sample::I16, &bytes(&[i16::MIN, -7, i16::MAX])), Ok(vec![-32768.0, -7.0, 32767.0]));
        let bytes = |numbers: &[u32]| bytemuck::cast_slice::<u32, u8>(numbers).to_vec();
        assert_eq!(
            floats(Sample::U32, &bytes(&[3, 1 << 31, 0xffff_ff00])),
            Ok(vec![3.0, 2_147_483_648.0, 4_294_967_040.0])
        );
        assert_eq!(floats(Sample::I32, &bytes(&[(-16_777_216_i32) as u32])), Ok(vec![-16_777_216.0]));
        for (sample, number) in [(Sample::U32, 16_777_217), (Sample::U32, u32::MAX), (Sample::I32, i32::MAX as u32)] {
            let error = floats(sample, &bytes(&[1, number])).expect_err("not exact");
            assert!(error.contains(&number.to_string()), "{error}");
        }
    }
}
