//! The tables that a dataset was imported from, read in place.

use std::path::PathBuf;

use crate::{FormatError, OpenSpec, Probe, Reader, Stage};

use super::reader::{Crop, Expected};
use super::table::Table;

/// Cuts crops out of the images of tables. Tables are opened when first touched.
pub struct SourceReader {
    spec: OpenSpec,
    tables: Vec<(PathBuf, Option<String>, Table)>,
    /// For each site touched, where the spec's channels are.
    sites: Vec<Option<Vec<Run>>>,
    crop: Crop,
}

/// Channels that are read together: those of one row.
struct Run {
    table: usize,
    row: u64,
    /// Channels of the image in that row.
    pages: Vec<usize>,
}

impl SourceReader {
    pub fn open(spec: &OpenSpec) -> Result<Self, FormatError> {
        spec.check()?;
        let sites = spec.dataset.info.sites.iter().map(|_| None).collect();
        Ok(Self { spec: spec.clone(), tables: Vec::new(), sites, crop: Crop::default() })
    }

    /// Finds the channels of a site, and checks that they are as dataset.json says.
    fn open_site(&mut self, index: usize) -> Result<Vec<Run>, FormatError> {
        let dataset = &self.spec.dataset;
        let [_, height, width] = dataset.site_shape(index);
        let mut runs: Vec<Run> = Vec::new();
        for &channel in &self.spec.channels {
            let source = &dataset.info.sites[index].source[channel];
            let path = dataset.source_path(source);
            let known = self.tables.iter().position(|(other, column, _)| *other == path && *column == source.column);
            let table = match known {
                Some(table) => table,
                None => {
                    let opened = Table::open(&path, source.column.as_deref())?;
                    self.tables.push((path, source.column.clone(), opened));
                    self.tables.len() - 1
                }
            };
            let (path, _, opened) = &mut self.tables[table];
            let shape = opened.shape(source.row)?;
            let expected = Expected { channels: shape.channels, height, width, dtype: dataset.info.dtype };
            expected.check(path, &format!("row {}", source.row), &shape)?;
            let page = source.page as usize;
            if page >= shape.channels {
                let problem = format!("row {}: channel {page} of {}", source.row, shape.channels);
                return Err(FormatError::corrupt(path, problem));
            }
            match runs.last_mut().filter(|run| (run.table, run.row) == (table, source.row)) {
                Some(run) => run.pages.push(page),
                None => runs.push(Run { table, row: source.row, pages: vec![page] }),
            }
        }
        Ok(runs)
    }
}

impl Reader for SourceReader {
    fn read(&mut self, object: usize, out: &mut [u8], probe: &mut Probe<'_>) -> Result<u64, FormatError> {
        let (index, window) = self.spec.window(object)?;
        if self.sites[index].is_none() {
            self.sites[index] = Some(self.open_site(index)?);
        }
        let Self { spec, tables, sites, crop } = self;
        let runs = sites[index].as_deref().unwrap_or_default();
        let [_, height, width] = spec.dataset.site_shape(index);
        let pixel = spec.dataset.info.dtype.size();
        let rect = crop.cutter.aim(window, height, width, spec.pad);
        let touched = crop.cut(rect, (spec.channels.len(), pixel), out, |out, scratch| {
            let (mut touched, mut rest) = (0, out);
            for run in runs {
                let (out, after) = rest.split_at_mut(run.pages.len() * rect.area() * pixel);
                touched += tables[run.table].2.read(run.row, &run.pages, rect, out, scratch)?;
                rest = after;
            }
            Ok(touched)
        })?;
        probe.ended(Stage::ReadDecode);
        Ok(touched)
    }
}
