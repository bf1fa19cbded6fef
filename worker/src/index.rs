//! Which objects a run reads, in what order: a pure function of object table, pattern and seed, and so the same for
//! every format, variant and layout.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::Range;

use pcb_formats::{ObjectTable, Site};
use pcb_protocol::Pattern;
use sha2::{Digest, Sha256};

use crate::seed::{Draw, Purpose};

/// Neighbours in table order that [`Pattern::Contiguous`] reads in one run.
pub const RUN_OF_NEIGHBOURS: usize = 32;

/// An index list: for each sample the rows of the object table it reads, one or two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Index {
    views: usize,
    /// `views` rows a sample.
    rows: Vec<u32>,
}

impl Index {
    /// The list of `samples` samples, or of every object once where `samples` is 0. A list longer than the table goes
    /// on with further passes, each shuffled anew; a shorter one is the beginning. Empty for an empty table.
    pub fn build(table: &ObjectTable, sites: &[Site], pattern: Pattern, seed: u64, samples: u64) -> Self {
        let objects = table.rows.len();
        let views = pattern.views();
        let samples = if samples == 0 { objects } else { samples as usize };
        if objects == 0 {
            return Self { views, rows: Vec::new() };
        }
        let groups = Groups::new(table, sites, pattern);
        let mut rows = Vec::with_capacity(samples * views);
        for pass in 0.. {
            groups.pass(pattern, &mut Draw::new(seed, Purpose::Index, pass, 0), &mut rows);
            if rows.len() >= samples * views {
                break;
            }
        }
        rows.truncate(samples * views);
        rows.shrink_to_fit();
        Self { views, rows }
    }

    /// Number of samples.
    pub fn len(&self) -> usize {
        self.rows.len() / self.views
    }

    /// Whether there is nothing to read.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The rows of the object table that sample `position` reads, one for each view.
    #[inline]
    pub fn objects(&self, position: usize) -> &[u32] {
        &self.rows[position * self.views..(position + 1) * self.views]
    }

    /// SHA-256 over the object ids in the order read, hex. Each id follows its length in bytes (u64, little-endian).
    pub fn digest(&self, table: &ObjectTable) -> String {
        let mut hash = Sha256::new();
        for &row in &self.rows {
            let id = table.rows[row as usize].id.as_bytes();
            hash.update((id.len() as u64).to_le_bytes());
            hash.update(id);
        }
        hash.finalize().iter().fold(String::with_capacity(64), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    }
}

/// The table's rows sorted so that every group of the pattern is one range.
struct Groups {
    order: Vec<u32>,
    ranges: Vec<Range<usize>>,
    /// Group of each row of the table; filled for [`Pattern::PairedWell`] alone.
    group_of: Vec<u32>,
}

impl Groups {
    fn new(table: &ObjectTable, sites: &[Site], pattern: Pattern) -> Self {
        let count = table.rows.len();
        let mut order: Vec<u32> = (0..count as u32).collect();
        match pattern {
            Pattern::Random | Pattern::PairedObject => {
                Self { order, ranges: (0..count).map(|row| row..row + 1).collect(), group_of: Vec::new() }
            }
            Pattern::Contiguous => {
                let ranges = (0..count).step_by(RUN_OF_NEIGHBOURS);
                let ranges = ranges.map(|first| first..(first + RUN_OF_NEIGHBOURS).min(count)).collect();
                Self { order, ranges, group_of: Vec::new() }
            }
            Pattern::Site | Pattern::Well | Pattern::PairedWell => {
                let wells = if pattern == Pattern::Site { (0..sites.len() as u32).collect() } else { wells(sites) };
                let group = |row: u32| wells[table.rows[row as usize].site as usize];
                // Stable: within a group the rows stay in table order.
                order.sort_by_key(|&row| group(row));
                let mut ranges: Vec<Range<usize>> = Vec::new();
                let mut group_of = vec![0; count];
                for (at, &row) in order.iter().enumerate() {
                    match ranges.last_mut() {
                        Some(last) if group(order[last.start]) == group(row) => last.end = at + 1,
                        _ => ranges.push(at..at + 1),
                    }
                    group_of[row as usize] = ranges.len() as u32 - 1;
                }
                Self { order, ranges, group_of }
            }
        }
    }

