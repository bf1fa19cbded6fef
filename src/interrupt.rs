//! Ctrl-C and SIGTERM, as a flag that the runner looks at and a call that wakes it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use nix::sys::signal::{SigSet, Signal};

use crate::cli::exit;

type Waker = Box<dyn Fn() + Send>;

/// Whether the user wants to stop.
#[derive(Clone, Default)]
pub struct Interrupt {
    stop: Arc<AtomicBool>,
    waker: Arc<Mutex<Option<Waker>>>,
}

impl Interrupt {
    /// Catches SIGINT and SIGTERM from now on. Call once, before any other thread is started: the signals are
    /// blocked in every thread and taken by one that only waits for them. A second signal ends the process at
    /// once; its worker dies with it.
    pub fn catch() -> nix::Result<Self> {
        let mut signals = SigSet::empty();
        signals.add(Signal::SIGINT);
        signals.add(Signal::SIGTERM);
        signals.thread_block()?;
        let interrupt = Self::default();
        let mine = interrupt.clone();
        std::thread::spawn(move || {
            while signals.wait().is_ok() {
                if mine.stop.swap(true, Ordering::SeqCst) {
                    std::process::exit(i32::from(exit::INTERRUPTED));
                }
                if let Some(wake) = &*mine.waker.lock().unwrap_or_else(PoisonError::into_inner) {
                    wake();
                }
            }
        });
        Ok(interrupt)
    }

    /// Whether a signal came.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// Calls `wake` when a signal comes, until the next call of this function.
    pub fn wake_by(&self, wake: impl Fn() + Send + 'static) {
        *self.waker.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(wake));
    }
}
