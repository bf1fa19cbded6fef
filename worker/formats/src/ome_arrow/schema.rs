//! Arrow types of what ome-arrow 0.1.0 writes, and of the tables of its chunk datasets.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, TimeUnit};

/// Version of ome-arrow whose types these are.
pub const VERSION: &str = "0.1.0";

fn field(name: &str, kind: DataType) -> Field {
    Field::new(name, kind, true)
}

fn fields(list: &[(&str, DataType)]) -> Fields {
    list.iter().map(|(name, kind)| field(name, kind.clone())).collect()
}

/// A list as pyarrow names it in Parquet.
pub fn list(of: DataType) -> DataType {
    DataType::List(element(of))
}

/// The field of a list's elements.
pub fn element(of: DataType) -> Arc<Field> {
    Arc::new(field("element", of))
}

/// A list of pixels.
pub fn pixels() -> DataType {
    list(DataType::UInt16)
}

/// `pixels_meta.channels`: the struct of one channel.
pub fn channel() -> Fields {
    fields(&[
        ("id", DataType::Utf8),
        ("name", DataType::Utf8),
        ("emission_um", DataType::Float32),
        ("excitation_um", DataType::Float32),
        ("illumination", DataType::Utf8),
        ("color_rgba", DataType::UInt32),
    ])
}

/// `pixels_meta`.
pub fn meta() -> Fields {
    let (int, float, text) = (DataType::Int32, DataType::Float32, DataType::Utf8);
    fields(&[
        ("dimension_order", text.clone()),
        ("type", text.clone()),
        ("size_x", int.clone()),
        ("size_y", int.clone()),
        ("size_z", int.clone()),
        ("size_c", DataType::Int16),
        ("size_t", int),
        ("physical_size_x", float.clone()),
        ("physical_size_y", float.clone()),
        ("physical_size_z", float),
        ("physical_size_x_unit", text.clone()),
        ("physical_size_y_unit", text.clone()),
        ("physical_size_z_unit", text),
        ("channels", list(DataType::Struct(channel()))),
    ])
}

/// `chunk_grid`.
pub fn grid() -> Fields {
    let int = DataType::Int32;
    fields(&[
        ("order", DataType::Utf8),
        ("chunk_t", int.clone()),
        ("chunk_c", DataType::Int16),
        ("chunk_z", int.clone()),
        ("chunk_y", int.clone()),
        ("chunk_x", int),
        ("chunk_order", DataType::Utf8),
    ])
}

/// The struct of one chunk, with its pixels as a list or as bytes.
pub fn chunk(bytes: bool) -> Fields {
    let int = DataType::Int32;
    let mut list = vec![
        ("t", int.clone()),
        ("c", DataType::Int16),
        ("z", int.clone()),
        ("y", int.clone()),
        ("x", int.clone()),
        ("shape_z", int.clone()),
        ("shape_y", int.clone()),
        ("shape_x", int),
    ];
    match bytes {
        false => list.push(("pixels", pixels())),
        true => list.extend([
            ("dtype", DataType::Utf8),
            ("compression", DataType::Utf8),
            ("pixel_bytes", DataType::LargeBinary),
        ]),
    }
    fields(&list)
}

/// The struct of one plane.
pub fn plane() -> Fields {
    fields(&[("z", DataType::Int32), ("t", DataType::Int32), ("c", DataType::Int16), ("pixels", pixels())])
}

/// An image: `OME_ARROW_BYTE_STRUCT` if `bytes`, else `OME_ARROW_STRUCT`.
pub fn image(bytes: bool) -> Fields {
    let text = DataType::Utf8;
    fields(&[
        ("type", text.clone()),
        ("version", text.clone()),
        ("id", text.clone()),
        ("name", text.clone()),
        ("image_type", text),
        ("acquisition_datetime", DataType::Timestamp(TimeUnit::Microsecond, None)),
        ("pixels_meta", DataType::Struct(meta())),
        ("chunk_grid", DataType::Struct(grid())),
        ("chunks", list(DataType::Struct(chunk(bytes)))),
        ("planes", list(DataType::Struct(plane()))),
        ("masks", DataType::Null),
    ])
}
