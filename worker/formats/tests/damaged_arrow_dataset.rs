//! Chunk datasets whose tables contradict each other: an error that says where, never other pixels.

mod support;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use pcb_formats::{Dataset, Format, FormatError, Pixels, Variant, find, read_arrow_dataset, store};
use pcb_protocol::{Dtype, Layout, Pad};
use support::{make, refused, spec, write};

/// A stored dataset of one site of 300x290 pixels: 4 chunks for each of its 2 channels.
struct Stored {
    folder: tempfile::TempDir,
    dataset: Arc<Dataset>,
    format: &'static Format,
    variant: &'static Variant,
}

impl Stored {
    fn new(name: &str, layout: Layout) -> Self {
        let folder = support::folder();
        let dataset = make(folder.path(), Dtype::U16, 2, &[(300, 290)], (16, 16));
        let (format, variant) = find("ome-arrow", name, layout).expect("known");
        write(&dataset, format, variant);
        Self { folder, dataset, format, variant }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dataset.stored_dir("ome-arrow", self.variant).join("P_1-A01-s1").join(name)
    }

    /// Compares every object with the reference.
    fn check(&self) -> Result<Option<String>, FormatError> {
        let spec = spec(&self.dataset, self.variant, &[0, 1], (16, 16), Pad::Reflect);
        let all: Vec<usize> = (0..self.dataset.objects.rows.len()).collect();
        store::check_objects(self.format, &spec, &all)
    }

    /// The whole image, by id.
    fn image(&self) -> Result<Pixels, FormatError> {
        let id = match self.variant.layout {
            Layout::Site => "P_1-A01-s1",
            Layout::Object => "s0-4",
        };
        Ok(read_arrow_dataset(self.file("").as_path(), id)?.data)
    }
}

/// Reads a table, changes it and writes it again.
fn change(path: &Path, change: impl FnOnce(RecordBatch) -> RecordBatch) {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).expect("opened")).expect("a table");
    let batches: Vec<_> = reader.build().expect("a reader").map(|batch| batch.expect("a batch")).collect();
    assert_eq!(batches.len(), 1);
    let batch = change(batches[0].clone());
    let mut writer =
        ArrowWriter::try_new(File::create(path).expect("created"), batch.schema(), None).expect("a writer");
    writer.write(&batch).expect("written");
    writer.close().expect("closed");
}

/// The batch with other values in one column.
fn with(batch: &RecordBatch, name: &str, values: ArrayRef) -> RecordBatch {
    let index = batch.schema().index_of(name).expect("known");
    let mut columns = batch.columns().to_vec();
    columns[index] = values;
    RecordBatch::try_new(batch.schema(), columns).expect("a batch")
}

fn numbers(batch: &RecordBatch, name: &str) -> Vec<i32> {
    let column = batch.column_by_name(name).expect("known");
    column.as_any().downcast_ref::<Int32Array>().expect("numbers").values().to_vec()
}

/// The batch with `row` of a column of numbers changed to `value`.
fn changed(batch: &RecordBatch, name: &str, row: usize, value: i32) -> RecordBatch {
    let mut values = numbers(batch, name);
    values[row] = value;
    with(batch, name, Arc::new(Int32Array::from(values)))
}

fn refuse(stored: &Stored, words: &[&str]) {
    for error in [refused(stored.check()), refused(stored.image())] {
        let text = error.to_string();
        assert!(text.contains(&stored.file("").display().to_string().trim_end_matches('/').to_owned()), "{text}");
        assert!(words.iter().all(|word| text.contains(word)), "{words:?} are not in {text}");
    }
}

