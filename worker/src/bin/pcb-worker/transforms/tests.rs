//! Transforms against the same formulas in plain loops.

use pcb_formats::Pixels;

use super::*;
use crate::transforms::typical::Choice;

/// A (C, Y, X) image in f64.
struct Image {
    shape: [usize; 3],
    pixels: Vec<f64>,
}

impl Image {
    fn from_fn(shape: [usize; 3], pixel: impl Fn(usize, usize, usize) -> f64) -> Self {
        let [channels, height, width] = shape;
        let mut pixels = Vec::new();
        for c in 0..channels {
            for y in 0..height {
                pixels.extend((0..width).map(|x| pixel(c, y, x)));
            }
        }
        Self { shape, pixels }
    }

    fn at(&self, c: usize, y: usize, x: usize) -> f64 {
        self.pixels[(c * self.shape[1] + y) * self.shape[2] + x]
    }

    fn tensor(&self) -> Tensor {
        Tensor::from_f32(self.shape, self.pixels.iter().map(|&pixel| pixel as f32)).expect("a small tensor")
    }

    fn standardised(&self) -> Self {
        let area = (self.shape[1] * self.shape[2]) as f64;
        let channels: Vec<(f64, f64)> = self
            .pixels
            .chunks(self.shape[1] * self.shape[2])
            .map(|channel| {
                let mean = channel.iter().sum::<f64>() / area;
                let variance = channel.iter().map(|pixel| (pixel - mean).powi(2)).sum::<f64>() / area;
                (mean, variance.sqrt() + EPSILON)
            })
            .collect();
        Self::from_fn(self.shape, |c, y, x| (self.at(c, y, x) - channels[c].0) / channels[c].1)
    }

    /// The formula of torch's bilinear interpolation with `align_corners=False`.
    fn resized(&self, side: usize) -> Self {
        let [channels, height, width] = self.shape;
        let source = |at: usize, len: usize| {
            let place = ((at as f64 + 0.5) * len as f64 / side as f64 - 0.5).max(0.0);
            let low = (place as usize).min(len - 1);
            (low, (low + 1).min(len - 1), place - low as f64)
        };
        Self::from_fn([channels, side, side], |c, y, x| {
            let ((y0, y1, v), (x0, x1, u)) = (source(y, height), source(x, width));
            let row = |y| self.at(c, y, x0) * (1.0 - u) + self.at(c, y, x1) * u;
            row(y0) * (1.0 - v) + row(y1) * v
        })
    }
}

fn assert_close(tensor: &Tensor, expected: &Image) {
    assert_eq!(tensor.shape(), expected.shape);
    let Pixels::F32(got) = tensor.to_pixels().expect("a CPU tensor") else { panic!("f32 expected") };
    for (at, (&got, &expected)) in got.iter().zip(&expected.pixels).enumerate() {
        assert!((f64::from(got) - expected).abs() <= 2e-5 + 2e-5 * expected.abs(), "{at}: {got} for {expected}");
    }
}

/// Values as in a 16-bit image, with structure in every direction and another level in each channel.
fn image(shape: [usize; 3]) -> Image {
    Image::from_fn(shape, |c, y, x| 500.0 * (c + 1) as f64 + (y * y * 3 + 7 * x + (x * y * 31) % 97) as f64)
}

fn chance(position: usize) -> Chance {
    Chance { seed: 9, epoch: 1, position, view: 0 }
}

#[test]
fn light_is_standardise_then_resize() {
    for shape in [[3, 128, 96], [1, 300, 250], [2, 224, 224], [1, 1, 1]] {
        let image = image(shape);
        let output = apply(Tier::Light, image.tensor(), chance(0)).expect("f32");
        assert_close(&output, &image.standardised().resized(224));
        assert_eq!(output.shape(), output_shape(Tier::Light, shape));
    }
}

#[test]
fn typical_is_crop_flip_turn_standardise_jitter() {
    for (shape, position) in (0..24).flat_map(|position| [([2, 32, 32], position), ([3, 24, 40], position)]) {
        let image = image(shape);
        let choice = Choice::draw(&mut chance(position).draw(), shape);
        let output = output_shape(Tier::Typical, shape);
        let [_, height, width] = output;
        let flipped = Image::from_fn(output, |c, y, x| {
            let y = if choice.flip_rows { height - 1 - y } else { y };
            let x = if choice.flip_columns { width - 1 - x } else { x };
            image.at(c, y + choice.y, x + choice.x)
        });
        // numpy.rot90: one turn takes the pixel of row x, last column minus y.
        let turned = (0..choice.quarters).fold(flipped, |image, _| {
            let [channels, height, width] = image.shape;
            Image::from_fn([channels, width, height], |c, y, x| image.at(c, x, width - 1 - y))
        });
        let standard = turned.standardised();
        let expected = Image::from_fn(output, |c, y, x| {
            standard.at(c, y, x) * f64::from(choice.scale[c]) + f64::from(choice.shift[c])
        });
        assert_close(&apply(Tier::Typical, image.tensor(), chance(position)).expect("f32"), &expected);
    }
}

#[test]
fn chance_takes_every_way_and_stays_in_its_ranges() {
    let choices: Vec<Choice> =
        (0..200).map(|position| Choice::draw(&mut chance(position).draw(), [1, 64, 64])).collect();
    for quarters in 0..4 {
        assert!(choices.iter().any(|choice| choice.quarters == quarters), "{quarters} quarter turns");
    }
    for place in 0..=8 {
        assert!(choices.iter().any(|choice| choice.y == place), "row {place}");
        assert!(choices.iter().any(|choice| choice.x == place), "column {place}");
    }
    assert!(choices.iter().all(|choice| (0.8..=1.2).contains(&choice.scale[0]) && choice.shift[0].abs() <= 0.1));
}

#[test]
fn chance_differs_between_epochs_samples_and_views_alone() {
    let draw = |epoch, position, view| Choice::draw(&mut Chance { seed: 9, epoch, position, view }.draw(), [5, 64, 64]);
    assert_eq!(draw(0, 5, 0), draw(0, 5, 0));
    for other in [draw(1, 5, 0), draw(0, 6, 0), draw(0, 5, 1)] {
        assert_ne!(draw(0, 5, 0), other);
    }
}

#[test]
fn a_channel_of_one_value_becomes_zeros() {
    let flat = Image::from_fn([1, 8, 8], |_, _, _| 77.0);
    let output = apply(Tier::Light, flat.tensor(), chance(0)).expect("f32");
    assert_close(&output, &Image::from_fn([1, 224, 224], |_, _, _| 0.0));
}
