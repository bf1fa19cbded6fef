//! Randomised complete blocks: each has one run of every case, in an order shuffled from the seed.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::Step;

/// The steps of one block over `cases` and `builds`. Two builds of a case are neighbours, and which comes first
/// alternates by block (ABBA), so that drift hits both alike.
pub fn block(seed: u64, block: u32, cases: usize, builds: usize) -> Vec<Step> {
    let mut order: Vec<usize> = (0..cases).collect();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(u64::from(block) + 1);
    order.shuffle(&mut rng);
    let pairs = order.into_iter().flat_map(|case| (0..builds).map(move |turn| (case, turn)));
    pairs
        .zip(0..)
        .map(|((case, turn), position)| {
            let build = if block.is_multiple_of(2) { turn } else { builds - 1 - turn };
            Step { block, position, case, build }
        })
        .collect()
}
