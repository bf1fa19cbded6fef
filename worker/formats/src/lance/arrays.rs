//! Rows of Lance files as arrays of its Arrow.

use arrow58_array::cast::AsArray;
use arrow58_array::types::{ArrowPrimitiveType, Float32Type, Int16Type, Int32Type, UInt8Type, UInt16Type};
use arrow58_array::{Array, ListArray, RecordBatch, StructArray};
use arrow58_schema::DataType;
use lance_core::datatypes::{Field, Schema};
use pcb_protocol::Dtype;

use crate::tables::{IMAGE, Meta, Planes};

/// Leaves of `pixels_meta`: the sizes in the order of [`Meta::size`].
const SIZES: [&str; 5] = ["size_t", "size_c", "size_z", "size_y", "size_x"];

/// Names of the columns that hold planes, and of those that hold what [`Meta`] has.
pub struct ImageColumns {
    pub planes: Vec<String>,
    pub metas: Vec<String>,
}

impl ImageColumns {
    /// Those of the column called `image`, or of the first one that holds images. `None` where there is none.
    pub fn of(schema: &Schema) -> Option<Self> {
        let holds = |field: &&Field| field.child("planes").is_some();
        let named = schema.fields.iter().filter(holds).find(|field| field.name == IMAGE);
        let image = named.or_else(|| schema.fields.iter().find(holds))?;
        let (name, item) = (&image.name, &image.child("planes")?.children.first()?.name);
        let planes = ["c", "pixels"].map(|leaf| format!("{name}.planes.{item}.{leaf}"));
        let metas = ["type"].iter().chain(&SIZES).map(|leaf| format!("{name}.pixels_meta.{leaf}"));
        Some(Self { planes: planes.into(), metas: metas.collect() })
    }
}

/// Type and length of lists of one length of pixels.
pub fn list_type(kind: &DataType) -> Option<(Dtype, usize)> {
    let DataType::FixedSizeList(item, len) = kind else { return None };
    let dtype = match item.data_type() {
        DataType::UInt8 => Dtype::U8,
        DataType::UInt16 => Dtype::U16,
        DataType::Float32 => Dtype::F32,
        _ => return None,
    };
    Some((dtype, usize::try_from(*len).ok()?))
}

/// Calls `each` with the pixels of every row.
pub fn lists(batch: &RecordBatch, mut each: impl FnMut(&[u8]) -> Result<(), String>) -> Result<(), String> {
    let column = batch.columns().first().and_then(|column| column.as_fixed_size_list_opt());
    let lists = column.filter(|lists| lists.null_count() == 0).ok_or("no lists of pixels")?;
    let values = lists.values();
    let len = lists.value_length() as usize;
    let bytes = match values.data_type() {
        DataType::UInt8 => values.as_primitive::<UInt8Type>().values().inner().as_slice(),
        DataType::UInt16 => values.as_primitive::<UInt16Type>().values().inner().as_slice(),
        DataType::Float32 => values.as_primitive::<Float32Type>().values().inner().as_slice(),
        other => return Err(format!("pixels of type {other}")),
    };
    if values.null_count() > 0 {
        return Err("missing pixels".to_owned());
    }
    let pixel = values.data_type().primitive_width().unwrap_or(1);
    let start = lists.value_offset(0) as usize;
    let rows = bytes.get(start * pixel..(start + lists.len() * len) * pixel).ok_or("too few pixels")?;
    rows.chunks_exact((len * pixel).max(1)).try_for_each(&mut each)
}

/// Calls `each` with channel and pixels of the planes of every image.
pub fn planes(batch: &RecordBatch, each: Planes<'_>) -> Result<(), String> {
    let images = image(batch)?;
    let planes: &ListArray = child(images, "planes")?.as_list_opt().ok_or("planes are no lists")?;
    for row in 0..planes.len() {
        let planes = planes.value(row);
        let planes = planes.as_struct_opt().ok_or("a plane is no struct")?;
        let channels = child(planes, "c")?.as_primitive_opt::<Int16Type>().ok_or("channels are no 16-bit numbers")?;
        let pixels: &ListArray = child(planes, "pixels")?.as_list_opt().ok_or("pixels are no lists")?;
        if channels.null_count() > 0 || pixels.null_count() > 0 {
            return Err("a plane without channel or pixels".to_owned());
        }
        let kind = || format!("pixels of type {}; pcb reads lists of 16-bit numbers", pixels.value_type());
        let numbers = pixels.values().as_primitive_opt::<UInt16Type>().ok_or_else(kind)?;
        if numbers.null_count() > 0 {
            return Err("missing pixels".to_owned());
        }
        for (plane, channel) in channels.values().iter().enumerate() {
            let (start, end) = (pixels.value_offsets()[plane], pixels.value_offsets()[plane + 1]);
            each(i64::from(*channel), &numbers.values()[start as usize..end as usize])?;
        }
    }
    Ok(())
}

/// Calls `each` with the sizes and the type of every image.
pub fn metas(batch: &RecordBatch, each: &mut dyn FnMut(Meta)) -> Result<(), String> {
    let metas = child(image(batch)?, "pixels_meta")?.as_struct_opt().ok_or("pixels_meta is no struct")?;
    let kinds = child(metas, "type")?.as_string_opt::<i32>().ok_or("type is no text")?;
    let sizes = SIZES.map(|name| child(metas, name));
    for row in 0..metas.len() {
        let mut size = [0; 5];
        for (size, column) in size.iter_mut().zip(&sizes) {
            let column = *column.as_ref().map_err(Clone::clone)?;
            *size = number::<Int32Type>(column, row).or_else(|| number::<Int16Type>(column, row)).unwrap_or(0);
        }
        let kind = if kinds.is_null(row) { String::new() } else { kinds.value(row).to_owned() };
        each(Meta { kind, size });
    }
    Ok(())
}

fn number<T: ArrowPrimitiveType>(column: &dyn Array, row: usize) -> Option<i64>
where
    T::Native: Into<i64>,
{
    let column = column.as_primitive_opt::<T>()?;
    (!column.is_null(row)).then(|| column.value(row).into())
}

fn image(batch: &RecordBatch) -> Result<&StructArray, String> {
    let images = batch.columns().first().and_then(|column| column.as_struct_opt()).ok_or("images are no structs")?;
    if images.null_count() == 0 { Ok(images) } else { Err("an image is null".to_owned()) }
}

fn child<'a>(parent: &'a StructArray, name: &str) -> Result<&'a dyn Array, String> {
    parent.column_by_name(name).map(|column| &**column).ok_or_else(|| format!("no {name}"))
}
