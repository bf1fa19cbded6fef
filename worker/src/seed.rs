//! Seeded choices that stay the same on every machine and with every version of every crate: ChaCha8, and our own
//! few lines from its stream to a choice.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

/// What random numbers are drawn for. Each purpose has streams of its own, so that drawing more for one never moves
/// another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Order of objects; numbered by the pass.
    Index = 1,
    /// Samples kept for comparison.
    Kept = 2,
    /// Objects of the reference check.
    Check = 3,
    /// Parameters of transforms; numbered by epoch, sample and view.
    Transform = 4,
}

/// A stream of random choices.
#[derive(Debug, Clone)]
pub struct Draw(ChaCha8Rng);

impl Draw {
    /// The stream of `seed` for `purpose` with the numbers `a` and `b`.
    pub fn new(seed: u64, purpose: Purpose, a: u64, b: u64) -> Self {
        let mut key = [0; 32];
        for (bytes, word) in key.chunks_exact_mut(8).zip([seed, purpose as u64, a, b]) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        Self(ChaCha8Rng::from_seed(key))
    }

    /// A number in `0..n`; `n` at least 1. Its bias is below 2⁻³² for the largest table.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.0.next_u64()) * n as u128) >> 64) as usize
    }

    /// A number in `low..=high`.
    pub fn between(&mut self, low: f32, high: f32) -> f32 {
        // 24 bits: every value is exact in f32.
        let unit = (self.0.next_u32() >> 8) as f32 / (1 << 24) as f32;
        low + (high - low) * unit
    }

    /// Shuffles in place (Fisher-Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(seed: u64, purpose: Purpose, a: u64, b: u64) -> u64 {
        Draw::new(seed, purpose, a, b).0.next_u64()
    }

    #[test]
    fn every_part_of_the_key_counts() {
        let one = first(1, Purpose::Index, 0, 0);
        assert_eq!(one, first(1, Purpose::Index, 0, 0));
        for other in
            [(2, Purpose::Index, 0, 0), (1, Purpose::Kept, 0, 0), (1, Purpose::Index, 1, 0), (1, Purpose::Index, 0, 1)]
        {
            assert_ne!(one, first(other.0, other.1, other.2, other.3), "{other:?}");
        }
    }

    #[test]
    fn a_shuffle_is_pinned_so_that_old_index_digests_stay_true() {
        let mut items: Vec<u32> = (0..10).collect();
        Draw::new(7, Purpose::Index, 0, 0).shuffle(&mut items);
        assert_eq!(items, [3, 5, 6, 1, 7, 2, 4, 9, 0, 8]);
    }

    #[test]
    fn numbers_fill_their_range() {
        let mut draw = Draw::new(3, Purpose::Transform, 0, 0);
        let mut seen = [0; 5];
        for _ in 0..5000 {
            seen[draw.below(5)] += 1;
            let scale = draw.between(0.8, 1.2);
            assert!((0.8..=1.2).contains(&scale));
        }
        // Five standard deviations of a binomial(5000, 1/5).
        assert!(seen.iter().all(|&n| (860..1140).contains(&n)), "{seen:?}");
    }
}
