//! A picture for publication: one row for each case, its value and interval on a logarithmic axis, a panel for each
//! cache state. SVG with its text as text, so that no font is needed to make it.

mod axis;
mod canvas;
mod panel;
mod rows;

use super::{Input, head};
use canvas::{Canvas, INK, PALE, SOFT};
use panel::Panel;
use rows::{Band, Picture};

/// Cases in one picture; more cannot be read.
pub const MOST_CASES: usize = 40;

/// Pixels.
const WIDTH: i32 = 900;
const MARGIN: i32 = 16;
/// Between the last panel and the end of its lines: a font wider than thought does not reach the edge.
const SPARE: i32 = 12;
const ROW: i32 = 20;
const BAND: i32 = 28;
const AXIS: i32 = 50;
const LINE: i32 = 17;

/// A picture cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum PlotError {
    /// Nothing to show: no case was measured warm, cold or as found.
    #[error("no case to plot")]
    Nothing,
    /// The drawing library failed.
    #[error("cannot draw: {0}")]
    Draw(String),
}

/// The picture of some files, as the text of an SVG file.
pub fn svg(inputs: &[Input]) -> Result<String, PlotError> {
    let picture = rows::picture(inputs, MOST_CASES);
    if picture.bands.is_empty() {
        return Err(PlotError::Nothing);
    }
    draw(&picture, &subtitle(inputs))
}

/// Below the title: with what, when and where it was measured.
fn subtitle(inputs: &[Input]) -> Vec<String> {
    match inputs {
        [input] => head::lines(&[*input], &[]),
        _ => inputs.iter().zip(head::labels(inputs)).map(|(input, label)| head::line(input, &label)).collect(),
    }
}

fn draw(picture: &Picture, subtitle: &[String]) -> Result<String, PlotError> {
    let titled = |band: &&Band| !band.title.is_empty();
    let rows: usize = picture.bands.iter().map(|band| band.rows.len()).sum();
    let bands = picture.bands.iter().filter(titled).count();
    let top = MARGIN + 28 + LINE * lines(subtitle.len()) + 34;
    let bottom = top + ROW * lines(rows) + BAND * lines(bands);
    let height = bottom + AXIS + LINE * lines(picture.notes.len()) + MARGIN;
    let labels = picture.bands.iter().flat_map(|band| &band.rows).map(|row| canvas::text_width(&row.label, 12)).max();
    let left = MARGIN + labels.unwrap_or(0) + 10;
    // Long labels make the picture wider, never its panels too narrow.
    let panels_from = left.min(WIDTH * 2 / 5);
    let width = WIDTH + left - panels_from;
    let panels = panel::place(picture, left, width - MARGIN - SPARE);

    let mut svg = String::new();
    let canvas = Canvas::new(&mut svg, width, height);
    canvas.strong(MARGIN, MARGIN + 10, &picture.title, 17)?;
    for (place, line) in subtitle.iter().enumerate() {
        canvas.text(MARGIN, MARGIN + 34 + LINE * lines(place), line.trim_start(), 11, SOFT)?;
    }
    let y = rows_at(picture, top);
    for (place, (_, middle)) in y.iter().enumerate() {
        if place % 2 == 0 {
            canvas.fill((MARGIN, middle - ROW / 2), (width - MARGIN, middle + ROW / 2), PALE)?;
        }
    }
    for panel in &panels {
        panel.frame(&canvas, top, bottom)?;
    }
    headings(&canvas, picture, top)?;
    for (row, middle) in &y {
        canvas.text_before(left - 10, *middle, &row.label, 12, INK)?;
        panels.iter().try_for_each(|panel: &Panel| panel.row(&canvas, row, *middle))?;
    }
    for (place, note) in picture.notes.iter().enumerate() {
        canvas.text(MARGIN, bottom + AXIS + LINE * lines(place) + 4, note, 11, SOFT)?;
    }
    canvas.finish()?;
    Ok(svg)
}

/// Each row with the middle of its line.
fn rows_at(picture: &Picture, top: i32) -> Vec<(&rows::Row, i32)> {
    let mut y = top;
    let mut placed = Vec::new();
    for band in &picture.bands {
        y += if band.title.is_empty() { 0 } else { BAND };
        for row in &band.rows {
            placed.push((row, y + ROW / 2));
            y += ROW;
        }
    }
    placed
}

fn headings(canvas: &Canvas, picture: &Picture, top: i32) -> Result<(), PlotError> {
    let mut y = top;
    for band in picture.bands.iter().filter(|band| !band.title.is_empty()) {
        canvas.strong(MARGIN, y + BAND / 2 + 3, &band.title, 12)?;
        y += BAND + ROW * lines(band.rows.len());
    }
    Ok(())
}

/// Counts of lines are small.
fn lines(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX / 64)
}
