//! Where the cells of a site lie and what shape they have.

use super::random::Random;
use super::texture;

/// Pixels that two nuclei keep apart, while there is room.
const APART: f32 = 26.0;

/// One cell. Lengths in pixels.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Row of the nucleus, the cell's centre.
    pub y: f32,
    /// Column of the nucleus.
    pub x: f32,
    /// Outline of the cell.
    pub body: Ellipse,
    /// Outline of the nucleus.
    pub nucleus: Ellipse,
    /// Brightness of the cytoplasm; 1 is usual.
    pub cytoplasm_gain: f32,
    /// Brightness of the nucleus; 1 is usual.
    pub nucleus_gain: f32,
}

/// An ellipse around a cell's centre.
#[derive(Debug, Clone, PartialEq)]
pub struct Ellipse {
    /// Half of the long axis.
    pub long: f32,
    /// Half of the short axis.
    pub short: f32,
    /// Cosine of the long axis' direction.
    pub cos: f32,
    /// Sine of the long axis' direction.
    pub sin: f32,
}

impl Ellipse {
    fn random(random: &mut Random, long: (f32, f32), roundness: (f32, f32)) -> Self {
        let long = random.between(long.0, long.1);
        let short = long * random.between(roundness.0, roundness.1);
        let (cos, sin) = random.direction();
        Self { long, short, cos, sin }
    }

    /// Squared distance from the centre, 1 on the outline.
    pub fn distance2(&self, dy: f32, dx: f32) -> f32 {
        let along = (dx * self.cos + dy * self.sin) / self.long;
        let across = (dy * self.cos - dx * self.sin) / self.short;
        along * along + across * across
    }

    /// Half height and half width of the box around it.
    fn half_box(&self) -> (f32, f32) {
        let extent = |a: f32, b: f32| ((self.long * a) * (self.long * a) + (self.short * b) * (self.short * b)).sqrt();
        (extent(self.sin, self.cos), extent(self.cos, self.sin))
    }
}

impl Cell {
    fn random(random: &mut Random, y: f32, x: f32) -> Self {
        let nucleus = Ellipse::random(random, (14.0, 22.0), (0.6, 1.0));
        let body = Ellipse::random(random, (42.0, 82.0), (0.42, 0.92));
        // A power of a uniform has the long tail of real brightness: a few cells saturate the camera.
        let tail = random.unit();
        let tail = 1.0 + 2.2 * tail * tail * tail * tail * tail * tail;
        let cytoplasm_gain = random.between(0.55, 1.25) * tail;
        let nucleus_gain = random.between(0.45, 1.25) * tail;
        Self { y, x, body, nucleus, cytoplasm_gain, nucleus_gain }
    }

    /// First row, first column, end row, end column of the body inside a site (ends excluded).
    pub fn bounds(&self, height: usize, width: usize) -> [i32; 4] {
        let (half_height, half_width) = self.body.half_box();
        let clip = |at: f32, size: usize| (at as i32).clamp(0, size as i32);
        [
            clip((self.y - half_height).floor(), height),
            clip((self.x - half_width).floor(), width),
            clip((self.y + half_height).ceil() + 1.0, height),
            clip((self.x + half_width).ceil() + 1.0, width),
        ]
    }
}

/// The cells of a site, in raster order of their centres. They gather where a smooth random field is high, lie
/// anywhere up to the edges, and keep their nuclei apart while there is room.
pub fn place(random: &mut Random, height: usize, width: usize, count: usize) -> Vec<Cell> {
    let density = texture::plane(random, height, width, height.max(width) as f32 / 3.0);
    let mut cells: Vec<Cell> = Vec::with_capacity(count);
    for _ in 0..count {
        let (y, x) = spot(random, height, width, &density, &cells);
        cells.push(Cell::random(random, y, x));
    }
    cells.sort_by(|a, b| a.y.total_cmp(&b.y).then(a.x.total_cmp(&b.x)));
    cells
}

fn spot(random: &mut Random, height: usize, width: usize, density: &[f32], cells: &[Cell]) -> (f32, f32) {
    let mut apart = APART;
    loop {
        let (y, x) = (random.between(0.0, height as f32), random.between(0.0, width as f32));
        // A product can round up to the size itself.
        let (y, x) = (y.min(height as f32 - 0.5), x.min(width as f32 - 0.5));
        let crowd = (0.55 + 0.75 * density[y as usize * width + x as usize]).max(0.05);
        let free = |cell: &Cell| (cell.y - y) * (cell.y - y) + (cell.x - x) * (cell.x - x) >= apart * apart;
        if random.unit() < crowd && cells.iter().all(free) {
            return (y, x);
        }
        apart *= 0.98;
    }
}
