//! One panel: the cases in one cache state.

use pcb_protocol::State;

use super::PlotError;
use super::axis::Axis;
use super::canvas::{Canvas, GRID, INK, SOFT, text_width};
use super::rows::{Cell, Picture, Row};
use crate::units;

/// Pixels between two panels, and between a dot or bar and its number.
const BETWEEN: i32 = 18;
const ASIDE: i32 = 9;

/// Pixels that a bar must have to reach out of its dot; ends inside the dot would look like another shape.
const BAR: i32 = 14;

/// A panel, placed.
pub struct Panel {
    state: State,
    axis: Option<Axis>,
    left: i32,
    right: i32,
}

/// A panel for each state that was measured, side by side.
pub fn place(picture: &Picture, left: i32, right: i32) -> Vec<Panel> {
    let count = i32::try_from(picture.states.len()).unwrap_or(1).max(1);
    let width = (right - left - BETWEEN * (count - 1)) / count;
    let panel = |(place, state): (i32, &State)| {
        let from = left + (width + BETWEEN) * place;
        let cells = picture.bands.iter().flat_map(|band| &band.rows).filter_map(|row| row.cells.get(state));
        let cells: Vec<&Cell> = cells.collect();
        Panel { state: *state, axis: roomy(&cells, from + 8, from + width), left: from, right: from + width }
    };
    (0..).zip(&picture.states).map(panel).collect()
}

impl Panel {
    /// Title, grid and axis.
    pub fn frame(&self, canvas: &Canvas, top: i32, bottom: i32) -> Result<(), PlotError> {
        let title = match self.state {
            State::Cold => "Cold: whole pass",
            State::Warm => "Warm: median sample",
            State::AsIs => "As found: median sample",
        };
        canvas.strong(self.left + 8, top - 14, title, 13)?;
        let Some(axis) = &self.axis else { return Ok(()) };
        for tick in axis.ticks() {
            let x = axis.at(tick);
            canvas.line((x, top), (x, bottom), GRID, 1)?;
            canvas.line((x, bottom), (x, bottom + 4), SOFT, 1)?;
            canvas.text_around(x, bottom + 14, &units::round_time(tick), 11, INK)?;
        }
        canvas.line((self.left, bottom), (self.right, bottom), SOFT, 1)?;
        canvas.text(self.left + 8, bottom + 31, "log scale, lower is better", 11, SOFT)
    }

    /// The row's value in this state, or why it has none.
    pub fn row(&self, canvas: &Canvas, row: &Row, y: i32) -> Result<(), PlotError> {
        match (row.cells.get(&self.state), &self.axis) {
            (Some(cell @ Cell::Value { value, interval, .. }), Some(axis)) => {
                let x = axis.at(*value);
                let ends = interval.map(|interval| (axis.at(interval.low), axis.at(interval.high)));
                let ends = ends.filter(|(low, high)| high - low > BAR);
                canvas.mark((x, y), ends, row.look)?;
                let from = ends.map_or(x, |(_, high)| high.max(x)) + ASIDE;
                canvas.text(from, y, &number(cell), 11, INK)
            }
            (Some(Cell::Word(word)), _) => canvas.text(self.left + 12, y, word, 11, SOFT),
            _ => Ok(()),
        }
    }
}

/// The longest axis that leaves room for the number beside each dot.
fn roomy(cells: &[&Cell], left: i32, right: i32) -> Option<Axis> {
    let axis = |room: i32| Axis::new(cells.iter().flat_map(|cell| cell.extent()), left, right - room);
    let end = |axis: &Axis, cell: &Cell| {
        let high = cell.extent().into_iter().map(|value| axis.at(value)).max();
        high.map_or(left, |high| high + ASIDE + text_width(&number(cell), 11))
    };
    let fits = |axis: &Axis| cells.iter().all(|cell| end(axis, cell) <= right);
    // Half of the last tick's name stands beyond the axis, whatever the dots need.
    let (least, most) = (20, (right - left) / 2);
    (least..most).step_by(4).filter_map(axis).find(fits).or_else(|| axis(most))
}

/// What stands beside a dot.
fn number(cell: &Cell) -> String {
    match cell {
        Cell::Value { value, more, .. } => format!("{}{more}", units::time(*value)),
        Cell::Word(_) => String::new(),
    }
}
