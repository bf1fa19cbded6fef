//! The bare PNG decoder on the stored pictures of each record, in memory.

use std::error::Error;
use std::io::Cursor;
use std::path::PathBuf;

use pcb_formats::Dataset;

use crate::{median_us, rows};

/// Median time of decoding all pictures of a record, in microseconds. `files` lists as many for each record, in table
/// order.
pub fn measure(dataset: &Dataset, files: &[PathBuf]) -> Result<f64, Box<dyn Error>> {
    let each = files.len() / dataset.objects.rows.len();
    let mut records = Vec::new();
    for row in rows(dataset) {
        let pictures: Result<Vec<_>, _> = files[row * each..(row + 1) * each].iter().map(std::fs::read).collect();
        records.push(pictures?);
    }
    let all: Vec<usize> = (0..records.len()).collect();
    let mut out = Vec::new();
    median_us(&all, |record| {
        for picture in &records[record] {
            let mut reader = png::Decoder::new(Cursor::new(picture)).read_info()?;
            out.resize(reader.output_buffer_size().ok_or("a picture too large for memory")?, 0);
            reader.next_frame(&mut out)?;
        }
        Ok(())
    })
}
