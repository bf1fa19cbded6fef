//! The dataset, format and crop that a request names, looked up and checked before anything is measured, and what the
//! reader should hand out for an object according to the reference pixels.

use std::sync::Arc;

use pcb_formats::{Dataset, Format, FormatError, OpenSpec, Pixels, Reader, ReferenceCrops, Variant, find, store};
use pcb_protocol::{Dtype, ReadJob};

use crate::error::RunError;

/// A reader may keep this share of the available memory.
const MEMORY_SHARE: f64 = 0.6;

/// `MemAvailable` of the machine in bytes; no limit where it is not told.
fn available_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib: Option<u64> = line.and_then(|rest| rest.trim().strip_suffix(" kB")?.parse().ok());
    kib.map_or(u64::MAX, |kib| kib * 1024)
}

/// What to read from, and what a crop is.
#[derive(Clone)]
pub struct Source {
    format: &'static Format,
    spec: OpenSpec,
}

impl Source {
    /// Looks up what `read` names. Reads the dataset's description and its object table, nothing of the stored form.
    pub fn find(read: &ReadJob) -> Result<Self, RunError> {
        let (format, variant) = find(&read.format, &read.variant, read.layout)?;
        let dataset = Arc::new(Dataset::open(&read.dataset)?);
        let channels = read.crop.channels.resolve(dataset.channels());
        if let Some(channel) = channels.iter().find(|&&channel| channel >= dataset.channels()) {
            let has = dataset.channels();
            return Err(RunError::Unsupported(format!("no channel {channel}: the dataset has {has}, counted from 0")));
        }
        let (height, width) = (read.crop.height as usize, read.crop.width as usize);
        if channels.is_empty() || height == 0 || width == 0 {
            return Err(RunError::Unsupported(format!("crop {} is empty", read.crop)));
        }
        if dataset.objects.rows.is_empty() {
            return Err(RunError::Failed(format!("{}: no objects in the table", dataset.root.display())));
        }
        let spec = OpenSpec { dataset, variant, channels, height, width, pad: read.pad };
        let needed = (format.resident_bytes)(&spec);
        let available = available_memory();
        if needed as f64 > MEMORY_SHARE * available as f64 {
            return Err(RunError::Unsupported(format!(
                "{}:{} keeps {needed} bytes in memory, more than {:.0} % of the {available} bytes available",
                format.name,
                variant.name,
                100.0 * MEMORY_SHARE
            )));
        }
        Ok(Self { format, spec })
    }

    /// The same on the dataset's decoy.
    pub fn decoy(&self) -> Result<Self, RunError> {
        let decoy = Dataset::open(&self.dataset().decoy_dir())?;
        if !store::exists(&decoy, self.format, self.variant()) {
            return Err(RunError::Failed(format!(
                "{}: the decoy is not stored as {}:{}; `pcb-data write` stores it together with the dataset",
                decoy.root.display(),
                self.format.name,
                self.variant().stored
            )));
        }
        Ok(Self { format: self.format, spec: OpenSpec { dataset: Arc::new(decoy), ..self.spec.clone() } })
    }

    /// Opens the reader.
    pub fn open(&self) -> Result<Box<dyn Reader>, FormatError> {
        (self.format.open)(&self.spec)
    }

    /// The dataset.
    pub fn dataset(&self) -> &Dataset {
        &self.spec.dataset
    }

    /// The variant.
    pub fn variant(&self) -> &'static Variant {
        self.spec.variant
    }

    /// Element type of stored pixels.
    pub fn dtype(&self) -> Dtype {
        self.dataset().info.dtype
    }

    /// (C, Y, X) of a crop.
    pub fn shape(&self) -> [usize; 3] {
        [self.spec.channels.len(), self.spec.height, self.spec.width]
    }

    /// A buffer for one crop in the stored element type.
    pub fn buffer(&self) -> Pixels {
        Pixels::zeros(self.dtype(), self.shape().iter().product())
    }

    /// Reads crops and compares them with the reference: what differs first, if anything.
    pub fn check(&self, objects: &[usize]) -> Result<Option<String>, FormatError> {
        store::check_objects(self.format, &self.spec, objects)
    }

    /// Channel indices in the order handed out.
    pub fn channels(&self) -> &[usize] {
        &self.spec.channels
    }

    /// Cuts crops out of the reference pixels; fast when objects come sorted by site.
    pub fn reference(&self) -> ReferenceCrops<'_> {
        ReferenceCrops::new(&self.spec.dataset)
    }

    /// The crop that a reader should hand out for row `object` of the object table, in the stored element type.
    ///
    /// A crop of the object layout is the centre of its record, and a record is cut around the same centre: both
    /// layouts hand out the same pixels.
    pub fn expected(&self, reference: &mut ReferenceCrops<'_>, object: u32) -> Result<Pixels, RunError> {
        let OpenSpec { channels, height, width, pad, .. } = &self.spec;
        let mut crop = self.buffer();
        reference.cut(object as usize, channels, (*height, *width), *pad, crop.bytes_mut())?;
        Ok(crop)
    }
}
