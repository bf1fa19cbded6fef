//! The getitem track: what `Dataset.__getitem__` does, one sample at a time. A crop is read straight into the memory
//! of a fresh tensor; integers that are wanted as f32 go through a reused buffer and keep their values.

mod verify;

use std::mem::size_of_val;

use pcb_formats::{ObjectTable, Pixels, Probe, Reader, Stage};
use pcb_protocol::{Dtype, Event, ReadJob, State, Tier};

use crate::tensor::{self, Tensor};
use crate::transforms::{self, Chance};
use pcb_worker::error::RunError;
use pcb_worker::index::Index;
use pcb_worker::measure::{self, Part, Place, Plan, Settle, Step, StoredBytes};
use pcb_worker::seed::{Draw, Purpose};
use pcb_worker::serve::Measure;
use pcb_worker::source::Source;

/// Steps on the decoy before `Armed`, at most.
const WARM_STEPS: usize = 200;

/// Time on the decoy before `Armed`, in ns, at most.
const WARM_NS: u64 = 50_000_000;

/// Memory of outputs kept for comparison, in bytes, at most (one is always kept).
const KEPT_BYTES: usize = 64 << 20;

/// Gets ready to time `read`: looks up what it names, builds the index list, warms the code on the decoy.
pub fn prepare(seed: u64, threads: u32, read: ReadJob) -> Result<Measure, RunError> {
    let no_gradients = tensor::set_up(threads);
    let source = Source::find(&read)?;
    let handing = Handing::new(&source, &read, seed)?;
    let dataset = source.dataset();
    let index =
        Index::build(&dataset.objects, &dataset.info.sites, read.pattern, seed, samples(&read, &dataset.objects));
    if read.warm_code {
        warm_code(&source.decoy()?, &read, &handing, seed)?;
    }
    let plan = plan(&read, seed, index.len(), read.pattern.views() * handing.bytes_out());
    let digest = index.digest(&dataset.objects);

    Ok(Box::new(move |send| {
        let _no_gradients = no_gradients;
        let index_len = index.len() as u64;
        let views = read.pattern.views();
        let measured = measure::run(&plan, || Getitem::open(&source, index, &handing), send)?;
        let mut finished = measured.finished;
        finished.items_per_sample = views as u32;
        finished.bytes_per_sample = (views * handing.bytes_out()) as u64;
        finished.index_len = index_len;
        finished.index_digest = digest;
        if source.variant().mapped {
            finished.counters.read_bytes = None;
        }
        send(Event::Measured)?;
        let verified = verify::compare(&source, &measured.step, &measured.kept)?;
        (finished.kept_checked, finished.kept_mismatch) = (verified.samples, verified.mismatch);
        Ok(finished)
    }))
}

/// Length of the index list; 0 is every object once. A cold run reads each object once at most: the second time it
/// would be warm.
fn samples(read: &ReadJob, objects: &ObjectTable) -> u64 {
    if read.state == State::Cold { read.samples.min(objects.rows.len() as u64) } else { read.samples }
}

fn plan(read: &ReadJob, seed: u64, len: usize, bytes_per_sample: usize) -> Plan {
    let cold = read.state == State::Cold;
    let settle = Settle { warmup: read.warmup, steady: read.steady, rate_ns: read.rate_ns, stages_ns: read.stages_ns };
    let keep = (read.kept_samples as usize).min((KEPT_BYTES / bytes_per_sample).max(1));
    Plan {
        len,
        first: read.first,
        observe_device: cold,
        keep: keep_positions(seed, len, keep),
        settle: (!cold).then_some(settle),
    }
}

/// `count` positions by the seed, sorted. The first sample is always among them: a pass that its cap ends early must
/// not go uncompared.
fn keep_positions(seed: u64, len: usize, count: usize) -> Vec<usize> {
    let mut positions: Vec<usize> = (0..len).collect();
    if len > 1 {
        Draw::new(seed, Purpose::Kept, 0, 0).shuffle(&mut positions[1..]);
    }
    positions.truncate(count);
    positions.sort_unstable();
    positions
}

fn warm_code(decoy: &Source, read: &ReadJob, handing: &Handing, seed: u64) -> Result<(), RunError> {
    let dataset = decoy.dataset();
    let index = Index::build(&dataset.objects, &dataset.info.sites, read.pattern, seed, 0);
    let len = index.len();
    measure::warm_code(&mut Getitem::open(decoy, index, handing)?, len, WARM_STEPS, WARM_NS)
}

/// How stored pixels become what is handed out.
#[derive(Debug, Clone)]
struct Handing {
    shape: [usize; 3],
    stored: Dtype,
    dtype: Dtype,
    tier: Tier,
    seed: u64,
}

impl Handing {
    /// Refuses what cannot be handed out, before anything is measured.
    fn new(source: &Source, read: &ReadJob, seed: u64) -> Result<Self, RunError> {
        let (stored, dtype) = (source.dtype(), read.crop.dtype);
        if dtype != stored && dtype != Dtype::F32 {
            return Err(RunError::Unsupported(format!(
                "{stored} pixels cannot be handed out as {dtype}: only as {stored} or f32"
            )));
        }
        if read.tier != Tier::None && dtype != Dtype::F32 {
            return Err(RunError::Unsupported(format!("tier {} needs f32, the crop is {dtype}", read.tier)));
        }
        Ok(Self { shape: source.shape(), stored, dtype, tier: read.tier, seed })
    }

    /// Bytes of one view handed out.
    fn bytes_out(&self) -> usize {
        transforms::output_shape(self.tier, self.shape).iter().product::<usize>() * self.dtype.size()
    }

    /// Bytes of one view as stored.
    fn bytes_stored(&self) -> usize {
        self.shape.iter().product::<usize>() * self.stored.size()
    }