    /// Appends one pass over all objects.
    fn pass(&self, pattern: Pattern, draw: &mut Draw, rows: &mut Vec<u32>) {
        if pattern == Pattern::PairedWell {
            let mut order: Vec<u32> = (0..self.order.len() as u32).collect();
            draw.shuffle(&mut order);
            for row in order {
                rows.extend([row, self.another_of_its_group(row, draw)]);
            }
            return;
        }
        let mut ranges: Vec<u32> = (0..self.ranges.len() as u32).collect();
        draw.shuffle(&mut ranges);
        for range in ranges {
            for &row in &self.order[self.ranges[range as usize].clone()] {
                rows.extend(std::iter::repeat_n(row, pattern.views()));
            }
        }
    }

    /// A different row of the same group, or `row` itself where it is alone.
    fn another_of_its_group(&self, row: u32, draw: &mut Draw) -> u32 {
        let group = &self.order[self.ranges[self.group_of[row as usize] as usize].clone()];
        if group.len() == 1 {
            return row;
        }
        // One of the others, by leaving out the last and putting it in the place of `row`.
        let other = group[draw.below(group.len() - 1)];
        if other == row { group[group.len() - 1] } else { other }
    }
}

/// The well of each site as a number; plate and well name it together.
fn wells<'a>(sites: &'a [Site]) -> Vec<u32> {
    let mut numbers = BTreeMap::new();
    let number = |Site { plate, well, .. }: &'a Site| {
        let next = numbers.len() as u32;
        *numbers.entry((plate, well)).or_insert(next)
    };
    sites.iter().map(number).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use pcb_formats::Object;
    use proptest::prelude::*;

    use super::*;

    /// A table with these numbers of objects on sites that alternate between plates and wells.
    fn table(objects_of_site: &[usize]) -> (ObjectTable, Vec<Site>) {
        let site = |n: usize| Site {
            plate: format!("P{}", n / 8),
            well: format!("A0{}", n % 8 / 3),
            site: format!("{n}"),
            height: 64,
            width: 64,
            digest: String::new(),
            source: Vec::new(),
        };
        let sites = (0..objects_of_site.len()).map(site).collect();
        let on_site = |(site, &count): (usize, &usize)| {
            (0..count).map(move |n| Object {
                id: format!("{site}.{n}"),
                site: site as u32,
                y: 0.0,
                x: 0.0,
                bbox: [0; 4],
            })
        };
        (ObjectTable { rows: objects_of_site.iter().enumerate().flat_map(on_site).collect() }, sites)
    }

    fn sites_strategy() -> impl Strategy<Value = Vec<usize>> {
        prop::collection::vec(0..40_usize, 1..20).prop_filter("no objects", |sites| sites.iter().sum::<usize>() > 0)
    }

    fn pattern_strategy() -> impl Strategy<Value = Pattern> {
        prop::sample::select(Pattern::ALL.to_vec())
    }

    fn first_views(index: &Index) -> Vec<u32> {
        (0..index.len()).map(|sample| index.objects(sample)[0]).collect()
    }

    fn number_of_runs<K: PartialEq>(keys: impl Iterator<Item = K>) -> usize {
        let mut last = None;
        keys.fold(0, |runs, key| {
            let runs = runs + usize::from(last.as_ref() != Some(&key));
            last = Some(key);
            runs
        })
    }

    proptest! {
        #[test]
        fn every_pass_reads_every_object_once(sites in sites_strategy(), pattern in pattern_strategy(), seed: u64) {
            let (table, sites) = table(&sites);
            let n = table.rows.len();
            let index = Index::build(&table, &sites, pattern, seed, 2 * n as u64);
            prop_assert_eq!(index.len(), 2 * n);
            for pass in first_views(&index).chunks(n) {
                let mut sorted = pass.to_vec();
                sorted.sort_unstable();
                prop_assert_eq!(sorted, (0..n as u32).collect::<Vec<_>>());
            }
        }

        #[test]
        fn a_shorter_list_is_the_beginning_of_a_longer(sites in sites_strategy(), pattern in pattern_strategy(), seed: u64, samples in 1..200_u64) {
            let (table, sites) = table(&sites);
            let short = Index::build(&table, &sites, pattern, seed, samples);
            let long = Index::build(&table, &sites, pattern, seed, samples + 100);
            prop_assert_eq!(short.len() as u64, samples);
            prop_assert_eq!(&long.rows[..short.rows.len()], &short.rows[..]);
            prop_assert_eq!(short.digest(&table), Index::build(&table, &sites, pattern, seed, samples).digest(&table));
        }

        #[test]
        fn groups_stay_together(sites in sites_strategy(), seed: u64) {
            let (table, sites) = table(&sites);
            let site = |row: &u32| table.rows[*row as usize].site;
            let well = |row: &u32| (&sites[site(row) as usize].plate, &sites[site(row) as usize].well);
            let by_site = first_views(&Index::build(&table, &sites, Pattern::Site, seed, 0));
            prop_assert_eq!(number_of_runs(by_site.iter().map(site)), by_site.iter().map(site).collect::<BTreeSet<_>>().len());
            let by_well = first_views(&Index::build(&table, &sites, Pattern::Well, seed, 0));
            prop_assert_eq!(number_of_runs(by_well.iter().map(well)), by_well.iter().map(well).collect::<BTreeSet<_>>().len());
            let contiguous = first_views(&Index::build(&table, &sites, Pattern::Contiguous, seed, 0));
            prop_assert_eq!(
                number_of_runs(contiguous.iter().map(|row| row / RUN_OF_NEIGHBOURS as u32)),
                contiguous.len().div_ceil(RUN_OF_NEIGHBOURS)
            );
            // Table order within each run.
            prop_assert!(contiguous.windows(2).all(|pair| pair[1] == pair[0] + 1 || pair[1] % RUN_OF_NEIGHBOURS as u32 == 0));
        }

        #[test]
        fn pairs_are_of_one_object_or_one_well(sites in sites_strategy(), seed: u64) {
            let (table, sites) = table(&sites);
            let well = |row: u32| {
                let site = &sites[table.rows[row as usize].site as usize];
                (&site.plate, &site.well)
            };
            let same = Index::build(&table, &sites, Pattern::PairedObject, seed, 0);
            let other = Index::build(&table, &sites, Pattern::PairedWell, seed, 0);
            for sample in 0..same.len() {
                prop_assert_eq!(same.objects(sample)[0], same.objects(sample)[1]);
                let [a, b] = other.objects(sample) else { panic!("two views") };
                prop_assert_eq!(well(*a), well(*b));
                let alone = (0..table.rows.len() as u32).filter(|&row| well(row) == well(*a)).count() == 1;
                prop_assert_eq!(a == b, alone);
            }
        }
    }

    #[test]
    fn passes_and_seeds_differ() {
        let (table, sites) = table(&[50]);
        let rows = |seed| Index::build(&table, &sites, Pattern::Random, seed, 100).rows;
        assert_ne!(rows(1), rows(2));
        assert_ne!(rows(1)[..50], rows(1)[50..]);
    }

    #[test]
    fn partners_are_drawn_evenly() {
        let (table, sites) = table(&[4]);
        let index = Index::build(&table, &sites, Pattern::PairedWell, 5, 12_000);
        let mut seen = [[0; 4]; 4];
        for sample in 0..index.len() {
            let pair = index.objects(sample);
            seen[pair[0] as usize][pair[1] as usize] += 1;
        }
        for (row, counts) in seen.iter().enumerate() {
            for (other, &count) in counts.iter().enumerate() {
                // Five standard deviations of a binomial(3000, 1/3).
                let expected = if row == other { 0..1 } else { 870..1130 };
                assert!(expected.contains(&count), "{row} with {other}: {count}");
            }
        }
    }

    #[test]
    fn the_digest_tells_where_one_id_ends() {
        let object = |id: &str| Object { id: id.into(), site: 0, y: 0.0, x: 0.0, bbox: [0; 4] };
        let digest = |ids: [&str; 2]| {
            let table = ObjectTable { rows: ids.map(object).to_vec() };
            Index { views: 1, rows: vec![0, 1] }.digest(&table)
        };
        assert_ne!(digest(["ab", "c"]), digest(["a", "bc"]));
        // python: hashlib.sha256(struct.pack("<Q", 2) + b"ab" + struct.pack("<Q", 1) + b"c").hexdigest()
        assert_eq!(digest(["ab", "c"]), "43ee655579de01ca739b3f95c1c2d3f46d353b2c0df818064ea594506cdb2617");
    }
}
