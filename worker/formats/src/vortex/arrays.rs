//! Rows of Vortex files as its arrays.

use pcb_protocol::Dtype;
use vortex::array::arrays::fixed_size_list::FixedSizeListArraySlotsExt;
use vortex::array::arrays::listview::ListViewArrayExt;
use vortex::array::arrays::primitive::PrimitiveArrayExt;
use vortex::array::arrays::struct_::StructArrayExt;
use vortex::array::arrays::{FixedSizeListArray, ListViewArray, PrimitiveArray, StructArray, VarBinViewArray};
use vortex::array::dtype::{DType, PType};
use vortex::array::{ArrayRef, ExecutionCtx};
use vortex::error::{VortexResult, vortex_err};

use crate::tables::{IMAGE, Meta, Planes};

/// Leaves of `pixels_meta`: the sizes in the order of [`Meta::size`].
const SIZES: [&str; 5] = ["size_t", "size_c", "size_z", "size_y", "size_x"];

/// The column of images: the one called `image`, or the first one that has planes. `None` where there is none.
pub fn image_column(dtype: &DType) -> Option<String> {
    let columns = dtype.as_struct_fields_opt()?;
    let holds = |name: &str| {
        let column = columns.field(name);
        column.and_then(|column| column.as_struct_fields_opt()?.field("planes")).is_some()
    };
    let names = || columns.names().iter().map(|name| name.as_ref()).filter(|name| holds(name));
    names().find(|name| *name == IMAGE).or_else(|| names().next()).map(str::to_owned)
}

/// Type and length of the lists in a column; `None` where it holds no pixels.
pub fn list_type(dtype: &DType, column: &str) -> Option<(Dtype, usize)> {
    let DType::FixedSizeList(item, len, _) = dtype.as_struct_fields_opt()?.field(column)? else { return None };
    let dtype = match item.as_ref() {
        DType::Primitive(PType::U8, _) => Dtype::U8,
        DType::Primitive(PType::U16, _) => Dtype::U16,
        DType::Primitive(PType::F32, _) => Dtype::F32,
        _ => return None,
    };
    Some((dtype, len as usize))
}

/// Calls `each` with the bytes of the pixels of all lists.
pub fn lists<T>(array: ArrayRef, context: &mut ExecutionCtx, each: impl FnOnce(&[u8]) -> T) -> VortexResult<T> {
    let lists: FixedSizeListArray = array.execute(context)?;
    let pixels: PrimitiveArray = lists.elements().clone().execute(context)?;
    whole(pixels.all_valid(context)?, "pixels")?;
    Ok(each(pixels.buffer_handle().as_host()))
}

/// Calls `each` with channel and pixels of the planes of one image, whose `planes` are `array`. An error of `each` comes
/// within.
pub fn planes(array: ArrayRef, context: &mut ExecutionCtx, each: Planes<'_>) -> VortexResult<Result<(), String>> {
    let lists: ListViewArray = array.execute(context)?;
    if lists.len() != 1 {
        return Err(vortex_err!("{} images; expected one", lists.len()));
    }
    let planes: StructArray = lists.list_elements_at(0, context)?.execute(context)?;
    let channels: PrimitiveArray = planes.unmasked_field_by_name("c")?.clone().execute(context)?;
    let pixels: ListViewArray = planes.unmasked_field_by_name("pixels")?.clone().execute(context)?;
    whole(channels.all_valid(context)? && pixels.all_valid(context)?, "planes")?;
    typed(&channels, PType::I16, "channels")?;
    for (plane, channel) in channels.as_slice::<i16>().iter().enumerate() {
        // Only the pixels of this row are unpacked, however many lie in its segment.
        let pixels: PrimitiveArray = pixels.list_elements_at(plane, context)?.execute(context)?;
        typed(&pixels, PType::U16, "pixels")?;
        whole(pixels.all_valid(context)?, "pixels")?;
        if let Err(problem) = each(i64::from(*channel), pixels.as_slice::<u16>()) {
            return Ok(Err(problem));
        }
    }
    Ok(Ok(()))
}

/// Calls `each` with the sizes and the type of every image, whose `pixels_meta` are `array`.
pub fn metas(array: ArrayRef, context: &mut ExecutionCtx, each: &mut dyn FnMut(Meta)) -> VortexResult<()> {
    let metas: StructArray = array.execute(context)?;
    let kinds: VarBinViewArray = metas.unmasked_field_by_name("type")?.clone().execute(context)?;
    let mut columns = Vec::new();
    for name in SIZES {
        let sizes: PrimitiveArray = metas.unmasked_field_by_name(name)?.clone().execute(context)?;
        columns.push(match sizes.ptype() {
            PType::I16 => sizes.as_slice::<i16>().iter().map(|&size| i64::from(size)).collect::<Vec<_>>(),
            _ => {
                typed(&sizes, PType::I32, name)?;
                sizes.as_slice::<i32>().iter().map(|&size| i64::from(size)).collect()
            }
        });
    }
    for row in 0..metas.len() {
        let kind = String::from_utf8_lossy(&kinds.bytes_at(row)).into_owned();
        let mut size = [0; 5];
        for (size, column) in size.iter_mut().zip(&columns) {
            *size = column.get(row).copied().unwrap_or_default();
        }
        each(Meta { kind, size });
    }
    Ok(())
}

fn whole(valid: bool, what: &str) -> VortexResult<()> {
    if valid { Ok(()) } else { Err(vortex_err!("missing {what}")) }
}

fn typed(array: &PrimitiveArray, expected: PType, what: &str) -> VortexResult<()> {
    let found = array.ptype();
    if found == expected { Ok(()) } else { Err(vortex_err!("{what} of type {found}; expected {expected}")) }
}