    #[inline]
    fn transform(&self, crop: Tensor, place: Place, view: usize) -> Result<Tensor, RunError> {
        let Place { epoch, position } = place;
        Ok(transforms::apply(self.tier, crop, Chance { seed: self.seed, epoch, position, view })?)
    }
}

/// One sample: one view, or two of a pair.
struct Views {
    first: Tensor,
    second: Option<Tensor>,
}

struct Getitem {
    reader: Box<dyn Reader>,
    index: Index,
    handing: Handing,
    /// One crop as stored, where it is not read straight into the tensor.
    buffer: Pixels,
    bytes: StoredBytes,
}

impl Getitem {
    fn open(source: &Source, index: Index, handing: &Handing) -> Result<Self, RunError> {
        let reader = source.open()?;
        let pixels = if handing.stored == handing.dtype { 0 } else { handing.shape.iter().product() };
        let buffer = Pixels::zeros(handing.stored, pixels);
        Ok(Self { reader, index, handing: handing.clone(), buffer, bytes: StoredBytes::default() })
    }

    /// One view. `listen` is told the end of each part; a listener that does nothing vanishes in compilation.
    #[inline]
    fn view(&mut self, place: Place, view: usize, listen: &mut impl Listen) -> Result<Tensor, RunError> {
        let object = self.index.objects(place.position)[view] as usize;
        let Self { reader, buffer, handing, bytes, .. } = self;
        let crop = Tensor::filled(handing.dtype, handing.shape, |memory| {
            listen.ended(Part::Convert);
            let as_stored = handing.stored == handing.dtype;
            let into = if as_stored { &mut *memory } else { buffer.bytes_mut() };
            bytes.touched += listen.probed(|probe| reader.read(object, into, probe))?;
            bytes.used += handing.bytes_stored() as u64;
            if !as_stored {
                widen(buffer, bytemuck::cast_slice_mut(memory));
                listen.ended(Part::Convert);
            }
            Ok::<_, RunError>(())
        })?;
        let crop = self.handing.transform(crop, place, view)?;
        if self.handing.tier != Tier::None {
            listen.ended(Part::Transform);
        }
        Ok(crop)
    }

    #[inline]
    fn views(&mut self, place: Place, mut listen: impl Listen) -> Result<Views, RunError> {
        let first = self.view(place, 0, &mut listen)?;
        let paired = self.index.objects(place.position).len() > 1;
        let second = if paired { Some(self.view(place, 1, &mut listen)?) } else { None };
        Ok(Views { first, second })
    }
}

impl Step for Getitem {
    type Output = Views;

    #[inline]
    fn step(&mut self, place: Place) -> Result<Views, RunError> {
        self.views(place, Deaf)
    }

    fn instrumented(&mut self, place: Place, ended: &mut dyn FnMut(Part)) -> Result<Views, RunError> {
        self.views(place, Attentive(ended))
    }

    fn stored_bytes(&self) -> StoredBytes {
        self.bytes
    }
}

/// Hears the ends of a view's parts, or not.
trait Listen {
    fn ended(&mut self, part: Part);

    /// Runs a read with a probe that reports here.
    fn probed<T>(&mut self, read: impl FnOnce(&mut Probe<'_>) -> T) -> T;
}

struct Deaf;

impl Listen for Deaf {
    #[inline(always)]
    fn ended(&mut self, _: Part) {}

    #[inline(always)]
    fn probed<T>(&mut self, read: impl FnOnce(&mut Probe<'_>) -> T) -> T {
        read(&mut Probe::none())
    }
}

struct Attentive<'a>(&'a mut dyn FnMut(Part));

impl Listen for Attentive<'_> {
    fn ended(&mut self, part: Part) {
        (self.0)(part);
    }

    fn probed<T>(&mut self, read: impl FnOnce(&mut Probe<'_>) -> T) -> T {
        read(&mut Probe::new(&mut |stage| {
            self.ended(match stage {
                Stage::Read => Part::Read,
                Stage::Decode => Part::Decode,
                Stage::ReadDecode => Part::ReadDecode,
            });
        }))
    }
}

/// Integers as f32 of the same value. A plain loop: the compiler makes vector code of it, several times faster than
/// torch's own conversion, which knows no unsigned 16-bit integers.
fn widen(stored: &Pixels, out: &mut [f32]) {
    debug_assert_eq!(stored.len() * size_of::<f32>(), size_of_val(out));
    match stored {
        Pixels::U8(pixels) => out.iter_mut().zip(pixels).for_each(|(out, &pixel)| *out = f32::from(pixel)),
        Pixels::U16(pixels) => out.iter_mut().zip(pixels).for_each(|(out, &pixel)| *out = f32::from(pixel)),
        Pixels::F32(pixels) => out.copy_from_slice(pixels),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widening_keeps_values() {
        let mut out = [0.0; 3];
        widen(&Pixels::U16(vec![0, 40_000, 65_535]), &mut out);
        assert_eq!(out, [0.0, 40_000.0, 65_535.0]);
        widen(&Pixels::U8(vec![0, 128, 255]), &mut out);
        assert_eq!(out, [0.0, 128.0, 255.0]);
    }

    #[test]
    fn the_first_sample_is_always_kept() {
        for seed in 0..5 {
            let kept = keep_positions(seed, 1000, 8);
            assert_eq!((kept.len(), kept[0]), (8, 0));
            assert!(kept.is_sorted_by(|a, b| a < b));
        }
        assert_eq!(keep_positions(1, 3, 8), [0, 1, 2]);
        assert_eq!(keep_positions(1, 1, 1), [0]);
        assert!(keep_positions(1, 1000, 0).is_empty());
    }
}
