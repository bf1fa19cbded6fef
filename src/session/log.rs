//! The tail of what a worker prints.

use std::collections::VecDeque;
use std::io::{PipeReader, Read};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Bytes kept.
const KEPT: usize = 4096;
/// Time to wait for the last bytes; a grandchild that keeps the pipe open must not hold us up.
const PATIENCE: Duration = Duration::from_millis(200);

/// A log that is being followed.
pub struct Log {
    tail: Arc<Mutex<VecDeque<u8>>>,
    done: Receiver<()>,
}

/// Reads `output` to its end in a thread of its own, however much comes, and keeps the tail.
pub fn follow(output: Option<PipeReader>) -> Log {
    let tail = Arc::new(Mutex::new(VecDeque::with_capacity(KEPT)));
    let (finished, done) = channel();
    let mine = Arc::clone(&tail);
    std::thread::spawn(move || {
        let mut buffer = vec![0u8; 1 << 16];
        if let Some(mut output) = output {
            while let Ok(read) = output.read(&mut buffer) {
                if read == 0 {
                    break;
                }
                let new = &buffer[read.saturating_sub(KEPT)..read];
                let mut kept = mine.lock().unwrap_or_else(PoisonError::into_inner);
                let excess = (kept.len() + new.len()).saturating_sub(KEPT);
                kept.drain(..excess);
                kept.extend(new);
            }
        }
        let _ = finished.send(());
    });
    Log { tail, done }
}

impl Log {
    /// What was kept, as text; bytes that are no UTF-8 are replaced.
    pub fn tail(self) -> String {
        let _ = self.done.recv_timeout(PATIENCE);
        let kept: Vec<u8> = self.tail.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect();
        String::from_utf8_lossy(&kept).trim().to_owned()
    }
}
