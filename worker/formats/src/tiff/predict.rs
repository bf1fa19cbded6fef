//! Predictors, there and back, on rows of numbers in native byte order.

use crate::raw::grown;

use super::compression::Predictor;

impl Predictor {
    /// Turns `row`, of numbers of `size` bytes (1, 2 or 4), into what is stored. `scratch` grows once and is reused.
    pub fn apply(self, row: &mut [u8], size: usize, scratch: &mut Vec<u8>) {
        match (self, size) {
            (Self::None, _) => {}
            (Self::Horizontal, 1) => differences(row, u8::from_ne_bytes, u8::to_ne_bytes, u8::wrapping_sub),
            (Self::Horizontal, 2) => differences(row, u16::from_ne_bytes, u16::to_ne_bytes, u16::wrapping_sub),
            (Self::Horizontal, _) => differences(row, u32::from_ne_bytes, u32::to_ne_bytes, u32::wrapping_sub),
            (Self::Float, _) => {
                let sorted = grown(scratch, row.len());
                let count = row.len() / 4;
                for (i, float) in row.as_chunks().0.iter().enumerate() {
                    for (weight, byte) in u32::from_ne_bytes(*float).to_be_bytes().into_iter().enumerate() {
                        sorted[weight * count + i] = byte;
                    }
                }
                row.copy_from_slice(sorted);
                differences(row, u8::from_ne_bytes, u8::to_ne_bytes, u8::wrapping_sub);
            }
        }
    }

    /// Turns what is stored of `row` back into its numbers.
    pub fn undo(self, row: &mut [u8], size: usize, scratch: &mut Vec<u8>) {
        match (self, size) {
            (Self::None, _) => {}
            (Self::Horizontal, 1) => sums(row, u8::from_ne_bytes, u8::to_ne_bytes, u8::wrapping_add),
            (Self::Horizontal, 2) => sums(row, u16::from_ne_bytes, u16::to_ne_bytes, u16::wrapping_add),
            (Self::Horizontal, _) => sums(row, u32::from_ne_bytes, u32::to_ne_bytes, u32::wrapping_add),
            (Self::Float, _) => {
                sums(row, u8::from_ne_bytes, u8::to_ne_bytes, u8::wrapping_add);
                let sorted = grown(scratch, row.len());
                sorted.copy_from_slice(row);
                let (high, low) = sorted.split_at(row.len() / 2);
                let ((a, b), (c, d)) = (high.split_at(high.len() / 2), low.split_at(low.len() / 2));
                for (float, (((&a, &b), &c), &d)) in row.as_chunks_mut().0.iter_mut().zip(a.iter().zip(b).zip(c).zip(d))
                {
                    *float = u32::from_be_bytes([a, b, c, d]).to_ne_bytes();
                }
            }
        }
    }
}

fn differences<T: Copy + Default, const N: usize>(
    row: &mut [u8],
    from: impl Fn([u8; N]) -> T,
    to: impl Fn(T) -> [u8; N],
    subtract: impl Fn(T, T) -> T,
) {
    let mut left = T::default();
    for number in row.as_chunks_mut().0 {
        let value = from(*number);
        *number = to(subtract(value, left));
        left = value;
    }
}

fn sums<T: Copy + Default, const N: usize>(
    row: &mut [u8],
    from: impl Fn([u8; N]) -> T,
    to: impl Fn(T) -> [u8; N],
    add: impl Fn(T, T) -> T,
) {
    let mut sum = T::default();
    for number in row.as_chunks_mut().0 {
        sum = add(sum, from(*number));
        *number = to(sum);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_bytes_are_those_of_the_specification() {
        let mut row = [3_u16, 5, 4, 65535, 1].map(u16::to_ne_bytes).concat();
        Predictor::Horizontal.apply(&mut row, 2, &mut Vec::new());
        assert_eq!(row, [3_u16, 2, 65535, 65531, 2].map(u16::to_ne_bytes).concat());
        // TIFF Technical Note 3: bytes of the highest weight first, whatever the byte order of the file.
        let mut row = [f32::from_bits(0x0102_0304), f32::from_bits(0x1122_3344)].map(f32::to_ne_bytes).concat();
        Predictor::Float.apply(&mut row, 4, &mut Vec::new());
        assert_eq!(row, [0x01, 0x10, 0xf1, 0x20, 0xe1, 0x30, 0xd1, 0x40]);
    }

    proptest! {
        #[test]
        fn undoing_gives_the_row_back(numbers in prop::collection::vec(any::<u32>(), 0..50)) {
            let row: Vec<u8> = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
            let mut scratch = Vec::new();
            for (predictor, size) in [
                (Predictor::None, 2),
                (Predictor::Horizontal, 1),
                (Predictor::Horizontal, 2),
                (Predictor::Horizontal, 4),
                (Predictor::Float, 4),
            ] {
                let mut there = row.clone();
                predictor.apply(&mut there, size, &mut scratch);
                predictor.undo(&mut there, size, &mut scratch);
                prop_assert_eq!(&there, &row);
            }
        }
    }
}
