//! All cases in one number: the geometric mean of their ratios.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::rows::Draft;
use super::sides::Sides;
use crate::stats::{self, Interval};

/// The geometric mean of the ratios of the gating cases that both sides measured. It speaks of these cases as they are,
/// not of others like them.
#[derive(Debug, Clone, Serialize)]
pub struct Overall {
    /// The values that were compared, base and new, where several were: `npy:mmap`, `hdf5:contiguous`.
    pub of: Option<[String; 2]>,
    /// Number of cases.
    pub cases: usize,
    /// Geometric mean of their ratios; above 1: new is slower.
    pub ratio: f64,
    /// Its interval at level 1 − alpha; none where fewer than two blocks have every case.
    pub interval: Option<Interval>,
    /// Blocks that the interval rests on, of the side with fewer.
    pub blocks: usize,
}

/// The geometric mean over some rows, if there are two or more.
///
/// Its interval takes the block for the unit of replication: the mean log over all cases is one value of a block, so
/// that what moves all cases of a block together is in the interval. Where blocks lack cases, only the complete ones
/// count for the interval; the ratio is over every run.
pub(super) fn overall(drafts: &[Draft], paired: bool, of: Option<[String; 2]>, alpha: f64) -> Option<Overall> {
    let tested: Vec<(&Sides, f64)> = drafts
        .iter()
        .filter(|draft| draft.row.gates)
        .filter_map(|draft| Some((draft.sides.as_ref()?, draft.test.as_ref()?.log)))
        .collect();
    if tested.len() < 2 {
        return None;
    }
    let ratio = (tested.iter().map(|(_, log)| log).sum::<f64>() / tested.len() as f64).exp();
    let logs: Option<Vec<[BTreeMap<u32, f64>; 2]>> = tested.iter().map(|(sides, _)| sides.logs()).collect();
    let (interval, blocks) = logs.map_or((None, 0), |logs| interval(&logs, paired, alpha));
    Some(Overall { of, cases: tested.len(), ratio, interval, blocks })
}

fn interval(logs: &[[BTreeMap<u32, f64>; 2]], paired: bool, alpha: f64) -> (Option<Interval>, usize) {
    let complete = |side: usize| -> BTreeSet<u32> {
        let mut blocks: BTreeSet<u32> = logs[0][side].keys().copied().collect();
        logs.iter().for_each(|case| blocks.retain(|block| case[side].contains_key(block)));
        blocks
    };
    let (mut base, mut new) = (complete(0), complete(1));
    if paired {
        base.retain(|block| new.contains(block));
        new.clone_from(&base);
    }
    // Back to times, so that the tests of single cases serve here too.
    let times = |side: usize, blocks: &BTreeSet<u32>| -> Vec<f64> {
        let mean = |block: &u32| logs.iter().map(|case| case[side][block]).sum::<f64>() / logs.len() as f64;
        blocks.iter().map(|block| mean(block).exp()).collect()
    };
    let (base_times, new_times) = (times(0, &base), times(1, &new));
    let test =
        if paired { stats::paired_log(&base_times, &new_times) } else { stats::welch_log(&base_times, &new_times) };
    (test.and_then(|test| test.interval(1.0 - alpha)), base.len().min(new.len()))
}
