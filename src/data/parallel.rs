//! Numbered jobs on several threads; results come back in the jobs' order, whatever order they end in.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use super::{DataError, Progress, Step};

/// Does `job(0)` to `job(count - 1)` on up to `threads` threads (`None`: one for each usable CPU) and returns what they
/// return. The first error ends it once the jobs in work are done.
pub fn map<T: Send>(
    count: usize,
    threads: Option<usize>,
    label: &str,
    progress: &mut Progress<'_>,
    job: impl Fn(usize) -> Result<T, DataError> + Sync,
) -> Result<Vec<T>, DataError> {
    let usable = || thread::available_parallelism().map_or(1, NonZero::get);
    let threads = threads.unwrap_or_else(usable).clamp(1, count.max(1));
    let mut results: Vec<Option<T>> = (0..count).map(|_| None).collect();
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    progress(Step { label, done: 0, total: count as u64 });
    thread::scope(|scope| {
        for _ in 0..threads {
            let (sender, next, job) = (sender.clone(), &next, &job);
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    // A closed channel means that another job failed.
                    if index >= count || sender.send((index, job(index))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let receiver = receiver;
        for (done, (index, result)) in receiver.iter().enumerate() {
            results[index] = Some(result?);
            progress(Step { label, done: done as u64 + 1, total: count as u64 });
        }
        Ok::<(), DataError>(())
    })?;
    Ok(results.into_iter().flatten().collect())
}
