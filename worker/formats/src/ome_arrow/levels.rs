//! Repetition levels of a page: where its rows begin.
//!
//! The `parquet` crate skips rows by these levels, and never comes back from a page that has fewer than it promises. So
//! each page is counted before.

/// What the repetition levels of a page say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Levels {
    /// The first level: 0 where the page begins with a row.
    pub first: u64,
    /// Number of rows that begin in the page.
    pub rows: u32,
}

/// Counts the first `count` levels, at least 1, of a run-length and bit-packed hybrid of levels up to `max`. `None` when
/// there are fewer.
pub fn count(data: &[u8], max: i16, count: u32) -> Option<Levels> {
    let width = (u16::BITS - max.unsigned_abs().leading_zeros()) as usize;
    let mut data = data;
    let mut left = u64::from(count);
    let (mut first, mut rows) = (None, 0);
    while left > 0 {
        let header = varint(&mut data)?;
        if header & 1 == 0 {
            let (bytes, rest) = data.split_at_checked(width.div_ceil(8))?;
            data = rest;
            let level = bytes.iter().rev().fold(0, |level, &byte| level << 8 | u64::from(byte));
            let run = (header >> 1).min(left);
            // A run of nothing is padding: what follows is no level.
            if run == 0 {
                return None;
            }
            first.get_or_insert(level);
            rows += if level == 0 { run } else { 0 };
            left -= run;
            continue;
        }
        // Groups of eight levels; the last one may be cut short.
        let groups = header >> 1;
        let bytes = usize::try_from(groups.checked_mul(width as u64)?).ok()?.min(data.len());
        let packed = (bytes * 8 / width.max(1)) as u64;
        let run = packed.min(groups.checked_mul(8)?).min(left);
        if run == 0 {
            return None;
        }
        for index in 0..run as usize {
            let level = bits(data, index * width, width);
            first.get_or_insert(level);
            rows += u64::from(level == 0);
        }
        data = &data[bytes..];
        left -= run;
    }
    Some(Levels { first: first?, rows: rows as u32 })
}

/// `width` bits from bit `at` on, the lowest bit of a byte first; zeros past the end.
fn bits(data: &[u8], at: usize, width: usize) -> u64 {
    let byte = |index: usize| u64::from(data.get(at / 8 + index).copied().unwrap_or(0));
    // Levels have at most 15 bits, so three bytes hold one wherever it begins.
    let three = byte(0) | byte(1) << 8 | byte(2) << 16;
    three >> (at % 8) & ((1 << width) - 1)
}

/// A number of 7 bits a byte, the lowest first.
fn varint(data: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..63).step_by(7) {
        let (&byte, rest) = data.split_first()?;
        *data = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn put_varint(mut number: u64, out: &mut Vec<u8>) {
        while number >= 0x80 {
            out.push(number as u8 | 0x80);
            number >>= 7;
        }
        out.push(number as u8);
    }

    /// Levels up to 3 as runs of equal ones, or packed in groups of eight.
    fn encode(runs: &[(bool, Vec<u8>)]) -> (Vec<u8>, Vec<u8>) {
        let (mut data, mut levels) = (Vec::new(), Vec::new());
        for (packed, run) in runs {
            if !packed {
                put_varint((run.len() as u64) << 1, &mut data);
                data.push(run[0]);
                levels.extend(vec![run[0]; run.len()]);
                continue;
            }
            let groups = run.len().div_ceil(8);
            put_varint((groups as u64) << 1 | 1, &mut data);
            let padded: Vec<u8> = run.iter().copied().chain(std::iter::repeat(1)).take(groups * 8).collect();
            data.extend(padded.chunks(4).map(|four| four[0] | four[1] << 2 | four[2] << 4 | four[3] << 6));
            levels.extend(padded);
        }
        (data, levels)
    }

    proptest! {
        #[test]
        fn levels_are_counted_however_they_are_encoded(
            runs in prop::collection::vec((any::<bool>(), prop::collection::vec(0..3_u8, 1..40)), 1..8),
            share in 0.0..1.0_f64,
        ) {
            let (data, levels) = encode(&runs);
            let wanted = ((levels.len() as f64 * share) as usize).max(1);
            let rows = levels[..wanted].iter().filter(|&&level| level == 0).count() as u32;
            let expected = Levels { first: u64::from(levels[0]), rows };
            prop_assert_eq!(count(&data, 2, wanted as u32), Some(expected));
            prop_assert_eq!(count(&data, 2, levels.len() as u32 + 1), None);
        }

        #[test]
        fn any_bytes_are_counted_or_refused(data in prop::collection::vec(any::<u8>(), 0..60), max in 1..9_i16, n in 1..1_000_000_u32) {
            if let Some(levels) = count(&data, max, n) {
                prop_assert!(levels.rows <= n);
            }
        }
    }
}
