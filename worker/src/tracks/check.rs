//! The reference check: crops read through a format, compared with the reference pixels. Not timed.

use pcb_formats::ObjectTable;
use pcb_protocol::{Checked, Event, Finished, ReadJob};

use crate::error::RunError;
use crate::seed::{Draw, Purpose};
use crate::serve::Measure;
use crate::source::Source;

/// Gets ready to compare `read.samples` crops, or all where that is 0.
pub fn prepare(seed: u64, read: &ReadJob) -> Result<Measure, RunError> {
    let source = Source::find(read)?;
    let chosen = choose(&source.dataset().objects, seed, read.samples);
    Ok(Box::new(move |send| {
        let mismatch = source.check(&chosen)?;
        send(Event::Checked(Checked { samples: chosen.len() as u64, mismatch }))?;
        Ok(Finished::default())
    }))
}

/// `samples` objects by the seed, as evenly over the sites as they are, in table order so that the reference of a
/// site is read once.
fn choose(table: &ObjectTable, seed: u64, samples: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..table.rows.len()).collect();
    if samples == 0 {
        return order;
    }
    Draw::new(seed, Purpose::Check, 0, 0).shuffle(&mut order);
    // First every site's first, then every site's second, and so on.
    let sites = table.rows.iter().map(|object| object.site as usize + 1).max().unwrap_or(0);
    let mut taken = vec![0_u32; sites];
    let mut ranked: Vec<(u32, usize)> = Vec::with_capacity(order.len());
    for object in order {
        let rank = &mut taken[table.rows[object].site as usize];
        ranked.push((*rank, object));
        *rank += 1;
    }
    ranked.sort_by_key(|&(rank, _)| rank);
    let mut chosen: Vec<usize> = ranked.into_iter().take(samples as usize).map(|(_, object)| object).collect();
    chosen.sort_unstable();
    chosen
}

#[cfg(test)]
mod tests {
    use pcb_formats::Object;

    use super::*;

    #[test]
    fn the_choice_is_spread_over_the_sites() {
        let object = |site| Object { id: String::new(), site, y: 0.0, x: 0.0, bbox: [0; 4] };
        let table = ObjectTable { rows: [0; 50].into_iter().chain([1; 3]).chain([2; 9]).map(object).collect() };
        let sites = |samples| {
            let mut count = [0; 3];
            for row in choose(&table, 1, samples) {
                count[table.rows[row].site as usize] += 1;
            }
            count
        };
        assert_eq!(sites(3), [1, 1, 1]);
        assert_eq!(sites(12), [5, 3, 4], "the small site gives all it has");
        assert_eq!(sites(0), [50, 3, 9]);
        assert_eq!(sites(1000), [50, 3, 9]);
        assert_ne!(choose(&table, 1, 5), choose(&table, 2, 5));
    }
}
