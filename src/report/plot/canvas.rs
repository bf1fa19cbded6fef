//! What a picture is drawn with: a few words on top of plotters' SVG backend.

use plotters::backend::SVGBackend;
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, IntoDrawingArea};
use plotters::element::{Circle, Drawable, PathElement, PointCollection, Polygon, Rectangle, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontStyle, IntoFont, RGBColor, ShapeStyle};

use super::PlotError;

/// Colour of text.
pub const INK: RGBColor = RGBColor(33, 33, 33);
/// Colour of text that is less than the data.
pub const SOFT: RGBColor = RGBColor(95, 95, 95);
/// Colour of grid lines.
pub const GRID: RGBColor = RGBColor(214, 214, 214);
/// Colour behind every other row.
pub const PALE: RGBColor = RGBColor(246, 246, 246);

/// Okabe and Ito's colours, told apart by everybody, without their yellow, which white swallows.
const PALETTE: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
];

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// A white sheet.
pub struct Canvas<'a> {
    area: Area<'a>,
}

/// Pixels that a text takes at most in common sans-serif fonts; the true width depends on the reader's font.
pub fn text_width(text: &str, size: i32) -> i32 {
    i32::try_from(text.chars().count()).unwrap_or(i32::MAX / 64) * size * 58 / 100
}

/// A colour and a shape for each format; shapes change when the colours are used up.
#[derive(Debug, Clone, Copy)]
pub struct Look(pub usize);

impl Look {
    fn color(self) -> RGBColor {
        PALETTE[self.0 % PALETTE.len()]
    }
}

impl<'a> Canvas<'a> {
    /// A sheet that `finish` writes into `svg`.
    pub fn new(svg: &'a mut String, width: i32, height: i32) -> Self {
        let size = (width.unsigned_abs(), height.unsigned_abs());
        Self { area: SVGBackend::with_string(svg, size).into_drawing_area() }
    }

    /// Text that begins at `x`, its middle at `y`.
    pub fn text(&self, x: i32, y: i32, text: &str, size: i32, color: RGBColor) -> Result<(), PlotError> {
        self.write((x, y), text, size, FontStyle::Normal, color, HPos::Left)
    }

    /// Bold text that begins at `x`.
    pub fn strong(&self, x: i32, y: i32, text: &str, size: i32) -> Result<(), PlotError> {
        self.write((x, y), text, size, FontStyle::Bold, INK, HPos::Left)
    }

    /// Text that ends at `x`.
    pub fn text_before(&self, x: i32, y: i32, text: &str, size: i32, color: RGBColor) -> Result<(), PlotError> {
        self.write((x, y), text, size, FontStyle::Normal, color, HPos::Right)
    }

    /// Text around `x`.
    pub fn text_around(&self, x: i32, y: i32, text: &str, size: i32, color: RGBColor) -> Result<(), PlotError> {
        self.write((x, y), text, size, FontStyle::Normal, color, HPos::Center)
    }

    /// A filled rectangle.
    pub fn fill(&self, from: (i32, i32), to: (i32, i32), color: RGBColor) -> Result<(), PlotError> {
        self.put(&Rectangle::new([from, to], color.filled()))
    }

    /// A line.
    pub fn line(&self, from: (i32, i32), to: (i32, i32), color: RGBColor, width: u32) -> Result<(), PlotError> {
        self.put(&PathElement::new([from, to], color.stroke_width(width)))
    }

    /// A dot, and a bar from one pixel to another if it has one.
    pub fn mark(&self, (x, y): (i32, i32), interval: Option<(i32, i32)>, look: Look) -> Result<(), PlotError> {
        let color = look.color();
        if let Some((low, high)) = interval {
            self.line((low, y), (high, y), color, 2)?;
            self.line((low, y - 4), (low, y + 4), color, 2)?;
            self.line((high, y - 4), (high, y + 4), color, 2)?;
        }
        let style: ShapeStyle = color.filled();
        match look.0 / PALETTE.len() {
            0 => self.put(&Circle::new((x, y), 4, style)),
            1 => self.put(&Rectangle::new([(x - 4, y - 4), (x + 4, y + 4)], style)),
            _ => self.put(&Polygon::new([(x, y - 5), (x + 5, y + 4), (x - 5, y + 4)], style)),
        }
    }

    /// Completes the text of the file.
    pub fn finish(self) -> Result<(), PlotError> {
        self.area.present().map_err(|error| PlotError::Draw(error.to_string()))
    }

    fn write(
        &self,
        at: (i32, i32),
        text: &str,
        size: i32,
        weight: FontStyle,
        color: RGBColor,
        side: HPos,
    ) -> Result<(), PlotError> {
        // plotters gives a font's size as its line height, 1.24 times the size that SVG means.
        let font = ("sans-serif", f64::from(size) * 1.24).into_font().style(weight);
        let style = plotters::style::TextStyle::from(font).color(&color).pos(Pos::new(side, VPos::Center));
        self.put(&Text::new(text.to_owned(), at, style))
    }

    fn put<'e, E>(&self, element: &'e E) -> Result<(), PlotError>
    where
        &'e E: PointCollection<'e, (i32, i32)>,
        E: Drawable<SVGBackend<'a>>,
    {
        self.area.draw(element).map_err(|error| PlotError::Draw(error.to_string()))
    }
}
