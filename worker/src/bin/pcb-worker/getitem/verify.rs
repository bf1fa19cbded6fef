//! Compares the samples kept from the timed pass with the reference pixels, after the clock has stopped.

use pcb_formats::Pixels;
use pcb_protocol::Tier;

use super::{Getitem, Handing, Views, widen};
use crate::tensor::Tensor;
use crate::transforms;
use pcb_worker::error::RunError;
use pcb_worker::measure::Place;
use pcb_worker::source::Source;

/// Difference that a transform may leave, relative and absolute: its order of additions is libtorch's own affair.
const TOLERANCE: f32 = 1e-4;

pub(super) struct Verified {
    /// Samples compared.
    pub(super) samples: u32,
    /// What differed first.
    pub(super) mismatch: Option<String>,
}

/// Stops at the first sample that differs.
pub(super) fn compare(source: &Source, step: &Getitem, kept: &[(Place, Views)]) -> Result<Verified, RunError> {
    let mut reference = source.reference();
    let mut verified = Verified { samples: 0, mismatch: None };
    for (place, views) in kept {
        verified.samples += 1;
        for (view, got) in [Some(&views.first), views.second.as_ref()].into_iter().flatten().enumerate() {
            let object = step.index.objects(place.position)[view];
            let stored = source.expected(&mut reference, object)?;
            let expected = hand_out(&step.handing, &stored, *place, view)?;
            verified.mismatch = difference(source, &step.handing, object, &expected.to_pixels()?, got)?;
            if verified.mismatch.is_some() {
                return Ok(verified);
            }
        }
    }
    Ok(verified)
}

/// What a right reader would have led to.
fn hand_out(handing: &Handing, stored: &Pixels, place: Place, view: usize) -> Result<Tensor, RunError> {
    let crop = Tensor::filled(handing.dtype, handing.shape, |memory| {
        if handing.stored == handing.dtype {
            memory.copy_from_slice(stored.bytes());
        } else {
            widen(stored, bytemuck::cast_slice_mut(memory));
        }
        Ok::<_, RunError>(())
    })?;
    handing.transform(crop, place, view)
}

fn difference(
    source: &Source,
    handing: &Handing,
    object: u32,
    expected: &Pixels,
    got: &Tensor,
) -> Result<Option<String>, RunError> {
    let id = &source.dataset().objects.rows[object as usize].id;
    let shape = transforms::output_shape(handing.tier, handing.shape);
    if got.shape() != shape {
        return Ok(Some(format!("object {id}: expected shape {shape:?}, got {:?}", got.shape())));
    }
    let got = got.to_pixels()?;
    let same = |at| match (expected, &got) {
        (Pixels::F32(expected), Pixels::F32(got)) if handing.tier != Tier::None => close(expected[at], got[at]),
        _ => same_bits(expected, &got, at),
    };
    let Some(at) = (0..expected.len()).find(|&at| !same(at)) else { return Ok(None) };
    let [_, height, width] = shape;
    let channel = source.channels()[at / (height * width)];
    let (row, column) = (at / width % height, at % width);
    let (expected, got) = (text(expected, at), text(&got, at));
    Ok(Some(format!("object {id:?}, channel {channel}, row {row}, column {column}: expected {expected}, got {got}")))
}

/// Whether both have the same bits at one offset: a NaN must survive as it is.
fn same_bits(a: &Pixels, b: &Pixels, at: usize) -> bool {
    let pixel = a.dtype().size();
    let range = at * pixel..(at + 1) * pixel;
    a.dtype() == b.dtype() && a.bytes()[range.clone()] == b.bytes()[range]
}

fn text(pixels: &Pixels, at: usize) -> String {
    match pixels {
        Pixels::U8(pixels) => pixels[at].to_string(),
        Pixels::U16(pixels) => pixels[at].to_string(),
        Pixels::F32(pixels) => pixels[at].to_string(),
    }
}

/// Within the tolerance; two that are not a number are the same.
fn close(expected: f32, got: f32) -> bool {
    if expected.is_finite() && got.is_finite() {
        (expected - got).abs() <= TOLERANCE + TOLERANCE * expected.abs()
    } else {
        expected == got || (expected.is_nan() && got.is_nan())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_is_relative_for_large_and_absolute_for_small_numbers() {
        assert!(close(1000.0, 1000.09) && !close(1000.0, 1000.11));
        assert!(close(0.0, 0.00009) && !close(0.0, 0.00011));
        assert!(close(f32::NAN, f32::NAN) && !close(f32::NAN, 0.0) && !close(0.0, f32::NAN));
        assert!(close(f32::INFINITY, f32::INFINITY) && !close(f32::INFINITY, f32::NEG_INFINITY));
    }
}