#[test]
fn an_index_that_lost_moved_or_doubled_a_chunk_is_refused() {
    let stored = Stored::new("dataset-tile256", Layout::Site);
    assert_eq!(stored.check().expect("reads"), None);
    let index = stored.file("index.parquet");
    let sound = fs::read(&index).expect("read");
    type Change = fn(RecordBatch) -> RecordBatch;
    let cases: [(&[&str], Change); 9] = [
        (&["pixels; expected"], |batch| batch.slice(0, batch.num_rows() - 1)),
        (&["chunk"], |batch| changed(&batch, "y", 2, 0)),
        (&["chunk 2", "outside"], |batch| changed(&batch, "c", 2, 2)),
        (&["x of a chunk is -1"], |batch| changed(&batch, "x", 2, -1)),
        (&["chunk at t 4"], |batch| changed(&batch, "t", 2, 4)),
        (&["row group 8", "chunks.parquet"], |batch| changed(&batch, "row_group_id", 2, 8)),
        (&["row 1 of row group 2"], |batch| changed(&batch, "row_index_in_group", 2, 1)),
        // A chunk of another size than the one that stands there.
        (&["bytes of pixels"], |batch| changed(&batch, "row_group_id", 0, 1)),
        (&["no image is called"], |batch| {
            let names = vec!["other"; batch.num_rows()];
            with(&batch, "image_id", Arc::new(StringArray::from(names)))
        }),
    ];
    for (words, case) in cases {
        change(&index, case);
        if words == ["bytes of pixels"] {
            let text = refused(stored.image()).to_string();
            assert!(text.contains(words[0]) && text.contains("chunks.parquet"), "{text}");
        } else {
            refuse(&stored, words);
        }
        fs::write(&index, &sound).expect("written");
    }
    // Another place for chunks is not known.
    change(&index, |batch| {
        let names = vec!["chunks-1.parquet"; batch.num_rows()];
        with(&batch, "fragment_path", Arc::new(StringArray::from(names)))
    });
    assert!(matches!(refused(stored.check()), FormatError::Unsupported(_)));
    refuse(&stored, &["chunks-1.parquet"]);
    // Without an index, the table of chunks tells.
    fs::remove_file(&index).expect("removed");
    assert_eq!(stored.check().expect("reads"), None);
}

#[test]
fn images_that_are_not_as_the_dataset_says_are_refused() {
    let stored = Stored::new("dataset-tile128-page1", Layout::Site);
    let images = stored.file("images.parquet");
    let sound = fs::read(&images).expect("read");
    for (name, value, word) in [("size_y", 299, "outside"), ("size_c", 1, "outside"), ("size_t", 3, "3 time points")] {
        change(&images, |batch| changed(&batch, name, 0, value));
        refuse(&stored, &[word]);
        fs::write(&images, &sound).expect("written");
    }
    for (dtype, word) in [("int16", "expected 2 of 300x290 u16"), ("float64", "float64")] {
        change(&images, |batch| with(&batch, "dtype", Arc::new(StringArray::from(vec![dtype]))));
        assert!(refused(stored.check()).to_string().contains(word), "{dtype}");
        fs::write(&images, &sound).expect("written");
    }
    change(&images, |batch| batch.slice(0, 0));
    refuse(&stored, &["no image is called"]);
}

#[test]
fn another_layout_or_a_lost_file_is_named() {
    let stored = Stored::new("dataset", Layout::Object);
    let manifest = stored.file("_ome_arrow_dataset.json");
    let text = fs::read_to_string(&manifest).expect("read");
    fs::write(&manifest, text.replace("typed-chunk-dataset", "layout-of-tomorrow")).expect("written");
    assert!(matches!(refused(stored.check()), FormatError::Unsupported(_)));
    refuse(&stored, &["layout-of-tomorrow"]);
    for other in ["", "{", "{}", "[1]"] {
        fs::write(&manifest, other).expect("written");
        refuse(&stored, &["_ome_arrow_dataset.json"]);
    }
    fs::write(&manifest, text).expect("written");
    assert_eq!(stored.check().expect("reads"), None);
    for name in ["_ome_arrow_dataset.json", "images.parquet", "chunks.parquet"] {
        let (place, aside) = (stored.file(name), stored.folder.path().join("aside"));
        fs::rename(&place, &aside).expect("moved");
        assert!(matches!(refused(stored.check()), FormatError::Io { .. }), "{name}");
        refuse(&stored, &[name]);
        fs::rename(&aside, &place).expect("moved");
    }
}

#[test]
fn a_changed_byte_of_any_file_is_an_error_or_seen_or_changes_nothing() {
    for (name, layout) in
        [("dataset-tile256", Layout::Site), ("dataset-tile128-page1", Layout::Site), ("dataset", Layout::Object)]
    {
        let stored = Stored::new(name, layout);
        for file in ["_ome_arrow_dataset.json", "images.parquet", "index.parquet", "chunks.parquet"] {
            let path = stored.file(file);
            let sound = fs::read(&path).expect("read");
            // Pixels are most of the bytes; what is around them is at the end.
            let step = if file == "chunks.parquet" { 997 } else { 41 };
            for at in (0..sound.len()).step_by(step).chain(sound.len().saturating_sub(200)..sound.len()) {
                let mut bytes = sound.clone();
                bytes[at] ^= 0x11;
                fs::write(&path, &bytes).expect("written");
                if let Err(error) = stored.check() {
                    let folder = stored.file("").display().to_string();
                    assert!(error.to_string().contains(folder.trim_end_matches('/')), "{file}, byte {at}: {error}");
                }
            }
            fs::write(&path, &sound).expect("written");
        }
        assert_eq!(stored.check().expect("reads"), None);
    }
}
