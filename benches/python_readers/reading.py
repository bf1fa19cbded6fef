"""From a row of the object table to a filled (C, Y, X) array: what is timed, the same for every format."""

import numpy as np


class Source:
    """Stored images of one form, opened by one library. A format module subclasses it.

    `rect` returns rows y0..y1 and columns x0..x1 of all channels of one image: (C, Y, X), any strides and byte order.
    Files are opened when first touched, as the native readers do it.
    """

    # Whether `rect` may return a view of a mapped file, whose pixels are not read yet.
    mapped = False
    # Whether the library keeps decoded pixels from one read to the next, which no native reader does.
    keeps_decoded = False

    def rect(self, image, y0, y1, x0, x1):
        raise NotImplementedError

    def close(self):
        """Closes every file, so that their pages can be dropped."""


class Crops:
    """Reads crops of `crop` x `crop` pixels, padded by reflection, out of its `source`."""

    def __init__(self, dataset, form, crop):
        self.source = None
        self.windows = [dataset.window(form.layout, row, crop) for row in range(len(dataset))]
        # A crop that the library has not put into memory of its own ends here, as in the native loop.
        self.out = np.zeros((dataset.channels, crop, crop), dataset.dtype)

    def read(self, row):
        """The crop around a row of the object table; valid until the next read."""
        image, y0, y1, x0, x1, pad, fold = self.windows[row]
        pixels = self.source.rect(image, y0, y1, x0, x1)
        if pad is not None:
            pixels = np.pad(pixels, pad, mode="reflect")
        elif fold is not None:
            pixels = pixels[:, fold[0], fold[1]]
        elif not self.source.mapped and pixels.flags.c_contiguous and pixels.dtype == self.out.dtype:
            return pixels
        np.copyto(self.out, pixels)
        return self.out


class PerImage(Source):
    """A source with something to open for each image, kept open from then on."""

    def __init__(self, paths):
        self.paths = paths
        self.open_files = [None] * len(paths)

    def open_file(self, path):
        raise NotImplementedError

    def file(self, image):
        file = self.open_files[image]
        if file is None:
            file = self.open_files[image] = self.open_file(self.paths[image])
        return file

    def close(self):
        for file in self.open_files:
            if hasattr(file, "close"):
                file.close()
        self.open_files = [None] * len(self.paths)


def paste(plane, corner, tile, place):
    """Puts what a tile at `place` shares with `plane`, which begins at `corner`, into it; both (row, column)."""
    (y0, x0), (top, left) = corner, place
    part = tile[max(y0 - top, 0) : y0 + plane.shape[0] - top, max(x0 - left, 0) : x0 + plane.shape[1] - left]
    y, x = max(top - y0, 0), max(left - x0, 0)
    plane[y : y + part.shape[0], x : x + part.shape[1]] = part
