//! Randomised complete blocks: each has one run of every case, in an order shuffled from the seed.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::Step;

/// The steps of `repeats` blocks over `cases` and `builds`. Two builds of a case are neighbours, and which comes
/// first alternates by block (ABBA), so that drift hits both alike.
pub fn blocks(seed: u64, repeats: u32, cases: usize, builds: usize) -> Vec<Step> {
    let mut steps = Vec::with_capacity(repeats as usize * cases * builds);
    for block in 0..repeats {
        let mut order: Vec<usize> = (0..cases).collect();
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(u64::from(block) + 1);
        order.shuffle(&mut rng);
        let mut position = 0;
        for case in order {
            for turn in 0..builds {
                let build = if block % 2 == 0 { turn } else { builds - 1 - turn };
                steps.push(Step { block, position, case, build });
                position += 1;
            }
        }
    }
    steps
}
