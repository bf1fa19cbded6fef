//! Durations in configs and on command lines.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::de::{Deserializer, Error, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// A duration, written `500ms`, `2s`, `1m 30s`; a bare number is seconds. At most ten years: sums of a few must not
/// overflow a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(Duration);

impl Span {
    /// Whole seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Self(Duration::from_secs(secs))
    }

    /// Milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(Duration::from_millis(millis))
    }

    fn checked(duration: Duration) -> Result<Self, String> {
        const LONGEST: Duration = Duration::from_secs(10 * 365 * 86_400);
        if duration <= LONGEST { Ok(Self(duration)) } else { Err("longer than ten years".to_owned()) }
    }

    /// As a standard duration.
    pub const fn get(self) -> Duration {
        self.0
    }

    /// In ns; 584 years and more are cut.
    pub fn ns(self) -> u64 {
        u64::try_from(self.0.as_nanos()).unwrap_or(u64::MAX)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        humantime::format_duration(self.0).fmt(f)
    }
}

impl FromStr for Span {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(seconds) = text.parse::<f64>() {
            return Duration::try_from_secs_f64(seconds).map_err(|e| e.to_string()).and_then(Self::checked);
        }
        let parsed = humantime::parse_duration(text);
        parsed.map_err(|e| format!("{text:?} is no duration ({e}); write 500ms, 2s, 5m")).and_then(Self::checked)
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SpanVisitor;
        impl Visitor<'_> for SpanVisitor {
            type Value = Span;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a duration like \"500ms\" or \"2s\", or a number of seconds")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Span, E> {
                text.parse().map_err(E::custom)
            }
            fn visit_i64<E: Error>(self, secs: i64) -> Result<Span, E> {
                self.visit_f64(secs as f64)
            }
            fn visit_f64<E: Error>(self, secs: f64) -> Result<Span, E> {
                Duration::try_from_secs_f64(secs).map_err(E::custom).and_then(|d| Span::checked(d).map_err(E::custom))
            }
        }
        deserializer.deserialize_any(SpanVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_read_what_people_write() {
        for (text, millis) in [("500ms", 500), ("2s", 2000), ("1m 30s", 90_000), ("0.25", 250), ("0s", 0)] {
            assert_eq!(text.parse::<Span>(), Ok(Span::from_millis(millis)), "{text}");
        }
        for text in ["", "soon", "-1", "5 parsecs", "nan", "1e19", "20y"] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
        assert_eq!("9y".parse::<Span>().map(Span::get).map(|d| d.as_secs() > 86_400), Ok(true));
        assert_eq!(Span::from_millis(1500).to_string().parse(), Ok(Span::from_millis(1500)));
    }
}
