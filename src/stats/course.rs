//! What the course of a measurement was: flat, with a warm-up, or never steady.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::change_points::{change_points, without_outliers};
use super::{mad, mean_and_variance};

/// The class of a process, or of the processes of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// One level from the first value to the last.
    Flat,
    /// Slower at first.
    Warmup,
    /// Faster at first.
    Slowdown,
    /// Its level still changed near the end.
    Unsteady,
    /// Too few values to tell.
    Unclear,
    /// Only of a case: its processes differ in class.
    Mixed,
}

/// Values under which a class is a guess.
const FEWEST: usize = 200;

/// Difference of two levels that counts as none, as a share.
const TOLERANCE: f64 = 0.01;

/// Share of the series at its end within which no level may change.
const TAIL: f64 = 1.0 / 6.0;

/// Share of the series that a disturbance may last for.
const BURST: f64 = 0.05;

/// Consistency factor that makes a MAD estimate a normal standard deviation.
const MAD_TO_SD: f64 = 1.4826;

/// The course of one process.
#[derive(Debug, Clone, PartialEq)]
pub struct Course {
    /// Its class.
    pub class: Class,
    /// Index of the first value of the last level; 0 where the series is flat, none where it is unsteady or unclear.
    pub steady_from: Option<usize>,
}

/// Classifies a series of positive values, all of which cost the same but for noise.
///
/// After Barrett et al. (OOPSLA 2017): outliers are set aside, and change points ([`change_points`]) part the rest into
/// segments. The level of the end is that of the longest segment within the last sixth of the series (500 of 3,000
/// values there); a segment is equal to it if their means differ by no more than the tolerance, which is 1 % or the
/// spread of that segment (1.4826 MAD; their variance has the wrong unit), whichever is more. Unequal segments between
/// equal ones are a burst and no change of course while they last for less than a twentieth of the series. What is
/// unequal and ends within the last sixth makes the series unsteady; else one level below that of the end makes it a
/// slowdown; else one above a warm-up. Under 200 values the class is `Unclear`.
pub fn course(values: &[f64]) -> Course {
    classify(values, TOLERANCE).unwrap_or(Course { class: Class::Unclear, steady_from: None })
}

/// [`course`] with another least difference of levels, as a share.
pub fn classify(values: &[f64], tolerance: f64) -> Option<Course> {
    let n = values.len();
    if n < FEWEST || values.iter().any(|v| !v.is_finite()) {
        return None;
    }
    let kept = without_outliers(values);
    let series: Vec<f64> = kept.iter().map(|&place| values[place]).collect();
    let segments = segments(&series)?;
    let tail = n - (TAIL * n as f64) as usize;
    let in_tail = |segment: &&Segment| kept[segment.end - 1].saturating_sub(tail.max(kept[segment.start]));
    let end = segments.iter().max_by_key(in_tail)?;
    let tolerance = (tolerance * end.level).max(MAD_TO_SD * mad(&series[end.start..end.end])?);
    let excursions = excursions(&segments, end.level, tolerance, (BURST * n as f64) as usize);
    let Some(last) = excursions.last() else { return Some(Course { class: Class::Flat, steady_from: Some(0) }) };
    let steady_from = kept.get(last.end).copied().unwrap_or(n);
    if steady_from > tail {
        return Some(Course { class: Class::Unsteady, steady_from: None });
    }
    let faster = excursions.iter().any(|excursion| excursion.faster);
    let class = if faster { Class::Slowdown } else { Class::Warmup };
    Some(Course { class, steady_from: Some(steady_from) })
}

/// Values between two change points, and their mean.
struct Segment {
    start: usize,
    end: usize,
    level: f64,
}

fn segments(series: &[f64]) -> Option<Vec<Segment>> {
    let starts: Vec<usize> = std::iter::once(0).chain(change_points(series)).collect();
    let ends = starts.iter().skip(1).copied().chain([series.len()]);
    let segment = |(&start, end)| Some(Segment { start, end, level: mean_and_variance(&series[start..end])?.0 });
    starts.iter().zip(ends).map(segment).collect()
}

/// Neighbouring segments that are not at the level of the end.
struct Excursion {
    end: usize,
    /// Whether one of them is below it.
    faster: bool,
}

/// All of them but bursts, which have the level of the end on both sides and at most `burst` values.
fn excursions(segments: &[Segment], level: f64, tolerance: f64, burst: usize) -> Vec<Excursion> {
    let unequal = |segment: &Segment| (segment.level - level).abs() > tolerance;
    let n = segments.last().map_or(0, |segment| segment.end);
    let groups = segments.chunk_by(|a, b| unequal(a) == unequal(b)).filter(|group| unequal(&group[0]));
    let excursion = |group: &[Segment]| {
        let (start, end) = (group[0].start, group[group.len() - 1].end);
        let lasting = start == 0 || end == n || end - start > burst;
        let faster = group.iter().any(|segment| segment.level < level);
        lasting.then_some(Excursion { end, faster })
    };
    groups.filter_map(excursion).collect()
}

/// The class of a case from those of its runs: the one they share, else `Mixed`. Runs too short to tell do not count,
/// unless all are.
pub fn class_of_case(runs: &[Class]) -> Option<Class> {
    let mut told = runs.iter().copied().filter(|class| *class != Class::Unclear);
    match told.next() {
        Some(first) if told.all(|class| class == first) => Some(first),
        Some(_) => Some(Class::Mixed),
        None => runs.first().copied(),
    }
}

impl Class {
    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Flat => "flat",
            Self::Warmup => "warmup",
            Self::Slowdown => "slowdown",
            Self::Unsteady => "unsteady",
            Self::Unclear => "unclear",
            Self::Mixed => "mixed",
        }
    }
}
