"""Crops out of rows of an OME-Arrow column that are in memory, however they came there."""

import numpy as np
import pyarrow as pa

from ..reading import paste


def cut(image, shape, dtype, rect):
    """Rows y0..y1, columns x0..x1 of all channels of a struct array of one row: (C, Y, X), or a view of planes."""
    names = {field.name for field in image.type}
    planes = image.field("planes").flatten() if "planes" in names else ()
    if len(planes):
        return cut_planes(planes, shape, rect)
    return cut_chunks(image.field("chunks").flatten(), shape, dtype, rect)


def cut_planes(planes, shape, rect):
    """Planes with a list of pixels each."""
    channels, height, width = shape
    y0, y1, x0, x1 = rect
    order = planes.field("c").to_numpy()
    pixels = planes.field("pixels").flatten().to_numpy().reshape(channels, height, width)[:, y0:y1, x0:x1]
    if (order == np.arange(channels)).all():
        return pixels
    return pixels[np.argsort(order)]


def cut_chunks(chunks, shape, dtype, rect):
    """Chunks of one channel each, as lists or bytes; those that the rectangle meets are unpacked."""
    y0, y1, x0, x1 = rect
    out = np.empty((shape[0], y1 - y0, x1 - x0), dtype)
    places = [chunks.field(name).to_numpy() for name in ("c", "y", "x", "shape_y", "shape_x")]
    packed = any(field.name == "pixel_bytes" for field in chunks.type)
    pixels = chunks.field("pixel_bytes" if packed else "pixels")
    codecs = chunks.field("compression") if packed else None
    for at, (c, top, left, height, width) in enumerate(zip(*(place.tolist() for place in places))):
        if top >= y1 or left >= x1 or top + height <= y0 or left + width <= x0:
            continue
        if packed:
            tile = np.frombuffer(unpacked(pixels[at], codecs[at], height * width * dtype.itemsize), dtype)
        else:
            tile = pixels[at].values.to_numpy()
        paste(out[c], (y0, x0), tile.reshape(height, width), (top, left))
    return out


def unpacked(value, codec, size):
    """The bytes of one chunk."""
    codec = codec.as_py()
    if codec in (None, "", "none"):
        return value.as_buffer()
    return pa.Codec(codec).decompress(value.as_buffer(), size)


def one_row(column, row):
    """Row `row` of a chunked struct array, as a struct array."""
    found = column.slice(row, 1)
    return found.chunk(0) if found.num_chunks == 1 else found.combine_chunks()
