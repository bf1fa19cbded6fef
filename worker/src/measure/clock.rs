//! The clock.

use std::time::Instant;

/// A moment of the monotonic clock.
#[derive(Debug, Clone, Copy)]
pub struct Moment(Instant);

impl Moment {
    /// Now. As an `Instant`, whose pair of seconds and nanoseconds is made into a number with the clock stopped.
    #[inline(always)]
    pub fn now() -> Self {
        Self(Instant::now())
    }

    /// Nanoseconds since `earlier`.
    #[inline(always)]
    pub fn since(self, earlier: Self) -> u64 {
        let passed = self.0 - earlier.0;
        passed.as_secs() * 1_000_000_000 + u64::from(passed.subsec_nanos())
    }
}
